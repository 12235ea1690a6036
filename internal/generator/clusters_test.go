package generator

import (
	"fmt"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// ringLayout has a level whose folder a label names.
const ringLayout = "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: ring, dir: '{{ .root }}/rings/{{ index .labels \"ring\" | default \"none\" }}'}]\n"

// inRing are facts that say which ring a member is in.
func inRing(name, ring string) facts.Set {
	return facts.NewSet(false, facts.Cluster{Name: name, Labels: map[string]string{"ring": ring}})
}

// TestWhatDependsOnIt is rule G6 change by change: all that depends on it is computed anew, in a state whose previous one has
// been asked everything, and is as in a state that is built from nothing.
func TestWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	agents := small().with(tree{
		member("one"): spoke("one", "use_remote_argo: true\ngithubSecret: true\ngithubSecretName: g\naddons_repo_url: https://git.example/a\nsecretManagerSecretName: s\n"),
	})
	const hubsOwn = "addons/control-plane/clusters/hub/fleet/fleet-secret/values.yaml"
	for name, steps := range map[string][]struct {
		files tree
		facts facts.Set
	}{
		"a fact that names a level's folder": {
			{files: small().with(tree{"fleet/layout.yaml": ringLayout, "addons/rings/b/addons/dns/values.yaml": "ring: b\n"}), facts: inRing("one", "a")},
			{facts: inRing("one", "b")},
		},
		"a file where a fact has brought a member": {
			{files: small().with(tree{"fleet/layout.yaml": ringLayout})},
			{files: tree{"addons/rings/none/addons/dns/values.yaml": "ring: none\n"}},
			{facts: inRing("one", "b")},
			{files: tree{"addons/rings/b/addons/dns/values.yaml": "ring: b\n"}, facts: inRing("one", "b")},
		},
		"levels that name the group": {
			{files: small().with(tree{"fleet/layout.yaml": "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: group, dir: '{{ .root }}/of/{{ .group }}'}]\n"})},
			{files: tree{"addons/of/addons/addons/dns/values.yaml": "of: addons\n"}},
			{files: tree{"addons/of/fleet/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {ring: a}}\n"}},
		},
		"levels that look for the group": {
			{files: small().with(tree{"fleet/layout.yaml": "levels: [{name: system, dir: '{{ .root }}/defaults'}, {name: group, dir: '{{ .root }}/of/{{ get . \"group\" }}'}]\n"})},
			{files: tree{"addons/of/addons/addons/dns/values.yaml": "of: addons\n"}},
			{files: tree{"addons/of/fleet/fleet/fleet-secret/values.yaml": "externalSecret: {labels: {ring: a}}\n"}},
		},
		"a level that is the repository": {
			{files: small().with(tree{"fleet/layout.yaml": "levels: [{name: root, dir: '.'}, {name: system, dir: '{{ .root }}/defaults'}]\n"})},
			{files: tree{"addons/dns/values.yaml": "at: root\n"}},
		},
		"the hub's own values, which its members' registration depends on": {
			{files: agents.with(tree{hubsOwn: "externalSecret: {annotations: {addons_repo_url: https://git.example/a}}\n"})},
			{files: tree{hubsOwn: "externalSecret: {annotations: {addons_repo_url: https://git.example/b}}\n"}},
		},
		"the hub's member file": {
			{files: small()},
			{files: tree{member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, fleet_repo_url: u}\n"}},
			{files: tree{member("hub"): "a: ["}},
			{files: tree{member("hub"): "a: [b"}},
			{files: tree{member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n"}},
		},
		"a hub that runs Flux": {
			{files: small()},
			{files: tree{member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, remote_engine: flux}\n"}},
		},
		"the releases": {
			{files: small()},
			{files: tree{"versions/applicationSets.yaml": "releases: {addons: [{type: default, version: '2'}, {type: canary}]}\n"}},
		},
		"the registrations' releases": {
			{files: small()},
			{files: tree{"versions/fleetSecrets.yaml": "releases: [{type: default, version: '2'}]\n"}},
		},
		"the layout's catalog": {
			{files: small().with(tree{"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n", "catalog.yaml": "dns: {namespace: before}\n"})},
			{files: tree{"catalog.yaml": "dns: {namespace: after}\n"}},
		},
		"a member that comes, and one that goes": {
			{files: small()},
			{files: tree{member("a"): spoke("a", ""), member("three"): spoke("three", "")}},
			{files: tree{member("one"): ""}},
		},
		"a member that stands in for itself, and a file of another": {
			{files: small()},
			{files: tree{member("one"): "a: ["}},
			{files: tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml": "dev: 1\n"}},
			{files: tree{"addons/tenants/retail/environments/prod/addons/dns/values.yaml": "prod: 1\n"}},
			{files: tree{member("one"): spoke("one", "")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, before := tree{}, map[string]string{}
			var st *State
			for i, step := range steps {
				files = files.with(step.files)
				next, err := Build(st, snap(files), step.facts)
				if err != nil {
					t.Fatal(err)
				}
				fresh, err := Restore(snap(files), step.facts, next.Homes())
				if err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("step %d", i)
				got := everything(t, next)
				sameEverything(t, what, everything(t, fresh), got)
				sameIndexes(t, what, next)
				if fmt.Sprint(got) == fmt.Sprint(before) {
					t.Error(what, "changes nothing")
				}
				st, before = next, got
			}
		})
	}
}

// TestManyAreMoved: an index that too many members have been moved away from is made anew.
func TestManyAreMoved(t *testing.T) {
	t.Parallel()
	files := small().with(tree{"fleet/layout.yaml": ringLayout})
	var moved []facts.Cluster
	for i := range maxSince + 2 {
		name := fmt.Sprintf("m%03d", i)
		files[member(name)] = spoke(name, "")
		moved = append(moved, facts.Cluster{Name: name, Labels: map[string]string{"ring": "b"}})
	}
	st := build(t, files)
	for i, few := range []int{0, 1, maxSince, maxSince + 1, maxSince + 2} {
		files = files.with(tree{"addons/rings/b/addons/dns/values.yaml": fmt.Sprintf("ring: %d\n", i)})
		next, err := Build(st, snapshot.New(fmt.Sprint(i), filesOf(files)), facts.NewSet(false, moved[:few]...))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(next.folders.since); n > maxSince {
			t.Errorf("%d members are beside the index", n)
		}
		sameIndexes(t, fmt.Sprint(few), next)
		st = next
	}
}
