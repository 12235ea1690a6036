package response_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// everything is all that can be asked of a state, as text: answers or errors of every view,
// explanations with their levels, findings and summaries.
func everything(t testing.TB, st *fleetstate.State) map[string]string {
	t.Helper()
	out := map[string]string{"problems": querytest.Problems(st.Problems), "lint": querytest.Problems(lint.Run(st, expand.Tools{}))}
	parameters := []string{
		`{"view":"members"}`, `{"view":"agents"}`, `{"view":"members","owner":"one"}`,
		`{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{"cluster":"{{ .cluster }}","base":1}}}`,
		`{"view":"components","group":"addons","component":"dns","release":"canary"}`,
		`{"view":"components","group":"addons","selector":{"matchLabels":{"ring":"a"}}}`,
	}
	for _, g := range st.Fleet.Layout.GroupNames() {
		for _, owner := range []string{"hub", "one", "two"} {
			parameters = append(parameters, fmt.Sprintf(`{"view":"releases","group":%q,"owner":%q}`, g, owner), fmt.Sprintf(`{"view":"components","group":%q,"owner":%q}`, g, owner))
		}
	}
	for _, p := range parameters {
		b, err := response.Bytes(st, querytest.Query(t, p))
		out[p] = fmt.Sprintf("%s %v", b, err)
	}
	for _, release := range []string{"default", "canary", "gone"} {
		for _, applicationSet := range []string{"addons-default-dns", "addons-canary-dns", "else"} {
			b, err := response.Bytes(st, asks(t, applicationSet, release))
			out[applicationSet+" "+release] = fmt.Sprintf("%s %v", b, err)
		}
	}
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			for _, component := range []string{"dns", "cert", "fleet-secret"} {
				group := "addons"
				if component == "fleet-secret" {
					group = fleetstate.FleetGroup
				}
				e, err := explain.Component(st, explain.Target{Hub: hub, Cluster: m.Name, Group: group, Component: component}, nil)
				e.Revision = "" // another snapshot may have the same components
				text, _ := json.Marshal(e)
				out["explain "+hub+" "+m.Name+" "+component] = fmt.Sprintf("%s %v", text, err)
			}
		}
	}
	summaries, err := json.Marshal(inventory.Summaries(st))
	require.NoError(t, err)
	out["summaries"] = string(summaries)
	return out
}

func sameEverything(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if want[k] != got[k] {
			t.Fatalf("%s: %s differs:\nfresh:       %s\nincremental: %s", what, k, want[k], got[k])
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%s: %d and %d questions", what, len(want), len(got))
	}
}

// change is one edit: some file gets one of several contents, or goes.
type change struct {
	path     string
	contents []string // "" removes
}

// changes are edits of everything that an answer depends on, good and broken ones.
func changes() []change {
	dns := func(dir string) change {
		return change{dir + "/addons/dns/values.yaml", []string{"", "from: " + dir + "\n", "from: {map: 1}\n", "list: [a]\nfrom: null\n", "a: [\n", "[1]\n", "yes: 0123\n"}}
	}
	out := []change{
		dns("addons/defaults"), dns("addons/tenants/defaults"), dns("addons/tenants/retail/defaults"), dns("addons/tenants/retail/environments/prod"),
		dns("addons/tenants/retail/environments/dev"), dns("addons/tenants/retail/clusters/one"), dns("addons/control-plane/defaults"), dns("other/defaults"),
		{"addons/tenants/retail/clusters/one/addons/dns/values.yaml.gotmpl", []string{"", "t: {{ .labels.tenant }}-{{ .component }}\n", "t: {{ .labels.absent }}\n", "t: {{ index .labels \"ring\" }}\n"}},
		{"addons/defaults/addons/cert/values.yaml", []string{"", "c: 1\n", "c: {d: 1}\n"}},
		{"addons/defaults/application-sets/addons.yaml", []string{
			"", "dns: {enabled: true, chart: {repoURL: https://charts.example, name: dns, version: 1.0.0}}\n",
			"components: {dns: {enabled: true, chart: dns, repoURL: r, version: v2, values: {c: '{{ .cluster }}'}}, cert: {enabled: true, chart: {repoURL: r, path: p, version: main}, selector: {matchLabels: {ring: a}}, values: {x: '{{ .labels.ring }}'}}}\n",
			"dns: {enabled: maybe}\n", "dns: [x]\n", "dns: {enabled: true, chart: {repoURL: r}}\n",
		}},
		{"addons/tenants/retail/environments/prod/application-sets/addons.yaml", []string{"", "dns: {enabled: false}\ncert: {enabled: false}\n", "dns: {version: 9.9.9}\n", "dns: {enabled: false}\n", "dns: null\n", "dns: {values: null}\n", "dns: {values: {prod: 1}}\n"}},
		{"addons/tenants/retail/environments/prod/application-sets/addons.yaml.gotmpl", []string{"", "cert: {enabled: true, chart: {repoURL: '{{ .hub }}', name: n, version: '1'}}\n", "{{ fail \"no\" }}"}},
		{"addons/defaults/fleet/fleet-secret/values.yaml", []string{"", "externalSecret: {labels: {ring: a, from: git}}\n", "externalSecret: {labels: {ring: b}, annotations: {x: '1'}}\n", "externalSecret: {labels: {tenant: x}}\n"}},
		{"addons/tenants/retail/environments/dev/fleet/fleet-secret/values.yaml", []string{"", "externalSecret: {labels: {ring: null, addonsRelease: canary}}\n", "externalSecret: {labels: {addonsRelease: nowhere}}\n"}},
		{"resources/defaults/application-sets/resources.yaml", []string{"", "pools: {enabled: true, chart: {repoURL: r, path: p, version: main}}\n"}},
		{fleettest.Member("one"), []string{"", fleettest.Spoke("one", ""), fleettest.Spoke("one", "labels: {ring: b}\n"), fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\n"), fleettest.Spoke("one", "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"), fleettest.Spoke("one", "lifecycle: retired\n"), fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n"), fleettest.Spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nlifecycle: retired\ndeletion: cascade\n"), fleettest.Spoke("one", "addons_repo_basepath: other\n"), "a: [", fleettest.Spoke("one", "tenannt: x\n"), fleettest.Spoke("one", "annotations: {x: y}\n")}},
		{fleettest.Member("two"), []string{"", "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}}\n", fleettest.Spoke("two", "labels: {addonsRelease: canery}\n")}},
		{fleettest.Member("three"), []string{"", fleettest.Spoke("three", ""), fleettest.Spoke("three", "labels: {ring: a}\n")}},
		{"fleet/fleet-members/hub/hub.yaml", []string{"", "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n", "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_basepath: other, fleet_repo_url: u}\n"}},
		{"versions/applicationSets.yaml", []string{"", "releases: {addons: [{type: default, chartRepoRevision: v1}, {type: canary}]}\n", "releases: {addons: [{type: default}]}\n", "releases: {globals: {x: y}, addons: [{type: default}, {type: canary, version: '3'}]}\n", "releases: {addons: [{type: default, version: 1.10}]}\n"}},
		{"versions/fleetSecrets.yaml", []string{"", "releases: [{type: default, chartRepo: r, ecrChartName: c, version: '1'}]\n", "releases: []\n", "releases: [{type: default, version: '1'}]\n"}},
		{"fleet/layout.yaml", []string{
			"", "kind: Layout\n", "groups: {addons: {catalog: catalog.yaml}}\n", "merge: [{path: list, strategy: append}]\n",
			"levels: [{name: root, dir: '.'}, {name: foo, dir: '{{ .root }}/defaults'}, {name: cluster, dir: '{{ .root }}/tenants/{{ .tenant }}/clusters/{{ .cluster }}'}]\n",
			"levels: [{name: ring, dir: '{{ .root }}/{{ index .labels \"ring\" | default \"none\" }}'}]\n",
			"files: {values: '{{ .group }}/{{ .component }}/{{ .environment }}.yaml'}\n", "kind: Lay\n",
		}},
		{"catalog.yaml", []string{"", "components: {dns: {chart: {repoURL: c, name: dns, version: '7'}, values: {low: '{{ .cluster }}'}}, cert: {enabled: true, chart: {repoURL: c, name: cert, version: '7'}}}\n", "components: {dns: {enabled: true, chart: {repoURL: c, name: dns, version: '8'}}}\n"}},
		{"addons/dns/values.yaml", []string{"", "at: root\n"}},
		{"addons/prod.yaml", []string{"", "x: 1\n"}},
		{"addons/defaults/addons/dns/prod.yaml", []string{"", "by: environment\n"}},
		{"addons/tenants/retail/clusters/one/", []string{"", "", "broken"}},
		{"addons/defaults/addons/", []string{"", "", "broken"}},
		{"addons/tenants/retail/", []string{"", "", "", "broken"}},
		{"README.md", []string{"", "# x\n", "# y\n"}},
	}
	return out
}

var liveFacts = []facts.Set{
	facts.NewSet(false), facts.NewSet(true), facts.NewSet(true, facts.Cluster{Name: "one"}, facts.Cluster{Name: "hub"}),
	facts.NewSet(false, facts.Cluster{Name: "one", Server: "https://one", Labels: map[string]string{"ring": "a", "environment": ""}}),
	facts.NewSet(false, facts.Cluster{Name: "one", Server: "https://one", Labels: map[string]string{"ring": "b"}, Annotations: map[string]string{"x": "z"}}),
	facts.NewSet(false, facts.Cluster{Name: "two", Labels: map[string]string{"addonsRelease": "lost", "bad": "not valid!"}}),
}

// withApplications are facts with some Applications, some of which carry the finalizer or have a
// controller; one time in four, nothing is known of them.
func withApplications(r *rand.Rand, s facts.Set) facts.Set {
	if r.IntN(4) == 0 {
		return s
	}
	var apps []facts.Application
	for _, cluster := range []string{"hub", "one", "two", "three"} {
		for _, a := range []facts.Application{fleettest.Registration(cluster), fleettest.Application("dns", cluster, "default"), fleettest.Application("dns", cluster, "canary"), fleettest.Application("cert", cluster, "")} {
			if r.IntN(2) == 0 {
				a.Controller = []string{"addons-default-dns", "addons-canary-dns"}[r.IntN(2)]
			}
			if a.Cascade = r.IntN(3) == 0; r.IntN(3) > 0 {
				apps = append(apps, a)
			}
		}
	}
	return s.WithApplications(apps...)
}

// TestIncrementalBuildIsAFreshOne is rule G6 for a service that runs for months: after any sequence
// of commits and changes of the live facts, the state built from the previous one answers and
// explains as one built from nothing but the snapshot, the facts, and the snapshots in which those
// members that cannot be computed last could (fleetstate, rule 5).
func TestIncrementalBuildIsAFreshOne(t *testing.T) {
	runs, steps := cases.Times(6), 30
	all := changes()
	built, refusedBuilds, kept := 0, 0, 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		files, live := fleettest.Small(), liveFacts[0]
		var previous *fleetstate.State
		var history []string
		current := fleettest.Snapshot("rev", files)
		for range steps {
			for range r.IntN(4) {
				c := all[r.IntN(len(all))]
				content := c.contents[r.IntN(len(c.contents))]
				files = files.With(fleettest.Tree{c.path: content})
				history = append(history, fmt.Sprintf("%s = %q", c.path, content))
				current = fleettest.Snapshot(fmt.Sprint("r", len(history)), files)
			}
			if r.IntN(4) == 0 {
				i := r.IntN(len(liveFacts))
				live = withApplications(r, liveFacts[i])
				history = append(history, fmt.Sprintf("facts %d", i))
			}
			if r.IntN(3) == 0 {
				live = withApplications(r, live)
				history = append(history, fmt.Sprint(live.Applications()))
			}
			next, err := fleetstate.Build(previous, current, live)
			var homes fleetstate.LastKnownGood
			if err == nil {
				homes = next.LastKnownGood()
			}
			fresh, freshErr := fleetstate.Restore(nil, fleettest.Snapshot(current.Revision, files), live, homes)
			if fmt.Sprint(freshErr) != fmt.Sprint(err) {
				t.Fatalf("seed %d, %v:\nfresh: %v\nincremental: %v", seed, history, freshErr, err)
			}
			if err != nil {
				refusedBuilds++
				continue // the previous state goes on serving
			}
			if previous != nil && len(next.Lost(previous, "")) > 0 {
				refusedBuilds++
				continue
			}
			built++
			if len(homes) > 0 {
				kept++
			}
			if r.IntN(3) == 0 {
				everything(t, next) // what has been asked before changes nothing
			}
			sameEverything(t, fmt.Sprintf("seed %d, %v", seed, history), everything(t, fresh), everything(t, next))
			previous = next
		}
	}
	t.Logf("%d states, %d with members at home, %d refused", built, kept, refusedBuilds)
	if built < refusedBuilds || kept < built/10 || kept > built*9/10 {
		t.Errorf("%d states were built, %d with members at home, %d refused: the changes do not test much", built, kept, refusedBuilds)
	}
}

// TestOrderOfFilesChangesNothing is rule G6: neither the order of maps and files, nor that of
// clusters' facts, nor what was asked before.
func TestOrderOfFilesChangesNothing(t *testing.T) {
	files := fleettest.Small()
	all := changes()
	for i := range all {
		if c := all[i]; len(c.contents) > 1 && c.path != "fleet/layout.yaml" {
			files[c.path] = c.contents[1]
		}
	}
	want := everything(t, querytest.Build(t, files, facts.Cluster{Name: "one", Labels: map[string]string{"ring": "a"}}, facts.Cluster{Name: "two"}))
	r := rand.New(rand.NewPCG(8, 9))
	for range 10 {
		paths := slices.Sorted(maps.Keys(files))
		r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		shuffled := fleettest.Tree{}
		for _, p := range paths {
			shuffled[p] = files[p]
		}
		st := querytest.Build(t, shuffled, facts.Cluster{Name: "two"}, facts.Cluster{Name: "one", Labels: map[string]string{"ring": "a"}})
		for range 5 { // in another order
			if _, err := response.Bytes(st, querytest.Query(t, []string{`{"view":"agents"}`, `{"view":"members"}`, `{"view":"components","group":"addons"}`}[r.IntN(3)])); err != nil {
				t.Fatal(err)
			}
		}
		sameEverything(t, "shuffled", want, everything(t, st))
	}
}

// TestSetsAreSorted: by cluster, then component (G6).
func TestSetsAreSorted(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{"addons/defaults/application-sets/addons.yaml": "z: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\na: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n"})
	st := querytest.NoProblems(t, querytest.Build(t, files))
	assert.Equal(t, "a-hub z-hub a-one z-one a-two z-two", querytest.Column(t, st, querytest.Query(t, querytest.Addons), "applicationName"), "order")
}
