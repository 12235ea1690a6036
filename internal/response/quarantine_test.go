package response_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// setsOf are the parameter sets of a response by cluster, as JSON without what a quarantine adds,
// and the flags by cluster.
func setsOf(t testing.TB, response []byte) (sets map[string][]string, flags map[string]string) {
	t.Helper()
	sets, flags = map[string][]string{}, map[string]string{}
	for _, out := range querytest.Sets(t, response) {
		name := out.Text("name")
		flags[name], _ = out["hold"].(string)
		delete(out, "hold")
		delete(out, "digest")
		if components, ok := out["components"].([]any); ok {
			for _, c := range components {
				delete(c.(map[string]any), "hold")
			}
		}
		text, err := json.Marshal(out)
		require.NoError(t, err)
		sets[name] = append(sets[name], string(text))
	}
	return sets, flags
}

// TestHealthyMembersGoOnAndBrokenOnesStay is rule 5 of fleetstate against a model: the last commit
// in which a build of nothing else had no error of a member. After any sequence of commits, the
// sets of every healthy member are those that such a build of the snapshot has, and those of every
// other one are those that such a build of its home has. (G2)
func TestHealthyMembersGoOnAndBrokenOnesStay(t *testing.T) {
	runs, steps := cases.Times(5), 30
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
		if edits[i].path == fleettest.Member("hub") {
			edits[i].contents = append(slices.Clone(edits[i].contents[1:]), "a: [\n", edits[i].contents[1]+"tenannt: x\n")
		}
	}
	// Without Applications a member that was never good is left out, and the others have a
	// response.
	known := facts.NewSet(false).WithApplications()
	of := func(st *fleetstate.State, q string) (sets map[string][]string, ok bool) {
		response, err := response.Bytes(st, querytest.Query(t, q))
		if err != nil {
			return nil, !isUnavailable(err) // no catalog has the component
		}
		sets, _ = setsOf(t, response)
		return sets, true
	}
	none := []byte(`{"output":{"parameters":[]}}`)
	healthy, kept, refused := 0, 0, 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 12))
		files := fleettest.Small()
		start := fleettest.Snapshot("start", files)
		previous := querytest.Next(t, nil, start, known)
		homes := map[fleetstate.ID]*snapshot.Snapshot{} // the model: of every member that was ever good
		for _, m := range inventory.Summaries(querytest.NoProblems(t, previous)) {
			homes[fleetstate.ID{Hub: m.Hub, Name: m.Name}] = start
		}
		alone := map[*snapshot.Snapshot]*fleetstate.State{} // builds of nothing but a home
		var history []string
		for step := range steps {
			for range 1 + r.IntN(2) {
				c := edits[r.IntN(len(edits))]
				content := c.contents[r.IntN(len(c.contents))]
				files = files.With(fleettest.Tree{c.path: content})
				history = append(history, fmt.Sprintf("%s = %q", c.path, content))
			}
			s := fleettest.Snapshot(fmt.Sprint("step", step), files)
			fresh, err := fleetstate.Build(nil, s, known)
			if err != nil {
				continue // refused as a whole
			}
			st := querytest.Next(t, previous, s, known)
			previous = st
			there, wrong := map[fleetstate.ID]bool{}, map[fleetstate.ID]bool{}
			for _, m := range fresh.Quarantined("") {
				wrong[m.ID] = true
			}
			for _, m := range inventory.Summaries(fresh) {
				id := fleetstate.ID{Hub: m.Hub, Name: m.Name}
				if there[id] = true; !wrong[id] {
					homes[id] = s
				}
			}
			maps.DeleteFunc(homes, func(id fleetstate.ID, _ *snapshot.Snapshot) bool { return !there[id] })
			for _, q := range questions {
				if owner := querytest.Query(t, q).Owner; owner != "" && !there[fleetstate.ID{Hub: "hub", Name: owner}] {
					continue
				}
				response, err := response.Bytes(st, querytest.Query(t, q))
				if err != nil {
					if response = none; isUnavailable(err) {
						// A base may name a component whose files nothing else of the member reads.
						if !strings.Contains(q, `"base"`) && !slices.ContainsFunc(st.Quarantined(""), func(m fleetstate.Quarantined) bool { return m.Standing == fleetstate.Refused }) {
							t.Fatalf("seed %d, %v\n%s: %v", seed, history, q, err)
						}
						refused++
						continue
					}
				}
				got, flags := setsOf(t, response)
				for id := range there {
					var model map[string][]string
					ok := true
					switch home := homes[id]; {
					case home == nil: // it is left out
					case home == s:
						model, ok = of(fresh, q)
						healthy++
					default:
						if alone[home] == nil {
							alone[home] = querytest.Next(t, nil, fleettest.Snapshot(home.Revision, contents(home)), known)
						}
						model, ok = of(alone[home], q)
						kept++
					}
					if !ok {
						refused++
						continue
					}
					want := model[id.Name]
					require.Equal(t, want, got[id.Name], "seed %d, %v\n%s: %s", seed, history, q, id.Name)
					if (flags[id.Name] != "") != (len(want) > 0 && homes[id] != s) {
						t.Fatalf("seed %d, %v\n%s: %s is flagged %q", seed, history, q, id.Name, flags[id.Name])
					}
				}
			}
		}
	}
	t.Logf("%d times a healthy member, %d times one at home, %d responses refused", healthy, kept, refused)
	if healthy < kept/4 || kept < healthy/4 || refused > kept/4 {
		t.Error("the edits do not test much")
	}
}

func isUnavailable(err error) bool {
	var e *problem.QueryError
	return errors.As(err, &e) && e.Kind == problem.KindUnavailable
}

// contents are a snapshot's files.
func contents(s *snapshot.Snapshot) fleettest.Tree {
	out := fleettest.Tree{}
	for _, p := range s.Paths() {
		out[p] = string(s.File(p).Data)
	}
	return out
}

// A release that is on its way out stays for those at home; of one that is there, what the snapshot
// says counts.
func TestReleaseOfAQuarantinedMemberStays(t *testing.T) {
	const releases = `{"view":"releases","group":"addons"}`
	files := fleettest.Small().With(fleettest.Tree{
		"addons/tenants/retail/clusters/two/application-sets/addons.yaml": "cert: {enabled: true}\n",
	})
	first := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", files), facts.Set{}))
	before := querytest.Ask(t, first, releases)
	// two, alone on canary, breaks; canary goes.
	broken := files.With(fleettest.Tree{
		fleettest.Member("two"): "a: [", "versions/applicationSets.yaml": strings.Replace(files["versions/applicationSets.yaml"], "    - {type: canary, chartRepoRevision: v2}\n", "", 1),
	})
	second := querytest.Next(t, first, fleettest.Snapshot("second", broken), facts.Set{})
	after := querytest.Ask(t, second, releases)
	canary := after["application-sets-addons-canary"]
	if canary.Text("revision") != "first" || canary.Text("hold") != "broken" {
		t.Errorf("canary: %v", canary)
	}
	for _, key := range []string{"hold", "digest"} {
		delete(canary, key)
		delete(before["application-sets-addons-canary"], key)
	}
	assert.Equal(t, before["application-sets-addons-canary"], canary)
	if d := after["application-sets-addons-default"]; d["hold"] != nil || d.Text("revision") != "second" {
		t.Errorf("default: %v", d)
	}
	// It changes: so it does for those at home, with the components that their home switches on
	// (R7).
	changed := files.With(fleettest.Tree{
		fleettest.Member("two"): "a: [", "versions/applicationSets.yaml": strings.Replace(files["versions/applicationSets.yaml"], "v2", "v3", 1),
		"addons/tenants/retail/clusters/two/application-sets/addons.yaml": "",
	})
	third := querytest.Next(t, second, fleettest.Snapshot("third", changed), facts.Set{})
	canary = querytest.Ask(t, third, releases)["application-sets-addons-canary"]
	if canary["hold"] != nil || canary.Text("revision") != "third" || canary["release"].(map[string]any)["chartRepoRevision"] != "v3" ||
		!strings.Contains(canary.Text("helmValues"), "cert:") || !slices.Equal(canary["clusters"].([]any), []any{"two"}) {
		t.Errorf("canary: %v", canary)
	}
	assert.Equal(t, "cert-two dns-two", querytest.Names(t, third, `{"view":"components","group":"addons","release":"canary"}`), "canary")
}

// What the hub's own file breaks, it breaks for all of its members: they take repositories and
// folders from it. The hub is known all the same.
func TestBrokenHubFileQuarantinesItsMembers(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("hub"): "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: u}\n"})
	first := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", files), facts.Set{}))
	for what, text := range map[string]string{"no YAML": "a: [", "a key": files[fleettest.Member("hub")] + "tenannt: x\n"} {
		broken := fleettest.Snapshot("second", files.With(fleettest.Tree{fleettest.Member("hub"): text, fleettest.Member("one"): fleettest.Spoke("one", "labels: {ring: b}\n")}))
		second := querytest.Next(t, first, broken, facts.Set{})
		for name, s := range querytest.Ask(t, second, querytest.Addons) {
			if s.Text("revision") != "first" || s.Annotation("addons_repo_url") != "u" || s.Text("hold") != "broken" {
				t.Errorf("%s: %s: %v", what, name, s)
			}
		}
		if got := len(second.Quarantined("hub")); got != 3 {
			t.Errorf("%s: %d are quarantined", what, got)
		}
		if own, all := querytest.Ask(t, second, `{"view":"components","group":"addons","owner":"hub"}`), querytest.Ask(t, second, querytest.Addons); len(all) != 3 || cmp.Diff(all, own) != "" {
			t.Errorf("%s: its engine gets %v", what, own)
		}
		// At a first start nobody knows whose file it is.
		third, err := fleetstate.Build(nil, broken, facts.NewSet(false).WithApplications())
		require.NoError(t, err)
		for _, q := range []string{querytest.Addons, `{"view":"components","group":"addons","owner":"one"}`} {
			querytest.Refused(t, third, q)
		}
	}
}

// A member at home sees its hub as it was then: whether the hub reads with its credentials depends
// on the hub's repositories.
func TestQuarantinedMemberSeesItsHubAsItWas(t *testing.T) {
	hub := func(url string) string {
		return "{clusterName: hub, tenant: platform, environment: prod, fleet_member: hub-cluster, addons_repo_url: " + url + "}\n"
	}
	one := fleettest.Spoke("one", "use_remote_argo: true\ngithubSecret: true\ngithubSecretName: g\naddons_repo_url: https://git.example/a\nsecretManagerSecretName: s\n")
	files := fleettest.Small().With(fleettest.Tree{fleettest.Member("hub"): hub("https://git.example/a"), fleettest.Member("one"): one})
	values := func(st *fleetstate.State) string {
		return querytest.Ask(t, st, `{"view":"members"}`)["fleet-secret-one"].Text("helmValues")
	}
	first := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", files), facts.Set{}))
	moved := files.With(fleettest.Tree{fleettest.Member("hub"): hub("https://git.example/b")})
	if values(querytest.NoProblems(t, querytest.Next(t, first, fleettest.Snapshot("moved", moved), facts.Set{}))) == values(first) {
		t.Fatal("the hub's repositories make no difference")
	}
	second := querytest.Next(t, first, fleettest.Snapshot("second", moved.With(fleettest.Tree{fleettest.Member("one"): "a: ["})), facts.Set{})
	assert.Equal(t, values(first), values(second))
}

// A layout that changes while a member is at home does not change what it runs, even that of a
// group that is gone.
func TestLayoutChangeLeavesAQuarantinedMember(t *testing.T) {
	files := fleettest.Small().With(fleettest.Tree{
		"fleet/layout.yaml":                           "groups: {addons: {}, extra: {root: addons}}\n",
		"addons/defaults/application-sets/extra.yaml": "log: {enabled: true, chart: {repoURL: r, name: log, version: '1'}}\n",
	})
	first := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", files), facts.Set{}))
	const extra = `{"view":"components","group":"extra"}`
	require.Equal(t, "log-hub log-one log-two", querytest.Names(t, first, extra))
	second := querytest.Next(t, first, fleettest.Snapshot("second", files.With(fleettest.Tree{fleettest.Member("one"): "a: [", "fleet/layout.yaml": "groups: {addons: {}, other: {root: addons}}\n"})), facts.Set{})
	assert.Equal(t, "log-one", querytest.Names(t, second, extra), "extra")
	assert.Equal(t, "dns-hub dns-one dns-two", querytest.Names(t, second, querytest.Addons), "addons")
	for _, group := range []string{"extra", "other"} {
		querytest.Ask(t, second, fmt.Sprintf(`{"view":"releases","group":%q}`, group))
		querytest.Ask(t, second, fmt.Sprintf(`{"view":"components","group":%q}`, group))
	}
	if _, err := explain.Component(second, explain.Target{Hub: "hub", Cluster: "two", Group: "extra", Component: "log"}, nil); err == nil {
		t.Error("two has the group still")
	}
	if _, err := explain.Component(second, explain.Target{Hub: "hub", Cluster: "one", Group: "extra", Component: "log"}, nil); err != nil {
		t.Error(err)
	}
	third := querytest.Next(t, second, fleettest.Snapshot("third", files.With(fleettest.Tree{"fleet/layout.yaml": "groups: {addons: {}, other: {root: addons}}\n"})), facts.Set{})
	assert.Contains(t, querytest.Refused(t, querytest.NoProblems(t, third), extra), "not in the layout")
}

// G1: who never could be computed is left out if that loses nothing; not for an engine that nothing
// is known of, and not of the answer to its own.
func TestNewBrokenMemberIsLeftOutOnlyWithoutLoss(t *testing.T) {
	files := fleettest.Small()
	broken := fleettest.Snapshot("broken", files.With(fleettest.Tree{fleettest.Member("new"): "a: ["}))
	none, one := facts.NewSet(false).WithApplications(), facts.NewSet(false).WithApplications(fleettest.Application("dns", "new", "default"))
	hubs, own := querytest.Query(t, querytest.Addons), querytest.Query(t, `{"view":"components","group":"addons","owner":"new"}`)
	for what, c := range map[string]struct {
		facts     facts.Set
		first     bool
		want      fleetstate.Standing
		inputs    bool // Flux Operator of the hub is answered
		ownAnswer bool // and so is Argo CD of the member
	}{
		"later, without Applications": {none, false, fleetstate.LeftOut, true, true},
		"later, with one":             {one, false, fleetstate.Refused, false, false},
		"later, nothing is known":     {facts.NewSet(false), false, fleetstate.LeftOut, true, false},
		"first, without Applications": {none, true, fleetstate.LeftOut, false, true},
		"first, with one":             {one, true, fleetstate.Refused, false, false},
		"first, nothing is known":     {facts.NewSet(false), true, fleetstate.Refused, false, false},
	} {
		t.Run(what, func(t *testing.T) {
			var previous *fleetstate.State
			if !c.first {
				previous = querytest.Next(t, nil, fleettest.Snapshot("good", files), c.facts)
			}
			st := querytest.Next(t, previous, broken, c.facts)
			if q := st.Quarantined("hub"); len(q) != 1 || q[0].Standing != c.want || q[0].Name != "new" {
				t.Fatalf("%+v", q)
			}
			answered := func(what string, want bool, err error) {
				t.Helper()
				assert.Equal(t, want, (err == nil), "%s: answered: %t, want", what, err == nil)
			}
			_, err := response.Bytes(st, hubs)
			answered("the hub", c.want == fleetstate.LeftOut, err)
			_, err = response.Inputs(st, hubs)
			answered("Flux Operator", c.inputs, err)
			_, err = response.Bytes(st, own)
			answered("its own Argo CD", c.ownAnswer, err)
			_, err = response.Inputs(st, own)
			answered("its own Flux", false, err)
			_, err = flux.OwnedBy(st, "hub", "new")
			answered("its own artifact", false, err)
			if _, err = response.Bytes(st, querytest.Query(t, `{"view":"components","group":"addons","owner":"one"}`)); err != nil {
				t.Error(err)
			}
			if previous != nil && len(st.Lost(previous, "")) > 0 {
				t.Error("a member is lost")
			}
		})
	}
	// Applications that appear while it is left out count at once, remembered answers or not.
	st := querytest.Next(t, querytest.Next(t, nil, fleettest.Snapshot("good", files), none), broken, none)
	agents := querytest.Query(t, `{"view":"agents"}`) // depends on no component's Application
	for _, r := range []query.Query{hubs, agents} {
		if _, err := response.Bytes(st, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []query.Query{hubs, agents} {
		if b, err := response.Bytes(querytest.Next(t, st, broken, one), r); err == nil {
			t.Errorf("%s", b)
		}
	}
}

// A retired member whose file breaks goes on to be removed; one that retires by a commit that
// breaks it waits.
func TestRetirementWaitsForAQuarantinedMember(t *testing.T) {
	gone := fleettest.Spoke("one", "lifecycle: retired\ndeletion: cascade\n")
	known := facts.NewSet(false).WithApplications(fleettest.Application("dns", "one", "default"), fleettest.Registration("one"))
	retired := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): gone})), known))
	st := querytest.Next(t, retired, fleettest.Snapshot("second", fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): "a: ["})), known)
	if s := querytest.Ask(t, st, querytest.Addons)["dns-one"]; s.Text("deletion") != fleet.Cascade || s.Text("revision") != "first" {
		t.Errorf("%v", s)
	}
	active := querytest.NoProblems(t, querytest.Next(t, nil, fleettest.Snapshot("first", fleettest.Small()), known))
	st = querytest.Next(t, active, fleettest.Snapshot("second", fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): gone, "addons/tenants/retail/clusters/one/addons/dns/values.yaml": "a: ["})), known)
	if s := querytest.Ask(t, st, querytest.Addons)["dns-one"]; s.Text("deletion") != fleet.Orphan || s.Text("revision") != "first" {
		t.Errorf("%v", s)
	}
	// A file that is removed is a statement: nobody is kept.
	st = querytest.Next(t, active, fleettest.Snapshot("second", fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): ""})), known)
	assert.Equal(t, "dns-hub dns-two", querytest.Names(t, st, querytest.Addons))
}
