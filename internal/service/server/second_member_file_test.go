package server_test

import (
	"net/http"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestSecondMemberFileIsRefused: where the paths of member files name the tenant, the commit of a
// tenant with a second file of another tenant's cluster is refused, whichever file comes first, and
// all responses stay as they were. (W1)
func TestSecondMemberFileIsRefused(t *testing.T) {
	files := fleettest.TwoHubs().With(fleettest.Tree{
		"fleet/layout.yaml": "apiVersion: argosy.dev/v1alpha1\nkind: Layout\nmembers: fleet/members/{{ .tenant }}/{{ .hub }}/{{ .cluster }}.yaml\n" +
			"hubs: {hub-1: {tenant: p, environment: prod}, hub-2: {tenant: p, environment: prod}}\n",
		"fleet/members/blue/hub-1/a.yaml": "{clusterName: a, tenant: blue, environment: prod, secretManagerSecretName: blue/a}\n",
		dnsValues + ".gotmpl":             "of: {{ .tenant }}\n",
	})
	for _, tenant := range []string{"acme", "red"} {
		for _, more := range []string{"", ", lifecycle: draining", ", lifecycle: retired, deletion: cascade"} {
			s := start(t)
			good := s.say(files)
			const components = `{"view":"components","group":"addons"}`
			before, members := s.sets(components), s.ask(`{"view":"members"}`).body
			s.say(files.With(fleettest.Tree{
				"fleet/members/" + tenant + "/hub-1/a.yaml": "{clusterName: a, tenant: " + tenant + ", environment: prod, secretManagerSecretName: x" + more + "}\n",
			}))
			if st := s.Refresher().Status(); st.Revision != good.Revision || st.Refused == nil {
				t.Errorf("%s%s: serves %s", tenant, more, st.Revision)
			}
			if diff := gocmp.Diff(before, s.sets(components)); diff != "" || before["dns-a"] == nil {
				t.Errorf("%s%s: %s", tenant, more, diff)
			}
			if got := s.ask(`{"view":"members"}`).body; got != members {
				t.Errorf("%s%s: %s", tenant, more, got)
			}
			if r := s.get("/api/v1/fleet"); r.code != http.StatusOK {
				t.Errorf("%s%s: %d %s", tenant, more, r.code, r.body)
			}
		}
	}
}
