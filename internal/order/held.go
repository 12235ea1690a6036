package order

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/response"
)

const (
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
	now        func() time.Time
	checkpoint *store.Replicated[savedSets]

	mu       sync.Mutex
	byDigest map[string]heldSet
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
	h := &heldSets{now: o.Now, byDigest: map[string]heldSet{}}
	h.checkpoint = store.Replicate(o.Store, "held-sets", 1, store.Options[savedSets]{
		Merge: h.merge, Value: h.saved, Log: o.Logger, Loss: "parameter sets that stay cannot be used: what waits may go ahead", Urgent: true,
	})
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
	h.checkpoint.Changed()
}

// get returns the set of an Application with a digest.
func (h *heldSets) get(application, digest string) (response.ParameterSet, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held, is := h.byDigest[digest]
	return held.set, is && held.set.Item().Name == application
}

// merge takes in what replicas hold, or this one before a restart.
func (h *heldSets) merge(theirs *savedSets) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
}

// saved returns what to write.
func (h *heldSets) saved() (all savedSets, complete bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.byDigest, func(_ string, s heldSet) bool { return h.now().Sub(time.Unix(0, s.at)) > heldAge })
	bySize := slices.SortedFunc(maps.Keys(h.byDigest), func(a, b string) int {
		return h.byDigest[a].set.Len() - h.byDigest[b].set.Len()
	})
	all = savedSets{}
	size := 0
	for _, digest := range bySize {
		s := h.byDigest[digest]
		if size += s.set.Len(); size > maxHeld {
			delete(h.byDigest, digest)
			continue
		}
		all[digest] = savedSet{s.set.Save(), s.at}
	}
	return all, true
}

// StoreProblem is why the store does not take what stays, empty for none.
func (o *Order) StoreProblem() string {
	if err := o.held.checkpoint.Trouble().Problem; err != nil {
		return err.Error()
	}
	return ""
}

// Run writes what stays to the store, and exchanges it with replicas, until the context ends.
func (o *Order) Run(ctx context.Context) { o.held.checkpoint.Run(ctx) }
