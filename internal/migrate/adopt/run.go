package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrConflict means that the live object has another version than the write expected: observe
// again.
var ErrConflict = errors.New("conflict")

// Cluster is the API server of a hub, for the namespace of Argo CD.
type Cluster interface {
	Observe(ctx context.Context) (Observed, error)
	// Do carries out an action. Deleting an object that is gone is not an error.
	Do(ctx context.Context, a Action) error
	// Write writes a record, and deletes one of which the undo is done.
	Write(ctx context.Context, r *Record) error
}

// Run carries out a handover until its end, an error, or a step that takes longer than a timeout
// without progress. It can be run again after any of them. say gets each step as it begins, and
// again with what it waits for.
func (r *Record) Run(ctx context.Context, c Cluster, timeout, poll time.Duration, say func(step, wait string)) error {
	if err := c.Write(ctx, r); err != nil {
		return err
	}
	last, left, since := "", 0, time.Now()
	for {
		o, err := c.Observe(ctx)
		if err != nil {
			return err
		}
		step := Next(r, o)
		if step.IsEnd() {
			r.Done = true
			return c.Write(ctx, r)
		}
		if step.Name != last {
			say(step.Name, "")
		}
		if n := len(step.Actions) + len(step.Waits); step.Name != last || n < left {
			last, left, since = step.Name, n, time.Now()
		}
		if time.Since(since) > timeout {
			step.wait("something else changes the same objects")
			return fmt.Errorf("step %s: not within %s: %s (%d left)", step.Name, timeout, step.Waits[0], left)
		}
		for _, a := range step.Actions {
			if err := c.Do(ctx, a); err != nil && !errors.Is(err, ErrConflict) {
				return err // a conflict concerns one object, which is observed again
			}
		}
		if len(step.Actions) > 0 {
			continue
		}
		say(step.Name, step.Waits[0])
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}
