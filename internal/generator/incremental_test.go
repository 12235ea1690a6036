package generator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// everything is all that can be asked of a state, as text: answers or errors of every view, explanations with their
// levels, findings and summaries.
func everything(t testing.TB, st *State) map[string]string {
	t.Helper()
	out := map[string]string{"problems": problemTexts(st.Problems), "lint": problemTexts(st.Lint())}
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
		b, err := st.Answer(request(t, p))
		out[p] = fmt.Sprintf("%s %v", b, err)
	}
	for _, release := range []string{"default", "canary", "gone"} {
		for _, applicationSet := range []string{"addons-default-dns", "addons-canary-dns", "else"} {
			b, err := st.Answer(asks(t, applicationSet, release))
			out[applicationSet+" "+release] = fmt.Sprintf("%s %v", b, err)
		}
	}
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			for _, component := range []string{"dns", "cert", "fleet-secret"} {
				group := "addons"
				if component == "fleet-secret" {
					group = FleetGroup
				}
				e, err := st.Explain(hub, m.Name, group, component)
				text := fmt.Sprint(err)
				if err == nil {
					text = fmt.Sprintln(e.Enabled, e.Selected, e.Release, e.Owner, e.Chart, e.Namespace, e.LabelOrigins, problemTexts(e.Conflicts)) + leaves(e.Entry) + leaves(e.Values)
				}
				out["explain "+hub+" "+m.Name+" "+component] = text
			}
		}
	}
	summaries, err := json.Marshal(st.Summaries())
	if err != nil {
		t.Fatal(err)
	}
	out["summaries"] = string(summaries)
	return out
}

func leaves(tree *hierarchy.Tree) string {
	var b bytes.Buffer
	for _, l := range tree.Leaves(nil) {
		fmt.Fprintf(&b, "%s=%v %s %s", hierarchy.FormatPath(l.Path), l.Value.Any(), l.Level, l.Pos)
		for _, r := range l.Replaced {
			fmt.Fprintf(&b, " < %v %s %s", r.Value.Any(), r.Level, r.Pos)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func sameEverything(t testing.TB, what string, want, got map[string]string) {
	t.Helper()
	for _, k := range sortedKeys(want) {
		if want[k] != got[k] {
			t.Fatalf("%s: %s differs:\nfresh:       %s\nincremental: %s", what, k, want[k], got[k])
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%s: %d and %d questions", what, len(want), len(got))
	}
}

// sameIndexes checks what is carried on from state to state against the plain computation.
func sameIndexes(t testing.TB, what string, st *State) {
	t.Helper()
	var strange []exception
	having := map[string]map[*fleet.Member]bool{}
	for m, c := range st.Clusters() {
		if c.isException() {
			strange = append(strange, exception{m, c})
		}
		for dir := range c.Desired().placement.folders() {
			if having[dir] == nil {
				having[dir] = map[*fleet.Member]bool{}
			}
			having[dir][m] = true
		}
		if st.ClusterOf(m) != c || st.Cluster(m.Hub, m.Name) != c {
			t.Fatalf("%s: another cluster is found for %s/%s", what, m.Hub, m.Name)
		}
	}
	if !slices.Equal(strange, st.exceptions) {
		t.Fatalf("%s: peculiar are %d, computed anew %d", what, len(st.exceptions), len(strange))
	}
	for dir, want := range having {
		found := map[*fleet.Member]bool{}
		for m := range st.haveFolders([]string{dir}) {
			found[m] = true
		}
		for m := range want {
			if !found[m] {
				t.Fatalf("%s: %s/%s has the folder %s, and is not found", what, m.Hub, m.Name, dir)
			}
		}
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
		{member("one"), []string{"", spoke("one", ""), spoke("one", "labels: {ring: b}\n"), spoke("one", "use_remote_argo: true\nenable_remote_addons: true\n"), spoke("one", "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n"), spoke("one", "lifecycle: retired\n"), spoke("one", "lifecycle: retired\ndeletion: cascade\n"), spoke("one", "use_remote_argo: true\nenable_remote_addons: true\nlifecycle: retired\ndeletion: cascade\n"), spoke("one", "addons_repo_basepath: other\n"), "a: [", spoke("one", "tenannt: x\n"), spoke("one", "annotations: {x: y}\n")}},
		{member("two"), []string{"", "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: canary}}\n", spoke("two", "labels: {addonsRelease: canery}\n")}},
		{member("three"), []string{"", spoke("three", ""), spoke("three", "labels: {ring: a}\n")}},
		{"fleet/fleet-members/hub/hub.yaml", []string{"", "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster}\n", "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_basepath: other, fleet_repo_url: u}\n"}},
		{"versions/applicationSets.yaml", []string{"", "releases: {addons: [{type: default, chartRepoRevision: v1}, {type: canary}]}\n", "releases: {addons: [{type: default}]}\n", "releases: {globals: {x: y}, addons: [{type: default}, {type: canary, version: '3'}]}\n", "releases: {addons: [{type: default, version: 1.10}]}\n"}},
		{"versions/fleetSecrets.yaml", []string{"", "releases: [{type: default, version: '1'}]\n", "releases: []\n"}},
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

// withApplications are facts with some Applications, some of which carry the finalizer or have a controller; one time in
// four, nothing is known of them.
func withApplications(r *rand.Rand, s facts.Set) facts.Set {
	if r.IntN(4) == 0 {
		return s
	}
	var apps []facts.Application
	for _, cluster := range []string{"hub", "one", "two", "three"} {
		for _, a := range []facts.Application{registered(cluster), app("dns", cluster, "default"), app("dns", cluster, "canary"), app("cert", cluster, "")} {
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

// TestIncrementalBuildIsAFreshOne is rule G6 for a service that runs for months: after any sequence of commits and
// changes of the live facts, the state built from the previous one answers and explains as one built from nothing but
// the snapshot, the facts, and the snapshots in which those members that cannot be computed last could (rule 10).
func TestIncrementalBuildIsAFreshOne(t *testing.T) {
	runs, steps := 24, 30
	if testing.Short() {
		runs = 6
	}
	all := changes()
	built, refusedBuilds, kept := 0, 0, 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		files, live := small(), liveFacts[0]
		var previous *State
		var history []string
		current := snap(files)
		for range steps {
			for range r.IntN(4) {
				c := all[r.IntN(len(all))]
				content := c.contents[r.IntN(len(c.contents))]
				files = files.with(tree{c.path: content})
				history = append(history, fmt.Sprintf("%s = %q", c.path, content))
				current = snapshot.New(fmt.Sprint("r", len(history)), filesOf(files))
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
			next, err := Build(previous, current, live)
			var homes Homes
			if err == nil {
				homes = next.Homes()
			}
			fresh, freshErr := Restore(snapshot.New(current.Revision, filesOf(files)), live, homes)
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
			sameIndexes(t, fmt.Sprintf("seed %d, %v", seed, history), next)
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

// TestChangedCatalogReachesEveryCluster: the layout's catalog is below no level's folder.
func TestChangedCatalogReachesEveryCluster(t *testing.T) {
	files := small().with(tree{"fleet/layout.yaml": "groups: {addons: {catalog: catalog.yaml}}\n", "catalog.yaml": "dns: {namespace: before}\n"})
	next, err := Build(noProblems(t, build(t, files)), snap(files.with(tree{"catalog.yaml": "dns: {namespace: after}\n"})), facts.Set{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range ask(t, next, addons) {
		if s.text("namespace") != "after" {
			t.Errorf("%s has the catalog of before", name)
		}
	}
}

// TestOrderChangesNothing is rule G6: neither the order of maps and files, nor that of clusters' facts, nor what was
// asked before.
func TestOrderChangesNothing(t *testing.T) {
	files := small()
	all := changes()
	for i := range all {
		if c := all[i]; len(c.contents) > 1 && c.path != "fleet/layout.yaml" {
			files[c.path] = c.contents[1]
		}
	}
	want := everything(t, build(t, files, facts.Cluster{Name: "one", Labels: map[string]string{"ring": "a"}}, facts.Cluster{Name: "two"}))
	r := rand.New(rand.NewPCG(8, 9))
	for range 10 {
		paths := sortedKeys(files)
		r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
		shuffled := tree{}
		for _, p := range paths {
			shuffled[p] = files[p]
		}
		st := build(t, shuffled, facts.Cluster{Name: "two"}, facts.Cluster{Name: "one", Labels: map[string]string{"ring": "a"}})
		for range 5 { // in another order
			if _, err := st.Answer(request(t, []string{`{"view":"agents"}`, `{"view":"members"}`, `{"view":"components","group":"addons"}`}[r.IntN(3)])); err != nil {
				t.Fatal(err)
			}
		}
		sameEverything(t, "shuffled", want, everything(t, st))
	}
}

// TestAnswersAreSorted: by cluster, then component (G6).
func TestAnswersAreSorted(t *testing.T) {
	files := small().with(tree{"addons/defaults/application-sets/addons.yaml": "z: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\na: {enabled: true, chart: {repoURL: r, name: c, version: '1'}}\n"})
	st := noProblems(t, build(t, files))
	q, failure := st.query(request(t, `{"view":"components","group":"addons"}`))
	if failure != nil {
		t.Fatal(failure)
	}
	sets, failure := st.sets(q)
	if failure != nil {
		t.Fatal(failure)
	}
	var got []string
	for _, s := range sets {
		got = append(got, s.common().ApplicationName)
	}
	if want := []string{"a-hub", "z-hub", "a-one", "z-one", "a-two", "z-two"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
