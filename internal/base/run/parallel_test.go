package run

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

func TestParallelCallsEach(t *testing.T) {
	calls := make([]atomic.Int64, 1000)
	Each(len(calls), func(i int) { calls[i].Add(1) })
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Fatalf("%d was called %d times", i, n)
		}
	}
	Each(0, func(int) { t.Error("called for nothing") })
}

// Callers of the resolver recover from its panics: those of its goroutines
// have to get there.
func TestParallelPassesPanicsOn(t *testing.T) {
	defer func() {
		text := fmt.Sprint(recover())
		if !strings.HasPrefix(text, "boom\n") || !strings.Contains(text, "parallel_test.go") {
			t.Errorf("recovered %s, expected boom with the place where it happened", text)
		}
	}()
	Each(100, func(i int) {
		if i == 42 {
			panic("boom")
		}
	})
	t.Error("the panic was swallowed")
}
