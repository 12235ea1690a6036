package run

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 to n-1 on all processors and returns when all are done. A panic of f becomes
// the caller's, which may recover: in a goroutine of its own it would end the process.
func Each(n int, f func(i int)) {
	var next atomic.Int64
	var failed atomic.Pointer[failedCall]
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.CompareAndSwap(nil, &failedCall{p, debug.Stack()})
				}
			}()
			for i := next.Add(1) - 1; i < int64(n) && failed.Load() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(p) //nolint:forbidigo // passed on
	}
}

// failedCall is a panic of Each's f, with f's stack, which the caller's panic would not have.
type failedCall struct {
	value any
	stack []byte
}

func (c *failedCall) String() string { return fmt.Sprintf("%v\n%s", c.value, c.stack) }
