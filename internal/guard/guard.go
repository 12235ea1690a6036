package guard

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

// Queries are what is known of the queries of an ApplicationSet.
type Queries struct {
	Requests []query.Query
	// Complete reports that the ApplicationSet has no other queries.
	Complete bool
}

// Options configure a Guard. Hub is required.
type Options struct {
	// Hub is the hub whose Applications the facts know.
	Hub string
	// Queries returns those of an ApplicationSet; default none are known.
	Queries func(applicationSet string) Queries
	// Requesters returns the ApplicationSets whose queries are known, by name; default none.
	Requesters func() map[string]Queries
	// Store keeps the last responses for a restart, where the facts know no Applications; default
	// memory alone. Run writes to it.
	Store *store.Store
	// Responses cache those of states; default a cache of its own.
	Responses *response.Cache
	// Desired returns a response by the revision of each ring; by default that of the state. No
	// engine reports how healthy Flux Operator's objects are, so that they do not wait for each
	// other.
	Desired func(st *fleetstate.State, r query.Query) (*response.Response, error)
	// InRings reports whether a rollout policy counts while a state is served; required with
	// Desired.
	InRings func(st *fleetstate.State) bool
	// IsServed reports whether a component that the accepted state gives a member is served now. By
	// default every one is.
	IsServed func(lifecycle.Item) bool
	// Respond returns a response as it may be given now: with what waits for something else as it
	// was. Default: that of Responses.
	Respond func(ctx context.Context, st *fleetstate.State, r query.Query) (*response.Response, error)
	// Approved is called once for each removal of a served state that an approval lets pass, with
	// the approval's position; default none.
	Approved func(st *fleetstate.State, hub string, r lifecycle.Removal, approval problem.Pos)
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Guard gives responses, or refuses them, and says which components are held. It may be used by
// several goroutines.
type Guard struct {
	o         Options
	baselines *baselines
	commits   commits
	verdicts  verdicts

	mu       sync.Mutex
	refusals map[queryKey]*RefusedRemoval
}

// New reads the last responses from a store of this process. It reports damaged records, and starts
// without them.
func New(o Options) (*Guard, error) {
	if o.Hub == "" {
		return nil, errors.New("guard: no hub")
	}
	if o.Queries == nil {
		o.Queries = func(string) Queries { return Queries{} }
	}
	if o.Requesters == nil {
		o.Requesters = func() map[string]Queries { return nil }
	}
	if o.Responses == nil {
		o.Responses = new(response.Cache)
	}
	if o.Respond == nil {
		o.Respond = o.Responses.Get
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Guard{o: o, baselines: newBaselines(o), refusals: map[queryKey]*RefusedRemoval{}}, nil
}

// Response returns the state's response to a query of Argo CD. The error is the state's own
// *problem.QueryError, a *Refusal, or that of the context.
func (g *Guard) Response(ctx context.Context, st *fleetstate.State, r query.Query) (*response.Response, error) {
	response, err := g.o.Respond(ctx, st, r)
	if err != nil {
		return nil, err
	}
	if err := g.allow(proposal{st, r, response, forArgoCD}); err != nil {
		return nil, err
	}
	return response, nil
}

// inputs is what rings and holds have, as Response has it.
func (g *Guard) inputs(st *fleetstate.State, r query.Query) (*response.Response, error) {
	isComposed := g.o.InRings(st) || len(st.Fleet.Holds) > 0 || len(g.Kept(st)) > 0
	if g.o.Desired == nil || !isComposed || r.View != query.Components {
		return response.Inputs(st, r)
	}
	composed, err := g.o.Desired(st, r)
	if err != nil {
		return nil, err
	}
	return response.ComposedInputs(st, r, composed)
}

// Inputs returns the response to a query of Flux Operator, which takes so many inputs, as Response
// does.
func (g *Guard) Inputs(st *fleetstate.State, r query.Query, most int) (*response.Response, error) {
	response, err := g.inputs(st, r)
	if err != nil {
		return nil, err
	}
	if err := g.allow(proposal{st, r, response, forFlux}); err != nil {
		return nil, err
	}
	g.baselines.takes(keyOf(r, forFlux), most)
	return response, nil
}

// Fingerprint returns a text that is the same for two states whose responses to a query differ in
// the revision alone.
func (g *Guard) Fingerprint(st *fleetstate.State, r query.Query) string {
	composed, err := g.o.Respond(context.Background(), st, r)
	if err != nil {
		return "error: " + err.Error()
	}
	if v := g.judge(proposal{st, r, composed, forArgoCD}); v.err != nil {
		return "error: " + v.err.Error()
	}
	return composed.Fingerprint()
}

// allow lets a response be given or refuses it, and remembers which.
func (g *Guard) allow(p proposal) error {
	v := g.judge(p)
	var refused *Refusal
	if errors.As(v.err, &refused) && !g.commits.isEarlier(p.st) {
		g.report(p, refused)
	}
	if v.err != nil {
		return v.err
	}
	if !v.cached {
		if !g.commits.isEarlier(p.st) {
			g.resolve(p)
		}
		if v.remember || p.query.Selector != nil { // its Applications tell only while all queries are known
			g.baselines.put(p.key(), p.st.Revision, p.response.Items(), nil, terms{})
		} else {
			g.baselines.drop(p.key()) // it would be outdated when the Applications are gone
		}
		if v.cache && p.engine == forArgoCD { // no other response is cached
			g.verdicts.put(p, v.taken, v.until)
		}
	}
	return nil
}
