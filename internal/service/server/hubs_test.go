package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

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
		if got, want := after[name]["digest"], set["digest"]; got != want || after[name]["quarantine"] != nil {
			t.Errorf("%s: %s, was %s", name, text(t, after[name]), text(t, set))
		}
	}
}

// TestHubWithoutMembersIsNotReady: /readyz says why, and which hubs there are.
func TestHubWithoutMembersIsNotReady(t *testing.T) {
	s := start(t, func(o *server.Options) { o.Hub = "hub-9" })
	s.say(repository(nil))
	r, body := s.readiness()
	if r.code != http.StatusServiceUnavailable || body.Ready || !strings.Contains(r.body, "hub-9") || !strings.Contains(r.body, "hub-1, hub-2") {
		t.Errorf("%d %s", r.code, r.body)
	}
}
