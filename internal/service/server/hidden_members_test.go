package server_test

import (
	"fmt"
	"strings"
	"testing"
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
	if !strings.Contains(full.body, `cluster \"dark-c\"`) {
		t.Fatalf("%d %s", full.code, full.body)
	}
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
		if r := a.get(artifact); r.code != 403 {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
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
