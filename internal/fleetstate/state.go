package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// The components that stand for what registers a member, and for its agent, both of group
// FleetGroup. The merged values of the registration chart declare a cluster's labels. ClusterInfo
// is the name of Flux's ConfigMap with a cluster's facts.
const (
	FleetGroup   = "fleet"
	Registration = "fleet-secret"
	Agent        = "agent"
	ClusterInfo  = "cluster-info"
)

// State is the resolved fleet of one snapshot with facts, and of members that cannot be computed
// the last known good snapshots (rule 5). It is immutable: several goroutines may use it.
type State struct {
	// Revision is the snapshot's.
	Revision string
	Fleet    *fleet.Fleet
	// Problems are all findings with severity error, of the repository and of its members, in
	// order.
	Problems []problem.Problem

	resolver *Resolver
	facts    facts.Set
	clusters map[string][]*Cluster // by hub: those of its members, in their order
	// exceptions are the members with problems or a last known good snapshot, and newcomers, by hub
	// and name. They are few, and found without visiting all members.
	exceptions  []exception
	hubProblems map[string][]problem.Problem // by hub: what is wrong with its own member file
	hubs        map[string]*fleet.Member     // by hub: its own member, as answers see it
	groups      []string                     // all that answers know, sorted
	// unsettled are the names of members that cannot be computed and have no home.
	unresolved map[string]bool
	// moves are the hubs that members' files have moved to, by what they were before.
	moved map[ID]string
	// tenants are the ledgers of tenants, by name.
	tenants map[string]*budget.Ledger
	// holds are the tenants whose members are held (rule 8).
	holds []Hold
	// releaseCatalogs are nil where nobody asks for them (WithCatalogs).
	releaseCatalogs *catalog.ReleaseCatalogs
}

// Build computes the state of a snapshot with facts. What did not change since the previous state,
// which may be nil, is taken from it, and so is what cannot be computed any more (rule 5). The
// error, a problem.List, means that the repository as a whole cannot be used; problems of single
// members are in State.Problems.
func Build(previous *State, s *snapshot.Snapshot, f facts.Set) (*State, error) {
	var before *Resolver
	if previous != nil {
		before = previous.resolver
	}
	return newState(previous, before, s, f, nil)
}

// Restore computes the state of a snapshot with facts as it was when its last known good snapshots
// and its held tenants were these. What it has read it shares with another state, which may be nil;
// one of the same snapshot also has it know the members that have moved.
func Restore(other *State, s *snapshot.Snapshot, f facts.Set, lkg LastKnownGood, holds ...Hold) (*State, error) {
	var beside *Resolver
	if other != nil {
		beside = other.resolver
	}
	st, err := newState(nil, beside, s, f, lkg)
	if err == nil && beside != nil && beside.Snapshot == s {
		st.moved = other.moved
	}
	if err != nil || len(holds) == 0 {
		return st, err
	}
	return st.hold(newHistory(st, nil, lkg), holds), nil
}

func newState(previous *State, before *Resolver, s *snapshot.Snapshot, f facts.Set, homes LastKnownGood) (*State, error) {
	late := &fleet.Fleet{Late: map[string]string{}}
	for id := range homes { // names of members are no paths
		late.Late[id.Name] = id.Hub
	}
	now, err := newResolver(before, late, s, servedBy(previous, homes))
	if err != nil {
		return nil, err
	}
	st := &State{Revision: s.Revision, Fleet: now.Fleet, resolver: now, facts: f}
	st.buildClusters(previous, newHistory(st, previous, homes))
	st.moved = st.movedSince(previous)
	now.Documents.Trim(s)
	return st, nil
}

// buildClusters computes every member's cluster, or takes it from the previous state where nothing
// that it depends on has changed.
func (st *State) buildClusters(previous *State, p *history) {
	st.hubProblems = p.hubFaults()
	anew := st.takeOver(previous)
	tenants, over := st.openTenants(previous)
	anew = append(anew, over...)
	run.Each(len(anew), func(i int) {
		d := anew[i]
		l := tenants.of(d.member)
		if l.IsDecided(tenants.due[d.member]) {
			return
		}
		c := st.resolver.NewCluster(d.member, d.place, st.facts)
		c.Problems = problem.Cut(st.resolver.Check(c), problem.OfCluster)
		l.Enter(tenants.due[d.member], c.account)
		st.clusters[d.member.Hub][d.at] = p.settle(c)
	})
	anew = st.closeTenants(tenants, p, anew)
	st.findExceptions(previous, anew)
	st.collectProblems()
	st.groups, st.hubs = st.allGroups(), st.ownMembers()
}

// WithCatalogs is the state with the catalogs of releases. Responses stay as they are.
func (st *State) WithCatalogs(find catalog.FindReleaseCatalog) *State {
	out := *st
	out.releaseCatalogs = catalog.NewReleaseCatalogs(find)
	return &out
}

// ReleaseCatalogs are those of WithCatalogs, nil without.
func (st *State) ReleaseCatalogs() *catalog.ReleaseCatalogs { return st.releaseCatalogs }

// collectProblems gathers the errors of the repository and of its members.
func (st *State) collectProblems() {
	st.Problems = problem.Errors(st.Fleet.Problems)
	st.unresolved = map[string]bool{}
	for _, x := range st.exceptions {
		st.Problems = append(st.Problems, x.cluster.Problems...)
		if x.cluster.LastKnownGood == nil && len(x.cluster.Problems) > 0 {
			st.unresolved[x.member.Name] = true
		}
	}
	st.Problems = problem.Sorted(st.Problems)
}
