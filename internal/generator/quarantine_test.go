package generator

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// commitOf is a repository at a revision.
func commitOf(revision string, files tree) *snapshot.Snapshot {
	return snapshot.New(revision, filesOf(files))
}

// next is the state after another commit.
func next(t testing.TB, previous *State, s *snapshot.Snapshot, f facts.Set) *State {
	t.Helper()
	st, err := Build(previous, s, f)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// setsOf are the sets of a request by cluster, as JSON without what a quarantine adds, and the flags by cluster. Those of
// members that cannot be computed are missing.
func setsOf(t testing.TB, st *State, parameters string) (sets map[string][]string, flags map[string]string) {
	t.Helper()
	q, failure := st.query(request(t, parameters))
	if failure != nil {
		return nil, nil // the member that asks is not there
	}
	var all []ParameterSet
	if q.View == Agents {
		all, _ = st.agentSets(q)
	} else {
		base, failure := st.base(q)
		if failure != nil {
			t.Fatal(failure)
		}
		var sum total
		for _, c := range st.candidates(q) {
			of := st.setsOf(q, c, base)
			all = append(all, of.sets...)
			sum.add(total{live: of.live, knows: of.knows})
		}
		if st.judge(q, sum, nil) != nil {
			return nil, nil // no catalog has the component
		}
	}
	sets, flags = map[string][]string{}, map[string]string{}
	for _, s := range all {
		text, err := encoded(s, st.Revision)
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		name := s.common().Name
		flags[name], _ = out["quarantine"].(string)
		delete(out, "quarantine")
		delete(out, "digest")
		if components, ok := out["components"].([]any); ok {
			for _, c := range components {
				delete(c.(map[string]any), "quarantine")
			}
		}
		if text, err = json.Marshal(out); err != nil {
			t.Fatal(err)
		}
		sets[name] = append(sets[name], string(text))
	}
	return sets, flags
}

// TestG2_HealthyMembersGoOnAndBrokenOnesStay is rule 10 against a model: the last commit in which a build of nothing else
// had no error of a member. After any sequence of commits, the sets of every healthy member are those that such a build
// of the snapshot has, and those of every other one are those that such a build of its home has.
func TestG2_HealthyMembersGoOnAndBrokenOnesStay(t *testing.T) {
	runs, steps := 12, 30
	if testing.Short() {
		runs = 5
	}
	questions := []string{
		`{"view":"members"}`, `{"view":"agents"}`, `{"view":"components","group":"addons"}`, `{"view":"components","group":"resources"}`,
		`{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"},"values":{"cluster":"{{ .cluster }}"}}}`,
	}
	for _, owner := range []string{"one", "two"} {
		questions = append(questions, fmt.Sprintf(`{"view":"components","group":"addons","owner":%q}`, owner))
	}
	// Which file is the hub's own must be known to the model: it cannot be removed.
	edits := slices.DeleteFunc(changes(), func(c change) bool { return c.path == "fleet/layout.yaml" })
	for i := range edits {
		if edits[i].path == member("hub") {
			edits[i].contents = append(slices.Clone(edits[i].contents[1:]), "a: [\n", edits[i].contents[1]+"tenannt: x\n")
		}
	}
	healthy, kept := 0, 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 12))
		files := small()
		previous := next(t, nil, commitOf("start", files), facts.Set{})
		homes := map[ID]*snapshot.Snapshot{} // the model: of every member that was ever good
		for m := range noProblems(t, previous).Clusters() {
			homes[ID{m.Hub, m.Name}] = previous.resolver.Snapshot
		}
		var history []string
		for step := range steps {
			for range 1 + r.IntN(2) {
				c := edits[r.IntN(len(edits))]
				content := c.contents[r.IntN(len(c.contents))]
				files = files.with(tree{c.path: content})
				history = append(history, fmt.Sprintf("%s = %q", c.path, content))
			}
			s := commitOf(fmt.Sprint("step", step), files)
			fresh, err := Build(nil, s, facts.Set{})
			if err != nil {
				continue // refused as a whole
			}
			st := next(t, previous, s, facts.Set{})
			previous = st
			there := map[ID]bool{}
			for m, c := range fresh.Clusters() {
				id := ID{m.Hub, m.Name}
				if there[id] = true; len(c.Errors()) == 0 {
					homes[id] = s
				}
			}
			maps.DeleteFunc(homes, func(id ID, _ *snapshot.Snapshot) bool { return !there[id] })
			for _, q := range questions {
				if owner := request(t, q).Owner; owner != "" && !there[ID{"hub", owner}] {
					continue
				}
				got, flags := setsOf(t, st, q)
				for id := range there {
					var want []string
					switch home := homes[id]; {
					case home == nil: // it is left out
					case home == s:
						sets, _ := setsOf(t, fresh, q)
						want = sets[id.Name]
						healthy++
					default:
						of := next(t, nil, commitOf(home.Revision, contents(home)), facts.Set{})
						if sets, _ := setsOf(t, of, q); sets != nil {
							want = sets[id.Name]
						}
						kept++
					}
					if diff := cmp.Diff(want, got[id.Name]); diff != "" {
						t.Fatalf("seed %d, %v\n%s: %s: %s", seed, history, q, id.Name, diff)
					}
					if (flags[id.Name] != "") != (len(want) > 0 && homes[id] != s) {
						t.Fatalf("seed %d, %v\n%s: %s is flagged %q", seed, history, q, id.Name, flags[id.Name])
					}
				}
			}
		}
	}
	t.Logf("%d times a healthy member, %d times one at home", healthy, kept)
	if healthy < kept/4 || kept < healthy/4 {
		t.Error("the edits do not test much")
	}
}

// contents are a snapshot's files.
func contents(s *snapshot.Snapshot) tree {
	out := tree{}
	for _, p := range s.Paths() {
		out[p] = string(s.File(p).Data)
	}
	return out
}

// A release that is on its way out stays for those at home; of one that is there, what the snapshot says counts.
func TestReleasesOfMembersAtHome(t *testing.T) {
	const releases = `{"view":"releases","group":"addons"}`
	files := small().with(tree{
		"addons/tenants/retail/clusters/two/application-sets/addons.yaml": "cert: {enabled: true}\n",
	})
	first := noProblems(t, next(t, nil, commitOf("first", files), facts.Set{}))
	before := ask(t, first, releases)
	// two, alone on canary, breaks; canary goes.
	broken := files.with(tree{
		member("two"): "a: [", "versions/applicationSets.yaml": strings.Replace(files["versions/applicationSets.yaml"], "    - {type: canary, chartRepoRevision: v2}\n", "", 1),
	})
	second := next(t, first, commitOf("second", broken), facts.Set{})
	after := ask(t, second, releases)
	canary := after["application-sets-addons-canary"]
	if canary.text("revision") != "first" || canary.text("quarantine") != "invalid-yaml: "+member("two") {
		t.Errorf("canary: %v", canary)
	}
	for _, key := range []string{"quarantine", "digest"} {
		delete(canary, key)
		delete(before["application-sets-addons-canary"], key)
	}
	if diff := cmp.Diff(before["application-sets-addons-canary"], canary); diff != "" {
		t.Error(diff)
	}
	if d := after["application-sets-addons-default"]; d["quarantine"] != nil || d.text("revision") != "second" {
		t.Errorf("default: %v", d)
	}
	// It changes: so it does for those at home, with the components that their home switches on (R7).
	changed := files.with(tree{
		member("two"): "a: [", "versions/applicationSets.yaml": strings.Replace(files["versions/applicationSets.yaml"], "v2", "v3", 1),
		"addons/tenants/retail/clusters/two/application-sets/addons.yaml": "",
	})
	third := next(t, second, commitOf("third", changed), facts.Set{})
	canary = ask(t, third, releases)["application-sets-addons-canary"]
	if canary["quarantine"] != nil || canary.text("revision") != "third" || canary["release"].(map[string]any)["chartRepoRevision"] != "v3" ||
		!strings.Contains(canary.text("helmValues"), "cert:") || !slices.Equal(canary["clusters"].([]any), []any{"two"}) {
		t.Errorf("canary: %v", canary)
	}
	if got := names(t, third, `{"view":"components","group":"addons","release":"canary"}`); got != "cert-two dns-two" {
		t.Errorf("canary: %s", got)
	}
}

// What the hub's own file breaks, it breaks for all of its members: they take repositories and folders from it. The hub
// is known all the same.
func TestABrokenFileOfTheHubItself(t *testing.T) {
	files := small().with(tree{member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: u}\n"})
	first := noProblems(t, next(t, nil, commitOf("first", files), facts.Set{}))
	for what, text := range map[string]string{"no YAML": "a: [", "a key": files[member("hub")] + "tenannt: x\n"} {
		broken := commitOf("second", files.with(tree{member("hub"): text, member("one"): spoke("one", "labels: {ring: b}\n")}))
		second := next(t, first, broken, facts.Set{})
		for name, s := range ask(t, second, addons) {
			if s.text("revision") != "first" || s.annotation("addons_repo_url") != "u" || !strings.HasSuffix(s.text("quarantine"), ": "+member("hub")) {
				t.Errorf("%s: %s: %v", what, name, s)
			}
		}
		if got := len(second.Quarantined("hub")); got != 3 {
			t.Errorf("%s: %d are quarantined", what, got)
		}
		if own, all := ask(t, second, `{"view":"components","group":"addons","owner":"hub"}`), ask(t, second, addons); len(all) != 3 || cmp.Diff(all, own) != "" {
			t.Errorf("%s: its engine is told %v", what, own)
		}
		// At a first start nobody knows whose file it is.
		third, err := Build(nil, broken, facts.NewSet(false).WithApplications())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{addons, `{"view":"components","group":"addons","owner":"one"}`} {
			refused(t, third, q)
		}
	}
}

// A member at home sees its hub as it was then: whether the hub reads with its credentials depends on the hub's
// repositories.
func TestAMemberAtHomeSeesItsHubAsItWas(t *testing.T) {
	hub := func(url string) string {
		return "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: " + url + "}\n"
	}
	one := spoke("one", "use_remote_argo: true\ngithubSecret: true\ngithubSecretName: g\naddons_repo_url: https://git.example/a\nsecretManagerSecretName: s\n")
	files := small().with(tree{member("hub"): hub("https://git.example/a"), member("one"): one})
	values := func(st *State) string {
		return ask(t, st, `{"view":"members"}`)["fleet-secret-one"].text("helmValues")
	}
	first := noProblems(t, next(t, nil, commitOf("first", files), facts.Set{}))
	moved := files.with(tree{member("hub"): hub("https://git.example/b")})
	if values(noProblems(t, next(t, first, commitOf("moved", moved), facts.Set{}))) == values(first) {
		t.Fatal("the hub's repositories make no difference")
	}
	second := next(t, first, commitOf("second", moved.with(tree{member("one"): "a: ["})), facts.Set{})
	if diff := cmp.Diff(values(first), values(second)); diff != "" {
		t.Error(diff)
	}
}

// A layout that changes while a member is at home does not change what it runs, even that of a group that is gone.
func TestALayoutThatChangesWhileAMemberIsAtHome(t *testing.T) {
	files := small().with(tree{
		"fleet/layout.yaml":                           "groups: {addons: {}, extra: {root: addons}}\n",
		"addons/defaults/application-sets/extra.yaml": "log: {enabled: true, chart: {repoURL: r, name: log, version: '1'}}\n",
	})
	first := noProblems(t, next(t, nil, commitOf("first", files), facts.Set{}))
	const extra = `{"view":"components","group":"extra"}`
	if got := names(t, first, extra); got != "log-hub log-one log-two" {
		t.Fatal(got)
	}
	second := next(t, first, commitOf("second", files.with(tree{member("one"): "a: [", "fleet/layout.yaml": "groups: {addons: {}, other: {root: addons}}\n"})), facts.Set{})
	if got := names(t, second, extra); got != "log-one" {
		t.Errorf("extra: %s", got)
	}
	if got := names(t, second, addons); got != "dns-hub dns-one dns-two" {
		t.Errorf("addons: %s", got)
	}
	for _, group := range []string{"extra", "other"} {
		ask(t, second, fmt.Sprintf(`{"view":"releases","group":%q}`, group))
		ask(t, second, fmt.Sprintf(`{"view":"components","group":%q}`, group))
	}
	if _, err := second.Explain("hub", "two", "extra", "log"); err == nil {
		t.Error("two has the group still")
	}
	if _, err := second.Explain("hub", "one", "extra", "log"); err != nil {
		t.Error(err)
	}
	third := next(t, second, commitOf("third", files.with(tree{"fleet/layout.yaml": "groups: {addons: {}, other: {root: addons}}\n"})), facts.Set{})
	if msg := refused(t, noProblems(t, third), extra); !strings.Contains(msg, "not in the layout") {
		t.Error(msg)
	}
}

// G1: who never could be computed is left out if that loses nothing; not for an engine that nothing is known of, and not
// of the answer to its own.
func TestG1_WhoIsLeftOut(t *testing.T) {
	files := small()
	broken := commitOf("broken", files.with(tree{member("new"): "a: ["}))
	none, one := facts.NewSet(false).WithApplications(), facts.NewSet(false).WithApplications(app("dns", "new", "default"))
	hubs, own := request(t, addons), request(t, `{"view":"components","group":"addons","owner":"new"}`)
	for what, c := range map[string]struct {
		facts     facts.Set
		first     bool
		want      Standing
		inputs    bool // Flux Operator of the hub is answered
		ownAnswer bool // and so is Argo CD of the member
	}{
		"later, without Applications": {none, false, LeftOut, true, true},
		"later, with one":             {one, false, Refused, false, false},
		"later, nothing is known":     {facts.NewSet(false), false, LeftOut, true, false},
		"first, without Applications": {none, true, LeftOut, false, true},
		"first, with one":             {one, true, Refused, false, false},
		"first, nothing is known":     {facts.NewSet(false), true, Refused, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			var previous *State
			if !c.first {
				previous = next(t, nil, commitOf("good", files), c.facts)
			}
			st := next(t, previous, broken, c.facts)
			if q := st.Quarantined("hub"); len(q) != 1 || q[0].Standing != c.want || q[0].Name != "new" {
				t.Fatalf("%+v", q)
			}
			answered := func(what string, want bool, err error) {
				t.Helper()
				if (err == nil) != want {
					t.Errorf("%s: answered: %t, want %t", what, err == nil, want)
				}
			}
			_, err := st.Answer(hubs)
			answered("the hub", c.want == LeftOut, err)
			_, err = st.Inputs(hubs)
			answered("Flux Operator", c.inputs, err)
			_, err = st.Answer(own)
			answered("its own Argo CD", c.ownAnswer, err)
			_, err = st.Inputs(own)
			answered("its own Flux", false, err)
			_, err = st.Owned("hub", "new")
			answered("its own artifact", false, err)
			if _, err = st.Answer(request(t, `{"view":"components","group":"addons","owner":"one"}`)); err != nil {
				t.Error(err)
			}
			if len(st.LostFolders(st)) > 0 || previous != nil && len(st.Lost(previous, "")) > 0 {
				t.Error("something is lost")
			}
		})
	}
	// Applications that appear while it is left out count at once, remembered answers or not.
	st := next(t, next(t, nil, commitOf("good", files), none), broken, none)
	agents := request(t, `{"view":"agents"}`) // depends on no component's Application
	for _, r := range []Request{hubs, agents} {
		if _, err := st.Answer(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []Request{hubs, agents} {
		if b, err := next(t, st, broken, one).Answer(r); err == nil {
			t.Errorf("%s", b)
		}
	}
}

// A retired member whose file breaks goes on to be removed; one that retires by a commit that breaks it waits.
func TestRetiredMembersAtHome(t *testing.T) {
	gone := spoke("one", "lifecycle: retired\ndeletion: cascade\n")
	known := facts.NewSet(false).WithApplications(app("dns", "one", "default"), registered("one"))
	retired := noProblems(t, next(t, nil, commitOf("first", small().with(tree{member("one"): gone})), known))
	st := next(t, retired, commitOf("second", small().with(tree{member("one"): "a: ["})), known)
	if s := ask(t, st, addons)["dns-one"]; s.text("deletion") != fleet.Cascade || s.text("revision") != "first" {
		t.Errorf("%v", s)
	}
	active := noProblems(t, next(t, nil, commitOf("first", small()), known))
	st = next(t, active, commitOf("second", small().with(tree{member("one"): gone, "addons/tenants/retail/clusters/one/addons/dns/values.yaml": "a: ["})), known)
	if s := ask(t, st, addons)["dns-one"]; s.text("deletion") != fleet.Orphan || s.text("revision") != "first" {
		t.Errorf("%v", s)
	}
	// A file that is removed is a statement: nobody is kept.
	st = next(t, active, commitOf("second", small().with(tree{member("one"): ""})), known)
	if got := names(t, st, addons); got != "dns-hub dns-two" {
		t.Error(got)
	}
}

// Homes are shared, and given up when nobody is there any more.
func TestHomesAreShared(t *testing.T) {
	files := small()
	first := next(t, nil, commitOf("first", files), facts.Set{})
	second := next(t, first, commitOf("second", files.with(tree{member("one"): "a: [", member("two"): "a: ["})), facts.Set{})
	one, two := second.Cluster("hub", "one"), second.Cluster("hub", "two")
	if one.LastKnownGood != first.resolver || two.LastKnownGood != first.resolver {
		t.Error("two members that broke at once have two homes")
	}
	third := next(t, second, commitOf("third", files.with(tree{member("one"): "b: ["})), facts.Set{})
	if third.Cluster("hub", "one").LastKnownGood != first.resolver || third.Cluster("hub", "two").LastKnownGood != nil || len(third.Homes()) != 1 {
		t.Errorf("%v", third.Homes())
	}
	if fourth := next(t, third, commitOf("fourth", files), facts.Set{}); len(fourth.Homes()) != 0 {
		t.Errorf("%v", fourth.Homes())
	}
}
