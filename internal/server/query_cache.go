package server

import (
	"sync"

	"github.com/argosy-hub/argosy/internal/query"
)

// Bounds of cached bodies (H10), in bytes. The parsed query takes some ten times as much.
const (
	maxCachedBody  = 16 << 10
	maxCachedBytes = 1 << 20
)

// queryCache finds the query of a body that was parsed before. Argo CD repeats its requests, and
// parsing a body takes longer than finding its response. A query depends on nothing but the body's
// bytes, and is never changed.
type queryCache struct {
	mu    sync.RWMutex
	known map[string]query.Query
	bytes int
}

func (b *queryCache) get(body []byte) (query.Query, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.known[string(body)]
	return r, ok
}

// put remembers a query. A full cache is emptied first.
func (b *queryCache) put(body []byte, r query.Query) {
	if len(body) > maxCachedBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || b.bytes+len(body) > maxCachedBytes {
		b.known, b.bytes = map[string]query.Query{}, 0
	}
	if _, there := b.known[string(body)]; !there {
		b.known[string(body)] = r
		b.bytes += len(body)
	}
}
