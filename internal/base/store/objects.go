package store

import (
	"context"
	"errors"
	"fmt"
)

// Objects are the small objects that records are written to.
type Objects interface {
	// Get returns an object and its version.
	Get(ctx context.Context, name string) (data []byte, version string, err error)
	// Put creates an object, of version "", or replaces that of a version. It returns the new
	// version.
	Put(ctx context.Context, name string, data []byte, version string) (string, error)
	// Delete removes an object, if there is one.
	Delete(ctx context.Context, name string) error
	// List returns the names of all objects.
	List(ctx context.Context) ([]string, error)
	// MaxSize bounds an object, in bytes.
	MaxSize() int
	// Shared reports whether other processes write, too.
	Shared() bool
	// String names the place.
	String() string
}

var (
	// ErrNotFound says that there is no such record or object.
	ErrNotFound = errors.New("there is no such record")
	// ErrConflict says that another process has written since.
	ErrConflict = errors.New("another process has written meanwhile")
)

// Damaged is the error of a record that exists and cannot be used.
type Damaged struct {
	// Record is its name, and Why what is wrong with it.
	Record, Why string
}

func (d *Damaged) Error() string { return fmt.Sprintf("record %q: %s", d.Record, d.Why) }

// IsDamaged reports whether an error is of a record that exists and cannot be used.
func IsDamaged(err error) bool {
	var d *Damaged
	return errors.As(err, &d)
}
