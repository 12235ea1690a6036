package expand_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
)

// changes are real changes to this repository's fleet, and what each renders at most of some 150
// Applications.
func changes(t *testing.T) map[string]edit {
	t.Helper()
	return map[string]edit{
		"nothing": func(map[string]string) {},
		"tenant override": func(f map[string]string) {
			f["addons/tenants/retail/defaults/addons/external-dns/values.yaml"] += "\nlogLevel: debug\n"
		},
		"new member": func(f map[string]string) {
			f["fleet/fleet-members/hub-eu/retail-dev-eu-9.yaml"] = strings.ReplaceAll(f["fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml"], "retail-dev-eu-1", "retail-dev-eu-9")
		},
		"retired member": func(f map[string]string) {
			f["fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml"] += "lifecycle: retired\n"
		},
		"deleted member":     func(f map[string]string) { delete(f, "fleet/fleet-members/hub-eu/retail-dev-eu-1.yaml") },
		"release bump":       replace(t, "versions/applicationSets.yaml", "  addons:\n    - type: default\n", "  addons:\n    - type: default\n      chartRepoRevision: v2\n"),
		"label change":       replace(t, "fleet/fleet-members/hub-eu/payments-dev-eu-1.yaml", "labels:\n", "labels:\n  addonsRelease: canary\n"),
		"root template":      replace(t, "fleet/bootstrap/hub-eu/addons.yaml", "      project: platform", "      project: default"),
		"root generator":     replace(t, "fleet/bootstrap/hub-eu/addons.yaml", "requeueAfterSeconds: 600", "requeueAfterSeconds: 60"),
		"chart's template":   replace(t, "charts/application-sets/templates/applicationsets.yaml", "      project: {{ $entry.project | toYaml }}", "      project: {{ $entry.project | toYaml }}\n      info: [{name: changed, value: here}]"),
		"catalog":            replace(t, "charts/application-sets/catalogs/addons.yaml", "components:", "defaults: {syncPolicy: {automated: {selfHeal: false}}}\ncomponents:"),
		"registration chart": replace(t, "charts/fleet-secret/templates/cluster-secret.yaml", "metadata:", "metadata:\n  annotations: {example.com/changed: \"true\"}"),
		"leaf chart": func(f map[string]string) {
			f["charts/storage-classes/templates/more.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"
		},
		"agent chart": replace(t, "charts/agent-bootstrap/values.yaml", "requeueAfterSeconds:", "requeueAfterSeconds: 60 #"),
		"moved root": func(f map[string]string) {
			f["fleet/bootstrap/hub-eu/plus.yaml"] = f["fleet/bootstrap/hub-eu/addons.yaml"]
			delete(f, "fleet/bootstrap/hub-eu/addons.yaml")
		},
		"deleted root": func(f map[string]string) { delete(f, "fleet/bootstrap/hub-eu/monitoring.yaml") },
		"becomes an agent": func(f map[string]string) {
			f["fleet/fleet-members/hub-eu/retail-prod-eu-2.yaml"] += "use_remote_argo: true\nenable_remote_addons: true\n"
		},
		"reads its revision": replace(t, "fleet/bootstrap/hub-eu/addons.yaml", "        argosy.dev/group: addons\n", "        argosy.dev/group: addons\n        rev: 'r-{{ .revision | trunc 8 | replace \":\" \"-\" }}'\n"),
		"component elsewhere": func(f map[string]string) {
			f["addons/tenants/payments/clusters/payments-prod-eu-1/application-sets/addons.yaml"] = "components:\n  external-dns: {enabled: false}\n"
		},
	}
}

// everything is all that a revision comes to.
func everything(t *testing.T, h *expand.Hub) map[object.Key]*object.Object {
	t.Helper()
	out := map[object.Key]*object.Object{}
	h.Walk(true, func(o *object.Object) bool {
		out[o.Key()] = o
		return true
	})
	return out
}

// brute is what differs between everything and everything. What a chart makes goes and comes with
// its Application.
func brute(b, a map[object.Key]*object.Object) map[object.Key]string {
	out := map[object.Key]string{}
	single := func(o *object.Object, other map[object.Key]*object.Object, what string) {
		leaf := o.Parent != nil && o.Parent.Application() && !o.Application() && !o.ApplicationSet() && o.Kind() != "OCIRepository"
		if other[o.Key()] == nil && (!leaf || other[o.Parent.Key()] != nil) {
			out[o.Key()] = what
		}
	}
	for k, o := range b {
		single(o, a, gone)
		if x := a[k]; x != nil && x.Digest() != o.Digest() {
			out[k] = changed
		}
	}
	for _, o := range a {
		single(o, b, come)
	}
	return out
}

// answered reports whether a state still has an Application of that name, or a release's.
func answered(st *fleetstate.State, o *object.Object) bool {
	return slices.ContainsFunc(inventory.Of(st), func(inv inventory.Inventory) bool {
		return slices.ContainsFunc(inventoried(inv), func(a inventory.Application) bool { return a.Name == o.Name() })
	})
}

// What becomes of an object.
const (
	gone    = "gone"
	come    = "come"
	changed = "changed"
)

// same are the changes that only move text.
var same = []string{"nothing", "moved root"}

// Compare finds what a comparison of everything finds, nothing else, and each once (rule 5).
func TestCompareFindsAll(t *testing.T) {
	base, cache := commit(t, nil), &rendercache.Cache{}
	st := state(t, nil, base)
	for _, hub := range hubs[:min(len(hubs), cases.Times(1))] { // the second one is of the same kind
		before := everything(t, revision(t, st, base, hub, cache))
		for name, change := range changes(t) {
			t.Run(hub+"/"+name, func(t *testing.T) {
				head := commit(t, change)
				next := state(t, st, head)
				got, left := map[object.Key]string{}, map[object.Key]bool{}
				for p := range expand.Compare(revision(t, st, base, hub, cache), revision(t, next, head, hub, cache)) {
					what := changed
					switch {
					case p.Implied: // it comes or goes with its Application
						if !p.Any().OfExternalSecrets() {
							t.Errorf("%s is visited though it comes or goes with its Application", p.Any().Key())
						}
						continue
					case p.Left:
						what, left[p.Any().Key()] = gone, true
					case p.Before == nil:
						what = come
					case p.After == nil:
						what = gone
					}
					if _, twice := got[p.Any().Key()]; twice {
						t.Errorf("%s is visited twice", p.Any().Key())
					}
					got[p.Any().Key()] = what
				}
				want := brute(before, everything(t, revision(t, next, head, hub, cache)))
				for k, o := range before { // what is left goes on making what the engine answers
					for above := o.Parent; above != nil; above = above.Parent {
						if left[above.Key()] && (o.ApplicationSet() || answered(next, o)) {
							delete(want, k)
						}
					}
				}
				assert.Equal(t, want, got, "(-everything +Compare)")
				if hub == "hub-eu" && (len(want) == 0) != slices.Contains(same, name) {
					t.Errorf("%d objects differ", len(want))
				}
			})
		}
	}
}

// A change of one file renders what it concerns, and not the fleet (rule 5).
func TestCompareIsLazy(t *testing.T) {
	base := commit(t, nil)
	st := state(t, nil, base)
	whole := &rendercache.Cache{}
	revision(t, st, base, "hub-eu", whole).All(false)
	all, _ := whole.Counts()
	head := commit(t, changes(t)["tenant override"])
	cache, sets := &rendercache.Cache{}, map[string]int{}
	counted := func(st *fleetstate.State, s *snapshot.Snapshot) *expand.Hub {
		with := tools()
		with.ApplicationSets = countedSets{with.ApplicationSets, sets}
		return expand.New(expand.Options{State: st, Snapshot: s, Hub: "hub-eu", Tools: with, Cache: cache, At: func(string) (*snapshot.Snapshot, error) { return base, nil }})
	}
	found := map[string]bool{}
	for p := range expand.Compare(counted(st, base), counted(state(t, st, head), head)) {
		found[p.Any().Name()] = true
	}
	want := []string{"external-dns-retail-dev-eu-1", "external-dns-retail-prod-eu-1", "external-dns-retail-prod-eu-2", "external-dns-retail-staging-eu-1"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("differ: %v, want %v", got, want)
	}
	applications, charts := cache.Counts()
	t.Logf("rendered %d Applications and %d charts; all of it is %d", applications, charts, all)
	if applications > all/4 {
		t.Errorf("rendered %d of %d Applications for a change of %d", applications, all, len(want))
	}
	if made := sets["addons-default-external-dns"] + sets["addons-canary-external-dns"]; made != 2*len(want) {
		t.Errorf("made %d parameter sets for a change of %d", made, len(want))
	}
}

// countedSets counts parameter sets, by their ApplicationSets.
type countedSets struct {
	expand.ApplicationSets
	made map[string]int
}

func (c countedSets) Parameters(set manifest.Tree, in expand.Inputs) ([]expand.Parameters, error) {
	out, err := c.ApplicationSets.Parameters(set, in)
	c.made[manifest.Text(set, "metadata", "name")] += len(out)
	return out, err
}

// A generator that fails for one parameter set makes nothing of the others, also where another one
// alone differs (rule 4).
func TestCompareFindsFailingGenerators(t *testing.T) {
	failing := replace(t, "fleet/bootstrap/hub-us/members.yaml", "    - plugin:\n", "    - plugin:\n        values: {x: '{{ if eq .name \"retail-prod-us-1\" }}{{ .none }}{{ end }}'}\n")
	base := commit(t, failing)
	head := commit(t, func(f map[string]string) {
		failing(f)
		replace(t, "fleet/fleet-members/hub-us/payments-prod-us-1.yaml", "labels:\n", "labels:\n  more: label\n")(f)
	})
	st := state(t, nil, base)
	before, after := revision(t, st, base, "hub-us", nil), revision(t, state(t, st, head), head, "hub-us", nil)
	for p := range expand.Compare(before, after) {
		if o := p.Any(); o.Parent != nil && o.Parent.Name() == "members" {
			t.Errorf("%s differs", o.Key())
		}
	}
	for _, h := range []*expand.Hub{before, after} {
		if got := strings.Join(texts(h.Problems()), "\n"); !strings.Contains(got, `ApplicationSet "members"`) || !strings.Contains(got, "value x") {
			t.Errorf("problems: %s", got)
		}
	}
}
