package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
			if set["hold"] != nil {
				got["held"] += name
			}
		}
		for name, is := range map[string]string{"blue": fmt.Sprint(blue, " 0"), "green": fmt.Sprint("0 ", green), "red": step, "held": held} {
			assert.Equal(t, is, got[name], "%s", name)
		}
		if _, ready := s.readiness(); held != "" && (len(ready.Quarantined) != 1 || ready.Quarantined[0].Reason != "tenant-budget" || ready.Quarantined[0].Standing != "kept") {
			t.Errorf("quarantined: %+v", ready.Quarantined)
		}
		if all := s.listHolds("").Items; held != "" && (len(all) != 1 || all[0].Reason != hold.Limits || all[0].Cluster != held) || held == "" && len(all) > 0 {
			t.Errorf("held: %+v", all)
		}
	}
	s.say(files(20_000, 5_000, "one"))
	expect(20_000, 5_000, "", "one")
	s.say(files(21_000, 45_000, "two"))
	expect(21_000, 5_000, "green", "two")
	s.say(files(22_000, 45_000, "three"))
	expect(22_000, 5_000, "green", "three")

	require.NoError(t, s.Stop(t.Context()))
	s = start(t, limited)
	s.say(files(22_000, 45_000, "four"))
	s.answered("try", askAddons)
	expect(22_000, 5_000, "green", "four")

	s.say(files(22_000, 20_000, "five"))
	expect(22_000, 20_000, "", "five")
	s.say(files(22_000, 20_000, "five", "addons/defaults/addons/dns/values.yaml", "replicas: 2\npad: "+strings.Repeat("p", 2_500)+"\n"))
	expect(22_000, 20_000, "", "five")
}

// TestTenantsInputsRefuseNobodys: the same holds for the inputs of Flux Operator, with its limits
// of bytes and of inputs, which its queries tell. A tenant beyond them is held; the provider gets
// the inputs of all tenants, none is missing. (W2, G11)
func TestTenantsInputsRefuseNobodys(t *testing.T) {
	t.Parallel()
	const members = 20
	for name, c := range map[string]struct {
		limit int
		heavy map[string]string
	}{
		"bytes": {100, map[string]string{"addons/tenants/green/defaults/addons/dns/values.yaml": "text: " + strings.Repeat("g", 60_000) + "\n"}},
		"inputs": {3*members + 5, map[string]string{
			"addons/tenants/green/defaults/application-sets/addons.yaml": "own: {enabled: true, chart: {repoURL: https://charts.example, name: own, version: 1.0.0}}\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := func(step string, more map[string]string) map[string]string {
				out := map[string]string{}
				for _, tenant := range []string{"blue", "green", "red"} {
					out["addons/tenants/"+tenant+"/defaults/addons/dns/values.yaml"] = "of: " + tenant + "\n"
					for i := range members {
						name := fmt.Sprintf("%s-%d", tenant, i)
						out["fleet/fleet-members/hub-1/"+name+".yaml"] = fmt.Sprintf("clusterName: %s\ntenant: %s\nenvironment: prod\nsecretManagerSecretName: hub-1/%s\n", name, tenant, name)
					}
				}
				out["addons/tenants/red/defaults/addons/dns/values.yaml"] = "step: " + step + "\n"
				maps.Copy(out, more)
				return repository(out)
			}
			dir := t.TempDir()
			keep := func(o *server.Options) { o.Store = folderStore(t, dir) }
			s := start(t, keep)
			asked := provider{query: fmt.Sprintf("view=components&group=addons&hub=hub-1&limit=%d", c.limit), limit: c.limit}
			var before map[string]map[string]any
			expect := func(step string, held bool) {
				t.Helper()
				got := s.inputs(asked)
				if before == nil {
					before = got
				}
				for id, was := range before {
					now, tenant := got[id], fmt.Sprint(was["tenant"])
					if now == nil {
						t.Fatalf("%s is missing", id)
					}
					values := fmt.Sprint(now["helmValues"])
					switch {
					case tenant == "red" && was["component"] == "dns" && !strings.Contains(values, "step: "+step+"\n"):
						t.Errorf("%s: %.200s; expected step %s", id, values, step)
					case tenant == "green" && held && (now["hold"] != "limits" || values != fmt.Sprint(was["helmValues"])):
						t.Errorf("%s: %v %.200s", id, now["hold"], values)
					case (tenant != "green" || !held) && now["hold"] != nil:
						t.Errorf("%s is held: %v", id, now["hold"])
					}
				}
				if n := len(got); held && n != len(before) {
					t.Errorf("%d inputs, before %d", n, len(before))
				}
				if _, ready := s.readiness(); held != (len(ready.Quarantined) == members) {
					t.Errorf("%d members are quarantined", len(ready.Quarantined))
				}
			}
			s.say(files("one", nil))
			expect("one", false)
			s.say(files("two", c.heavy))
			expect("two", true)
			s.say(files("three", c.heavy))
			expect("three", true)
			require.NoError(t, s.Stop(t.Context()))
			s = start(t, keep)
			s.say(files("four", c.heavy))
			expect("four", true)
			s.say(files("five", nil))
			expect("five", false)

			require.NoError(t, s.Stop(t.Context()))
			s = start(t, keep) // a restart, and the first commit comes before any query
			s.say(files("six", c.heavy))
			expect("six", true)
		})
	}
}

// TestRefusedInputsNameTheTenant: where nothing was known of a query when a tenant's values grew,
// its response is refused, as a part of it would remove the rest; the refusal says who takes most.
func TestRefusedInputsNameTheTenant(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"fleet/fleet-members/hub-1/a.yaml":                     "clusterName: a\ntenant: blue\nenvironment: prod\nsecretManagerSecretName: hub-1/a\n",
		"fleet/fleet-members/hub-1/b.yaml":                     "clusterName: b\ntenant: green\nenvironment: prod\nsecretManagerSecretName: hub-1/b\n",
		"addons/tenants/green/defaults/addons/dns/values.yaml": "text: " + strings.Repeat("g", 920<<10) + "\n",
		"addons/tenants/blue/defaults/addons/dns/values.yaml":  "of: blue\n",
	}
	s := start(t)
	s.say(repository(files))
	r := s.get(inputs + "?view=components&group=addons&hub=hub-1&component=dns")
	if r.code != http.StatusServiceUnavailable || !strings.Contains(r.body, `the limit is 921600 (Flux Operator's)`) || !strings.Contains(s.log.String(), `tenant \"green\" has 94`) {
		t.Errorf("%d %s\n%s", r.code, r.body, s.log)
	}
	s.get(inputs+"?view=components&group=addons&hub=hub-1&component=dns&limit=1").is(t, http.StatusServiceUnavailable, "", "the limit is 1")
}
