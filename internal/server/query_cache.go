package server

import (
	"sync"

	"github.com/argosy-hub/argosy/internal/generator"
)

// Bounds of bodies (H10), in bytes. What is made of one takes some ten times as much.
const (
	maxBody   = 16 << 10
	maxBodies = 1 << 20
)

// bodies are those of requests that have come, with what each asks. Argo CD asks the same again and again, and reading a
// body takes longer than finding its answer. What one asks depends on nothing but its bytes; nobody changes a Request.
type bodies struct {
	mu    sync.RWMutex
	known map[string]generator.Request
	bytes int
}

func (b *bodies) get(body []byte) (generator.Request, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, ok := b.known[string(body)]
	return r, ok
}

// put remembers a question. When there is no more room, all others are forgotten: those that are asked again come again.
func (b *bodies) put(body []byte, r generator.Request) {
	if len(body) > maxBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil || b.bytes+len(body) > maxBodies {
		b.known, b.bytes = map[string]generator.Request{}, 0
	}
	if _, there := b.known[string(body)]; !there {
		b.known[string(body)] = r
		b.bytes += len(body)
	}
}
