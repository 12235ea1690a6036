package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// smallObjects hold about 1,000 bytes beside the head.
const smallObjects = 2024

// noise returns bytes that cannot be compressed.
func noise(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func stores(t *testing.T) map[string]*store.Store {
	t.Helper()
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	return map[string]*store.Store{
		"folder": store.New(folder), "objects": store.New(&storetest.Memory{}),
		"small objects": store.New(&storetest.Memory{Max: smallObjects}, []byte("a key")),
	}
}

// Rules 1 and 2: a replica that has read the newest replaces it.
func TestRecordIsReadAsItWasWritten(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if _, _, err := s.Read(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("no record: %v", err)
			}
			version := ""
			for i, data := range [][]byte{{}, []byte("x"), noise(1, 10_000), noise(2, 3_500), noise(3, 1)} {
				next, err := s.Write(ctx, "a", data, version)
				if err != nil {
					t.Fatal(i, err)
				}
				if _, err := s.Write(ctx, "a", []byte("late"), version); !errors.Is(err, store.ErrConflict) {
					t.Errorf("%d: a writer that has read the one before: %v", i, err)
				}
				got, read, err := s.Read(ctx, "a")
				if err != nil || !bytes.Equal(got, data) || read != next {
					t.Errorf("%d: %d bytes of version %s, %v; want %d of %s", i, len(got), read, err, len(data), next)
				}
				version = next
			}
			if _, err := s.Write(ctx, "b", nil, ""); err != nil {
				t.Fatal(err)
			}
			if names, err := s.Names(ctx); err != nil || !slices.Equal(names, []string{"a", "b"}) {
				t.Errorf("%v %v", names, err)
			}
			assert.NoError(t, errors.Join(s.Remove(ctx, "a"), s.Remove(ctx, "a")))
			if _, _, err := s.Read(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

// Rule 3: the next writer removes what the killed one has left.
func TestKilledWriterLeavesOldOrNewRecord(t *testing.T) {
	before, after := noise(1, 5_000), noise(2, 7_000)
	for step := range 40 {
		m := &storetest.Memory{Max: smallObjects}
		version, err := store.New(m).Write(t.Context(), "a", before, "")
		require.NoError(t, err)
		left := step
		m.Fails = func(string) error {
			if left--; left < 0 {
				return errors.New("the process has ended")
			}
			return nil
		}
		_, failed := store.New(m).Write(t.Context(), "a", after, version)
		m.Fails = nil
		restarted := store.New(m)
		got, version, err := restarted.Read(t.Context(), "a")
		if want := map[bool][]byte{true: before, false: after}[failed != nil]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("after %d steps (%v): %d bytes, %v", step, failed, len(got), err)
		}
		for _, text := range []string{"small", "smaller"} {
			if version, err = restarted.Write(t.Context(), "a", []byte(text), version); err != nil {
				t.Fatal(err)
			}
		}
		if left := m.Names(); len(left) != 1 {
			t.Errorf("after %d steps: %v are left", step, left)
		}
	}
}

// changeHead changes a key of a record's head.
func changeHead(m *storetest.Memory, key string, value any) {
	line, rest, _ := bytes.Cut(m.Object("a"), []byte{'\n'})
	var head map[string]any
	if err := json.Unmarshal(line, &head); err != nil {
		panic(err)
	}
	head[key] = value
	line, _ = json.Marshal(head)
	m.Set("a", slices.Concat(line, []byte{'\n'}, rest))
}

// Rule 1: damaged, cut off, mixed, or of another format.
func TestDamagedObjectsAreReportedAndReplaced(t *testing.T) {
	flip := func(b []byte) []byte { b[7] ^= 1; return b }
	for name, damage := range map[string]func(m *storetest.Memory, chunk string){
		"a byte of a chunk":  func(m *storetest.Memory, chunk string) { m.Set(chunk, flip(m.Object(chunk))) },
		"a chunk cut off":    func(m *storetest.Memory, chunk string) { m.Set(chunk, m.Object(chunk)[:9]) },
		"an empty chunk":     func(m *storetest.Memory, chunk string) { m.Set(chunk, []byte{}) },
		"a chunk missing":    func(m *storetest.Memory, chunk string) { m.Set(chunk, nil) },
		"a chunk too long":   func(m *storetest.Memory, chunk string) { m.Set(chunk, noise(9, 9999)) },
		"another's chunk":    func(m *storetest.Memory, chunk string) { m.Set(chunk, noise(9, len(m.Object(chunk)))) },
		"a newer format":     func(m *storetest.Memory, _ string) { changeHead(m, "format", "argosy-record/9") },
		"another checksum":   func(m *storetest.Memory, _ string) { changeHead(m, "sha256", strings.Repeat("0", 64)) },
		"a short checksum":   func(m *storetest.Memory, _ string) { changeHead(m, "sha256", "") },
		"another size":       func(m *storetest.Memory, _ string) { changeHead(m, "size", 17) },
		"no size":            func(m *storetest.Memory, _ string) { changeHead(m, "size", -1) },
		"more chunks":        func(m *storetest.Memory, _ string) { changeHead(m, "chunks", 99) },
		"very many chunks":   func(m *storetest.Memory, _ string) { changeHead(m, "chunks", 99999999) },
		"fewer chunks":       func(m *storetest.Memory, _ string) { changeHead(m, "chunks", 2) },
		"another generation": func(m *storetest.Memory, _ string) { changeHead(m, "generation", 7) },
		"no generation":      func(m *storetest.Memory, _ string) { changeHead(m, "generation", 0) },
		"a chunk for it":     func(m *storetest.Memory, chunk string) { m.Set("a", m.Object(chunk)) },
		"an empty object":    func(m *storetest.Memory, _ string) { m.Set("a", []byte{}) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &storetest.Memory{Max: smallObjects}
			s := store.New(m)
			if _, err := s.Write(t.Context(), "a", noise(1, 5_000), ""); err != nil {
				t.Fatal(err)
			}
			damage(m, m.Names()[2])
			data, version, err := s.Read(t.Context(), "a")
			if !store.IsDamaged(err) || data != nil {
				t.Fatalf("%d bytes are read, %v", len(data), err)
			}
			if _, err := s.Write(t.Context(), "a", []byte("new"), version); err != nil {
				t.Errorf("it cannot be replaced: %v", err)
			}
			if data, _, err := s.Read(t.Context(), "a"); err != nil || string(data) != "new" {
				t.Errorf("replaced: %q %v", data, err)
			}
		})
	}
}

// Rule 6: who can write objects and does not know the key plants no record: not one of their own,
// not one of another name, and not the content of one under the head of another.
func TestPlantedRecordIsDamaged(t *testing.T) {
	m := &storetest.Memory{}
	key, old := []byte("a key that nobody knows"), []byte("the key before")
	keyed := store.New(m, key, old)
	plant := func(s *store.Store, name, text string) []byte {
		t.Helper()
		m.Set(name, nil)
		if _, err := s.Write(t.Context(), name, []byte(text), ""); err != nil {
			t.Fatal(err)
		}
		return m.Object(name)
	}
	check := func(what string, want string) {
		t.Helper()
		data, _, err := keyed.Read(t.Context(), "a")
		if want == "" && (!store.IsDamaged(err) || data != nil) || want != "" && (err != nil || string(data) != want) {
			t.Errorf("%s: %q, %v", what, data, err)
		}
	}
	plant(store.New(m), "a", "planted")
	check("without a key", "")
	plant(store.New(m, []byte("guessed")), "a", "planted")
	check("with another key", "")
	m.Set("a", plant(keyed, "b", "of b"))
	check("another record's", "")
	good := plant(keyed, "a", "good")
	check("its own", "good")
	_, packed, _ := bytes.Cut(plant(keyed, "b", "gooo"), []byte{'\n'})
	line, _, _ := bytes.Cut(good, []byte{'\n'})
	m.Set("a", slices.Concat(line, []byte{'\n'}, packed))
	check("another content", "")
	m.Set("a", good)
	changeHead(m, "generation", 2)
	check("another generation", "")
	plant(store.New(m, old), "a", "before")
	check("with the key before", "before")
	if data, _, err := store.New(m, key).Read(t.Context(), "a"); err != nil || string(data) != "before" {
		t.Errorf("it is not signed again: %q, %v", data, err)
	}
}

// Rule 4: the error states limit and actual.
func TestTooLargeRecordIsRefused(t *testing.T) {
	m := &storetest.Memory{}
	_, err := store.New(m).Write(t.Context(), "a", noise(1, 33<<20), "")
	if err == nil || !strings.HasSuffix(err.Error(), "bytes; the limit is 33554432") || len(m.Names()) != 0 {
		t.Errorf("%v, and %v", err, m.Names())
	}
}

// Rule 2: replicas that count together lose nothing, and read no half of anything meanwhile.
func TestReplicasLoseNoWrites(t *testing.T) {
	m := &storetest.Memory{Max: 1124}
	const replicas, each = 4, 25
	var wg sync.WaitGroup
	for range replicas {
		c := store.New(m)
		wg.Go(func() {
			for done := 0; done < each; {
				data, version, err := c.Read(context.Background(), "a")
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					if store.IsDamaged(err) && strings.Contains(err.Error(), "is missing") {
						continue // replaced five times while it was being read
					}
					t.Error(err)
					return
				}
				n := 0
				if len(data) > 0 {
					if _, err := fmt.Sscanf(string(data[:6]), "%06d", &n); err != nil {
						t.Error(err)
						return
					}
					if !bytes.Equal(data[6:], noise(uint64(n), 400+n)) {
						t.Errorf("record %d is of parts", n)
						return
					}
				}
				n++
				switch _, err := c.Write(context.Background(), "a", append(fmt.Appendf(nil, "%06d", n), noise(uint64(n), 400+n)...), version); {
				case err == nil:
					done++
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	data, _, err := store.New(m).Read(t.Context(), "a")
	if err != nil || string(data[:6]) != fmt.Sprintf("%06d", replicas*each) {
		t.Errorf("%.6s %v", data, err)
	}
}

// Rule 1, of files. What a killed process has left is removed.
func TestDamagedFileIsReportedAndReplaced(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a byte":    func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut off":   func(b []byte) []byte { return b[:len(b)-1] },
		"empty":     func([]byte) []byte { return nil },
		"no record": func([]byte) []byte { return []byte("apiVersion: v1\n") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open := func() *store.Store {
				f, err := store.NewFolder(dir)
				require.NoError(t, err)
				return store.New(f)
			}
			if _, err := open().Write(t.Context(), "a", []byte("text"), ""); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a.record")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, errors.Join(os.WriteFile(path, damage(data), 0o600), os.WriteFile(filepath.Join(dir, ".record-1"), nil, 0o600)))
			s := open()
			got, version, err := s.Read(t.Context(), "a")
			if !store.IsDamaged(err) || got != nil {
				t.Errorf("%q %v", got, err)
			}
			if _, err := s.Write(t.Context(), "a", []byte("new"), version); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}

// FuzzRead: whatever is in the objects, a record is what was written or damaged.
func FuzzRead(f *testing.F) {
	f.Add([]byte("text"), 4, 0, "argosy-record/3", 1)
	f.Add([]byte{0x1f, 0x8b, 8}, 3, 1, "argosy-record/2", 2)
	f.Fuzz(func(t *testing.T, data []byte, size, chunks int, format string, generation int) {
		m := &storetest.Memory{Max: 1088}
		s := store.New(m)
		want := noise(1, 200)
		if _, err := s.Write(t.Context(), "a", want, ""); err != nil {
			t.Fatal(err)
		}
		changeHead(m, "size", size)
		changeHead(m, "chunks", chunks)
		changeHead(m, "format", format)
		changeHead(m, "generation", generation)
		line, _, _ := bytes.Cut(m.Object("a"), []byte{'\n'})
		m.Set("a", slices.Concat(line, []byte{'\n'}, data))
		got, _, err := s.Read(t.Context(), "a")
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes are read that nobody wrote", len(got))
		}
		if err != nil && !store.IsDamaged(err) {
			t.Errorf("%v", err)
		}
	})
}

// Rule 7: what no build of this version has written is damaged and left unread, and can be
// replaced.
func TestDocumentIsReadAsWritten(t *testing.T) {
	type value struct {
		Names map[string]int `json:"names"`
	}
	x, y := value{map[string]int{"x": 1}}, value{map[string]int{"y": 1}}
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			one, two := store.NewDocument[value](s, "a", 2), store.NewDocument[value](s, "a", 2)
			if v, changed, err := one.Read(t.Context()); v != nil || changed || err != nil {
				t.Fatalf("no record: %v %v %v", v, changed, err)
			}
			require.NoError(t, one.Write(t.Context(), x))
			if err := two.Write(t.Context(), y); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a writer that has not read: %v", err)
			}
			if v, changed, err := two.Read(t.Context()); err != nil || !changed || v.Names["x"] != 1 {
				t.Errorf("%v %v %v", v, changed, err)
			}
			assert.NoError(t, two.Write(t.Context(), y))
			if v, changed, err := two.Read(t.Context()); err != nil || changed || v.Names["y"] != 1 {
				t.Errorf("its own: %v %v %v", v, changed, err)
			}
			for record, want := range map[string]string{
				`{"version":1,"names":{"x":1}}`:   "it is not as it was written",
				`{"names":{"x":1},"more":1}`:      "it is not as it was written",
				`{}`:                              "it is not as it was written",
				`{"names":{"x":1,"x":2}}`:         "it is not as it was written",
				`{"names":{"x":1}}{}`:             "invalid character '{' after top-level value",
				`{"names":["x"]}`:                 "json: cannot unmarshal array into Go struct field value.names of type map[string]int",
				``:                                "unexpected end of JSON input",
				"\n" + `{"names":{"y":1}}` + "\n": "it is not as it was written",
			} {
				_, version, err := s.Read(t.Context(), "a-v2")
				require.NoError(t, err)
				if _, err := s.Write(t.Context(), "a-v2", []byte(record), version); err != nil {
					t.Fatal(err)
				}
				v, changed, err := one.Read(t.Context())
				if v != nil || !changed || !store.IsDamaged(err) || !strings.HasSuffix(err.Error(), ": "+want) {
					t.Errorf("%s: %v, %v; want %s", record, v, err, want)
				}
			}
			assert.NoError(t, one.Write(t.Context(), x))
		})
	}
}

// Rule 5: builds of two formats that run side by side leave each other's records alone.
func TestBuildsOfTwoFormatsDoNotOverwriteEachOther(t *testing.T) {
	s := store.New(&storetest.Memory{})
	older, newer := store.NewDocument[[]int](s, "facts", 3), store.NewDocument[map[string]int](s, "facts", 4)
	for i := range 3 {
		if _, changed, err := older.Read(t.Context()); changed || err != nil {
			t.Errorf("%t %v", changed, err)
		}
		if _, changed, err := newer.Read(t.Context()); changed || err != nil {
			t.Errorf("%t %v", changed, err)
		}
		require.NoError(t, errors.Join(older.Write(t.Context(), []int{i}), newer.Write(t.Context(), map[string]int{"n": i})))
	}
}
