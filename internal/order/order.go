package order

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/base/succession"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// maxQueries bounds the queries that are remembered.
const maxQueries = 4096

// Options configure an Order.
type Options struct {
	// Desired returns the response that the repository asks for; required.
	Desired func(*fleetstate.State, query.Query) (*response.Response, error)
	// Newest returns the response of the newest revision, where rings and holds keep others;
	// default Desired.
	Newest func(*fleetstate.State, query.Query) (*response.Response, error)
	// Queries returns those of all known ApplicationSets, by name; default none.
	Queries func() map[string][]query.Query
	// Store keeps what stays for a restart; default none.
	Store *store.Store
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Logger is for what the store says; default none.
	Logger *slog.Logger
}

// Order composes responses. It may be used by several goroutines.
type Order struct {
	o    Options
	held *heldSets

	mu          sync.Mutex
	asked       map[queryKey]*memory
	uses        uint64        // counts those of asked
	generations []*generation // newest first
	// serving is the state that is served, and previous the last one of the revision before.
	serving, previous *fleetstate.State
	states            succession.Of[fleetstate.State] // that were served
}

// maxGenerations is how many states have composed responses: the one that is served, and the one
// before, which it is compared with.
const maxGenerations = 2

// generation holds the composed responses of a state.
type generation struct {
	state   *fleetstate.State
	byQuery map[composedKey]composed
}

// composed is a response, nil if the next query composes it anew, and what waits in it.
type composed struct {
	response *response.Response
	waits    []Wait
}

// queryKey tells queries apart by their names: what is remembered of one stays when its base
// changes.
type queryKey struct{ applicationSet, names string }

// composedKey tells composed responses apart: by the content of the base, too.
type composedKey struct {
	queryKey
	base [sha256.Size]byte
}

// memory is what is remembered of a query.
type memory struct {
	query query.Query
	used  uint64
	// given are the sets that depend on others, by Application, newest first.
	given map[string][]response.ParameterSet
}

// history is how many sets of an Application are remembered: Argo CD may not have applied the
// newest one yet.
const history = 2

// Wait is a component of a cluster that waits for another one.
type Wait struct {
	Hub       string `json:"hub"`
	Cluster   string `json:"cluster"`
	Group     string `json:"group"`
	Component string `json:"component"`
	// For is the component that it waits for, as its catalog entry names it.
	For string `json:"for"`
	// Reason says what is missing.
	Reason string `json:"reason"`
	// Revision is the one that is served meanwhile, empty for none.
	Revision string `json:"-"`
	// Removal reports that the component is removed after the other one.
	Removal bool `json:"removal,omitempty"`
	// IsNew reports that the component has no Application yet.
	IsNew bool `json:"new,omitempty"`
}

// New makes an Order that remembers nothing yet.
func New(o Options) *Order {
	if o.Queries == nil {
		o.Queries = func() map[string][]query.Query { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Order{o: o, held: newHeldSets(o), asked: map[queryKey]*memory{}}
}

// Serving notes the state that is served from now on.
func (o *Order) Serving(st *fleetstate.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.serving != nil && o.serving.Revision != st.Revision {
		o.previous = o.serving
	}
	o.states.Add(st)
	o.serving = st
}

// before returns the last state of the revision before a state's, nil if that is not known. A state
// is served a moment before it is noted.
func (o *Order) before(st *fleetstate.State) *fleetstate.State {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.states.IsEarlier(st):
		return nil
	case o.serving != nil && o.serving.Revision != st.Revision:
		return o.serving
	}
	return o.previous
}

func keyOf(q query.Query) queryKey {
	q.Base = nil
	q.Owner = cmp.Or(q.Owner, fleet.OwnerHub)
	text, err := json.Marshal(q)
	if err != nil { // a selector that cannot be encoded has no response
		text = []byte(err.Error())
	}
	return queryKey{q.ApplicationSet, string(text)}
}

func composedKeyOf(q query.Query) composedKey {
	text, _ := json.Marshal(q.Base) // one that cannot be encoded has no response
	return composedKey{keyOf(q), sha256.Sum256(text)}
}

// Compose returns the response to a query in which what waits stays as it was. What waits on one
// cluster refuses nothing: the error, a *problem.QueryError, is that of a store that has not been
// read yet.
func (o *Order) Compose(st *fleetstate.State, q query.Query, desired *response.Response) (*response.Response, error) {
	if q.View != query.Components {
		return desired, nil
	}
	key := keyOf(q)
	o.remember(key, q)
	if !desired.IsOrdered() || !st.Facts().KnowsHealth() {
		return desired, nil
	}
	of := composedKeyOf(q)
	if known := o.composed(st, of); known != nil {
		return known, nil
	}
	c := &composition{order: o, st: st, query: q, given: o.given(key), desired: map[string]map[string]response.ParameterSet{}, newest: map[string]map[string]string{}}
	out := desired.Compose(c.decide)
	if len(c.lost) > 0 && !o.held.checkpoint.IsLoaded() {
		return nil, &problem.QueryError{Kind: problem.KindUnavailable, Message: "not ready: the parameter sets that stay have not been read from the state yet"}
	}
	for _, w := range c.lost {
		o.o.Logger.Warn("the order is given up, because the last parameter set is not known any more", "cluster", w.Cluster, "group", w.Group, "component", w.Component, "dependsOn", w.For, "reason", w.Reason)
	}
	if c.unasked {
		o.note(st, of, composed{waits: c.waits}) // the next query may know more
		return out, nil
	}
	return o.note(st, of, composed{out, c.waits}), nil
}

// remember notes a query.
func (o *Order) remember(key queryKey, q query.Query) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.asked[key]
	if m == nil && (len(o.asked) < maxQueries || o.forgetStrangers()) {
		m = &memory{}
		o.asked[key] = m
	}
	if m != nil {
		o.uses++
		m.query, m.used = q, o.uses
	}
}

// composed returns what was composed for a query of a state, nil for nothing.
func (o *Order) composed(st *fleetstate.State, key composedKey) *response.Response {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.of(st).byQuery[key].response
}

// forgetStrangers forgets a tenth of the queries that no known ApplicationSet has, the ones first
// whose last use is oldest. It reports whether there were any. The caller holds the lock.
func (o *Order) forgetStrangers() bool {
	listed := o.o.Queries()
	var strangers []queryKey
	for key := range o.asked {
		if _, is := listed[key.applicationSet]; !is {
			strangers = append(strangers, key)
		}
	}
	slices.SortFunc(strangers, func(a, b queryKey) int { return cmp.Compare(o.asked[a].used, o.asked[b].used) })
	for _, key := range strangers[:min(len(strangers), maxQueries/10)] {
		delete(o.asked, key)
	}
	return len(strangers) > 0
}

// of returns a state's generation. The caller holds the lock.
func (o *Order) of(st *fleetstate.State) *generation {
	for _, g := range o.generations {
		if g.state == st {
			return g
		}
	}
	g := &generation{st, map[composedKey]composed{}}
	o.generations = append([]*generation{g}, o.generations[:min(len(o.generations), maxGenerations-1)]...)
	return g
}

// note notes what was composed for a query of a state. It returns the response that was noted
// first.
func (o *Order) note(st *fleetstate.State, key composedKey, c composed) *response.Response {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := o.of(st)
	if first := g.byQuery[key].response; first != nil {
		return first
	}
	if g.byQuery[key] = c; len(g.byQuery) > maxQueries {
		g.byQuery = map[composedKey]composed{key: c}
	}
	return c.response
}

// given returns the remembered sets of a query; they must not be changed.
func (o *Order) given(key queryKey) map[string][]response.ParameterSet {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.asked[key]; m != nil {
		return m.given
	}
	return nil
}

// Given remembers what Argo CD has got of a state. A response that comes late is older than what is
// remembered.
func (o *Order) Given(st *fleetstate.State, q query.Query, r *response.Response) {
	if q.View != query.Components || !r.IsOrdered() {
		return
	}
	var sets []response.ParameterSet
	r.ParameterSets(func(s response.ParameterSet) {
		if len(s.DependsOn()) == 0 || s.Item().IsRemoval {
			return
		}
		if q.Group == provision.Group {
			o.held.hold(s) // a restart before the next query must not let nodes go ahead of their control plane
		}
		sets = append(sets, s)
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.asked[keyOf(q)]
	if m == nil {
		return
	}
	isLate, now := o.states.IsEarlier(st), map[string][]response.ParameterSet{}
	if isLate {
		maps.Copy(now, m.given)
	}
	for _, s := range sets {
		newer, older := []response.ParameterSet{s}, m.given[s.Item().Name]
		if isLate {
			newer, older = older, newer
		}
		var all []response.ParameterSet
		for _, one := range slices.Concat(newer, older) {
			if len(all) < history && !slices.ContainsFunc(all, func(o response.ParameterSet) bool { return o.Digest() == one.Digest() }) {
				all = append(all, one)
			}
		}
		now[s.Item().Name] = all
	}
	m.given = now
}

// Waits returns what waits in the responses of a state that were composed, sorted by cluster, group
// and component.
func (o *Order) Waits(st *fleetstate.State) []Wait {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := []Wait{}
	for _, c := range o.of(st).byQuery {
		out = append(out, c.waits...)
	}
	slices.SortFunc(out, func(a, b Wait) int {
		return cmp.Or(strings.Compare(a.Hub, b.Hub), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Group, b.Group),
			strings.Compare(a.Component, b.Component), strings.Compare(a.For, b.For))
	})
	return slices.Compact(out)
}

// queries returns the queries whose responses have a component of an engine, sorted: of other
// requesters so far, and then those of ApplicationSets, which count (rule 6).
func (o *Order) queries(of query.Query, component string) []query.Query {
	var out []query.Query
	listed := o.o.Queries()
	add := func(q query.Query) {
		if q.View == query.Components && q.Hub == of.Hub && cmp.Or(q.Owner, fleet.OwnerHub) == cmp.Or(of.Owner, fleet.OwnerHub) && cmp.Or(q.Component, component) == component {
			out = append(out, q)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(o.asked), func(a, b queryKey) int {
		return cmp.Or(strings.Compare(a.applicationSet, b.applicationSet), strings.Compare(a.names, b.names))
	})
	for _, key := range keys {
		if _, is := listed[key.applicationSet]; !is {
			add(o.asked[key].query)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		for _, q := range listed[name] {
			q.ApplicationSet = name
			add(q)
		}
	}
	return out
}
