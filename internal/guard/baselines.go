package guard

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

const (
	// maxBaselines and maxItems bound what baselines hold together.
	maxBaselines = 4096
	maxItems     = 1_000_000
)

// baselines are the last responses by their queries, each as the items that it held. They are in
// memory; a checkpoint, if there is one, keeps them for a restart.
type baselines struct {
	now        func() time.Time
	log        *slog.Logger
	checkpoint *store.Replicated[savedResponses]

	mu      sync.Mutex
	byQuery map[queryKey]*remembered
	items   int    // of all
	uses    uint64 // counts them
	merged  uint64 // counts the responses that replicas gave
	figures Stats
}

// remembered is the last response to a query. It is not changed, but for its use, once it is among
// the others.
type remembered struct {
	items []lifecycle.Item
	// spent is what earlier states have removed without approval, and terms what the next one is
	// judged by, of a hub's baseline.
	spent []spent
	terms terms
	used  uint64
	// revision is that of its state; at is its time, in nanoseconds.
	revision string
	at       int64
	// dropped marks a query whose response is forgotten, by replicas too.
	dropped bool
	// most is how many inputs a query of Flux Operator takes.
	most int
}

// newBaselines reads what a store has, if it belongs to this process alone; a shared one is read by
// Guard.Run.
func newBaselines(o Options) *baselines {
	b := &baselines{now: o.Now, log: o.Logger, byQuery: map[queryKey]*remembered{}}
	b.checkpoint = newCheckpoint(b, o.Store)
	if o.Store != nil && !o.Store.Shared() {
		b.checkpoint.Exchange(context.Background())
	}
	return b
}

// isReady reports whether the checkpoint has been read.
func (b *baselines) isReady() bool { return b.checkpoint.IsLoaded() }

// of returns the items of the last response to a query; they must not be changed.
func (b *baselines) of(q queryKey) []lifecycle.Item {
	if r := b.get(q); r != nil {
		return r.items
	}
	return nil
}

// get returns the last response to a query, nil without one; it must not be changed.
func (b *baselines) get(q queryKey) *remembered {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.byQuery[q]
	if r == nil || r.dropped {
		return nil
	}
	b.uses++
	r.used = b.uses
	return r
}

// taken is how many responses of replicas have been taken in.
func (b *baselines) taken() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.merged
}

// queries returns the remembered queries of an engine, with the most inputs that each takes.
func (b *baselines) queries(engine string) map[queryKey]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[queryKey]int{}
	for q, r := range b.byQuery {
		if parsed, ok := q.parse(); ok && !r.dropped && parsed.Engine == engine {
			out[q] = r.most
		}
	}
	return out
}

// takes remembers how many inputs a query takes, whose response is remembered.
func (b *baselines) takes(q queryKey, most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.byQuery[q]; r != nil && r.most != most {
		changed := *r
		changed.most = most
		b.add(q, &changed)
		b.checkpoint.Changed()
	}
}

// put remembers the response to a query, and returns how.
func (b *baselines) put(q queryKey, revision string, items []lifecycle.Item, lost []spent, next terms) *remembered {
	r := &remembered{items: items, revision: revision, at: b.now().UnixNano(), spent: lost, terms: next}
	b.mu.Lock()
	defer b.mu.Unlock()
	last := b.byQuery[q]
	isSame := isSame
	if next.Revision != "" { // of a commit
		isSame = func(a, b lifecycle.Item) bool { return a == b }
	}
	same := last != nil && !last.dropped && slices.EqualFunc(last.items, items, isSame) && slices.Equal(last.spent, r.spent) && last.terms.equal(next)
	if same {
		r.at, r.revision = last.at, last.revision
	}
	if last != nil {
		r.most = last.most
	}
	b.add(q, r)
	if !same {
		b.checkpoint.Changed()
	}
	return r
}

// drop forgets the response to a query.
func (b *baselines) drop(q queryKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.byQuery[q]; r != nil && !r.dropped {
		b.add(q, &remembered{dropped: true, at: b.now().UnixNano()})
		b.checkpoint.Changed()
	}
}

// add takes a response in. Beyond the bounds it gives up those that were not used for the longest
// time. The caller holds the lock, or is alone.
func (b *baselines) add(q queryKey, r *remembered) {
	b.remove(q)
	b.uses++
	r.used = b.uses
	b.byQuery[q] = r
	b.items += len(r.items)
	if len(b.byQuery) <= maxBaselines && b.items <= maxItems {
		return
	}
	oldest := make([]queryKey, 0, len(b.byQuery))
	for other := range b.byQuery {
		oldest = append(oldest, other)
	}
	slices.SortFunc(oldest, func(p, q queryKey) int { return cmp.Compare(b.byQuery[p].used, b.byQuery[q].used) })
	for _, other := range oldest {
		if other == q || len(b.byQuery) <= maxBaselines*9/10 && b.items <= maxItems*9/10 {
			break
		}
		b.remove(other)
		b.figures.Evicted++
	}
	b.log.Error("too many responses to remember: the next responses to some queries are compared with nothing",
		"responses", maxBaselines, "items", maxItems)
}

// remove takes a response out. The caller holds the lock.
func (b *baselines) remove(q queryKey) {
	if r := b.byQuery[q]; r != nil {
		b.items -= len(r.items)
		delete(b.byQuery, q)
	}
}

func (b *baselines) stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	out, trouble := b.figures, b.checkpoint.Trouble()
	out.Damaged, out.Failures = trouble.Damaged, trouble.Failures
	if trouble.Problem != nil {
		out.Problem = trouble.Problem.Error()
	}
	for q, r := range b.byQuery {
		if parsed, ok := q.parse(); !r.dropped && ok && parsed.Engine != forHub {
			out.Baselines++
		}
	}
	return out
}

// isSame reports whether two items are written as the same.
func isSame(a, b lifecycle.Item) bool {
	return a.Cluster == b.Cluster && a.Group == b.Group && a.Component == b.Component && a.Release == b.Release
}
