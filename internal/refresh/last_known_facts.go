package refresh

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// factsQuiet is how long changed facts are collected before they are written.
const factsQuiet = 10 * time.Second

// LastKnownFacts are the facts of a provider, completed by those from before a restart (rule 9): a
// cluster whose Secret has gone meanwhile has its last known facts, and all facts are the last
// known ones while the API server is away at a start.
type LastKnownFacts struct {
	FactsProvider
	saved *store.Replicated[savedFacts] // before it is loaded, no facts are complete

	mu sync.Mutex
	// before are the facts from the store, and clusters those of them that still have a member
	// file.
	before   *facts.Set
	clusters map[string]facts.Cluster
	// isMember is what Forget was called with last: the record may have what is forgotten.
	isMember func(name string) bool
}

// NewLastKnownFacts keeps a provider's facts in a store.
func NewLastKnownFacts(p FactsProvider, s *store.Store, log *slog.Logger) *LastKnownFacts {
	l := &LastKnownFacts{FactsProvider: p, clusters: map[string]facts.Cluster{}}
	l.saved = store.Replicate(s, "facts", 3, store.Options[savedFacts]{
		Merge: l.merge, Value: l.value, Log: log, Loss: "the last known facts cannot be used: they are as at a first start", Quiet: factsQuiet,
	})
	l.saved.Changed() // the provider may be complete before it runs
	return l
}

// Current returns the provider's facts and the last known ones of clusters that it does not know
// any more, or the last known facts while the provider fails.
func (l *LastKnownFacts) Current() (facts.Set, bool) {
	set, complete := l.FactsProvider.Current()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.saved.IsLoaded():
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
	if err := l.Problem(); err != nil && !l.saved.IsLoaded() {
		return fmt.Errorf("the last known facts cannot be read yet: %w", err)
	}
	return nil
}

// Problem is why the store cannot be read or written, nil if it can.
func (l *LastKnownFacts) Problem() error { return l.saved.Trouble().Problem }

// Forget drops the last known facts of clusters that have no member file any more.
func (l *LastKnownFacts) Forget(isMember func(name string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isMember = isMember
	for name := range l.clusters {
		if !isMember(name) {
			delete(l.clusters, name)
		}
	}
	if p, is := l.FactsProvider.(Forgetter); is {
		p.Forget(isMember)
	}
}

// Forgetter is a FactsProvider that remembers clusters whose Secrets have gone, and forgets those
// without a member file.
type Forgetter interface {
	Forget(isMember func(name string) bool)
}

// Run keeps the provider up to date, and writes what it knows.
func (l *LastKnownFacts) Run(ctx context.Context, changed func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		l.FactsProvider.Run(ctx, func() {
			l.saved.Changed()
			changed()
		})
	})
	wg.Go(func() {
		if l.saved.AwaitLoaded(ctx) {
			changed()
		}
	})
	l.saved.Run(ctx)
}

// merge takes in the clusters of the record that this process does not know: a replica, or this one
// before a restart, may have seen them.
func (l *LastKnownFacts) merge(theirs *savedFacts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.saved.IsLoaded() {
		set := theirs.set()
		l.before = &set
	}
	for _, c := range theirs.Clusters {
		if _, known := l.clusters[c.Name]; !known {
			l.clusters[c.Name] = c
		}
	}
}

// value returns the facts to write, once they are complete.
func (l *LastKnownFacts) value() (savedFacts, bool) {
	set, complete := l.FactsProvider.Current()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !complete {
		return savedFacts{}, false
	}
	out := savedFactsOf(l.withLastKnown(set))
	if l.isMember != nil {
		out.Clusters = slices.DeleteFunc(out.Clusters, func(c facts.Cluster) bool { return c.Secret == "" && !l.isMember(c.Name) })
	}
	return out, true
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

// savedFacts are facts as they are written, without the health of Applications: after a restart
// nobody knows what it is.
type savedFacts struct {
	Closed       bool                `json:"closed"`
	Clusters     []facts.Cluster     `json:"clusters"`
	Known        bool                `json:"applicationsKnown"`
	Applications []facts.Application `json:"applications,omitempty"`
	Health       bool                `json:"healthKnown,omitempty"`
	// GrantsOf is the member of the grants, empty where nobody looks for them.
	GrantsOf string                 `json:"grantsOf,omitempty"`
	Grants   []facts.OwnershipGrant `json:"grants,omitempty"`
}

func savedFactsOf(set facts.Set) savedFacts {
	s := savedFacts{Closed: set.Closed, Clusters: clustersOf(set), GrantsOf: set.GrantsOf(), Health: set.KnowsHealth()}
	applications, known := set.Applications()
	s.Applications, s.Known = slices.Clone(applications), known
	for i := range s.Applications {
		a := &s.Applications[i]
		if a.Healthy = false; a.IsReported() {
			a.Unheard = "the hub's service has not read its report since it started"
		}
	}
	s.Grants, _ = set.Grants(s.GrantsOf)
	return s
}

func (s savedFacts) set() facts.Set {
	set := facts.NewSet(s.Closed, s.Clusters...)
	if s.Known {
		set = set.WithApplications(s.Applications...)
	}
	if s.Health {
		set = set.WithHealth()
	}
	if s.GrantsOf != "" {
		set = set.WithGrants(s.GrantsOf, s.Grants...)
	}
	return set
}
