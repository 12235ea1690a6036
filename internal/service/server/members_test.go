package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What is wrong with a tenant's own member is listed, but not in words that tell of others
// (rule 4 of internal/service/access).
func TestListedProblemsNameNoOthers(t *testing.T) {
	k := tokensOf(t, map[string]string{"tenant": "{routes: [fleet], tenants: [payments]}"})
	s := start(t, k.use)
	s.say(tenants(map[string]string{
		"fleet/fleet-members/hub-1/dark-c.yaml":                         strings.ReplaceAll(memberA, "clusterName: a", "clusterName: dark-c"),
		"addons/tenants/payments/defaults/application-sets/addons.yaml": "dns-dark: {enabled: true, chart: {repoURL: https://example.org/charts, name: dns, version: 1.0.0}}\n",
	}))
	full, r := caller{s, secret}.get("/api/v1/fleet"), caller{s, k.values["tenant"]}.get("/api/v1/fleet")
	require.Contains(t, full.body, `cluster \"dark-c\"`, "%d", full.code)
	if r.code != 200 || strings.Contains(r.body, "dark-c") || !strings.Contains(r.body, `"reason":"duplicate-name"`) || !strings.Contains(r.body, "outside of this token's scope") {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// A member whose newest file names another tenant, and cannot be read, is served from the earlier
// one: who may see one of the two tenants alone gets nothing of it, as on the pages (rule 4 of
// internal/service/access).
func TestMemberOfTwoTenantsIsHidden(t *testing.T) {
	const all = "routes: [getparams, flux-inputs, registry, fleet, explain]"
	k := tokensOf(t, map[string]string{"new": "{" + all + ", tenants: [payments]}", "old": "{" + all + ", tenants: [retail]}", "both": "{" + all + ", tenants: [payments, retail]}"})
	s := serving(t, k.use)
	const values, fileB, fileF = "addons/tenants/retail/defaults/addons/dns/values.yaml", "fleet/fleet-members/hub-1/b.yaml", "fleet/fleet-members/hub-1/f.yaml"
	s.say(tenants(map[string]string{values: "retails: own\n"}))
	moved := func(file string) string { return strings.Replace(file, "retail", "payments", 1) + "tenannt: x\n" }
	s.say(tenants(map[string]string{values: "retails: own\n", fileB: moved(memberB), fileF: moved(memberF)}))
	full := caller{s, secret}
	const explained, inputs, artifact = "/api/v1/explain?cluster=b&component=addons/dns", `{"view":"components","group":"addons","owner":"f"}`, "/v2/flux/hub-1/f/manifests/latest"
	if r := full.get(explained); r.code != 200 || !strings.Contains(r.body, "retails") {
		t.Fatalf("%d %s", r.code, r.body)
	}
	for _, name := range []string{"new", "old"} {
		a := caller{s, k.values[name]}
		a.denial(name, a.get(explained), fmt.Sprintf(`token %q may not ask for cluster "b"`, name))
		a.denial(name, a.ask(inputs), fmt.Sprintf(`token %q may not ask for owner "f"`, name))
		a.denial(name, a.inputs(inputs), fmt.Sprintf(`token %q may not ask for owner "f"`, name))
		a.get(artifact).is(t, 403, name)
		if r := a.get("/api/v1/fleet"); r.code != 200 || strings.Contains(r.body, `"name":"b"`) || strings.Contains(r.body, "tenannt") {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
	both := caller{s, k.values["both"]}
	for _, path := range []string{explained, artifact} {
		both.answered(path, both.get(path), full.get(path))
	}
	both.answered(inputs, both.ask(inputs), full.ask(inputs))
	if r := both.get("/api/v1/fleet"); !strings.Contains(r.body, `"name":"b"`) {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// hubFile is the member file of hub-1, and declaredHub the same hub in a layout.
const (
	hubFile     = "fleet/fleet-members/hub-1/hub-1.yaml"
	hubKeys     = "tenant: platform\nenvironment: prod\naddons_repo_url: https://git.example/f\naddons_repo_basepath: addons\nlabels: {region: eu}\n"
	declaredHub = "hubs:\n  hub-1:\n    "
)

// TestDeclaredHubIsAsItsFile proves T0: the layout's hub gives the bytes that its member file
// gives, in all views, also where a template reads the file.
func TestDeclaredHubIsAsItsFile(t *testing.T) {
	read := map[string]string{dnsValues + ".gotmpl": "member: {{ .member | toJson | quote }}\n"}
	byFile := map[string]string{hubFile: "clusterName: hub-1\nfleet_member: hub-cluster\n" + hubKeys}
	byLayout := map[string]string{hubFile: "", "fleet/layout.yaml": declaredHub + strings.ReplaceAll(strings.TrimSuffix(hubKeys, "\n"), "\n", "\n    ") + "\n"}
	var want []string
	for _, files := range []map[string]string{byFile, byLayout} {
		s := start(t)
		s.script.Reports <- fleettest.Report{Snapshot: fleettest.Snapshot("r1", fleettest.TwoHubs().With(read).With(files))}
		s.until("served", func(st refresh.Status) bool { return st.Revision == "r1" })
		var got []string
		for _, q := range []string{`{"view":"members"}`, `{"view":"components","group":"addons"}`, `{"view":"releases","group":"addons"}`, `{"view":"agents"}`} {
			r := s.ask(q)
			if r.code != http.StatusOK {
				t.Fatalf("%s: %d %s", q, r.code, r.body)
			}
			got = append(got, r.body)
		}
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("by the layout:\n%s\nby the file:\n%s", got[i], want[i])
			}
		}
	}
	if !strings.Contains(want[1], `"applicationName":"dns-hub-1"`) || !strings.Contains(want[0], "https://git.example/f") {
		t.Errorf("the hub's own component, and its repository keys: %s", want)
	}
}

// TestTenantCannotTakeADeclaredHub: a member file that claims a hub which the layout declares is
// wrong by itself; all others have the bytes that they had.
func TestTenantCannotTakeADeclaredHub(t *testing.T) {
	layout := map[string]string{hubFile: "", "fleet/layout.yaml": declaredHub + "tenant: platform\n    environment: prod\n"}
	s := start(t)
	s.say(fleettest.TwoHubs().With(layout))
	before := s.sets(`{"view":"components","group":"addons"}`)
	claim := map[string]string{"fleet/fleet-members/hub-1/c.yaml": "clusterName: c\ntenant: retail\nenvironment: dev\nfleet_member: hub-cluster\naddons_repo_basepath: other\n"}
	next := s.say(fleettest.TwoHubs().With(layout).With(claim))
	if got := s.Refresher().Status().Revision; got != next.Revision {
		t.Errorf("the commit is refused: %+v", s.Refresher().Status().Refused)
	}
	after := s.sets(`{"view":"components","group":"addons"}`)
	if len(after) != len(before) {
		t.Errorf("%d sets, were %d", len(after), len(before))
	}
	for name, set := range before {
		if got, want := after[name]["digest"], set["digest"]; got != want || after[name]["hold"] != nil {
			t.Errorf("%s: %s, was %s", name, text(t, after[name]), text(t, set))
		}
	}
}
