package response_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// asks is what the ApplicationSet of component dns asks that charts/application-sets makes for a
// release.
func asks(t testing.TB, applicationSet, release string) query.Query {
	t.Helper()
	r := querytest.Query(t, fmt.Sprintf(
		`{"view":"components","group":"addons","component":"dns","base":{"enabled":true,"chart":{"repoURL":"b","name":"b","version":"0.1"}},"release":%q}`, release))
	r.ApplicationSet = applicationSet
	return r
}

// answeredTo are the clusters of an answer.
func answeredTo(t testing.TB, st *fleetstate.State, r query.Query) string {
	t.Helper()
	return querytest.Column(t, st, r, "name")
}

// TestMovedSetWaitsForItsOldOwner: cluster two is on canary. As long as another release's
// ApplicationSet controls its Application, the new one does not get it. (D4)
func TestMovedSetWaitsForItsOldOwner(t *testing.T) {
	const old, updated = "addons-default-dns", "addons-canary-dns"
	there := fleettest.Application("dns", "two", "default")
	for _, c := range []struct {
		name string
		apps []facts.Application
		more fleettest.Tree
		by   string // the ApplicationSet that asks
		want string
	}{
		{"controlled by the old owner", []facts.Application{fleettest.Controlled(there, old)}, nil, updated, ""},
		{"on its way with what runs", []facts.Application{fleettest.WithFinalizer(fleettest.Controlled(there, old))}, nil, updated, ""},
		{"gone", nil, nil, updated, "two"},
		{"controlled by nobody", []facts.Application{there}, nil, updated, "two"},
		{"its own", []facts.Application{fleettest.Controlled(fleettest.Application("dns", "two", "canary"), updated)}, nil, updated, "two"},
		{"its own, labelled otherwise by somebody: left out, it would be deleted", []facts.Application{fleettest.Controlled(there, updated)}, nil, updated, "two"},
		{"of its release, but another's: that is no move", []facts.Application{fleettest.Controlled(fleettest.Application("dns", "two", "canary"), "theirs")}, nil, updated, "two"},
		{"without a release", []facts.Application{fleettest.Controlled(fleettest.Application("dns", "two", ""), old)}, nil, updated, "two"},
		{"nobody knows who asks", []facts.Application{fleettest.Controlled(there, old)}, nil, "", "two"},
		{"of a release that is no more", []facts.Application{fleettest.Controlled(fleettest.Application("dns", "two", "gone"), "addons-gone-dns")}, nil, updated, ""},
		{"another cluster's by its labels", []facts.Application{{Name: "dns-two", Cluster: "one", Group: "addons", Component: "dns", Release: "default", Controller: old}}, nil, updated, "two"},
		{"another group's by its labels", []facts.Application{{Name: "dns-two", Cluster: "two", Group: "resources", Component: "dns", Release: "default", Controller: old}}, nil, updated, "two"},
		{"another component's by its labels", []facts.Application{{Name: "dns-two", Cluster: "two", Group: "addons", Component: "cert", Release: "default", Controller: old}}, nil, updated, "two"},
		{"switched off with the move", []facts.Application{fleettest.Controlled(there, old)}, fleettest.Tree{"addons/tenants/retail/environments/dev/application-sets/addons.yaml": "dns: {enabled: false}\n"}, updated, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := querytest.BuildWith(t, fleettest.Small().With(c.more), c.apps...)
			assert.Equal(t, c.want, answeredTo(t, st, asks(t, c.by, "canary")), "canary")
			if got := answeredTo(t, st, asks(t, old, "default")); got != "hub one" {
				t.Errorf("D4: the old release answers %q: it lets go at once", got)
			}
			// Who asks for all releases is the owner before and after.
			if got, want := answeredTo(t, st, asks(t, updated, "")), "hub one two"; c.more == nil && got != want {
				t.Errorf("all releases: got %q, want %q", got, want)
			}
		})
	}
	assert.Equal(t, "two", answeredTo(t, querytest.NoProblems(t, querytest.Build(t, fleettest.Small())), asks(t, updated, "canary")), "without Applications known nothing waits")
	broken := fleettest.Tree{"addons/tenants/retail/environments/dev/addons/dns/values.yaml": "a: [\n"}
	st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(broken)), facts.NewSet(false).WithApplications(fleettest.Controlled(there, old)))
	require.NoError(t, err)
	if _, err := response.Bytes(st, asks(t, updated, "canary")); err == nil {
		t.Error("G1: a set that waits cannot be computed, and the answer is given")
	}
}

// TestReleaseThatIsGoneHasAnEmptyResponse: the ApplicationSets of a release outlive it. Those who
// are on it are none for certain, so that their answer is an empty one, by which they let go of
// what has moved; unless a cluster says it is on it. (G1)
func TestReleaseThatIsGoneHasAnEmptyResponse(t *testing.T) {
	versions := fleettest.Tree{"versions/applicationSets.yaml": strings.Replace(fleettest.Small()["versions/applicationSets.yaml"], "canary", "next", 1)}
	moved := fleettest.Tree{fleettest.Member("two"): "{clusterName: two, tenant: retail, environment: dev, labels: {addonsRelease: next}}\n"}
	there := fleettest.Controlled(fleettest.Application("dns", "two", "canary"), "addons-canary-dns")

	st := querytest.BuildWith(t, fleettest.Small().With(versions).With(moved), there)
	assert.Equal(t, "", answeredTo(t, st, asks(t, "addons-canary-dns", "canary")), "the release that is no more")
	assert.Equal(t, "", answeredTo(t, st, asks(t, "addons-next-dns", "next")), "its successor, before")
	assert.Equal(t, "two", answeredTo(t, querytest.BuildWith(t, fleettest.Small().With(versions).With(moved)), asks(t, "addons-next-dns", "next")), "its successor, after")

	// The label is there, and the release, or the whole file, is lost: that is no answer.
	for name, lost := range map[string]fleettest.Tree{"release": versions, "file": {"versions/applicationSets.yaml": "releases: {}\n"}} {
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(lost)), facts.NewSet(false).WithApplications(there))
		if err != nil {
			t.Fatal(name, err)
		}
		if b, err := response.Bytes(st, asks(t, "addons-canary-dns", "canary")); err == nil || !strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

// controllers are Argo CD's, as far as it matters who owns what: an ApplicationSet that fails on an
// Application, because another one controls it, deletes none (argo-cd v2.14 and v3.2,
// applicationset_controller.go, Reconcile).
type controllers struct {
	apps   map[string]facts.Application // by name
	failed int
}

func (c *controllers) facts() facts.Set {
	var apps []facts.Application
	for _, name := range slices.Sorted(maps.Keys(c.apps)) {
		apps = append(apps, c.apps[name])
	}
	return facts.NewSet(false).WithApplications(apps...)
}

// reconcile makes an ApplicationSet ask, and do as the response says.
func (c *controllers) reconcile(t *testing.T, st *fleetstate.State, r query.Query) {
	t.Helper()
	wanted := map[string]bool{}
	owned := false
	for _, cluster := range strings.Fields(answeredTo(t, st, r)) {
		a := fleettest.Controlled(fleettest.Application("dns", cluster, r.Release), r.ApplicationSet)
		wanted[a.Name] = true
		if was, there := c.apps[a.Name]; there && was.Controller != "" && was.Controller != r.ApplicationSet {
			owned = true
			continue
		}
		c.apps[a.Name] = a
	}
	if owned {
		c.failed++
		return
	}
	maps.DeleteFunc(c.apps, func(name string, a facts.Application) bool { return a.Controller == r.ApplicationSet && !wanted[name] })
}

// TestMovesNeverDeadlock: whichever clusters move between which releases in one commit, an Argo CD
// that asks where an answer differs from the one before, in whatever order, ends with each
// Application in its release, and has never failed. Had it, releases that exchange clusters would
// wait for each other for ever. (D4)
func TestMovesNeverDeadlock(t *testing.T) {
	const clusters = 6
	releases := []string{"canary", "default", "next", "old"}
	fleet := func(releaseOf []string) fleettest.Tree {
		files := fleettest.Small().With(fleettest.Tree{
			fleettest.Member("one"): "", fleettest.Member("two"): "", "fleet/fleet-members/hub/hub.yaml": "",
			"versions/applicationSets.yaml": "releases: {addons: [{type: canary}, {type: default}, {type: next}, {type: old}]}\n",
		})
		for i, release := range releaseOf {
			name := fmt.Sprintf("c%d", i)
			files[fleettest.Member(name)] = fleettest.Spoke(name, "labels: {addonsRelease: "+release+"}\n")
		}
		return files
	}
	for seed := range cases.Times(15) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		argo := &controllers{apps: map[string]facts.Application{}}
		releaseOf := make([]string, clusters)
		var st *fleetstate.State
		for range 4 { // commits; the first one installs everything
			for i := range releaseOf {
				if st == nil || r.IntN(2) == 0 {
					releaseOf[i] = releases[r.IntN(len(releases))]
				}
			}
			files := fleettest.Snapshot("rev", fleet(releaseOf))
			due := map[string]bool{}
			for rounds := 0; ; rounds++ {
				next, err := fleetstate.Build(st, files, argo.facts())
				require.NoError(t, err)
				for _, release := range releases {
					if ask := asks(t, "addons-"+release+"-dns", release); st == nil || new(response.Cache).Fingerprint(st, ask) != new(response.Cache).Fingerprint(next, ask) {
						due[release] = true
					}
				}
				if st = next; len(due) == 0 {
					break
				}
				if rounds > 10*clusters {
					t.Fatalf("seed %d: no end: %v", seed, argo.apps)
				}
				release := slices.Sorted(maps.Keys(due))[r.IntN(len(due))]
				delete(due, release)
				argo.reconcile(t, st, asks(t, "addons-"+release+"-dns", release))
			}
			for i, release := range releaseOf {
				name := fmt.Sprintf("dns-c%d", i)
				if got := argo.apps[name]; got.Release != release || got.Controller != "addons-"+release+"-dns" {
					t.Fatalf("seed %d: %s is on %s, but %+v", seed, name, release, got)
				}
			}
			if len(argo.apps) != clusters || argo.failed > 0 {
				t.Fatalf("seed %d: %d Applications, %d failures", seed, len(argo.apps), argo.failed)
			}
		}
	}
}
