package response

import (
	"fmt"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/budget"
)

// A query's own entry may be in the set of every cluster: a small request can make a large
// response. So one response, and all that are computed at a time, have limits in bytes.

// maxComputed bounds one response while it is computed, in bytes.
var maxComputed = budget.MemoryShare(1<<30, 17)

// computing is what all responses that are being computed take.
var computing = newComputations(maxComputed)

// computations share a number of bytes. Beyond it one of them goes on, and the others wait for it.
type computations struct {
	mu    sync.Mutex
	ended *sync.Cond
	limit int
	bytes int
	first *computation // the one that goes on beyond the limit
}

// computation is one response that is being computed.
type computation struct {
	of    *computations
	bytes int
}

func newComputations(limit int) *computations {
	c := &computations{limit: limit}
	c.ended = sync.NewCond(&c.mu)
	return c
}

func (c *computations) begin() *computation { return &computation{of: c} }

// take counts bytes of a response, and may wait for others. The error means that the response is
// too large.
func (t *computation) take(bytes int) *problem.QueryError {
	c := t.of
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.bytes+bytes > c.limit && c.first != t {
		if c.first == nil {
			c.first = t
			break
		}
		c.ended.Wait()
	}
	c.bytes, t.bytes = c.bytes+bytes, t.bytes+bytes
	if t.bytes > c.limit {
		return &problem.QueryError{Kind: problem.KindUnavailable, Message: fmt.Sprintf("the answer has more than %d bytes, which is all that may be computed at a time: ask for less, with component, release or selector", c.limit)}
	}
	return nil
}

// end gives back what the computation has taken.
func (t *computation) end() {
	c := t.of
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes -= t.bytes
	if c.first == t {
		c.first = nil
	}
	c.ended.Broadcast()
}
