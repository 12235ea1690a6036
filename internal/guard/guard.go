package guard

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/state"
)

// Asked is what is known of the questions of an ApplicationSet.
type Asked struct {
	// Requests are its questions.
	Requests []generator.Request
	// All tells that it asks no others.
	All bool
}

// Options say what is known beside states. Hub is required.
type Options struct {
	// Hub is the hub whose Applications the facts know.
	Hub string
	// Questions are those of an ApplicationSet; default nothing is known.
	Questions func(applicationSet string) Asked
	// Asking are all ApplicationSets whose questions are known, by name; default none.
	Asking func() map[string]Asked
	// Dir keeps the last good answers where the facts know no Applications; default memory alone.
	Dir string
	// State keeps them in a room that replicas share, in place of Dir; Run has to be called then.
	State state.Room
	// Responses remember what states respond; default a cache of its own.
	Responses *generator.Cache
	// Now defaults to time.Now.
	Now func() time.Time
	// Logger defaults to slog.Default().
	Logger *slog.Logger
}

// Guard answers questions, or refuses to. It may be used by several goroutines.
type Guard struct {
	o     Options
	store *store

	verdicts verdicts

	mu       sync.Mutex
	refusals map[question]*Reported
}

// New opens the folder. Records that cannot be used are told, and no error.
func New(o Options) (*Guard, error) {
	if o.Hub == "" {
		return nil, errors.New("guard: no hub")
	}
	if o.Questions == nil {
		o.Questions = func(string) Asked { return Asked{} }
	}
	if o.Asking == nil {
		o.Asking = func() map[string]Asked { return nil }
	}
	if o.Responses == nil {
		o.Responses = new(generator.Cache)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s, err := openStore(o)
	if err != nil {
		return nil, err
	}
	return &Guard{o: o, store: s, refusals: map[question]*Reported{}}, nil
}

// Answer is the state's answer to Argo CD's request, or an error: the state's own *generator.Error, or a *Refusal.
func (g *Guard) Answer(st *generator.State, r generator.Request) ([]byte, error) {
	told, err := g.Told(st, r)
	if err != nil {
		return nil, err
	}
	return told.Bytes(), nil
}

// Told is Answer with what its sets are about.
func (g *Guard) Told(st *generator.State, r generator.Request) (*generator.Response, error) {
	told, err := g.o.Responses.Get(st, r)
	if err != nil {
		return nil, err
	}
	if err := g.answer(ask{st, r, told, toArgoCD}); err != nil {
		return nil, err
	}
	return told, nil
}

// Inputs is Answer for Flux Operator.
func (g *Guard) Inputs(st *generator.State, r generator.Request) ([]byte, error) {
	told, err := generator.Inputs(st, r)
	if err != nil {
		return nil, err
	}
	if err := g.answer(ask{st, r, told, toFlux}); err != nil {
		return nil, err
	}
	return told.Bytes(), nil
}

// Fingerprint is a text that is the same for two states if Answer answers a request alike, but for the revision.
func (g *Guard) Fingerprint(st *generator.State, r generator.Request) string {
	told, err := g.o.Responses.Get(st, r)
	if err != nil {
		return g.o.Responses.Fingerprint(st, r)
	}
	if v := g.judge(ask{st, r, told, toArgoCD}); v.err != nil {
		return "error: " + v.err.Error()
	}
	return g.o.Responses.Fingerprint(st, r)
}

// Engines that ask. They are told different things.
const (
	toArgoCD = "argocd"
	toFlux   = "flux"
)

// ask is a question that a state has an answer to.
type ask struct {
	st     *generator.State
	r      generator.Request
	told   *generator.Response
	engine string
}

// answer lets the answer be given, or refuses it, and takes note of which.
func (g *Guard) answer(a ask) error {
	v := g.judge(a)
	var refused *Refusal
	if errors.As(v.err, &refused) {
		g.report(a, refused)
		return v.err
	}
	if v.err != nil {
		return v.err
	}
	if !v.known { // found just now
		g.settle(a)
		if v.remember {
			g.store.put(a.question(), a.st.Revision, subjects(a.told.Subjects()), v.spent)
		} else {
			g.store.drop(a.question()) // it would be old when the Applications are no more
		}
		if v.keep && a.engine == toArgoCD { // no other response is remembered
			g.verdicts.put(a, v.until)
		}
	}
	return nil
}

// verdict is what is to become of an answer.
type verdict struct {
	// err is why it is not given.
	err error
	// known tells that the verdict is an earlier one.
	known bool
	// remember tells to compare the next answer to the question with this one.
	remember bool
	// keep tells to keep the verdict with the answer, until then if that is a time.
	keep  bool
	until time.Time
	// spent is what this answer and those before it have lost, to be remembered.
	spent []spent
}

// judge finds the verdict, or the one that is known. It changes nothing.
func (g *Guard) judge(a ask) verdict {
	if !g.store.ready() {
		return verdict{err: errUnread}
	}
	v, found := g.budget(a)
	if v.err != nil || len(found.moves) == 0 {
		return v
	}
	v.keep = false // it is one of other answers, too
	if refused := g.handover(a, found.moves); refused != nil {
		v.err = refused
	}
	return v
}

// budget is the verdict on what is lost, with what was found; of a verdict that is known, nothing.
func (g *Guard) budget(a ask) (verdict, found) {
	now := g.o.Now()
	if until, ok := g.verdicts.get(a); ok && (until.IsZero() || now.Before(until)) {
		return verdict{known: true}, found{}
	}
	b := g.baseline(a)
	c := comparison{st: a.st, r: a.r, now: now, baseline: b.had, told: [][]generator.Subject{subjects(a.told.Subjects())}, everyone: g.everyone(a, b)}
	if b.remembered {
		c.spent = g.store.spentOf(a.question(), now.Add(-a.st.Fleet.Layout.Guard.Window))
	}
	out := verdict{remember: b.remembered, keep: true}
	found := c.compare()
	if (found.over() || len(found.moves) > 0) && b.others != nil {
		// What the ApplicationSet's other questions are answered is not lost.
		out.keep = false
		for _, r := range b.others() {
			told, err := g.o.Responses.Get(a.st, r)
			if err != nil {
				return verdict{err: err}, found // Argo CD makes nothing of an ApplicationSet's answers if one is an error
			}
			c.told = append(c.told, subjects(told.Subjects()))
		}
		found = c.compare()
	}
	out.until = found.until
	if b.remembered {
		out.spent = c.spentWith(found)
	}
	if found.over() {
		out.err = &Refusal{question: a.question(), found: found, message: found.message(a.r), revision: a.st.Revision}
	}
	return out, found
}
