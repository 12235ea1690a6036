package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Document is a record that holds one JSON value. Only one goroutine may use it.
type Document[T any] struct {
	store *Store
	name  string
	// version, sum and value belong to the record that was last read or written.
	version, sum string
	value        *T
}

// Name returns a record's name, which holds the version of its format: "state", 2 gives "state-v2".
func Name(kind string, format int) string { return fmt.Sprintf("%s-v%d", kind, format) }

// NewDocument describes a record by its kind and the version of its format.
func NewDocument[T any](s *Store, kind string, format int) *Document[T] {
	d := &Document[T]{store: s, name: Name(kind, format)}
	s.follow(d.name)
	return d
}

// Read returns the value, nil if there is none, and whether another process has written since the
// last Read or Write. Write can replace a *Damaged record.
func (d *Document[T]) Read(ctx context.Context) (value *T, changed bool, err error) {
	data, version, err := d.store.Read(ctx, d.name)
	if err != nil && !IsDamaged(err) && !errors.Is(err, ErrNotFound) {
		return nil, false, err
	}
	changed = version != d.version
	if err == nil && !changed && d.value != nil {
		return d.value, false, nil
	}
	d.version, d.sum, d.value = version, checksum(data), nil
	if err == nil {
		d.value, err = decode[T](d.name, data)
	} else if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return d.value, changed, err
}

// Write replaces the record that Read returned last. ErrConflict means that another process has
// written since.
func (d *Document[T]) Write(ctx context.Context, value T) error {
	data, err := json.Marshal(value)
	if err != nil || d.value != nil && checksum(data) == d.sum {
		return err
	}
	version, err := d.store.Write(ctx, d.name, data, d.version)
	if err != nil {
		return err
	}
	d.version, d.sum, d.value = version, checksum(data), &value
	return nil
}

// IsCurrent reports whether the record is still the one that was read or written last.
func (d *Document[T]) IsCurrent(ctx context.Context) bool {
	_, version, err := d.store.objects.Get(ctx, d.name)
	return err == nil && version == d.version
}

// decode reads what Write has written; anything else is damaged.
func decode[T any](name string, data []byte) (*T, error) {
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, &Damaged{name, err.Error()}
	}
	if again, err := json.Marshal(value); err != nil || !bytes.Equal(again, data) {
		return nil, &Damaged{name, "it is not as it was written"}
	}
	return value, nil
}
