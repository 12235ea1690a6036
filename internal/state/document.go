package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Document is a record that holds one JSON value of a known format. It is for one goroutine.
type Document[T any] struct {
	store        Store
	name, format string
	// check finds what T cannot express; nil for nothing.
	check func(T) error

	// version, sum and value are those of the last read or written record.
	version, sum string
	value        *T
}

// envelope is a value as it is stored.
type envelope[T any] struct {
	Format string `json:"format"`
	Value  T      `json:"value"`
}

// NewDocument describes a record: format is the value's kind and version ("facts/2"). Check may be
// nil.
func NewDocument[T any](s Store, name, format string, check func(T) error) *Document[T] {
	return &Document[T]{store: s, name: name, format: format, check: check}
}

// Read returns the value, nil if there is none, and whether another process has written since the
// last Read or Write. A *Damaged record can be replaced by Write.
func (d *Document[T]) Read(ctx context.Context) (value *T, changed bool, err error) {
	data, version, err := d.store.Read(ctx, d.name)
	switch {
	case errors.Is(err, ErrNotFound):
		changed = d.version != ""
		d.version, d.sum, d.value = "", "", nil
		return nil, changed, nil
	case err != nil && !IsDamaged(err):
		return nil, false, err
	}
	changed = version != d.version
	if err == nil && !changed && d.value != nil {
		return d.value, false, nil
	}
	d.version, d.sum, d.value = version, "", nil
	if err != nil {
		return nil, changed, err
	}
	v, err := d.decode(data)
	if err != nil {
		return nil, changed, &Damaged{d.name, err.Error()}
	}
	d.sum, d.value = checksum(data), v
	return v, changed, nil
}

// Write replaces the record that Read has read last. ErrConflict says that another process has
// written since.
func (d *Document[T]) Write(ctx context.Context, value T) error {
	data, err := d.encode(value)
	if err != nil {
		return err
	}
	sum := checksum(data)
	if sum == d.sum {
		return nil
	}
	version, err := d.store.Write(ctx, d.name, data, d.version)
	if err != nil {
		return err
	}
	d.version, d.sum, d.value = version, sum, &value
	return nil
}

func (d *Document[T]) encode(value T) ([]byte, error) {
	return json.Marshal(envelope[T]{d.format, value})
}

// errNotWritten is the error of JSON that no build of this version has written. A decoder leaves
// out what it does not know and fills in what is missing, so it would use half of a record.
var errNotWritten = errors.New("it is not as it was written")

// decode reads what encode has written; anything else is an error.
func (d *Document[T]) decode(data []byte) (*T, error) {
	var out envelope[T]
	err := json.Unmarshal(data, &out)
	var invalid *json.SyntaxError
	if err != nil && (errors.As(err, &invalid) || out.Format == d.format) {
		return nil, err
	}
	if out.Format != d.format {
		return nil, fmt.Errorf("another version has written it: its format is %q; expected %q", out.Format, d.format)
	}
	again, err := d.encode(out.Value)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, errNotWritten
	}
	if d.check != nil {
		if err := d.check(out.Value); err != nil {
			return nil, err
		}
	}
	return &out.Value, nil
}
