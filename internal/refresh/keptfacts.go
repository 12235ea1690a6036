package refresh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/state"
)

const (
	factsRecord  = "facts"
	factsVersion = 1
	// factsQuiet is how often facts are written at most.
	factsQuiet = 10 * time.Second
)

// KeptFacts are the facts of a provider, and what was known before a restart: a cluster whose Secret has gone meanwhile keeps
// its last known facts, and where the API server cannot be asked at a start, what was known last is gone on from (rule 9).
// Labels, annotations and servers of clusters are kept, the metadata of Applications, and grants; there is nothing else in facts.
type KeptFacts struct {
	FactsProvider
	room  state.Room
	log   *slog.Logger
	quiet time.Duration

	mu sync.Mutex
	// loaded tells that the room has been asked; before, nothing is known to be complete.
	loaded bool
	// before is what was kept, and remembered the clusters of it whose member file is there still.
	before     *facts.Set
	remembered map[string]facts.Cluster
	problem    error
	dirty      chan struct{}

	version string // of the record; belongs to Run
	written []byte
}

// KeepFacts keeps a provider's facts in a room.
func KeepFacts(p FactsProvider, room state.Room, log *slog.Logger) *KeptFacts {
	return &KeptFacts{FactsProvider: p, room: room, log: log, quiet: factsQuiet, remembered: map[string]facts.Cluster{}, dirty: make(chan struct{}, 1)}
}

// Current is what the provider knows, with the clusters that it does not know any more. What was known before a restart
// stands in for a provider that cannot know.
func (k *KeptFacts) Current() (facts.Set, bool) {
	set, complete := k.FactsProvider.Current()
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !k.loaded:
		return set, false
	case !complete && k.before != nil && k.before.GrantsOf() == set.GrantsOf() && k.FactsProvider.Err() != nil:
		return *k.before, true
	case !complete:
		return set, false
	}
	return k.merged(set), true
}

// merged is a set with the remembered clusters that are not in it. The caller holds the lock.
func (k *KeptFacts) merged(set facts.Set) facts.Set {
	if !set.Closed || len(k.remembered) == 0 {
		return set
	}
	names := set.Names()
	clusters := make([]facts.Cluster, 0, len(names))
	for _, name := range names {
		c, _ := set.Of(name)
		clusters = append(clusters, c)
	}
	known := len(clusters)
	for name, c := range k.remembered {
		if _, is := slices.BinarySearch(names, name); !is {
			c.Secret = "" // there is none any more
			clusters = append(clusters, c)
		}
	}
	if len(clusters) == known {
		return set
	}
	return set.WithClusters(clusters...)
}

// Err is the provider's, or why what was known before cannot be read.
func (k *KeptFacts) Err() error {
	if err := k.FactsProvider.Err(); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.loaded {
		return k.problem
	}
	return nil
}

// Problem is why what was known cannot be read, or what is known cannot be kept; nil if all is well.
func (k *KeptFacts) Problem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

// Forget drops what is remembered of clusters that have no member file any more.
func (k *KeptFacts) Forget(isMember func(name string) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.remembered {
		if !isMember(name) {
			delete(k.remembered, name)
		}
	}
}

// Run keeps the provider up to date, and writes down what it knows.
func (k *KeptFacts) Run(ctx context.Context, changed func()) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		k.FactsProvider.Run(ctx, func() {
			select {
			case k.dirty <- struct{}{}:
			default:
			}
			changed()
		})
	})
	if !k.load(ctx) {
		return
	}
	changed()
	for {
		select {
		case <-ctx.Done():
			k.save(context.WithoutCancel(ctx)) // a restart finds the newest
			return
		case <-k.dirty:
		}
		k.save(ctx)
		timer := time.NewTimer(k.quiet)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// load reads what was known, which may take until the room can be reached; false when the context has ended.
func (k *KeptFacts) load(ctx context.Context) bool {
	for {
		limited, cancel := context.WithTimeout(ctx, roomTimeout)
		data, version, err := k.room.Read(limited, factsRecord)
		cancel()
		var set facts.Set
		switch {
		case errors.Is(err, state.ErrNotFound):
			err = nil
			data = nil
		case err == nil:
			if set, err = decodeFacts(data); err != nil {
				err = &state.Damaged{Record: factsRecord, Why: err.Error()}
			}
		}
		if err == nil || state.IsDamaged(err) {
			k.mu.Lock()
			k.loaded, k.problem = true, err
			if err == nil && data != nil {
				k.before, k.written = &set, data
				k.remember(set)
			}
			k.version = version
			k.mu.Unlock()
			if err != nil {
				k.log.Error("the facts of before cannot be used", "state", k.room.String(), "error", err)
			}
			return true
		}
		k.log.Warn("the facts of before cannot be reached", "state", k.room.String(), "error", err)
		k.mu.Lock()
		k.problem = fmt.Errorf("the facts of before cannot be reached: %w", err)
		k.mu.Unlock()
		timer := time.NewTimer(roomInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// remember takes in the clusters of a set. The caller holds the lock.
func (k *KeptFacts) remember(set facts.Set) {
	for _, name := range set.Names() {
		k.remembered[name], _ = set.Of(name)
	}
}

// save writes what is known, if that is complete and something else than what is there. What a replica has written meanwhile
// is taken in first: it may have seen a cluster that this one has not.
func (k *KeptFacts) save(ctx context.Context) {
	if _, complete := k.FactsProvider.Current(); !complete {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, roomTimeout)
	defer cancel()
	var err error
	for range roomTries {
		set, _ := k.Current()
		err = k.write(ctx, set)
		var large *state.TooLarge
		if errors.As(err, &large) { // Applications are the most of it
			if smaller := k.write(ctx, withoutApplications(set)); smaller != nil && !errors.Is(smaller, state.ErrConflict) {
				err = errors.Join(err, smaller)
			}
		}
		if !errors.Is(err, state.ErrConflict) {
			break
		}
		data, version, failed := k.room.Read(ctx, factsRecord)
		if failed != nil && !state.IsDamaged(failed) && !errors.Is(failed, state.ErrNotFound) {
			err = failed
			break
		}
		k.version, k.written = version, data
		if theirs, failed := decodeFacts(data); failed == nil {
			k.mu.Lock()
			for _, name := range theirs.Names() {
				if _, known := k.remembered[name]; !known {
					k.remembered[name], _ = theirs.Of(name)
				}
			}
			k.mu.Unlock()
		}
	}
	k.mu.Lock()
	k.problem = err
	k.mu.Unlock()
	if err != nil {
		k.log.Error("what is known of clusters cannot be kept for a restart", "state", k.room.String(), "error", err)
	}
}

func (k *KeptFacts) write(ctx context.Context, set facts.Set) error {
	data, err := encodeFacts(set)
	if err != nil || bytes.Equal(data, k.written) {
		return err
	}
	version, err := k.room.Write(ctx, factsRecord, data, k.version)
	if err == nil {
		k.version, k.written = version, data
	}
	return err
}

// withoutApplications are clusters and grants alone.
func withoutApplications(set facts.Set) facts.Set {
	out := facts.NewSet(set.Closed, clustersOf(set)...)
	if member := set.GrantsOf(); member != "" {
		held, _ := set.Grants(member)
		out = out.WithGrants(member, held...)
	}
	return out
}

func clustersOf(set facts.Set) []facts.Cluster {
	var out []facts.Cluster
	for _, name := range set.Names() {
		c, _ := set.Of(name)
		out = append(out, c)
	}
	return out
}

// keptFacts are facts as they are written.
type keptFacts struct {
	Version      int             `json:"version"`
	Closed       bool            `json:"closed"`
	Clusters     []facts.Cluster `json:"clusters"`
	Known        bool            `json:"applicationsKnown"`
	Applications []facts.Application
	// GrantsOf is whose Grants they are, empty where nobody looks for them.
	GrantsOf string        `json:"grantsOf,omitempty"`
	Grants   []facts.Grant `json:"grants,omitempty"`
}

// encodeFacts writes facts; the same facts are the same bytes.
func encodeFacts(set facts.Set) ([]byte, error) { return json.Marshal(keptOf(set)) }

func keptOf(set facts.Set) keptFacts {
	k := keptFacts{Version: factsVersion, Closed: set.Closed, Clusters: clustersOf(set)}
	k.Applications, k.Known = set.Applications()
	k.GrantsOf = set.GrantsOf()
	k.Grants, _ = set.Grants(k.GrantsOf)
	return k
}

func decodeFacts(data []byte) (facts.Set, error) {
	var k keptFacts
	if err := state.UnmarshalVersion(data, factsVersion, &k); err != nil {
		return facts.Set{}, err
	}
	if slices.ContainsFunc(k.Clusters, func(c facts.Cluster) bool { return strings.TrimSpace(c.Name) == "" }) {
		return facts.Set{}, errors.New("it has a cluster without a name")
	}
	set := facts.NewSet(k.Closed, k.Clusters...)
	if k.Known {
		set = set.WithApplications(k.Applications...)
	}
	if k.GrantsOf != "" {
		set = set.WithGrants(k.GrantsOf, k.Grants...)
	}
	if err := state.Written(data, keptOf(set)); err != nil { // names that are there twice, or in another order
		return facts.Set{}, err
	}
	return set, nil
}
