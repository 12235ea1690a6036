package store

import (
	"context"
	"errors"
	"fmt"
)

// Objects reads and writes the small objects that hold records.
type Objects interface {
	// Get returns an object and its version.
	Get(ctx context.Context, name string) (data []byte, version string, err error)
	// Put creates an object (version "") or replaces the object of a version. It returns the new
	// version.
	Put(ctx context.Context, name string, data []byte, version string) (string, error)
	// Delete removes an object, if there is one.
	Delete(ctx context.Context, name string) error
	// List returns the names of all objects.
	List(ctx context.Context) ([]string, error)
	// MaxSize bounds an object, in bytes.
	MaxSize() int
	// Shared reports whether other processes also write objects.
	Shared() bool
	// String names the place of the objects.
	String() string
}

var (
	// ErrNotFound means that there is no such record or object.
	ErrNotFound = errors.New("there is no such record")
	// ErrConflict means that another process has written since.
	ErrConflict = errors.New("another process has written in the meantime")
)

// Damaged is the error of a record that exists and cannot be used.
type Damaged struct {
	// Record is the record's name, and Why says what is wrong with it.
	Record, Why string
}

func (d *Damaged) Error() string { return fmt.Sprintf("record %q: %s", d.Record, d.Why) }

// IsDamaged reports whether an error means that a record exists and cannot be used.
func IsDamaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}
