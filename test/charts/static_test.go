package charts_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	controller "github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestStaticEqualsThePlugin: what argosy render writes is what Argo CD makes with the plugin, in
// either form: as Applications, and as ApplicationSets with lists, which Argo CD's own generator
// and renderer make Applications of without any plugin.
func TestStaticEqualsThePlugin(t *testing.T) {
	const hub = "hub-us"
	url, _ := newEngine(t)
	want := map[string]any{}
	for name, app := range throughThePlugin(t, newArgoCD(t, url), hub) {
		if engine, name, _ := strings.Cut(name, " "); engine == "hub" && !strings.HasPrefix(name, "application-sets-") {
			want[name] = withoutDigest(app)
		}
	}
	folder, err := dir.New(repo, source.Limits{Charts: true})
	require.NoError(t, err)
	snap, err := folder.Snapshot(t.Context())
	require.NoError(t, err)
	st, err := fleetstate.Build(nil, snap, facts.Set{})
	require.NoError(t, err)
	tools := expand.Tools{ApplicationSets: controller.New(), Charts: helm.New(), Kustomizations: kustomize.Kustomizations{}}
	h := expand.New(expand.Options{State: st, Snapshot: snap, Hub: hub, Tools: tools, At: func(string) (*snapshot.Snapshot, error) { return snap, nil }})
	none := func(string, json.RawMessage) (json.RawMessage, error) {
		t.Error("the plugin is asked")
		return nil, nil
	}
	static, lists := map[string]any{}, map[string]any{}
	for _, o := range h.Static("hub") {
		if o.Application() {
			static[o.Name()] = o.Tree
		}
	}
	for _, o := range h.Lists("hub") {
		if !o.ApplicationSet() {
			continue
		}
		parameters, err := tools.ApplicationSets.Parameters(o.Tree, expand.Inputs{Plugin: none})
		require.NoError(t, err)
		for _, p := range parameters {
			app, err := tools.ApplicationSets.Application(p)
			require.NoError(t, err)
			name, _ := app["metadata"].(map[string]any)["name"].(string)
			lists[name] = app
		}
	}
	for _, made := range []map[string]any{static, lists} { // a release that no cluster uses: it has nothing in it
		delete(made, "application-sets-provisioning-default")
	}
	assert.Equal(t, want, static, "as Applications (-plugin +static)")
	assert.Equal(t, want, lists, "as lists (-plugin +lists)")
}

// withoutDigest is an Application without the digest of its parameter set, which is for the plugin.
func withoutDigest(v any) any {
	app, _ := v.(map[string]any)
	metadata, _ := app["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if delete(annotations, facts.DigestAnnotation); annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return app
}
