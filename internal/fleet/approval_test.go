package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const approvalFile = "fleet/approvals/x.yaml"

func approvals(t *testing.T, text string) *Fleet {
	t.Helper()
	return load(t, map[string]string{path: identity, approvalFile: text})
}

const header = "apiVersion: argosy.dev/v1alpha1\nkind: RemovalApproval\nexpires: 2026-12-01\n"

// TestApprovals: what an approval names, and nothing else, is approved through its last day in UTC.
func TestApprovals(t *testing.T) {
	gone := Removal{Hub: "hub", Cluster: "a", Group: "addons", Component: "dns"} // its file is gone: nobody knows its tenant
	there := Removal{Hub: "hub", Cluster: "a", Tenant: "t", Environment: "e", Group: "addons", Component: "dns"}
	for removal, want := range map[string][2]bool{ // gone, there
		"{cluster: a, component: addons/dns, reason: r}":                     {true, true},
		"{clusters: [b, a], components: [x/y, addons/dns], reason: r}":       {true, true},
		"{cluster: '*', component: '*', reason: r}":                          {true, true},
		"{cluster: a, component: addons/*, reason: r}":                       {true, true},
		"{hub: hub, cluster: a, component: '*', reason: r}":                  {true, true},
		"{hub: other, cluster: a, component: '*', reason: r}":                {},
		"{cluster: b, component: '*', reason: r}":                            {},
		"{cluster: a, component: addons/d, reason: r}":                       {},
		"{cluster: a, component: resources/*, reason: r}":                    {},
		"{tenant: t, component: '*', reason: r}":                             {false, true},
		"{tenant: t, environment: e, component: '*', reason: r}":             {false, true},
		"{tenant: t, environment: f, component: '*', reason: r}":             {},
		"{tenant: t, cluster: b, component: '*', reason: r}":                 {},
		"{environment: e, cluster: a, component: addons/dns, reason: a b c}": {false, true},
	} {
		f := approvals(t, header+"removals:\n- "+removal+"\n")
		if len(f.Approvals) != 1 || len(problem.Errors(f.ApprovalProblems)) > 0 {
			t.Errorf("%s: %v", removal, f.ApprovalProblems)
			continue
		}
		a := f.Approvals[0]
		assert.Equal(t, want, [2]bool{a.Approves(gone), a.Approves(there)}, "%s", removal)
		for at, want := range map[string]bool{
			"2026-11-01T00:00:00Z": false, "2026-12-01T23:59:59Z": false, "2026-12-01T23:59:59-02:00": true, "2026-12-02T00:00:00Z": true,
		} {
			now, err := time.Parse(time.RFC3339, at)
			require.NoError(t, err)
			assert.Equal(t, want, a.ExpiredAt(now), "expired at %s", at)
		}
	}
}

// TestApprovalErrors: what is wrong with an approval is reported with its place, stops nothing, and
// approves nothing.
func TestApprovalErrors(t *testing.T) {
	good := header + "removals: [{cluster: a, component: addons/dns, reason: r}]\n"
	for text, want := range map[string]string{
		good: "",
		strings.Replace(good, "reason", "raeson", 1):          "unknown-key fleet/approvals/x.yaml:4:48: key \"raeson\": not known in removals[0]; did you mean \"reason\"?",
		strings.Replace(good, "expires", "expirez", 1):        "unknown-key fleet/approvals/x.yaml:3:1: key \"expirez\": not known in the approval; did you mean \"expires\"?",
		strings.Replace(good, "2026-12-01", "next week", 1):   `invalid-approval fleet/approvals/x.yaml:3:10: key "expires": "next week"; expected a day, such as 2026-12-01`,
		strings.Replace(good, "2026-12-01", "2026-02-30", 1):  `invalid-approval fleet/approvals/x.yaml:3:10: key "expires": "2026-02-30"; expected a day, such as 2026-12-01`,
		strings.Replace(good, "RemovalApproval", "Layout", 1): `invalid-value fleet/approvals/x.yaml:2:7: key "kind": "Layout"; expected "RemovalApproval"`,
		strings.Replace(good, "cluster: a, ", "", 1):          `invalid-approval fleet/approvals/x.yaml:4:12: key "removals[0]": names no cluster; expected cluster, clusters, tenant or environment; "*" is every cluster`,
		strings.Replace(good, "addons/dns", "dns", 1):         `invalid-approval fleet/approvals/x.yaml:4:12: key "removals[0]": component "dns"; expected group/component, group/*, or "*"`,
		strings.Replace(good, "addons/dns", "addons/d*", 1):   `invalid-approval fleet/approvals/x.yaml:4:12: key "removals[0]": component "addons/d*"; expected group/component, group/*, or "*"`,
		header + "removals: []\n":                             `invalid-approval fleet/approvals/x.yaml:4:1: key "removals": missing or empty; expected what may go`,
		header + "removals: {cluster: a}\n":                   `invalid-value fleet/approvals/x.yaml:4:11: key "removals": is a map; expected a list`,
		header + "removals: [{clusters: [[a]], component: '*', reason: r}]\n": "invalid-approval fleet/approvals/x.yaml:4:12: key \"removals[0]\": names no cluster; expected cluster, clusters, tenant or environment; \"*\" is every cluster\n" +
			`invalid-value fleet/approvals/x.yaml:4:24: key "removals[0].clusters[0]": is a list; expected text`,
		"a: [\n": "",
		// Names that the fleet has not are warnings.
		strings.Replace(good, "addons/dns", "adons/dns", 1):                  `invalid-approval fleet/approvals/x.yaml:4:12: group "adons": not in this fleet, so that nothing is approved; did you mean "addons"?`,
		strings.Replace(good, "cluster: a", "hub: hbu, cluster: a", 1):       `invalid-approval fleet/approvals/x.yaml:4:12: hub "hbu": not in this fleet, so that nothing is approved; did you mean "hub"?`,
		strings.Replace(good, "cluster: a", "tenant: x", 1):                  `invalid-approval fleet/approvals/x.yaml:4:12: tenant "x": not in this fleet, so that nothing is approved; did you mean "t"?`,
		strings.Replace(good, "cluster: a", "environment: e, cluster: a", 1): "",
	} {
		f := approvals(t, text)
		if got := texts(f.ApprovalProblems); got != want && text != "a: [\n" {
			t.Errorf("%s\n%s\nwant\n%s", text, got, want)
		}
		if len(problem.Errors(f.Problems)) > 0 || f.Member("hub", "c") == nil {
			t.Errorf("%s: an approval is a problem of the fleet: %v", text, f.Problems)
		}
		if broken := len(problem.Errors(f.ApprovalProblems)) > 0; broken == (len(f.Approvals) == 1) || text == "a: [\n" && !broken {
			t.Errorf("%s: %d approvals, %v", text, len(f.Approvals), f.ApprovalProblems)
		}
	}
}
