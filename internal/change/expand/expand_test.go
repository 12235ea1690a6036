package expand_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// inventoried are a hub's Applications.
func inventoried(inv inventory.Inventory) (out []inventory.Application) {
	for _, name := range inv.Names() {
		out = append(out, inv.Applications(name)...)
	}
	return out
}

// What the engine says is to run is what comes out at the end of the pipeline, each Application
// once, under the same name, for the same cluster, by the same engine, of the same chart (rule 1).
// Flux's HelmReleases included.
func TestExpansionIsWhatTheEngineSays(t *testing.T) {
	base := commit(t, nil)
	st := state(t, nil, base)
	type run struct{ Engine, Cluster, Chart, Version string }
	for _, inv := range inventory.Of(st) {
		t.Run(inv.Hub, func(t *testing.T) {
			want := map[string]run{}
			for _, a := range inventoried(inv) {
				if a.View == query.Components {
					chart := a.Chart.Name
					if chart == "" {
						chart = a.Chart.Path
					}
					want[a.Name] = run{a.Owner, a.Cluster, chart, a.Chart.Version}
				}
			}
			h := revision(t, st, base, inv.Hub, nil)
			got := map[string]run{}
			h.Walk(false, func(o *object.Object) bool {
				switch {
				case o.Application() && o.Label("argosy.dev/component") != "":
					chart, version := path(o, "spec", "source", "chart"), path(o, "spec", "source", "targetRevision")
					if chart == "" {
						chart = path(o, "spec", "source", "path")
					}
					got[o.Name()] = run{o.Engine, path(o, "spec", "destination", "name"), chart, version}
				case o.Kind() == "HelmRelease" && o.Label("argosy.dev/component") != "":
					got[o.Name()] = run{o.Engine, o.Label("argosy.dev/cluster"), want[o.Name()].Chart, want[o.Name()].Version}
				}
				return true
			})
			assert.Equal(t, want, got, "(-engine +expansion)")
			noProblems(t, h)
		})
	}
}

func path(o *object.Object, keys ...string) string {
	var v any = o.Tree
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

// A component's Application has what the ApplicationSet's chart says and the engine does not:
// project, labels, sync policy. Each object knows where it came from (rule 2).
func TestOrigins(t *testing.T) {
	base := commit(t, nil)
	h := revision(t, state(t, nil, base), base, "hub-eu", nil)
	var found *object.Object
	h.Walk(false, func(o *object.Object) bool {
		if o.Name() == "external-dns-retail-prod-eu-1" {
			found = o
		}
		return found == nil
	})
	if found == nil {
		t.Fatal("no such Application")
	}
	var chain []string
	for o := found; o != nil; o = o.Parent {
		chain = append(chain, o.Engine+" "+o.Key().String()+" "+o.Pos.String())
	}
	want := []string{
		"hub Application external-dns-retail-prod-eu-1 charts/application-sets/templates/applicationsets.yaml",
		"hub ApplicationSet addons-default-external-dns charts/application-sets/templates/applicationsets.yaml",
		"hub Application application-sets-addons-default fleet/bootstrap/hub-eu/addons.yaml:2:1",
		"hub ApplicationSet addons fleet/bootstrap/hub-eu/addons.yaml:2:1",
		"hub Application fleet-bootstrap fleet/bootstrap/hub-eu.yaml:3:1",
	}
	assert.Equal(t, want, chain, "origins")
	if got := path(found.Parent, "spec", "templatePatch"); !strings.HasSuffix(got, "{{- end }}\n") {
		t.Errorf("templatePatch %q, want it to end as Helm writes it: in a line break", got)
	}
	if got := path(found, "spec", "project"); got != "retail" {
		t.Errorf("project %q, want the cluster's tenant", got)
	}
}

// Pipeline leaves nothing out that an engine has on the way: whatever is at its end, and what that
// came from, once each; of Flux, what its artifact holds.
func TestPipeline(t *testing.T) {
	base := commit(t, nil)
	h := revision(t, state(t, nil, base), base, "hub-eu", nil)
	for owner, kinds := range map[string][]string{
		"hub":                {"Application", "ApplicationSet", "AppProject"},
		"payments-prod-eu-1": {"Application", "ApplicationSet"},
		"analytics-prod-eu-1": {
			"HelmRelease", "HelmRepository", "GitRepository", "OCIRepository", "ConfigMap", "Namespace",
		},
	} {
		there, found := map[object.Key]bool{}, map[string]bool{}
		for _, o := range h.Pipeline(owner) {
			if there[o.Key()] {
				t.Errorf("%s: %s is there twice", owner, o.Key())
			}
			there[o.Key()], found[o.Kind()] = true, true
			if o.Engine != owner {
				t.Errorf("%s: %s is %s's", owner, o.Key(), o.Engine)
			}
		}
		for _, kind := range kinds {
			if !found[kind] {
				t.Errorf("%s: no %s", owner, kind)
			}
		}
		if len(found) != len(kinds) {
			t.Errorf("%s: %v, want %v alone", owner, found, kinds)
		}
		for _, o := range h.Static(owner) {
			for ; o != nil && o.Engine == owner; o = o.Parent {
				if !there[o.Key()] {
					t.Errorf("%s: %s is missing", owner, o.Key())
				}
			}
		}
	}
	noProblems(t, h)
}

// What syncs in steps has no automated sync in Argo CD, and has it again without the ApplicationSet
// that syncs it.
func TestSteps(t *testing.T) {
	const catalog, component = "charts/application-sets/catalogs/addons.yaml", "cert-manager"
	steps := commit(t, func(files map[string]string) {
		files[catalog] = strings.Replace(files[catalog], "  "+component+":\n",
			"  "+component+":\n    strategy: {type: RollingSync, rollingSync: {steps: [{matchExpressions: [{key: argosy.dev/environment, operator: In, values: [dev]}]}]}}\n", 1)
	})
	h := revision(t, state(t, nil, steps), steps, "hub-eu", nil)
	automated := func(objects []*object.Object) (with, without int) {
		for _, o := range objects {
			switch {
			case !o.Application() || o.Label("argosy.dev/component") != component:
			case manifest.At(o.Tree, "spec", "syncPolicy", "automated") != nil:
				with++
			case manifest.At(o.Tree, "spec", "syncPolicy", "syncOptions") == nil:
				t.Errorf("%s has lost the rest of its policy", o.Name())
			default:
				without++
			}
		}
		return with, without
	}
	with, without := automated(h.Pipeline("hub"))
	if with == 0 || without == 0 { // one release of the catalog is another revision's
		t.Errorf("%d with an automated sync, %d without; expected some of each", with, without)
	}
	if alone, lost := automated(h.Static("hub")); alone != with+without || lost != 0 {
		t.Errorf("as files, %d have an automated sync and %d have none; expected %d and none", alone, lost, with+without)
	}
	noProblems(t, h)
}
