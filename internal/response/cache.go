package response

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Limits of what a generation remembers: responses and fingerprints by number, responses also by
// bytes.
const maxResponses = 4096

var maxResponseBytes = budget.MemoryShare(256<<20, 6)

// maxGenerations is how many states a Cache knows: the one that is served, and the one before,
// which requests under way and comparisons are about.
const maxGenerations = 2

// Cache remembers responses, which are pure functions of a state and a query (G6). From one state
// to the next it keeps what both say alike. The zero value is ready; several goroutines may use it.
type Cache struct {
	computing run.Shared[computedKey, *Response]

	mu          sync.Mutex
	generations []*generation // newest first
}

// computedKey names a response that is being computed.
type computedKey struct {
	of    *generation
	query queryKey
}

// Stats returns how many responses were computed, and how many of these were given up because no
// caller of Get waited for them any more.
func (c *Cache) Stats() (computed, abandoned int64) {
	return c.computing.Begun.Load(), c.computing.Abandoned.Load()
}

// Get is Respond from memory: the same pointer as long as the response is remembered. Callers at
// the same time share one computation, which ends early when the contexts of all of them have
// ended.
func (c *Cache) Get(ctx context.Context, st *fleetstate.State, r query.Query) (*Response, error) {
	key, err := queryKeyOf(r)
	if err != nil {
		return nil, problem.BadRequest("%v", err)
	}
	g := c.of(st)
	if response, ok := g.get(key); ok {
		return response, nil
	}
	return c.computing.Do(ctx, computedKey{g, key}, func(ctx context.Context) (*Response, error) {
		if response, ok := g.get(key); ok { // another computation has just ended
			return response, nil
		}
		like, twin := g.previousOf(key)
		response, failure := respond(ctx, st, r, like, twin)
		if failure == errAbandoned {
			g.keep(key, response)
		}
		if failure != nil {
			return nil, failure
		}
		g.put(key, remembered[*Response]{topicOf(r), response})
		return response, nil
	})
}

// GetLike is Get, and shares with another state's response to the same query what both say alike of
// the same clusters. Both states have the same facts.
func (c *Cache) GetLike(ctx context.Context, st *fleetstate.State, r query.Query, like *Response) (*Response, error) {
	return c.getBeside(ctx, st, r, like, func(g *generation) *map[queryKey]*Response { return &g.previous })
}

// GetTwin is Get, and shares with another state's response to the same query what both say alike,
// once it is computed. The facts may differ.
func (c *Cache) GetTwin(ctx context.Context, st *fleetstate.State, r query.Query, twin *Response) (*Response, error) {
	return c.getBeside(ctx, st, r, twin, func(g *generation) *map[queryKey]*Response { return &g.twins })
}

func (c *Cache) getBeside(ctx context.Context, st *fleetstate.State, r query.Query, other *Response, of func(*generation) *map[queryKey]*Response) (*Response, error) {
	key, err := queryKeyOf(r)
	if err != nil {
		return nil, problem.BadRequest("%v", err)
	}
	g := c.of(st)
	g.mu.Lock()
	others := of(g)
	if *others == nil {
		*others = map[queryKey]*Response{}
	}
	if (*others)[key] == nil {
		(*others)[key] = other
	}
	g.mu.Unlock()
	return c.Get(ctx, st, r)
}

// Fingerprint is a text that is the same for two states if they answer a query alike, but for the
// revision; or if both refuse it for the same reason.
func (c *Cache) Fingerprint(st *fleetstate.State, r query.Query) string {
	key, _ := queryKeyOf(r) // if it fails, so does Get
	g := c.of(st)
	if text, ok := g.fingerprint(key); ok {
		return text
	}
	response, err := c.Get(context.Background(), st, r)
	if err != nil {
		return "error: " + err.Error()
	}
	text := response.Fingerprint()
	g.putFingerprint(key, remembered[string]{topicOf(r), text})
	return text
}

// Fingerprint is that of a response. A set's digest covers all of it but the revision.
func (t *Response) Fingerprint() string {
	sum := sha256.New()
	for _, p := range t.parts {
		sum.Write(p.digests)
	}
	sum.Write([]byte(t.holds))
	return hex.EncodeToString(sum.Sum(nil))
}

// of is a state's generation. A new one begins with what the newest has in common with it.
func (c *Cache) of(st *fleetstate.State) *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.generations {
		if g.state == st {
			return g
		}
	}
	g := newGeneration(st)
	kept := c.generations
	if len(kept) > 0 {
		g.succeed(kept[0])
	}
	c.generations = append([]*generation{g}, kept[:min(len(kept), maxGenerations-1)]...)
	return g
}

// generation is what is remembered of one state.
type generation struct {
	state *fleetstate.State

	mu        sync.Mutex
	responses map[queryKey]remembered[*Response]
	size      int // of the responses, in bytes
	kept      int // of all abandoned responses so far, in bytes
	// fingerprints are small: they are there still when the responses of a large fleet have been
	// too many to be kept.
	fingerprints map[queryKey]remembered[string]
	// previous are responses of the state before, and abandoned ones, until this one has its own.
	previous map[queryKey]*Response
	// twins are responses of states with other facts, which may say the same.
	twins map[queryKey]*Response
}

// remembered is a value of a query, with what it depends on.
type remembered[V any] struct {
	topic
	value V
}

// topic is the part of a query that says which Applications its response depends on.
type topic struct {
	view             query.View
	group, component string
}

func topicOf(r query.Query) topic { return topic{r.View, r.Group, r.Component} }

// queryKey is the same for queries that have the same response.
type queryKey = [sha256.Size]byte

func queryKeyOf(r query.Query) (queryKey, error) {
	if r.View != query.Components || r.Release == "" {
		r.ApplicationSet = "" // makes no difference
	}
	text, err := encodeJSON(r)
	return sha256.Sum256(text), err
}

func newGeneration(st *fleetstate.State) *generation {
	return &generation{state: st, responses: map[queryKey]remembered[*Response]{}, fingerprints: map[queryKey]remembered[string]{}}
}

func (g *generation) get(key queryKey) (*Response, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found, ok := g.responses[key]
	return found.value, ok
}

// put remembers a response, if there is room. What it shares with the previous one is in it now.
func (g *generation) put(key queryKey, r remembered[*Response]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.previous, key)
	delete(g.twins, key)
	size := r.value.Len()
	if size <= maxWhole {
		size *= 2 // it is kept as a whole beside its parts
	}
	if _, ok := g.responses[key]; ok || size > maxResponseBytes { // another request has computed it too, or it is no use
		return
	}
	if len(g.responses) >= maxResponses || g.size+size > maxResponseBytes {
		clear(g.responses)
		g.size = 0
	}
	g.responses[key] = r
	g.size += size
}

// keep remembers what there is of an abandoned response for the next query: a client that gives up
// again and again gets it in the end.
func (g *generation) keep(key queryKey, r *Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.size+g.kept+r.Len() > maxResponseBytes {
		return
	}
	if g.previous == nil {
		g.previous = map[queryKey]*Response{}
	}
	g.previous[key] = r
	g.kept += r.Len()
}

func (g *generation) fingerprint(key queryKey) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found, ok := g.fingerprints[key]
	return found.value, ok
}

func (g *generation) putFingerprint(key queryKey, f remembered[string]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.fingerprints) >= maxResponses {
		clear(g.fingerprints)
	}
	g.fingerprints[key] = f
}

// previousOf returns the previous state's response to a query, or an abandoned one, and one of
// other facts; nil for none.
func (g *generation) previousOf(key queryKey) (response, twin *Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.previous[key], g.twins[key]
}

// succeed takes over from the previous generation what depends on nothing that has changed since:
// responses as a whole, or for their parts.
func (g *generation) succeed(previous *generation) {
	previous.mu.Lock()
	defer previous.mu.Unlock()
	if unchanged := unchangedTopics(previous.state, g.state); unchanged != nil {
		for key, r := range previous.responses {
			if unchanged(r.topic) {
				g.put(key, r)
			}
		}
		for key, f := range previous.fingerprints {
			if unchanged(f.topic) {
				g.putFingerprint(key, f)
			}
		}
	}
	if !previous.state.Facts().Equal(g.state.Facts()) {
		return
	}
	g.previous = map[queryKey]*Response{}
	for key, r := range previous.responses {
		if r.view == query.Components || r.view == query.Members {
			g.previous[key] = r.value
		}
	}
}

// unchangedTopics tells which topics depend on none of the Applications that differ between two
// states; nil where anything else differs. Applications come and go by the hundred when a component
// is rolled out, each time in a few changes of the facts.
func unchangedTopics(before, after *fleetstate.State) func(topic) bool {
	if before.Resolver().Snapshot != after.Resolver().Snapshot || before.KnowsApplications() != after.KnowsApplications() ||
		!before.Facts().EqualClusters(after.Facts()) || !before.Facts().EqualGrants(after.Facts()) ||
		!maps.Equal(before.LastKnownGood(), after.LastKnownGood()) || !slices.EqualFunc(before.Holds(""), after.Holds(""), fleetstate.Hold.Equal) {
		return nil
	}
	groups, components, granted, agents, grants := map[string]bool{}, map[[2]string]bool{}, map[string]bool{}, false, false
	leftOut := false // one that is so no more is missing in every response
	handed := false  // its engine decides for all of its groups
	facts.ApplicationsDiffer(before.Facts(), after.Facts(), func(a facts.Application) {
		groups[a.Group], components[[2]string{a.Group, a.Component}] = true, true
		granted[a.Group] = granted[a.Group] || a.Grant
		grants = grants || a.Grant
		agents = agents || a.Name == catalog.ApplicationName(fleetstate.Agent, a.Cluster)
		leftOut = leftOut || after.IsUnresolved(a.Cluster)
		handed = handed || lifecycle.IsHanded(before, a.Cluster) || lifecycle.IsHanded(after, a.Cluster)
	})
	if leftOut || handed {
		return nil
	}
	return func(t topic) bool {
		// A component's set depends on its Application, which counts if it is labelled with the
		// set's group and component; which components a release has, on those of its group; what
		// registers a member, on all of its cluster; what makes its cluster, on all of them, too,
		// as it is removed last (C3); all of a group, on the Applications that deliver its grants.
		// An agent, its engine and the operator of its credentials go when its last grant has gone.
		switch {
		case t.view == query.Agents:
			return !agents && !grants
		case t.group == fleetstate.FleetGroup && grants:
			return false
		case t.group == provision.Group:
			return len(groups) == 0
		case t.view == query.Components && t.component != "":
			return !components[[2]string{t.group, t.component}] && !granted[t.group]
		case t.view == query.Components, t.view == query.Releases:
			return !groups[t.group]
		}
		return len(groups) == 0
	}
}

// DeploysTo reports whether the response to a query has a set for one of the clusters.
func (c *Cache) DeploysTo(st *fleetstate.State, r query.Query, clusters []string) bool {
	if len(clusters) == 0 || r.View != query.Components && r.View != query.Agents && r.View != query.Grants {
		return false // the others deploy to the requester's own cluster
	}
	response, err := c.Get(context.Background(), st, r)
	if err != nil {
		return false
	}
	wanted := make(map[string]bool, len(clusters))
	for _, name := range clusters {
		wanted[name] = true
	}
	for e := range response.all() {
		if wanted[e.subject.Cluster] {
			return true
		}
	}
	return false
}
