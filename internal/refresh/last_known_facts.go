package refresh

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/state"
	"github.com/argosy-hub/argosy/internal/trigger"
)

// factsQuiet is how often facts are written at most.
const factsQuiet = 10 * time.Second

// LastKnownFacts are the facts of a provider, completed by those from before a restart (rule 9): a
// cluster whose Secret has gone meanwhile has its last known facts, and all facts are the last
// known ones while the API server is away at a start.
type LastKnownFacts struct {
	FactsProvider
	store   state.Store
	saved   *state.Document[savedFacts]
	log     *slog.Logger
	quiet   time.Duration
	changed trigger.Trigger

	mu sync.Mutex
	// loaded reports that the store has been read; before, no facts are complete.
	loaded bool
	// before are the facts from the store, and clusters those of them that still have a member
	// file.
	before   *facts.Set
	clusters map[string]facts.Cluster
	problem  error
}

// NewLastKnownFacts keeps a provider's facts in a store.
func NewLastKnownFacts(p FactsProvider, s state.Store, log *slog.Logger) *LastKnownFacts {
	return &LastKnownFacts{
		FactsProvider: p, store: s, saved: factsDocument(s), log: log, quiet: factsQuiet,
		changed: trigger.New(), clusters: map[string]facts.Cluster{},
	}
}

// Current returns the provider's facts and the last known ones of clusters that it does not know
// any more, or the last known facts while the provider fails.
func (l *LastKnownFacts) Current() (facts.Set, bool) {
	set, complete := l.FactsProvider.Current()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.loaded:
		return set, false
	case !complete && l.before != nil && l.before.GrantsOf() == set.GrantsOf() && l.FactsProvider.Err() != nil:
		return *l.before, true
	case !complete:
		return set, false
	}
	return l.withLastKnown(set), true
}

// withLastKnown adds the last known clusters to a set. The caller holds the lock.
func (l *LastKnownFacts) withLastKnown(set facts.Set) facts.Set {
	if !set.Closed {
		return set
	}
	clusters := clustersOf(set)
	known := len(clusters)
	for name, c := range l.clusters {
		if _, registered := set.Of(name); !registered {
			c.Secret = "" // it has gone
			clusters = append(clusters, c)
		}
	}
	if len(clusters) == known {
		return set
	}
	return set.WithClusters(clusters...)
}

// Err is the provider's error, or why the last known facts cannot be read.
func (l *LastKnownFacts) Err() error {
	if err := l.FactsProvider.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.loaded {
		return l.problem
	}
	return nil
}

// Problem is why the store cannot be read or written, nil if it can.
func (l *LastKnownFacts) Problem() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.problem
}

func (l *LastKnownFacts) setProblem(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problem = err
}

// Forget drops the last known facts of clusters that have no member file any more.
func (l *LastKnownFacts) Forget(isMember func(name string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.clusters {
		if !isMember(name) {
			delete(l.clusters, name)
		}
	}
}

// Run keeps the provider up to date, and writes what it knows.
func (l *LastKnownFacts) Run(ctx context.Context, changed func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		l.FactsProvider.Run(ctx, func() {
			l.changed.Fire()
			changed()
		})
	})
	if !state.Await(ctx, l.load, func(err error) {
		l.log.Warn("the last known facts cannot be read yet", "state", l.store.String(), "error", err)
		l.setProblem(fmt.Errorf("the last known facts cannot be read yet: %w", err))
	}) {
		return
	}
	changed()
	for {
		select {
		case <-ctx.Done():
			l.save(context.WithoutCancel(ctx))
			return
		case <-l.changed:
		}
		l.save(ctx)
		timer := time.NewTimer(l.quiet)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// load reads the facts from before the restart. Damaged ones are reported and not used.
func (l *LastKnownFacts) load(ctx context.Context) error {
	saved, _, err := l.saved.Read(ctx)
	if err != nil && !state.IsDamaged(err) {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loaded, l.problem = true, err
	if err != nil {
		l.log.Error("the last known facts cannot be used", "state", l.store.String(), "error", err)
	}
	if saved != nil {
		set := saved.set()
		l.before = &set
		for _, c := range saved.Clusters {
			l.clusters[c.Name] = c
		}
	}
	return nil
}

// save writes the facts, if they are complete. It takes in the clusters that a replica has written
// meanwhile: that one may have seen a cluster that this one has not.
func (l *LastKnownFacts) save(ctx context.Context) {
	if _, complete := l.FactsProvider.Current(); !complete {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, state.Timeout)
	defer cancel()
	err := state.Retry(func() error {
		theirs, changed, err := l.saved.Read(ctx)
		if err != nil && !state.IsDamaged(err) {
			return err
		}
		if changed && theirs != nil {
			l.mu.Lock()
			for _, c := range theirs.Clusters {
				if _, known := l.clusters[c.Name]; !known {
					l.clusters[c.Name] = c
				}
			}
			l.mu.Unlock()
		}
		set, _ := l.Current()
		err = l.saved.Write(ctx, savedFactsOf(set))
		var large *state.TooLarge
		if errors.As(err, &large) { // Applications are the most of it
			smaller := l.saved.Write(ctx, savedFactsOf(withoutApplications(set)))
			if errors.Is(smaller, state.ErrConflict) {
				return smaller
			}
			err = errors.Join(err, smaller)
		}
		return err
	})
	l.setProblem(err)
	if err != nil {
		l.log.Error("the store does not take the facts", "state", l.store.String(), "error", err)
	}
}

// withoutApplications returns the clusters and grants of a set.
func withoutApplications(set facts.Set) facts.Set {
	out := facts.NewSet(set.Closed, clustersOf(set)...)
	if member := set.GrantsOf(); member != "" {
		held, _ := set.Grants(member)
		out = out.WithGrants(member, held...)
	}
	return out
}

func clustersOf(set facts.Set) []facts.Cluster {
	names := set.Names()
	out := make([]facts.Cluster, 0, len(names))
	for _, name := range names {
		c, _ := set.Of(name)
		out = append(out, c)
	}
	return out
}

// savedFacts are facts as they are written.
type savedFacts struct {
	Closed       bool                `json:"closed"`
	Clusters     []facts.Cluster     `json:"clusters"`
	Known        bool                `json:"applicationsKnown"`
	Applications []facts.Application `json:"applications,omitempty"`
	// GrantsOf is the member of the grants, empty where nobody looks for them.
	GrantsOf string                 `json:"grantsOf,omitempty"`
	Grants   []facts.OwnershipGrant `json:"grants,omitempty"`
}

func factsDocument(s state.Store) *state.Document[savedFacts] {
	return state.NewDocument(s, "facts", "facts/2", savedFacts.check)
}

func savedFactsOf(set facts.Set) savedFacts {
	s := savedFacts{Closed: set.Closed, Clusters: clustersOf(set), GrantsOf: set.GrantsOf()}
	s.Applications, s.Known = set.Applications()
	s.Grants, _ = set.Grants(s.GrantsOf)
	return s
}

func (s savedFacts) set() facts.Set {
	set := facts.NewSet(s.Closed, s.Clusters...)
	if s.Known {
		set = set.WithApplications(s.Applications...)
	}
	if s.GrantsOf != "" {
		set = set.WithGrants(s.GrantsOf, s.Grants...)
	}
	return set
}

// check refuses names that are empty, listed twice or out of order, and lists of nobody.
func (s savedFacts) check() error {
	again := savedFactsOf(s.set())
	sameClusters := slices.EqualFunc(s.Clusters, again.Clusters, facts.Cluster.Equal)
	if !sameClusters || !slices.Equal(s.Applications, again.Applications) || !slices.Equal(s.Grants, again.Grants) {
		return errors.New("a name is listed twice or out of order")
	}
	if slices.ContainsFunc(s.Clusters, func(c facts.Cluster) bool { return c.Name == "" }) {
		return errors.New("it has a cluster without a name")
	}
	return nil
}
