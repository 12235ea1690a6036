package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// TestCallersShareOneComputation: all callers of a key get its one value, its error or its panic.
func TestCallersShareOneComputation(t *testing.T) {
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		compute func() (int, error)
		want    string
	}{
		"a value":  {func() (int, error) { return 7, nil }, "7 <nil>"},
		"an error": {func() (int, error) { return 0, wrong }, "0 wrong"},
		"a panic":  {func() (int, error) { panic("boom") }, "panic: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s Shared[string, int]
				release := make(chan struct{})
				got := make([]string, 12)
				for i := range got {
					go func() {
						defer func() {
							if p := recover(); p != nil {
								got[i], _, _ = strings.Cut(fmt.Sprint("panic: ", p), "\n")
							}
						}()
						v, err := s.Do(t.Context(), "key", func(context.Context) (int, error) {
							<-release
							return c.compute()
						})
						got[i] = fmt.Sprint(v, err)
					}()
				}
				synctest.Wait()
				other, err := s.Do(t.Context(), "other", func(context.Context) (int, error) { return 8, nil })
				if other != 8 || err != nil {
					t.Errorf("another key: %d %v", other, err)
				}
				close(release)
				synctest.Wait()
				for _, text := range got {
					if text != c.want {
						t.Errorf("got %q, expected %q", text, c.want)
					}
				}
				if begun, joined := s.Begun.Load(), s.Joined.Load(); begun != 2 || joined != 11 || len(s.calls) != 0 {
					t.Errorf("%d computations, %d callers joined one, %d are under way; expected 2, 11 and 0", begun, joined, len(s.calls))
				}
			})
		})
	}
}

// TestComputationEndsWithItsLastCaller: a caller that gives up gets its context's error at once;
// the computation goes on for the others. After the last one it ends, and the next caller begins
// anew.
func TestComputationEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Shared[string, int]
		ended, release := make(chan error, 1), make(chan struct{})
		compute := func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			<-release
			return 0, ctx.Err()
		}
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		got := make(chan error, 2)
		for _, ctx := range []context.Context{first, second} {
			go func() {
				_, err := s.Do(ctx, "key", compute)
				got <- err
			}()
		}
		synctest.Wait()
		leaveFirst()
		synctest.Wait()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller got %v", err)
		}
		if len(ended) > 0 || s.Abandoned.Load() != 0 {
			t.Error("the computation ended though the second caller waits")
		}
		leaveSecond()
		synctest.Wait()
		if v, err := s.Do(t.Context(), "key", func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
			t.Errorf("the next caller got %d %v", v, err)
		}
		close(release)
		if err := <-ended; !errors.Is(err, context.Canceled) || s.Abandoned.Load() != 1 {
			t.Errorf("after the last caller: %v, %d abandoned", err, s.Abandoned.Load())
		}
	})
}
