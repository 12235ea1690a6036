package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/server"
)

// TestTenantsValuesRefuseNobodysResponse: values of tenants, each within its budget, that together
// pass the size of a response hold the tenant that grows most, at its last known good values. All
// others have their changes, before and after a restart. So has that tenant when its values are
// small again; and a change of the platform's files holds nobody. (W2, G11)
func TestTenantsValuesRefuseNobodysResponse(t *testing.T) {
	t.Parallel()
	const limit, parameters = 64 << 10, `{"view":"components","group":"addons","component":"dns"}`
	files := func(blue, green int, step string, more ...string) map[string]string {
		out := map[string]string{
			"addons/tenants/blue/defaults/addons/dns/values.yaml":  "text: " + strings.Repeat("b", blue) + "\n",
			"addons/tenants/green/defaults/addons/dns/values.yaml": "text: " + strings.Repeat("g", green) + "\n",
			"addons/tenants/red/defaults/addons/dns/values.yaml":   "step: " + step + "\n",
		}
		for i := 0; i+1 < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		for _, tenant := range []string{"blue", "green", "red"} {
			out["fleet/fleet-members/hub-1/"+tenant+".yaml"] = fmt.Sprintf("clusterName: %[1]s\ntenant: %[1]s\nenvironment: prod\nsecretManagerSecretName: hub-1/%[1]s\n", tenant)
		}
		return repository(out)
	}
	dir := t.TempDir()
	limited := func(o *server.Options) {
		o.MaxResponseBytes = limit
		o.Store = folderStore(t, dir)
	}
	s := start(t, limited)
	expect := func(blue, green int, held, step string) {
		t.Helper()
		r := s.ask(parameters)
		if r.code != http.StatusOK {
			t.Fatalf("%d %.300s", r.code, r.body)
		}
		got := map[string]string{}
		for _, set := range setsIn(t, r.body) {
			name, _ := set["name"].(string)
			values, _ := set["helmValues"].(string)
			if _, own, found := strings.Cut(values, "step: "); found {
				got[name], _, _ = strings.Cut(own, "\n")
			} else {
				got[name] = fmt.Sprint(strings.Count(values, "b"), " ", strings.Count(values, "g"))
			}
			if set["quarantine"] != nil {
				got["held"] += name
			}
		}
		for name, is := range map[string]string{"blue": fmt.Sprint(blue, " 0"), "green": fmt.Sprint("0 ", green), "red": step, "held": held} {
			if got[name] != is {
				t.Errorf("%s: %q; expected %q", name, got[name], is)
			}
		}
		if _, ready := s.readiness(); held != "" && (len(ready.Quarantined) != 1 || ready.Quarantined[0].Reason != "tenant-budget" || ready.Quarantined[0].Standing != "kept") {
			t.Errorf("quarantined: %+v", ready.Quarantined)
		}
	}
	s.say(files(20_000, 5_000, "one"))
	expect(20_000, 5_000, "", "one")
	s.say(files(21_000, 45_000, "two"))
	expect(21_000, 5_000, "green", "two")
	s.say(files(22_000, 45_000, "three"))
	expect(22_000, 5_000, "green", "three")

	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = start(t, limited)
	s.say(files(22_000, 45_000, "four"))
	expect(22_000, 5_000, "green", "four")

	s.say(files(22_000, 20_000, "five"))
	expect(22_000, 20_000, "", "five")
	s.say(files(22_000, 20_000, "five", "addons/defaults/addons/dns/values.yaml", "replicas: 2\npad: "+strings.Repeat("p", 2_500)+"\n"))
	expect(22_000, 20_000, "", "five")
}
