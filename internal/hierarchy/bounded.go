package hierarchy

import (
	"cmp"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// bounded caches values by file and content, up to a number of bytes. Beyond that, the largest are
// forgotten until half is left. Forgetting costs only time, and mostly the time of those with the
// largest values.
type bounded[V any] struct {
	entries      map[cacheKey]sized[V]
	bytes, limit int
}

type sized[V any] struct {
	value V
	bytes int
}

func newBounded[V any](limit int) *bounded[V] {
	return &bounded[V]{entries: map[cacheKey]sized[V]{}, limit: limit}
}

// put adds a value of a size.
func (b *bounded[V]) put(key cacheKey, value V, bytes int) {
	bytes += len(key.path) + len(key.digest)
	b.bytes += bytes
	b.entries[key] = sized[V]{value, bytes}
	if b.bytes <= b.limit {
		return
	}
	keys := make([]cacheKey, 0, len(b.entries))
	for k := range b.entries {
		if k != key {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y cacheKey) int { return cmp.Compare(b.entries[y].bytes, b.entries[x].bytes) })
	for _, k := range keys {
		if b.bytes <= b.limit/2 {
			return
		}
		b.forget(k)
	}
}

func (b *bounded[V]) forget(key cacheKey) {
	b.bytes -= b.entries[key].bytes
	delete(b.entries, key)
}

// trim forgets files that are not in a snapshot, once they are the larger part.
func (b *bounded[V]) trim(s *snapshot.Snapshot) {
	if len(b.entries) <= 2*s.Len()+1000 {
		return
	}
	for k := range b.entries {
		if f := s.File(k.path); f == nil || f.Digest != k.digest {
			b.forget(k)
		}
	}
}
