package charts_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	controller "github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestExpansionEqualsThePlugin: what internal/change/expand computes offline is, field by field,
// what Argo CD's own generator and renderer make when they ask the service over HTTP, for every
// Application of this repository's fleet, agents' included.
func TestExpansionEqualsThePlugin(t *testing.T) {
	url, _ := newEngine(t)
	a := newArgoCD(t, url)
	folder, err := dir.New(repo, source.Limits{Charts: true})
	require.NoError(t, err)
	snap, err := folder.Snapshot(t.Context())
	require.NoError(t, err)
	st, err := fleetstate.Build(nil, snap, facts.Set{})
	require.NoError(t, err)
	for _, hub := range []string{"hub-eu", "hub-us"} {
		t.Run(hub, func(t *testing.T) {
			want := throughThePlugin(t, a, hub)
			got := map[string]any{}
			h := expand.New(expand.Options{
				State: st, Snapshot: snap, Hub: hub, Tools: expand.Tools{ApplicationSets: controller.New(), Charts: helm.New(), Kustomizations: kustomize.Kustomizations{}},
				At: func(string) (*snapshot.Snapshot, error) { return snap, nil },
			})
			h.Walk(false, func(o *object.Object) bool {
				if o.Application() && o.Parent != nil {
					got[o.Engine+" "+o.Name()] = o.Tree
				}
				return true
			})
			if len(want) < 30 {
				t.Errorf("only %d Applications", len(want))
			}
			assert.Equal(t, want, got, "(-through the plugin +expanded)")
			for _, p := range h.Problems() {
				t.Error(p)
			}
		})
	}
}

// throughThePlugin follows a hub's roots as Argo CD does.
func throughThePlugin(t *testing.T, a argocd, hub string) map[string]any {
	t.Helper()
	out, owner := map[string]any{}, map[string]map[string]string{}
	add := func(engine string, apps ...v1alpha1.Application) {
		for _, app := range apps {
			out[engine+" "+app.Name] = asTree(t, app)
		}
	}
	groupsOf := func(engine string, root v1alpha1.ApplicationSet) {
		if owner[engine] == nil {
			owner[engine] = map[string]string{}
		}
		for _, release := range generate(t, a, root) {
			add(engine, release)
			add(engine, releaseApplications(t, a, release, owner[engine])...)
		}
	}
	for _, group := range fleetGroups {
		groupsOf("hub", rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, group+".yaml"))[0])
	}
	for _, file := range []string{"members.yaml", "agents.yaml", "agents-flux.yaml", "grants.yaml", "grants-flux.yaml"} {
		apps := generate(t, a, rootSets(t, filepath.Join(repo, "fleet/bootstrap", hub, file))[0])
		add("hub", apps...)
		for _, app := range apps {
			i := slices.IndexFunc(app.Spec.Sources, func(s v1alpha1.ApplicationSource) bool { return s.Path == "charts/agent-bootstrap" })
			if i < 0 {
				continue
			}
			rendered, err := helmTemplate(filepath.Join(repo, "charts/agent-bootstrap"), valuesFile(t, app.Spec.Sources[i].Helm.Values))
			require.NoError(t, err)
			for _, root := range decode(t, rendered) {
				groupsOf(app.Spec.Destination.Name, root)
			}
		}
	}
	return out
}

// asTree is an Application as it is written.
func asTree(t *testing.T, app v1alpha1.Application) map[string]any {
	t.Helper()
	app.APIVersion, app.Kind = "argoproj.io/v1alpha1", "Application"
	data, err := json.Marshal(app)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(data, &out))
	delete(out, "status")
	if metadata, ok := out["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	return out
}
