package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// Source is one file to read.
type Source struct {
	// Kind is what errors call the file, such as "TLS key".
	Kind, Path string
	// Limit bounds the file's size, in bytes.
	Limit int64
}

// Read returns the file's content. Its error names the file and the cause.
func (s Source) Read() ([]byte, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, s.Error(Cause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, s.Limit+1))
	switch {
	case err != nil:
		return nil, s.Error(Cause(err))
	case int64(len(data)) > s.Limit:
		return nil, s.Error(fmt.Errorf("larger than %d bytes", s.Limit))
	}
	return data, nil
}

// Error adds the file's kind and path to an error.
func (s Source) Error(err error) error { return fmt.Errorf("%s %q: %w", s.Kind, s.Path, err) }

// Cause returns a file's error without its operation and path.
func Cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Options configure a File. Parse and at least one source are required.
type Options[T any] struct {
	// Sources are the files to read together, such as a certificate and its key.
	Sources []Source
	// Parse parses the sources' contents. Its errors name the file.
	Parse func(contents [][]byte) (T, error)
	// Log receives changes and errors; default none.
	Log *slog.Logger
	// Changed is called with the files' kind when their value has changed; default none.
	Changed func(kind string)
	// Now is the clock of Recent; default time.Now.
	Now func() time.Time
}

// File holds the value that is parsed from files.
type File[T any] struct {
	o Options[T]

	mu       sync.Mutex
	read     time.Time
	contents [][]byte
	value    T
	err      error
}

// Open reads the files. It returns an error if they cannot be used.
func Open[T any](o Options[T]) (*File[T], error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	f := &File[T]{o: o, read: o.Now()}
	contents, value, err := f.parse()
	if err != nil {
		return nil, err
	}
	f.contents, f.value = contents, value
	return f, nil
}

// Last returns the last good value, and the error of the last read.
func (f *File[T]) Last() (T, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.value, f.err
}

// Current reads the files and returns the last good value.
func (f *File[T]) Current() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reload()
	return f.value
}

// Recent returns what Current does, but reads the files only if the last read is older than age. It
// reports whether it has read them.
func (f *File[T]) Recent(age time.Duration) (value T, read bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.o.Now(); age <= 0 || now.Sub(f.read) >= age || now.Before(f.read) {
		f.reload()
		read = true
	}
	return f.value, read
}

// Reload reads the files and reports whether the value or the error has changed.
func (f *File[T]) Reload() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reload()
}

// reload reads the files. The caller holds the lock, so that an older read cannot replace a newer
// one.
func (f *File[T]) reload() (differs bool) {
	f.read = f.o.Now()
	contents, value, err := f.parse()
	before, kind, path := f.err, f.o.Sources[0].Kind, f.o.Sources[0].Path
	f.err = err
	if err != nil {
		if before != nil && before.Error() == err.Error() {
			return false
		}
		f.o.Log.Error(kind+" cannot be used; the last good one stays in use", "error", err) //nolint:sloglint // the kind is the subject
		return true
	}
	if before != nil {
		f.o.Log.Info(kind+" can be used again", "path", path) //nolint:sloglint // as above
	}
	if contents == nil {
		return before != nil
	}
	f.o.Log.Info(kind+" has changed", "path", path) //nolint:sloglint // as above
	if f.o.Changed != nil {
		f.o.Changed(kind)
	}
	f.contents, f.value = contents, value
	return true
}

// parse reads all sources. The contents are nil if they equal the last good value's.
func (f *File[T]) parse() (contents [][]byte, value T, err error) {
	for _, s := range f.o.Sources {
		content, err := s.Read()
		if err != nil {
			return nil, value, err
		}
		contents = append(contents, content)
	}
	if slices.EqualFunc(contents, f.contents, bytes.Equal) {
		return nil, value, nil
	}
	value, err = f.o.Parse(contents)
	return contents, value, err
}
