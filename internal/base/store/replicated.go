package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/base/run"
)

const (
	// Timeout bounds one exchange with a store.
	Timeout = 30 * time.Second
	// retryInterval is the pause before a store that could not be reached is tried again.
	retryInterval = 2 * time.Second
)

// Options configure a Replicated.
type Options[T any] struct {
	// Merge is called with the value that another process has written, or this process before a
	// restart.
	Merge func(*T)
	// Value returns the value to write; false if it is not complete yet.
	Value func() (value T, complete bool)
	// Log receives each new problem with the store. Loss is the text that says there what a record
	// that cannot be used means.
	Log  *slog.Logger
	Loss string
	// Quiet is how long changes are collected. Interval is how often the record is read without a
	// change, 0 for never.
	Quiet, Interval time.Duration
	// Urgent sets both. Changes are written at once to a store of only this process, and within
	// about a second to a store that replicas share.
	Urgent bool
}

const (
	// urgentQuiet and urgentInterval are Quiet and Interval of an urgent value.
	urgentQuiet    = time.Second
	urgentInterval = 10 * time.Second
)

// Replicated keeps one value of this process in a record. It merges what other processes have
// written, and writes the changes of this one. Changed requests a write, and Run does it.
type Replicated[T any] struct {
	Options[T]
	record *Document[T]  // nil without a store
	loaded chan struct{} // closed when the record has been read and merged

	fire    run.Trigger
	changes atomic.Uint64
	written uint64 // how many changes the record has

	mu      sync.Mutex
	trouble Trouble
}

// Trouble describes what is wrong with the record of a value.
type Trouble struct {
	// Problem is why the record cannot be read, used or written now; nil if it can.
	Problem error
	// Failures counts the exchanges that failed, and Damaged the records that could not be used.
	Failures, Damaged int
}

// Replicate keeps a value in a record of a store, by its kind and the version of its format.
// Without a store it reads and writes nothing.
func Replicate[T any](s *Store, kind string, format int, o Options[T]) *Replicated[T] {
	r := &Replicated[T]{Options: o, loaded: make(chan struct{}), fire: run.NewTrigger()}
	if s == nil {
		close(r.loaded)
		return r
	}
	r.record = NewDocument[T](s, kind, format)
	if r.Urgent {
		r.Quiet, r.Interval = urgentQuiet, urgentInterval
		if !s.Shared() {
			r.Quiet = 0
		}
	}
	return r
}

// Changed requests a write of the value.
func (r *Replicated[T]) Changed() {
	r.changes.Add(1)
	r.fire.Fire()
}

// IsLoaded reports whether the record has been read since the start. It is true without a store.
func (r *Replicated[T]) IsLoaded() bool {
	select {
	case <-r.loaded:
		return true
	default:
		return false
	}
}

// AwaitLoaded waits for IsLoaded. It returns false if the context ends first.
func (r *Replicated[T]) AwaitLoaded(ctx context.Context) bool {
	select {
	case <-r.loaded:
		return true
	case <-ctx.Done():
		return false
	}
}

// Trouble returns what is wrong with the record.
func (r *Replicated[T]) Trouble() Trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

// Run merges and writes until the context ends, and then writes once more. That last write does not
// wait for a store that could not be reached before.
func (r *Replicated[T]) Run(ctx context.Context) {
	if r.record == nil {
		return
	}
	reached := false
	for {
		// The end of the context can interrupt an exchange, which then says nothing about the
		// store, unless it read the record for the first time.
		wasLoaded := r.IsLoaded()
		reached = r.Exchange(ctx) || ctx.Err() != nil && (reached || !wasLoaded && r.IsLoaded())
		var tick <-chan time.Time
		switch {
		case !reached:
			tick = time.After(retryInterval)
		case r.Interval > 0:
			tick = time.After(r.Interval)
		}
		select {
		case <-ctx.Done():
		case <-tick:
		case <-r.fire:
			select {
			case <-ctx.Done():
			case <-time.After(r.Quiet):
			}
		}
		if ctx.Err() != nil {
			if reached {
				r.Exchange(context.WithoutCancel(ctx))
			}
			return
		}
	}
}

// Exchange reads the record and writes what this process has changed, until no other process has
// written in between. It reports whether the store can be reached.
func (r *Replicated[T]) Exchange(ctx context.Context) (reached bool) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var changes uint64
	var damage error
	err := Retry(func() error {
		theirs, changed, err := r.record.Read(ctx)
		if damage = nil; IsDamaged(err) {
			r.damaged(err) // before others learn that the record has been read
			damage, err = err, nil
		}
		if err != nil {
			return err
		}
		if changed && theirs != nil {
			r.Merge(theirs)
			r.changes.Add(1) // the record may lack some of our changes
		}
		if !r.IsLoaded() {
			close(r.loaded)
		}
		changes = r.changes.Load() // before Value, which includes them all
		if changes == r.written {
			return nil
		}
		value, complete := r.Value()
		if !complete {
			changes = r.written
			return nil
		}
		damage = nil // the next write replaces it
		return r.record.Write(ctx, value)
	})
	if err == nil {
		r.written = changes
	}
	r.report(err, damage)
	return err == nil
}

// damaged counts a record that cannot be used, and requests a write that replaces it.
func (r *Replicated[T]) damaged(err error) {
	r.changes.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isNew(err) {
		r.trouble.Damaged++
		r.Log.Error("the record is not used", "loss", r.Loss, "state", r.record.store.String(), "error", err)
	}
}

// isNew reports whether a problem differs from the last one. The caller holds the lock.
func (r *Replicated[T]) isNew(err error) bool {
	return r.trouble.Problem == nil || r.trouble.Problem.Error() != err.Error()
}

// report records the result of an exchange, and a damaged record that still exists.
func (r *Replicated[T]) report(err, damage error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.trouble.Failures++
		if r.isNew(err) {
			r.Log.Error("the store cannot be read or written", "state", r.record.store.String(), "record", r.record.name, "error", err)
		}
	}
	r.trouble.Problem = cmp.Or(err, damage)
}

// Retry repeats a read and its conditional write until no other process has written in between.
func Retry(attempt func() error) error {
	err := ErrConflict
	for range attempts {
		if err = attempt(); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return err
}

// Await repeats a read until the store can be reached, and reports each failure. It returns false
// if the context ends first.
func Await(ctx context.Context, read func(context.Context) error, report func(error)) bool {
	for {
		limited, cancel := context.WithTimeout(ctx, Timeout)
		err := read(limited)
		cancel()
		if err == nil {
			return true
		}
		report(err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryInterval):
		}
	}
}
