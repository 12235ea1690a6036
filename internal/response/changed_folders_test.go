package response_test

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// ringLayout has a level whose folder a label names.
const ringLayout = "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: ring, dir: '{{ .root }}/rings/{{ index .labels \"ring\" | default \"none\" }}'}]\n"

// inRing are facts that say which ring a member is in.
func inRing(name, ring string) facts.Set {
	return facts.NewSet(false, facts.Cluster{Name: name, Labels: map[string]string{"ring": ring}})
}

// TestChangeReachesWhateverDependsOnIt is rule G6 change by change: all that depends on it is
// computed anew, in a state whose previous one has been asked everything, and is as in a state that
// is built from nothing.
func TestChangeReachesWhateverDependsOnIt(t *testing.T) {
	t.Parallel()
	agents := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("one"): fleettest.Spoke("one", "use_remote_argo: true\ngithubSecret: true\ngithubSecretName: g\naddons_repo_url: https://git.example/a\nsecretManagerSecretName: s\n"),
	})
	const hubsOwn = "addons/control-plane/clusters/hub/fleet/fleet-secret/values.yaml"
	for name, steps := range map[string][]struct {
		files fleettest.Tree
		facts facts.Set
	}{
		"a fact that names a level's folder": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": ringLayout, "addons/rings/b/addons/dns/values.yaml": "ring: b\n"}), facts: inRing("one", "a")},
			{facts: inRing("one", "b")},
		},
		"a file where a fact has brought a member": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": ringLayout})},
			{files: fleettest.Tree{"addons/rings/none/addons/dns/values.yaml": "ring: none\n"}},
			{facts: inRing("one", "b")},
			{files: fleettest.Tree{"addons/rings/b/addons/dns/values.yaml": "ring: b\n"}, facts: inRing("one", "b")},
		},
		"levels that name the group": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: group, dir: '{{ .root }}/of/{{ .group }}'}]\n"})},
			{files: fleettest.Tree{"addons/of/addons/addons/dns/values.yaml": "of: addons\n"}},
			{files: fleettest.Tree{"addons/of/fleet/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {ring: a}}\n"}},
		},
		"levels that look for the group": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: group, dir: '{{ .root }}/of/{{ get . \"group\" }}'}]\n"})},
			{files: fleettest.Tree{"addons/of/addons/addons/dns/values.yaml": "of: addons\n"}},
			{files: fleettest.Tree{"addons/of/fleet/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {ring: a}}\n"}},
		},
		"a level that is the repository": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "levels: [{name: root, dir: '.'}, {name: system, dir: '{{ .root }}/defaults'}]\n"})},
			{files: fleettest.Tree{"addons/dns/values.yaml": "at: root\n"}},
		},
		"the hub's own values, which its members' registration depends on": {
			{files: agents.With(fleettest.Tree{hubsOwn: "externalSecret: {annotations: {addons_repo_url: https://git.example/a}}\n"})},
			{files: fleettest.Tree{hubsOwn: "externalSecret: {annotations: {addons_repo_url: https://git.example/b}}\n"}},
		},
		"the hub's member file": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, fleet_repo_url: u}\n"}},
			{files: fleettest.Tree{fleettest.Member("hub"): "a: ["}},
			{files: fleettest.Tree{fleettest.Member("hub"): "a: [b"}},
			{files: fleettest.Tree{fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n"}},
		},
		"a hub that runs Flux": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"}},
		},
		"the releases": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{"versions/applicationSets.yaml": "releases: {addons: [{type: default, version: '2'}, {type: canary}]}\n"}},
		},
		"the registrations' releases": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{"versions/fleetSecrets.yaml": "releases: [{type: default, chartRepo: r, ecrChartName: fleet-secret, version: '2'}]\n"}},
		},
		"the layout's catalog": {
			{files: fleettest.Small().With(fleettest.Tree{"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n", "catalog.yaml": "dns: {namespace: before}\n"})},
			{files: fleettest.Tree{"catalog.yaml": "dns: {namespace: after}\n"}},
		},
		"a member that comes, and one that goes": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{fleettest.Member("a"): fleettest.Spoke("a", ""), fleettest.Member("three"): fleettest.Spoke("three", "")}},
			{files: fleettest.Tree{fleettest.Member("one"): ""}},
		},
		"a member that stands in for itself, and a file of another": {
			{files: fleettest.Small()},
			{files: fleettest.Tree{fleettest.Member("one"): "a: ["}},
			{files: fleettest.Tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml": "dev: 1\n"}},
			// Prod's waits for the member; dev's is what changes at once.
			{files: fleettest.Tree{"addons/tenants/retail/environments/prod/addons/dns/values.yaml": "prod: 1\n", "addons/tenants/retail/environments/dev/addons/dns/values.yaml": "dev: 2\n"}},
			{files: fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, before := fleettest.Tree{}, map[string]string{}
			var st *fleetstate.State
			for i, step := range steps {
				files = files.With(step.files)
				next, err := fleetstate.Build(st, fleettest.Snapshot("rev", files), step.facts)
				require.NoError(t, err)
				fresh, err := fleetstate.Restore(nil, fleettest.Snapshot("rev", files), step.facts, next.LastKnownGood())
				require.NoError(t, err)
				what := fmt.Sprintf("step %d", i)
				got := everything(t, next)
				sameEverything(t, what, everything(t, fresh), got)
				if fmt.Sprint(got) == fmt.Sprint(before) {
					t.Error(what, "changes nothing")
				}
				st, before = next, got
			}
		})
	}
}
