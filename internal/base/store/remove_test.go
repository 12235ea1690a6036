package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// interleaved are the objects of a process that another one overtakes: step is called before each
// use of an object.
type interleaved struct {
	*storetest.Memory
	step func()
}

func (o interleaved) Get(ctx context.Context, name string) ([]byte, string, error) {
	o.step()
	return o.Memory.Get(ctx, name)
}

func (o interleaved) Put(ctx context.Context, name string, data []byte, version string) (string, error) {
	o.step()
	return o.Memory.Put(ctx, name, data, version)
}

func (o interleaved) Delete(ctx context.Context, name string) error {
	o.step()
	return o.Memory.Delete(ctx, name)
}

func (o interleaved) List(ctx context.Context) ([]string, error) {
	o.step()
	return o.Memory.List(ctx)
}

// TestRecordThatIsRemovedAndWrittenIsWhole: while one replica removes a record of chunks, another
// one writes it anew, in full between any two steps. Then the record is whole, or there is none.
func TestRecordThatIsRemovedAndWrittenIsWhole(t *testing.T) {
	data := noise(1, 3_000)
	write := func(s *store.Store) error {
		_, version, err := s.Read(t.Context(), "a")
		if err != nil && !errors.Is(err, store.ErrNotFound) && !store.IsDamaged(err) {
			return err
		}
		_, err = s.Write(t.Context(), "a", data, version)
		return err
	}
	remove := func(s *store.Store) error { return s.Remove(t.Context(), "a") }
	for name, c := range map[string]struct {
		there        bool
		first, other func(*store.Store) error
	}{
		"removed, and written":            {true, remove, write},
		"written, and removed":            {true, write, remove},
		"written for the first time":      {false, write, remove},
		"removed by both":                 {true, remove, remove},
		"written for the first time, too": {false, write, write},
	} {
		t.Run(name, func(t *testing.T) {
			whole, steps := 0, 0
			for at := 0; ; at++ {
				memory := &storetest.Memory{Max: smallObjects}
				other := store.New(memory)
				if c.there {
					require.NoError(t, write(other))
				}
				n := 0
				first := store.New(interleaved{memory, func() {
					if n++; n == at+1 {
						if err := c.other(other); err != nil && !errors.Is(err, store.ErrConflict) {
							t.Errorf("step %d: the other process: %v", at, err)
						}
					}
				}})
				if err := c.first(first); err != nil && !errors.Is(err, store.ErrConflict) {
					t.Errorf("step %d: %v", at, err)
				}
				if n <= at {
					break
				}
				steps++
				switch got, _, err := other.Read(t.Context(), "a"); {
				case err == nil && bytes.Equal(got, data):
					whole++
				case !errors.Is(err, store.ErrNotFound):
					t.Errorf("step %d: afterwards: %v", at, err)
				}
			}
			if steps < 3 || whole == 0 && name != "removed by both" {
				t.Errorf("%d steps, after %d of which the record is whole", steps, whole)
			}
		})
	}
}

// TestForeignChunkDoesNotKeepARecordFromBeingWritten: an object whose name has the highest
// generation that there can be.
func TestForeignChunkDoesNotKeepARecordFromBeingWritten(t *testing.T) {
	memory := &storetest.Memory{}
	memory.Set(fmt.Sprintf("a.%d.0123456789abcdef.0", math.MaxInt), []byte("x"))
	s := store.New(memory)
	if _, err := s.Write(t.Context(), "a", []byte("data"), ""); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Read(t.Context(), "a"); err != nil || string(got) != "data" {
		t.Errorf("%q, %v", got, err)
	}
}
