package state

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/trigger"
)

const (
	// Timeout bounds one use of a store.
	Timeout = 30 * time.Second
	// retryInterval is the pause before a store that cannot be reached is tried again.
	retryInterval = 2 * time.Second
)

// Replicated keeps one value of this process in a record: it merges what other processes have
// written, and writes what this one has changed. Changed starts a write, and Run does it.
type Replicated[T any] struct {
	// Record is where the value is written.
	Record *Document[T]
	// Merge is called after each read, with what another process has written, or this one before a
	// restart; nil if there is nothing new.
	Merge func(*T)
	// Value returns what to write; false if it is not complete yet.
	Value func() (value T, complete bool)
	// Log has each new problem with the store, and Loss says there what follows from a record that
	// cannot be used.
	Log  *slog.Logger
	Loss string
	// Quiet is how long changes are collected, and Interval how often the record is read without
	// one; 0 for never.
	Quiet, Interval time.Duration
	// Urgent has a store of this process alone written without Quiet.
	Urgent bool

	fire    trigger.Trigger
	changes atomic.Uint64
	written uint64 // how many of them the record has

	mu      sync.Mutex
	trouble Trouble
}

// Trouble is what is wrong with the record of a value.
type Trouble struct {
	// Problem is why the record cannot be read, used or written now, nil if it can.
	Problem error
	// Failures counts the uses that failed, and Damaged the records that could not be used.
	Failures, Damaged int
}

// Start makes the value ready for Changed, and returns it.
func (r *Replicated[T]) Start() *Replicated[T] {
	r.fire = trigger.New()
	if r.Urgent && !r.Record.store.Shared() {
		r.Quiet = 0
	}
	return r
}

// Changed has the value written soon.
func (r *Replicated[T]) Changed() {
	r.changes.Add(1)
	r.fire.Fire()
}

// Trouble returns what is wrong with the record.
func (r *Replicated[T]) Trouble() Trouble {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

// Run merges and writes until the context ends, and then writes once more. A store that was away
// before is not waited for then.
func (r *Replicated[T]) Run(ctx context.Context) {
	reached := false
	for {
		// A use that the end of the context cuts short says nothing of the store.
		reached = r.Exchange(ctx) || reached && ctx.Err() != nil
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
		theirs, changed, err := r.Record.Read(ctx)
		if damage = nil; IsDamaged(err) {
			r.damaged(err)
			damage, err = err, nil
		}
		if err != nil {
			return err
		}
		if !changed {
			theirs = nil
		}
		r.Merge(theirs)
		if theirs != nil {
			r.changes.Add(1) // the record may lack some of ours
		}
		changes = r.changes.Load() // before Value, which has all of them
		if changes == r.written {
			return nil
		}
		value, complete := r.Value()
		if !complete {
			changes = r.written
			return nil
		}
		damage = nil // it is replaced
		return r.Record.Write(ctx, value)
	})
	if err == nil {
		r.written = changes
	}
	r.report(err, damage)
	return err == nil
}

// damaged counts a record that is not used, and has it replaced.
func (r *Replicated[T]) damaged(err error) {
	r.changes.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isNew(err) {
		r.trouble.Damaged++
		r.Log.Error("the record is not used", "loss", r.Loss, "state", r.Record.store.String(), "error", err)
	}
}

// isNew reports whether a problem is another one than the last. The caller holds the lock.
func (r *Replicated[T]) isNew(err error) bool {
	return r.trouble.Problem == nil || r.trouble.Problem.Error() != err.Error()
}

// report notes the outcome of a use of the store, and a damaged record that is there still.
func (r *Replicated[T]) report(err, damage error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.trouble.Failures++
		if r.isNew(err) {
			r.Log.Error("the store cannot be read or written", "state", r.Record.store.String(), "record", r.Record.name, "error", err)
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
// if the context ends before.
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
