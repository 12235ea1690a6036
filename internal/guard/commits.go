package guard

import (
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/argosy-hub/argosy/internal/base/succession"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// commits remembers the judgements of states. The zero value is ready.
type commits struct {
	mu     sync.Mutex
	judged map[commitKey]*commit
	// states are those with judgements: what an earlier one gives is no baseline.
	states succession.Of[fleetstate.State]
	// latest is the newest judgement of a hub, and own the baseline that it was written to: another
	// one is a replica's.
	latest map[string]*commit
	own    map[string]*remembered
}

type commitKey struct {
	state weak.Pointer[fleetstate.State]
	hub   string
}

// forHub is the engine of a hub's baseline among those of responses.
const forHub = "hub"

// Serving judges a state before anybody asks for its responses, so that the next one is compared
// with it. States have to be given in their order.
func (g *Guard) Serving(st *fleetstate.State) {
	if g.baselines.isReady() {
		g.commit(st, g.o.Hub)
	}
}

// commit returns the judgement of a state as a whole, once for each state.
func (g *Guard) commit(st *fleetstate.State, hub string) *commit {
	x := &g.commits
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.judged == nil {
		x.judged, x.latest, x.own = map[commitKey]*commit{}, map[string]*commit{}, map[string]*remembered{}
	}
	record, before, earlier := g.commitBaseline(hub)
	at := commitKey{weak.Make(st), hub}
	if c := x.judged[at]; c != nil {
		return c
	}
	c := judgeCommit(st, nil, hub, before, earlier, g.o.IsServed, g.o.Now())
	x.judged[at] = c
	if !x.isNewest(st) {
		return c
	}
	g.reportApproved(st, hub, c)
	if hub == g.o.Hub {
		g.reportKept(st, c)
	}
	if before == nil || !before.equal(c.accepted) || !slices.Equal(c.spent, earlier) {
		record = g.baselines.put(keyOf(query.Query{Hub: hub}, forHub), st.Revision, c.accepted.items(), c.spent, c.accepted.terms)
	}
	x.latest[hub], x.own[hub] = c, record
	return c
}

// isNewest reports whether no state is newer than one, and forgets the judgements of old ones. The
// caller holds the lock.
func (x *commits) isNewest(st *fleetstate.State) bool {
	isNewest, forgotten := x.states.Add(st)
	maps.DeleteFunc(x.judged, func(k commitKey, _ *commit) bool { return k.state == forgotten })
	return isNewest
}

// isEarlier reports whether a state is known, and a newer one, too.
func (x *commits) isEarlier(st *fleetstate.State) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.states.IsEarlier(st)
}

// commitBaseline returns what the next state is compared with, nil for nothing, and the record of
// it. It forgets judgements that do not rest on the newest baseline. The caller holds the lock.
func (g *Guard) commitBaseline(hub string) (record *remembered, before *holdings, earlier []spent) {
	x := &g.commits
	record = g.baselines.get(keyOf(query.Query{Hub: hub}, forHub))
	if record != x.own[hub] { // a replica's, or that of before a restart
		maps.DeleteFunc(x.judged, func(k commitKey, _ *commit) bool { return k.hub == hub })
		delete(x.latest, hub)
	}
	switch {
	case record == nil:
		return nil, nil, nil
	case x.latest[hub] != nil:
		return record, x.latest[hub].accepted, record.spent
	}
	return record, holdingsFrom(record), record.spent
}
