package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// Rule 8: who can write the objects, and has no key, cannot put an older record back under a
// process that has seen a newer one. A new process cannot tell; that is the limit.
func TestReplayedRecordIsDamaged(t *testing.T) {
	objects, key := &storetest.Memory{}, []byte("a key")
	open := func() *store.Document[string] {
		return store.NewDocument[string](store.New(objects, key), "accepted", 1)
	}
	name := store.Name("accepted", 1)
	raw := func() []byte {
		t.Helper()
		data, _, err := objects.Get(t.Context(), name)
		check(t, err)
		return data
	}
	replay := func(data []byte) {
		t.Helper()
		_, version, err := objects.Get(t.Context(), name)
		if !errors.Is(err, store.ErrNotFound) {
			check(t, err)
		}
		_, err = objects.Put(t.Context(), name, data, version)
		check(t, err)
	}
	reads := func(what string, d *store.Document[string], want string) {
		t.Helper()
		value, _, err := d.Read(t.Context())
		switch {
		case want == "" && (value != nil || !store.IsDamaged(err) || !strings.Contains(err.Error(), "somebody has put an older record back")):
			t.Errorf("%s: %v, %v; expected damage", what, value, err)
		case want != "" && (err != nil || value == nil || *value != want):
			t.Errorf("%s: %v, %v; want %s", what, value, err, want)
		}
	}

	running := open()
	if value, _, err := running.Read(t.Context()); value != nil || err != nil {
		t.Errorf("nothing: %v, %v", value, err)
	}
	check(t, running.Write(t.Context(), "one"))
	one := raw()
	check(t, running.Write(t.Context(), "two"))
	two := raw()
	replay(one)
	reads("replayed right after the write", running, "")
	reads("replayed, for a process that knows nothing", open(), "one")

	check(t, running.Write(t.Context(), "three")) // the record is replaced, by a generation that all take
	reads("another process", open(), "three")
	replay(two)
	reads("a later one", running, "")

	// A record that is removed is missing; one that is made anew by a process that knows nothing is
	// older for those that know.
	check(t, objects.Delete(t.Context(), name))
	fresh := open()
	if value, _, err := fresh.Read(t.Context()); value != nil || err != nil {
		t.Errorf("%v, %v", value, err)
	}
	check(t, fresh.Write(t.Context(), "fresh"))
	reads("made anew", running, "")
	check(t, running.Write(t.Context(), "four"))
	reads("the fresh process", fresh, "four")
}

// Without keys nothing tells an older record from a forged one: none is refused.
func TestWithoutKeysOlderRecordsAreRead(t *testing.T) {
	objects := &storetest.Memory{}
	d := store.NewDocument[string](store.New(objects), "accepted", 1)
	_, _, err := d.Read(t.Context())
	check(t, err)
	check(t, d.Write(t.Context(), "one"))
	old, _, err := objects.Get(t.Context(), store.Name("accepted", 1))
	check(t, err)
	check(t, d.Write(t.Context(), "two"))
	_, version, err := objects.Get(t.Context(), store.Name("accepted", 1))
	check(t, err)
	_, err = objects.Put(t.Context(), store.Name("accepted", 1), old, version)
	check(t, err)
	if value, _, err := d.Read(t.Context()); err != nil || *value != "one" {
		t.Errorf("%v, %v", value, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}
