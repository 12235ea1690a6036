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
	// Do carries out an action of a handover. Deleting an object that is gone is not an error.
	Do(ctx context.Context, r *Record, a Action) error
}

// Run carries out a handover. All fields are required.
type Run struct {
	Cluster Cluster
	Record  *Record
	// Timeout bounds a step without progress, Poll is how often it observes.
	Timeout, Poll time.Duration
	// Begin is called at the beginning of each step, Waiting with what remains.
	Begin   func(step string)
	Waiting func(step string, waits []string)
}

// Do runs until the end, an error, or a step that takes too long. It can be run again after any of
// them.
func (r *Run) Do(ctx context.Context) error {
	last, left, since := "", 0, time.Now()
	for {
		o, err := r.Cluster.Observe(ctx)
		if err != nil {
			return err
		}
		step := Next(r.Record, o)
		if step.IsEnd() {
			return nil
		}
		if n := len(step.Actions) + len(step.Waits); step.Name != last || n < left {
			if step.Name != last {
				r.Begin(step.Name)
			}
			last, left, since = step.Name, n, time.Now()
		}
		if time.Since(since) > r.Timeout {
			return &Stuck{step.Name, r.Timeout, step.Waits}
		}
		for _, a := range step.Actions {
			if a.Verb == verbRecord {
				r.Record.close()
			}
			if err := r.Cluster.Do(ctx, r.Record, a); err != nil && !errors.Is(err, ErrConflict) {
				return err // a conflict concerns one object, which is observed again
			}
			if a.Verb == verbForget {
				return nil
			}
		}
		if len(step.Actions) > 0 {
			continue
		}
		r.Waiting(step.Name, step.Waits)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(r.Poll):
		}
	}
}

// Stuck is a step that takes too long.
type Stuck struct {
	Step    string
	Timeout time.Duration
	Waits   []string
}

func (s *Stuck) Error() string {
	if len(s.Waits) == 0 {
		return fmt.Sprintf("step %s: not done within %s: something else changes the same objects", s.Step, s.Timeout)
	}
	more := ""
	if len(s.Waits) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(s.Waits)-1)
	}
	return fmt.Sprintf("step %s: not within %s: %s%s", s.Step, s.Timeout, s.Waits[0], more)
}
