package response

import (
	"sync"
	"testing"
)

// TestComputationsShareTheirMemory: many large responses at a time take no more than two limits,
// all of them come to an end, and one beyond the limit alone is refused. (H10)
func TestComputationsShareTheirMemory(t *testing.T) {
	c := newComputations(100)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			one := c.begin()
			defer one.end()
			for range 9 {
				if failure := one.take(11); failure != nil {
					t.Error(failure.Message)
				}
				c.mu.Lock()
				if c.bytes > 2*c.limit {
					t.Errorf("%d bytes at a time", c.bytes)
				}
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
	if c.bytes != 0 || c.first != nil {
		t.Errorf("%d bytes are left", c.bytes)
	}
	large := c.begin()
	defer large.end()
	if failure := large.take(101); failure == nil {
		t.Error("a response beyond the limit is computed")
	}
}
