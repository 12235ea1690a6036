package state

import (
	"context"
	"errors"
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
// written, and writes what this one has. Fire starts a write, and Run does it.
type Replicated[T any] struct {
	// Record is where the value is written.
	Record *Document[T]
	// Merge is called after each read, with what another process has written, or this one before a
	// restart; nil if there is nothing new.
	Merge func(*T)
	// Value returns what to write; false if there is nothing to write yet.
	Value func() (value T, complete bool)
	// Report is called after each use of the store. A *Damaged error is that of a record that was
	// not used, and is replaced.
	Report func(error)
	// Quiet is how long changes are collected, and Interval how often the record is read without
	// one; 0 for never.
	Quiet, Interval time.Duration
	// Fire asks Run to write.
	Fire trigger.Trigger
}

// Run merges and writes until the context ends, and then writes once more.
func (r *Replicated[T]) Run(ctx context.Context) {
	for {
		reached := r.Exchange(ctx)
		var tick <-chan time.Time
		switch {
		case !reached:
			tick = time.After(retryInterval)
		case r.Interval > 0:
			tick = time.After(r.Interval)
		}
		select {
		case <-ctx.Done():
			if reached {
				r.Exchange(context.WithoutCancel(ctx))
			}
			return
		case <-tick:
		case <-r.Fire:
			select {
			case <-ctx.Done():
			case <-time.After(r.Quiet):
			}
		}
	}
}

// Exchange reads the record and writes it, until no other process has written in between. It
// reports whether the store can be reached.
func (r *Replicated[T]) Exchange(ctx context.Context) (reached bool) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var damaged error
	err := Retry(func() error {
		theirs, changed, err := r.Record.Read(ctx)
		if IsDamaged(err) {
			damaged, err = err, nil
			r.Report(damaged)
		}
		if err != nil {
			return err
		}
		if !changed {
			theirs = nil
		}
		r.Merge(theirs)
		value, complete := r.Value()
		if !complete {
			return nil
		}
		return r.Record.Write(ctx, value)
	})
	if err != nil || damaged == nil {
		r.Report(err)
	}
	return err == nil
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
