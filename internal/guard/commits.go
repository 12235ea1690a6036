package guard

import (
	"maps"
	"slices"
	"sync"
	"weak"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/query"
)

// maxCommits bounds how many judgements are remembered: more than states that anybody compares.
const maxCommits = 32

// commits remembers the judgements of states. The zero value is ready.
type commits struct {
	mu     sync.Mutex
	judged map[commitKey]*commit
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
	before, earlier := g.commitBaseline(hub)
	at := commitKey{weak.Make(st), hub}
	if c := x.judged[at]; c != nil {
		return c
	}
	c := judgeCommit(st, nil, hub, before, earlier, g.o.Now())
	g.reportApproved(st, hub, c)
	if before == nil || !before.equal(c.accepted) || !slices.Equal(c.spent, earlier) {
		key := keyOf(query.Query{Hub: hub}, forHub)
		g.baselines.put(key, st.Revision, c.accepted.items(), c.spent)
	}
	if len(x.judged) >= maxCommits {
		clear(x.judged)
	}
	x.judged[at], x.latest[hub], x.own[hub] = c, c, g.baselines.get(keyOf(query.Query{Hub: hub}, forHub))
	return c
}

// commitBaseline returns what the next state is compared with, nil for nothing. It forgets
// judgements that do not rest on the newest baseline. The caller holds the lock.
func (g *Guard) commitBaseline(hub string) (before *holdings, earlier []spent) {
	x := &g.commits
	record := g.baselines.get(keyOf(query.Query{Hub: hub}, forHub))
	if record != x.own[hub] { // a replica's, or that of before a restart
		maps.DeleteFunc(x.judged, func(k commitKey, _ *commit) bool { return k.hub == hub })
		delete(x.latest, hub)
	}
	if record == nil {
		return nil, nil
	}
	if x.latest[hub] != nil {
		return x.latest[hub].accepted, record.spent
	}
	return holdingsFrom(record.items), record.spent
}
