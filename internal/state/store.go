package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Store holds named records. It may be used by several goroutines.
type Store interface {
	// Read returns a record and its version, which Write takes.
	Read(ctx context.Context, name string) (data []byte, version string, err error)
	// Write replaces a record of a version, "" for a new one, and returns the new version.
	Write(ctx context.Context, name string, data []byte, version string) (string, error)
	// Remove removes a record, if there is one.
	Remove(ctx context.Context, name string) error
	// Names returns the names of all records, sorted.
	Names(ctx context.Context) ([]string, error)
	// Shared reports whether other processes write to the store, too.
	Shared() bool
	// String names the place of the records.
	String() string
}

var (
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("there is no such record")
	// ErrConflict says that another process has written since.
	ErrConflict = errors.New("another process has written meanwhile")
)

// Damaged is the error of a record that cannot be used.
type Damaged struct {
	// Record is its name, and Why what is wrong with it.
	Record, Why string
}

func (d *Damaged) Error() string { return fmt.Sprintf("record %q: %s", d.Record, d.Why) }

// IsDamaged reports whether an error is of a record that exists but cannot be used.
func IsDamaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}

// TooLarge is the error of a record beyond the limit.
type TooLarge struct {
	Record        string
	Actual, Limit int
}

func (t *TooLarge) Error() string {
	return fmt.Sprintf("record %q has %d bytes; the limit is %d", t.Record, t.Actual, t.Limit)
}

const (
	// Timeout bounds one use of a store.
	Timeout = 30 * time.Second
	// retryInterval is the pause before a store that cannot be reached is read again.
	retryInterval = 2 * time.Second
	// attempts bounds how often a write is repeated that other processes have overtaken.
	attempts = 5
)

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
		timer := time.NewTimer(retryInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
