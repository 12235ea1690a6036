package order

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/state"
	"github.com/argosy-hub/argosy/internal/trigger"
)

const (
	// heldQuiet is how long changes are collected before they are written to a store that replicas
	// share, and heldInterval how often theirs are read.
	heldQuiet    = time.Second
	heldInterval = 10 * time.Second
	// heldRefresh is how long the time of a set's last use may be behind, and heldAge how long a
	// set that nobody uses is kept.
	heldRefresh = time.Hour
	heldAge     = 30 * 24 * time.Hour
	// maxHeld bounds the bytes of all sets. The largest are dropped first.
	maxHeld = 16 << 20
)

// heldSets are the parameter sets that stay although the repository asks for others, by digest.
// They survive a restart, and replicas share them. Several goroutines may use them.
type heldSets struct {
	now func() time.Time
	log *slog.Logger
	// checkpoint writes them; nil without a store.
	checkpoint *state.Replicated[savedSets]

	mu               sync.Mutex
	byDigest         map[string]heldSet
	changes, written uint64
	problem          string
	// loaded reports that the store has been read, or that there is none.
	loaded bool
}

// heldSet is a set and when it was last used, in nanoseconds since 1970.
type heldSet struct {
	set response.ParameterSet
	at  int64
}

// savedSets are held sets as they are written, by digest.
type savedSets map[string]savedSet

type savedSet struct {
	Set response.SavedSet `json:"set"`
	At  int64             `json:"at"`
}

func newHeldSets(o Options) *heldSets {
	h := &heldSets{now: o.Now, log: o.Logger, byDigest: map[string]heldSet{}, loaded: o.Store == nil}
	if o.Store == nil {
		return h
	}
	var collected uint64
	quiet := heldQuiet
	if !o.Store.Shared() {
		quiet = 0
	}
	h.checkpoint = &state.Replicated[savedSets]{
		Record: state.NewDocument[savedSets](o.Store, "held-sets", 1),
		Merge:  h.merge,
		Value: func() (all savedSets, news bool) {
			all, collected, news = h.saved()
			return all, news
		},
		Report: func(err error) { h.report(o.Store.String(), collected, err) },
		Quiet:  quiet, Interval: heldInterval, Fire: trigger.New(),
	}
	return h
}

// hold notes that a set stays.
func (h *heldSets) hold(s response.ParameterSet) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, is := h.byDigest[s.Digest()]; is && now.Sub(time.Unix(0, old.at)) < heldRefresh {
		return
	}
	h.byDigest[s.Digest()] = heldSet{s, now.UnixNano()}
	h.changes++
	if h.checkpoint != nil {
		h.checkpoint.Fire.Fire()
	}
}

// get returns the set of an Application with a digest.
func (h *heldSets) get(application, digest string) (response.ParameterSet, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, is := h.byDigest[digest]
	return held.set, is && held.set.Item().Name == application
}

// isLoaded reports whether what stays is known.
func (h *heldSets) isLoaded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.loaded
}

// merge takes in what replicas hold, or this one before a restart.
func (h *heldSets) merge(theirs *savedSets) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loaded = true
	if theirs == nil {
		return
	}
	for digest, saved := range *theirs {
		set, err := saved.Set.Restore()
		if err != nil || set.Digest() != digest {
			continue // of another format: the order of that one Application is given up
		}
		at := min(saved.At, h.now().UnixNano())
		if old, is := h.byDigest[digest]; !is || old.at < at {
			h.byDigest[digest] = heldSet{set, at}
		}
	}
	h.changes++ // the record may lack some of ours
}

// saved returns what to write, how many changes it contains, and whether there are any that the
// record lacks.
func (h *heldSets) saved() (all savedSets, changes uint64, news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changes == h.written {
		return nil, h.changes, false
	}
	maps.DeleteFunc(h.byDigest, func(_ string, s heldSet) bool { return h.now().Sub(time.Unix(0, s.at)) > heldAge })
	bySize := slices.SortedFunc(maps.Keys(h.byDigest), func(a, b string) int {
		return h.byDigest[a].set.Len() - h.byDigest[b].set.Len()
	})
	all, size := savedSets{}, 0
	for _, digest := range bySize {
		s := h.byDigest[digest]
		if size += s.set.Len(); size > maxHeld {
			delete(h.byDigest, digest)
			continue
		}
		all[digest] = savedSet{s.set.Save(), s.at}
	}
	return all, h.changes, true
}

// report notes the outcome of a use of the store, which has so many changes now.
func (h *heldSets) report(store string, written uint64, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := ""
	switch {
	case state.IsDamaged(err):
		h.changes++
		h.log.Error("parameter sets that stay cannot be used: what waits may go ahead", "state", store, "error", err)
	case err != nil:
		if text = err.Error(); text != h.problem {
			h.log.Error("the store does not take the parameter sets that stay", "state", store, "error", err)
		}
	}
	if h.problem = text; text == "" {
		h.written = written
	}
}

// StoreProblem is why the store does not take what stays, empty for none.
func (o *Order) StoreProblem() string {
	o.held.mu.Lock()
	defer o.held.mu.Unlock()
	return o.held.problem
}

// Run writes what stays to the store, and exchanges it with replicas, until the context ends.
func (o *Order) Run(ctx context.Context) {
	if c := o.held.checkpoint; c != nil {
		c.Run(ctx)
	}
}
