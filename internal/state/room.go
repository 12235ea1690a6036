package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Room keeps records. It may be used by several goroutines.
type Room interface {
	// Read is a record, and its version, which Write takes.
	Read(ctx context.Context, name string) (data []byte, version string, err error)
	// Write replaces a record of a version, "" for one that is not there yet, and returns the new version.
	Write(ctx context.Context, name string, data []byte, version string) (string, error)
	// Remove removes a record; one that is not there needs nothing.
	Remove(ctx context.Context, name string) error
	// Names are the records that are there, sorted.
	Names(ctx context.Context) ([]string, error)
	// String says where the records are.
	String() string
}

var (
	// ErrNotFound says that there is no such record.
	ErrNotFound = errors.New("there is no such record")
	// ErrConflict says that somebody else has written since.
	ErrConflict = errors.New("somebody else has written meanwhile")
)

// Damaged is a record that cannot be used.
type Damaged struct {
	// Record is its name, and Why what is wrong with it.
	Record, Why string
}

func (d *Damaged) Error() string { return fmt.Sprintf("record %q: %s", d.Record, d.Why) }

// IsDamaged reports whether an error is of a record that is there, but cannot be used.
func IsDamaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}

// TooLarge is a record that is beyond the limit.
type TooLarge struct {
	Record        string
	Actual, Limit int
}

func (t *TooLarge) Error() string {
	return fmt.Sprintf("record %q has %d bytes; the limit is %d", t.Record, t.Actual, t.Limit)
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
