package server_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const (
	// emptied is a tenant's folder with two members of the example's hub, and bumped another one's
	// file.
	emptied = "addons/tenants/analytics/"
	bumped  = "addons/tenants/retail/defaults/addons/ingress-nginx/values.yaml"
	// losses is why the first is held.
	losses = `2 of the 2 members of tenant "analytics" would lose something; 1 may without approval`
)

// setsOf are the parameter sets of all ApplicationSets about members of a tenant, by the tenant.
// Every ApplicationSet has to be answered.
func (a *smallArgoCD) setsOf(tenants ...string) map[string]map[string]map[string]any {
	a.Helper()
	out := map[string]map[string]map[string]any{}
	for _, tenant := range tenants {
		out[tenant] = map[string]map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(a.sets)) {
		r := a.askAs(name, a.sets[name])
		if r.code != http.StatusOK {
			a.Errorf("%s: %d %s", name, r.code, r.body)
			continue
		}
		for id, set := range setsIn(a.TB, r.body) {
			cluster, _ := set["name"].(string)
			tenant, _, _ := strings.Cut(cluster, "-")
			if out[tenant] != nil {
				out[tenant][name+" "+id] = set
			}
		}
	}
	return out
}

// withoutFlags is a value without what tells that a set is a last good one, at any depth: the set
// of an agent contains those of its components.
func withoutFlags(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range unflagged(value) {
			out[k] = withoutFlags(v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = withoutFlags(v)
		}
		return out
	}
	return value
}

// emptyOne is the example fleet with one tenant's folder emptied and another tenant's values
// changed.
func emptyOne(t testing.TB, value string) map[string]string {
	t.Helper()
	files := exampleFleet(t)
	maps.DeleteFunc(files, func(path, _ string) bool { return strings.HasPrefix(path, emptied) })
	files[bumped] = "bumped: " + value + "\n"
	return files
}

// expectHeld checks that the first tenant's sets are those of before, byte for byte but for the
// flag, and that the second one has the new value.
func (a *smallArgoCD) expectHeld(before map[string]map[string]map[string]any, value string) {
	a.Helper()
	after := a.setsOf("analytics", "retail")
	if len(after["analytics"]) == 0 || len(after["analytics"]) != len(before["analytics"]) {
		a.Errorf("%d sets of the held tenant, then %d", len(before["analytics"]), len(after["analytics"]))
	}
	for id, set := range after["analytics"] {
		assert.Equal(a, "removal", set["hold"], "%s: hold", id)
		assert.Equal(a, withoutFlags(before["analytics"][id]), withoutFlags(set), "%s has changed", id)
	}
	n := 0
	for id, set := range after["retail"] {
		if _, flagged := set["hold"]; flagged {
			a.Errorf("%s is flagged", id)
		}
		if values, _ := set["helmValues"].(string); strings.Contains(values, "bumped: "+value+"\n") {
			n++
		}
	}
	if n == 0 {
		a.Errorf("no set of the other tenant has the value %q", value)
	}
	_, ready := a.readiness()
	if len(ready.Quarantined) != 2 || len(ready.RefusedRemovals) != 0 {
		a.Fatalf("quarantined %+v, refused %+v", ready.Quarantined, ready.RefusedRemovals)
	}
	if l := a.listHolds("reason=removal&tenant=analytics"); len(l.Items) != 2 || l.Items[0].Revision == "" {
		a.Errorf("held: %+v", l.Items)
	}
	for _, q := range ready.Quarantined {
		if !strings.HasPrefix(q.Member, "analytics-") || q.Reason != "removal-refused" || q.Standing != "kept" || !strings.Contains(q.Problem, losses) {
			a.Errorf("%+v", q)
		}
	}
}

// TestRefusedTenantKeepsItsSetsWhileOthersGoOn: a commit that empties one tenant's folder and
// changes another one's values removes nothing of the first and gives the second its change, before
// and after a restart, until an approval. (G11)
func TestRefusedTenantKeepsItsSetsWhileOthersGoOn(t *testing.T) {
	t.Parallel()
	for world, known := range map[string]bool{"last responses": false, "Applications": true} {
		t.Run(world, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			keep := func(o *server.Options) {
				o.Store = folderStore(t, dir)
				o.Now = func() time.Time { return today }
			}
			a := newSmallArgoCD(t, known, keep)
			running := maps.Clone(a.apps)
			before := a.setsOf("analytics", "retail")

			a.say(emptyOne(t, "one"))
			a.reconcile()
			a.expectHeld(before, "one")
			// The next commit, too.
			a.say(emptyOne(t, "two"))
			a.reconcile()
			a.expectHeld(before, "two")
			explained := a.get("/api/v1/explain?cluster=analytics-dev-eu-1&component=addons/aws-efs-csi-driver")
			if good := before["analytics"]["members fleet-secret-analytics-dev-eu-1"]["revision"]; good == nil || !strings.Contains(explained.body, good.(string)) {
				t.Errorf("%v is not the revision of %s", good, explained.body)
			}

			require.NoError(t, a.Stop(t.Context()))
			a.service = start(t, keep, func(o *server.Options) {
				if o.Hub = exampleHub; known {
					a.known.running = make(chan struct{})
					o.Facts = a.known
				}
			})
			files := emptyOne(t, "three")
			a.say(files)
			a.reconcile()
			a.expectHeld(before, "three")
			a.losesNothing(running, "")

			files[approval] = approvalOf("- {tenant: analytics, component: \"*\", reason: r}")
			a.say(files)
			files["README.md"] = "a pattern counts from the next commit on\n"
			a.say(files)
			for range 3 {
				a.reconcile()
			}
			lost := a.lost(running)
			if len(lost) == 0 || slices.ContainsFunc(lost, func(app string) bool { return !strings.Contains(app, "-analytics-") }) {
				t.Errorf("approved: lost %q", lost)
			}
			if _, ready := a.readiness(); len(ready.Quarantined)+len(ready.RefusedRemovals) > 0 {
				t.Errorf("approved: %+v %+v", ready.Quarantined, ready.RefusedRemovals)
			}
		})
	}
}

// TestHeldTenantGoesOnWithItsFilesBack: what a commit brings back is served again, with the other
// changes since. (G11)
func TestHeldTenantGoesOnWithItsFilesBack(t *testing.T) {
	t.Parallel()
	a := newSmallArgoCD(t, false)
	running, before := maps.Clone(a.apps), a.setsOf("analytics", "retail")
	a.say(emptyOne(t, "one"))
	a.reconcile()
	a.expectHeld(before, "one")
	next := a.say(exampleFleet(t))
	a.reconcile()
	for id, set := range a.setsOf("analytics")["analytics"] {
		if diff := cmp.Diff(withoutFlags(before["analytics"][id]), withoutFlags(set)); diff != "" || set["hold"] != nil {
			t.Errorf("%s is not as it was: %s", id, diff)
		}
	}
	a.until("nobody is held", func(st refresh.Status) bool { return st.Revision == next.Revision && len(st.Quarantined) == 0 })
	a.losesNothing(running, "")
}

// TestFleetWideLossHoldsNobody: a loss that the platform's files cause for all tenants is held
// alone, as if there were no tenants; one that was held before stays. (G10, G11)
func TestFleetWideLossHoldsNobody(t *testing.T) {
	t.Parallel()
	const platforms = "addons/defaults/application-sets/addons.yaml"
	for name, first := range map[string]bool{"at once": false, "after a tenant's": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newSmallArgoCD(t, false)
			running := maps.Clone(a.apps)
			files := exampleFleet(t)
			if first {
				files = emptyOne(t, "one")
				a.say(files)
				a.reconcile()
			}
			files[platforms] = "# nothing\n"
			a.say(files)
			a.reconcile()
			_, ready := a.readiness()
			held := slices.ContainsFunc(ready.Quarantined, func(q refresh.Quarantined) bool { return q.Reason == "removal-refused" })
			if held != first || len(ready.RefusedRemovals) == 0 {
				t.Errorf("quarantined %+v, refused %d", ready.Quarantined, len(ready.RefusedRemovals))
			}
			a.setsOf() // all are given
			a.losesNothing(running, "")
			// Back to the tenant's loss alone, the tenant is held from before both.
			a.say(emptyOne(t, "two"))
			a.reconcile()
			a.losesNothing(running, "")
		})
	}
}

// TestDeletedMemberOfATenantIsNotHeld: a member whose file is gone has no files to be served from
// with its tenant; what it has is held by itself. (G3, G11)
func TestDeletedMemberOfATenantIsNotHeld(t *testing.T) {
	t.Parallel()
	a := newSmallArgoCD(t, false)
	running := maps.Clone(a.apps)
	files := emptyOne(t, "one")
	delete(files, "fleet/fleet-members/hub-eu/analytics-dev-eu-1.yaml")
	a.say(files)
	a.reconcile()
	a.losesNothing(running, "")
	a.setsOf() // all are given
	_, ready := a.readiness()
	if len(ready.Quarantined) != 1 || ready.Quarantined[0].Member != "analytics-prod-eu-1" || len(ready.RefusedRemovals) == 0 {
		t.Errorf("quarantined %+v, refused %+v", ready.Quarantined, ready.RefusedRemovals)
	}
}

// TestTenantsOwnDoingDoesNotCountForTheHub: a tenant that lets labels deselect what its members run
// is held as one that deletes files, and what another tenant may remove in the same commit goes on,
// although both together are beyond the hub's budget. (G10, G11)
func TestTenantsOwnDoingDoesNotCountForTheHub(t *testing.T) {
	t.Parallel()
	a := newSmallArgoCD(t, false)
	running := maps.Clone(a.apps)
	files := exampleFleet(t)
	const labels = "addons/tenants/retail/defaults/fleet/fleet-secret/values.yaml"
	files[labels] = strings.Replace(files[labels], `enable_ingress_nginx: "true"`, `enable_ingress_nginx: "false"`, 1)
	files["addons/tenants/payments/clusters/payments-dev-eu-1/application-sets/addons.yaml"] = "components: {cert-manager: {enabled: false}}\n"
	a.say(files)
	for range 2 {
		a.reconcile()
	}
	if lost := a.lost(running); !slices.Equal(lost, []string{"cert-manager-payments-dev-eu-1"}) {
		t.Errorf("lost %q", lost)
	}
	_, ready := a.readiness()
	if len(ready.Quarantined) != 4 || len(ready.RefusedRemovals) != 0 {
		t.Errorf("quarantined %+v, refused %+v", ready.Quarantined, ready.RefusedRemovals)
	}
	for _, q := range ready.Quarantined {
		if !strings.HasPrefix(q.Member, "retail-") || q.Reason != "removal-refused" {
			t.Errorf("%+v", q)
		}
	}
}

// TestTenantIsHeldWhileThePlatformIsBroken: a tenant that removes something while a file of the
// platform cannot be read, which its members would read without that, is held alone, before and
// after the platform fixes its file. (G11, K9)
func TestTenantIsHeldWhileThePlatformIsBroken(t *testing.T) {
	t.Parallel()
	const (
		labels    = "addons/tenants/retail/defaults/fleet/fleet-secret/values.yaml"
		platforms = "addons/defaults/addons/ingress-nginx/values.yaml"
		others    = "addons/tenants/payments/defaults/addons/cert-manager/values.yaml"
	)
	for world, known := range map[string]bool{"last responses": false, "Applications": true} {
		t.Run(world, func(t *testing.T) {
			t.Parallel()
			a := newSmallArgoCD(t, known, atToday)
			running := maps.Clone(a.apps)
			files := exampleFleet(t)
			good := files[platforms]
			files[platforms] = "a: [\n"
			a.say(files)
			a.reconcile()
			files[labels] = strings.Replace(files[labels], `enable_ingress_nginx: "true"`, `enable_ingress_nginx: "false"`, 1)
			a.say(files)
			a.reconcile()
			for _, value := range []string{"one", "two"} {
				files[platforms], files[others] = good, "bumped: "+value+"\n"
				a.say(files)
				a.reconcile()
				_, ready := a.readiness()
				if len(ready.Quarantined) != 4 || len(ready.RefusedRemovals) != 0 {
					t.Errorf("quarantined %+v, refused %+v", ready.Quarantined, ready.RefusedRemovals)
				}
			}
			if lost := a.lost(running); len(lost) > 0 {
				t.Errorf("lost %q", lost)
			}
		})
	}
}
