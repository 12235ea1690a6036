package generator

import (
	"fmt"
	"maps"
	"path"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Group and component of the registration chart: its merged values declare a cluster's labels.
const (
	fleetGroup  = "fleet"
	fleetSecret = "fleet-secret"
)

// State is everything that answers are computed from: one snapshot and one set of facts, and of members that cannot be
// computed the last snapshots in which they could (rule 10). It is immutable but for its memory of answers, and may be
// used by several goroutines.
type State struct {
	// Revision is the snapshot's.
	Revision string
	Fleet    *fleet.Fleet
	// Problems are all findings with severity error, of the repository and of its members, in order.
	Problems []problem.Problem

	now      *ground
	facts    facts.Set
	clusters map[*fleet.Member]*cluster
	faults   map[string][]problem.Problem // by hub: what is wrong with its own member file
	hubs     map[string]*fleet.Member     // by hub: its own member, as answers see it
	groups   []string                     // all that answers know, sorted
	// unsettled are the names of members that cannot be computed and have no home.
	unsettled map[string]bool
	// moves are the hubs that members' files have moved to, by what they were before.
	moves   map[ID]string
	answers answers
}

// Build computes the state of a snapshot with facts. What did not change since the previous state, which may be nil,
// is taken from it, and so is what cannot be computed any more (rule 10). The error, a problem.List, means that the
// repository as a whole cannot be used; problems of single members are in State.Problems.
func Build(previous *State, s *snapshot.Snapshot, f facts.Set) (*State, error) {
	return newState(previous, s, f, nil)
}

// Restore computes the state of a snapshot with facts as it was when its Homes were these.
func Restore(s *snapshot.Snapshot, f facts.Set, homes Homes) (*State, error) {
	return newState(nil, s, f, homes)
}

func newState(previous *State, s *snapshot.Snapshot, f facts.Set, homes Homes) (*State, error) {
	var before *ground
	if previous != nil {
		before = previous.now
	}
	now, err := newGround(before, s)
	if err != nil {
		return nil, err
	}
	st := &State{Revision: s.Revision, Fleet: now.Fleet, now: now, facts: f, answers: newAnswers()}
	st.buildClusters(previous, newPast(st, previous, homes))
	st.moves = st.movesSince(previous)
	now.cache.Trim(s)
	st.keepAnswers(previous)
	if previous != nil {
		st.answers.before = previous.answers.forNext(previous.facts, f)
	}
	return st, nil
}

// buildClusters computes every member's cluster, or takes it from the previous state where nothing that it depends on
// has changed.
func (st *State) buildClusters(previous *State, p *past) {
	st.clusters = make(map[*fleet.Member]*cluster)
	st.faults = p.hubFaults()
	keep := st.keeper(previous)
	var members []*fleet.Member
	for _, hub := range st.Fleet.Hubs() {
		members = append(members, st.Fleet.Members(hub)...)
	}
	clusters := make([]*cluster, len(members))
	parallel(len(members), func(i int) {
		kept, place := keep(members[i])
		if kept == nil {
			kept = st.now.newCluster(members[i], place, st.facts)
			kept.problems = problem.Cut(st.now.check(kept), problem.OfCluster)
			kept = p.settle(kept)
		}
		clusters[i] = kept
	})
	st.Problems = problem.Errors(st.Fleet.Problems)
	for i, m := range members {
		st.clusters[m] = clusters[i]
		st.Problems = append(st.Problems, clusters[i].problems...)
	}
	st.Problems = problem.Sorted(st.Problems)
	st.unsettled = map[string]bool{}
	for m, c := range st.clusters {
		if c.home == nil && len(c.problems) > 0 {
			st.unsettled[m.Name] = true
		}
	}
	st.groups, st.hubs = st.allGroups(), st.ownMembers()
}

// parallel calls f for 0 to n-1 on all processors and returns when all are done. A panic of f becomes the caller's, who
// may be able to go on without the result: in a goroutine of its own it would end the process.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var failed atomic.Pointer[failedCall]
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, &failedCall{p, debug.Stack()})
				}
			}()
			for i := next.Add(1) - 1; i < int64(n) && failed.Load() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p) //nolint:forbidigo // passed on
	}
}

// failedCall is a panic of parallel's f, with the stack that is gone by the time the caller panics.
type failedCall struct {
	value any
	stack []byte
}

func (c *failedCall) String() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }

// keeper returns a function that finds a member's cluster in the previous state: nil when it must be computed anew,
// but then perhaps its placement, which depends on less.
func (st *State) keeper(previous *State) func(*fleet.Member) (*cluster, *placement) {
	if previous == nil || previous.Fleet.Layout != st.Fleet.Layout {
		return func(*fleet.Member) (*cluster, *placement) { return nil, nil }
	}
	everywhere := previous.Fleet.Versions != st.Fleet.Versions || previous.Fleet.FleetSecrets != st.Fleet.FleetSecrets
	for g, c := range st.now.catalogs {
		everywhere = everywhere || previous.now.catalogs[g].Root != c.Root
	}
	folders := map[string]bool{}
	for _, p := range snapshot.Changed(previous.now.snapshot, st.now.snapshot) {
		folders["."] = true // a level may be the repository's root
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	return func(m *fleet.Member) (*cluster, *placement) {
		if previous.clusters[m] == nil || previous.Fleet.HubMember(m.Hub) != st.Fleet.HubMember(m.Hub) || !sameFaults(previous.faults[m.Hub], st.faults[m.Hub]) {
			return nil, nil
		}
		old := previous.attempted(m)
		if old.place == nil {
			return nil, nil
		}
		before, wasRegistered := previous.facts.Of(m.Name)
		now, registered := st.facts.Of(m.Name)
		switch {
		case wasRegistered != registered || !before.Equal(now):
			return nil, nil
		case everywhere || intersect(old.place.folders, folders):
			return nil, old.place
		}
		return previous.clusters[m], nil
	}
}

// intersect reports whether two sets have anything in common.
func intersect(a, b map[string]bool) bool {
	if len(b) < len(a) {
		a, b = b, a
	}
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}

// templateFacts are the facts as templates see them.
type templateFacts map[string]any

// lazy are the facts with the group and component that are being computed, put together when they are first needed.
func (f templateFacts) lazy(g *clusterGroup, component string) func() any {
	var out map[string]any
	return func() any {
		if out == nil {
			out = f.with(g.name, component, g.root)
		}
		return out
	}
}

// with are the facts with a group, component and root.
func (f templateFacts) with(group, component, root string) map[string]any {
	out := make(map[string]any, len(f)+3)
	maps.Copy(out, f)
	out["group"], out["component"], out["root"] = group, component, root
	return out
}

// withLabels are the facts with other labels and annotations.
func (f templateFacts) withLabels(labels, annotations map[string]string) templateFacts {
	out := make(templateFacts, len(f)+3)
	maps.Copy(out, f)
	l, a := anyMap(labels), anyMap(annotations)
	out["labels"], out["annotations"] = l, a
	out["metadata"] = map[string]any{"labels": l, "annotations": a}
	return out
}

// anyMap is a map as sprig's functions (get, dig, hasKey) take it.
func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

var emptyMap = &yamldoc.Node{Kind: yamldoc.Map}
