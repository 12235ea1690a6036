package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeAPI holds objects as Kubernetes does, and can be made to fail.
type fakeAPI struct {
	mu      sync.Mutex
	objects map[string]Object
	version int
	// fails is asked before each Put and Delete.
	fails func(name string) error
}

func newAPI() *fakeAPI { return &fakeAPI{objects: map[string]Object{}} }

func (s *fakeAPI) String() string { return "a fake API" }

func (s *fakeAPI) Get(_ context.Context, name string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[name]
	if !ok {
		return Object{}, ErrNotFound
	}
	o.Data, o.Meta = bytes.Clone(o.Data), maps.Clone(o.Meta)
	return o, nil
}

func (s *fakeAPI) Put(_ context.Context, o Object) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		if err := s.fails(o.Name); err != nil {
			return "", err
		}
	}
	if len(o.Data) > 1<<20 {
		return "", errors.New("too large for an object")
	}
	if old := s.objects[o.Name]; old.Version != o.Version {
		return "", ErrConflict
	}
	s.version++
	o.Version = strconv.Itoa(s.version)
	o.Data, o.Meta = bytes.Clone(o.Data), maps.Clone(o.Meta)
	s.objects[o.Name] = o
	return o.Version, nil
}

func (s *fakeAPI) Delete(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails != nil {
		if err := s.fails(name); err != nil {
			return err
		}
	}
	delete(s.objects, name)
	return nil
}

func (s *fakeAPI) List(context.Context) ([]Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Object
	for _, o := range s.objects {
		o.Data, o.Meta = nil, nil
		out = append(out, o)
	}
	return out, nil
}

// noise returns bytes that cannot be compressed.
func noise(seed uint64, size int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func stores(t *testing.T) map[string]Store {
	t.Helper()
	folder, err := NewFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	small := NewObjects(newAPI())
	small.chunk = 1000
	return map[string]Store{"folder": folder, "objects": NewObjects(newAPI()), "small chunks": small}
}

// Rules 1 and 2: whoever has read the newest replaces it.
func TestRecordIsReadAsItWasWritten(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if _, _, err := s.Read(ctx, "a"); !errors.Is(err, ErrNotFound) {
				t.Errorf("no record: %v", err)
			}
			version := ""
			for i, data := range [][]byte{{}, []byte("x"), noise(1, 10_000), noise(2, 3_500), noise(3, 1)} {
				next, err := s.Write(ctx, "a", data, version)
				if err != nil {
					t.Fatal(i, err)
				}
				if _, err := s.Write(ctx, "a", []byte("late"), version); !errors.Is(err, ErrConflict) {
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
			if err := errors.Join(s.Remove(ctx, "a"), s.Remove(ctx, "a")); err != nil {
				t.Error(err)
			}
			if _, _, err := s.Read(ctx, "a"); !errors.Is(err, ErrNotFound) {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
}

// Rule 3: the next writer removes what the killed one has left.
func TestKilledWriterLeavesOldOrNewRecord(t *testing.T) {
	before, after := noise(1, 5_000), noise(2, 7_000)
	for step := range 40 {
		s := newAPI()
		c := NewObjects(s)
		c.chunk = 1000
		version, err := c.Write(t.Context(), "a", before, "")
		if err != nil {
			t.Fatal(err)
		}
		left := step
		s.fails = func(string) error {
			if left--; left < 0 {
				return errors.New("the process has ended")
			}
			return nil
		}
		_, failed := c.Write(t.Context(), "a", after, version)
		s.fails = nil
		restarted := NewObjects(s)
		restarted.chunk = 1000
		got, version, err := restarted.Read(t.Context(), "a")
		if want := map[bool][]byte{true: before, false: after}[failed != nil]; err != nil || !bytes.Equal(got, want) {
			t.Errorf("after %d steps (%v): %d bytes, %v", step, failed, len(got), err)
		}
		if _, err := restarted.Write(t.Context(), "a", []byte("small"), version); err != nil {
			t.Fatal(err)
		}
		if _, err := restarted.Write(t.Context(), "a", []byte("smaller"), s.objects["a"].Version); err != nil {
			t.Fatal(err)
		}
		if len(s.objects) != 1 {
			t.Errorf("after %d steps: %v are left", step, slices.Sorted(maps.Keys(s.objects)))
		}
	}
}

// Rule 1: damaged, cut off, mixed, or of another format or generation.
func TestDamagedObjectsAreReportedAndReplaced(t *testing.T) {
	const other = "argosy-state/2"
	for name, damage := range map[string]func(s *fakeAPI, chunk string){
		"a byte of a chunk": func(s *fakeAPI, chunk string) { o := s.objects[chunk]; o.Data[7] ^= 1; s.objects[chunk] = o },
		"a chunk cut off":   func(s *fakeAPI, chunk string) { o := s.objects[chunk]; o.Data = o.Data[:9]; s.objects[chunk] = o },
		"an empty chunk":    func(s *fakeAPI, chunk string) { o := s.objects[chunk]; o.Data = nil; s.objects[chunk] = o },
		"a chunk missing":   func(s *fakeAPI, chunk string) { delete(s.objects, chunk) },
		"a chunk too long":  func(s *fakeAPI, chunk string) { o := s.objects[chunk]; o.Data = noise(9, 9999); s.objects[chunk] = o },
		"another's chunk": func(s *fakeAPI, chunk string) {
			o := s.objects[chunk]
			o.Data = noise(9, len(o.Data))
			s.objects[chunk] = o
		},
		"a newer format":       func(s *fakeAPI, _ string) { s.objects["a"].Meta["format"] = other },
		"no format":            func(s *fakeAPI, _ string) { delete(s.objects["a"].Meta, "format") },
		"another checksum":     func(s *fakeAPI, _ string) { s.objects["a"].Meta["checksum"] = checksum(nil) },
		"another size":         func(s *fakeAPI, _ string) { s.objects["a"].Meta["size"] = "17" },
		"a size that is none":  func(s *fakeAPI, _ string) { s.objects["a"].Meta["size"] = "-1" },
		"more chunks":          func(s *fakeAPI, _ string) { s.objects["a"].Meta["chunks"] = "99" },
		"very many chunks":     func(s *fakeAPI, _ string) { s.objects["a"].Meta["chunks"] = "99999999" },
		"fewer chunks":         func(s *fakeAPI, _ string) { s.objects["a"].Meta["chunks"] = "2" },
		"another generation":   func(s *fakeAPI, _ string) { o := s.objects["a"]; o.Generation = 7; s.objects["a"] = o },
		"an older generation":  func(s *fakeAPI, _ string) { o := s.objects["a"]; o.Generation = 1; s.objects["a"] = o },
		"another record's":     func(s *fakeAPI, _ string) { o := s.objects["a"]; o.Record = "b"; s.objects["a"] = o },
		"a chunk for the head": func(s *fakeAPI, chunk string) { o := s.objects[chunk]; o.Version = "x"; s.objects["a"] = o },
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPI()
			c := NewObjects(s)
			c.chunk = 1000
			version, err := c.Write(t.Context(), "a", noise(0, 10), "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.Write(t.Context(), "a", noise(1, 5_000), version); err != nil {
				t.Fatal(err)
			}
			chunk := ""
			for name, o := range s.objects {
				if o.Chunk == 1 {
					chunk = name
				}
			}
			damage(s, chunk)
			data, version, err := c.Read(t.Context(), "a")
			if !IsDamaged(err) || data != nil {
				t.Fatalf("%d bytes are read, %v", len(data), err)
			}
			if _, err := c.Write(t.Context(), "a", []byte("new"), version); err != nil {
				t.Errorf("it cannot be replaced: %v", err)
			}
			if data, _, err := c.Read(t.Context(), "a"); err != nil || string(data) != "new" {
				t.Errorf("replaced: %q %v", data, err)
			}
		})
	}
}

// Rule 1: a store that has not read the newer record takes the older one for whole.
func TestOlderRecordIsReported(t *testing.T) {
	s := newAPI()
	c := NewObjects(s)
	version, err := c.Write(t.Context(), "a", []byte("first"), "")
	if err != nil {
		t.Fatal(err)
	}
	backup := s.objects["a"]
	if _, err := c.Write(t.Context(), "a", []byte("second"), version); err != nil {
		t.Fatal(err)
	}
	s.objects["a"] = backup
	if _, _, err := c.Read(t.Context(), "a"); !IsDamaged(err) || !strings.Contains(err.Error(), "it is of generation 1, but generation 2 was read before") {
		t.Errorf("%v", err)
	}
	if data, _, err := NewObjects(s).Read(t.Context(), "a"); err != nil || string(data) != "first" {
		t.Errorf("%q %v", data, err)
	}
}

// Rule 4: the error states limit and actual.
func TestTooLargeRecordIsRefused(t *testing.T) {
	s := newAPI()
	c := NewObjects(s)
	c.limit = 5000
	_, err := c.Write(t.Context(), "a", noise(1, 6000), "")
	var large *TooLarge
	if !errors.As(err, &large) || large.Limit != 5000 || large.Actual < 6000 || len(s.objects) != 0 {
		t.Errorf("%v, and %d objects", err, len(s.objects))
	}
}

// Rule 2: replicas that count together lose nothing, and read no half of anything meanwhile.
func TestReplicasLoseNoWrites(t *testing.T) {
	s := newAPI()
	const replicas, each = 4, 25
	var wg sync.WaitGroup
	for range replicas {
		c := NewObjects(s)
		c.chunk = 100
		wg.Go(func() {
			for done := 0; done < each; {
				data, version, err := c.Read(context.Background(), "a")
				if err != nil && !errors.Is(err, ErrNotFound) {
					if IsDamaged(err) && strings.Contains(err.Error(), "is missing") {
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
				case !errors.Is(err, ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	data, _, err := NewObjects(s).Read(t.Context(), "a")
	if err != nil || string(data[:6]) != fmt.Sprintf("%06d", replicas*each) {
		t.Errorf("%.6s %v", data, err)
	}
}

// Rule 1, of files. What a killed process has left is removed.
func TestDamagedFileIsReportedAndReplaced(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a byte":         func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"cut off":        func(b []byte) []byte { return b[:len(b)-1] },
		"empty":          func([]byte) []byte { return nil },
		"a newer format": func(b []byte) []byte { return bytes.Replace(b, []byte(" 1 "), []byte(" 2 "), 1) },
		"no record":      func([]byte) []byte { return []byte("apiVersion: v1\n") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := NewFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(t.Context(), "a", []byte("text"), ""); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "a"+suffix)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.WriteFile(path, damage(data), 0o600), os.WriteFile(filepath.Join(dir, temporary+"1"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			if f, err = NewFolder(dir); err != nil {
				t.Fatal(err)
			}
			if got, _, err := f.Read(t.Context(), "a"); !IsDamaged(err) || got != nil {
				t.Errorf("%q %v", got, err)
			}
			if _, err := f.Write(t.Context(), "a", []byte("new"), ""); err != nil {
				t.Error(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%v %v", left, err)
			}
		})
	}
}

// FuzzRead: whatever is in the objects, a record is what was written or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("text"), "4", "0", "", 1)
	f.Add([]byte{0x1f, 0x8b, 8}, "3", "1", objectsFormat, 2)
	f.Fuzz(func(t *testing.T, data []byte, size, chunks, format string, generation int) {
		s := newAPI()
		c := NewObjects(s)
		c.chunk = 64
		want := noise(1, 200)
		if _, err := c.Write(t.Context(), "a", want, ""); err != nil {
			t.Fatal(err)
		}
		o := s.objects["a"]
		o.Data, o.Generation = data, generation
		o.Meta["size"], o.Meta["chunks"] = size, chunks
		if format != "" {
			o.Meta["format"] = format
		}
		s.objects["a"] = o
		got, _, err := c.Read(t.Context(), "a")
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes are read that nobody wrote", len(got))
		}
		if err != nil && !IsDamaged(err) {
			t.Errorf("%v", err)
		}
	})
}

// Rule 5: what no build of this version has written is damaged and left unread, and can be
// replaced.
func TestDocumentIsReadAsWritten(t *testing.T) {
	type value struct {
		Names []string `json:"names"`
	}
	few := func(v value) error {
		if len(v.Names) > 2 {
			return errors.New("too many names")
		}
		return nil
	}
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			one, two := NewDocument(s, "a", "names/2", few), NewDocument(s, "a", "names/2", few)
			if v, changed, err := one.Read(t.Context()); v != nil || changed || err != nil {
				t.Fatalf("no record: %v %v %v", v, changed, err)
			}
			if err := one.Write(t.Context(), value{[]string{"x"}}); err != nil {
				t.Fatal(err)
			}
			if err := two.Write(t.Context(), value{[]string{"y"}}); !errors.Is(err, ErrConflict) {
				t.Errorf("a writer that has not read: %v", err)
			}
			if v, changed, err := two.Read(t.Context()); err != nil || !changed || !slices.Equal(v.Names, []string{"x"}) {
				t.Errorf("%v %v %v", v, changed, err)
			}
			if err := two.Write(t.Context(), value{[]string{"y"}}); err != nil {
				t.Error(err)
			}
			if v, changed, err := two.Read(t.Context()); err != nil || changed || !slices.Equal(v.Names, []string{"y"}) {
				t.Errorf("its own: %v %v %v", v, changed, err)
			}
			for record, want := range map[string]string{
				`{"format":"names/1","value":{"names":["x"]}}`:          `another version has written it: its format is "names/1"; expected "names/2"`,
				`{"version":1,"names":["x"]}`:                           `another version has written it: its format is ""; expected "names/2"`,
				`{"format":"names/2","value":{"names":["x"],"more":1}}`: "it is not as it was written",
				`{"format":"names/2","value":{}}`:                       "it is not as it was written",
				`{"format":"names/2","value":{"names":["x"]}}{}`:        "invalid character '{' after top-level value",
				`{"format":"names/2","value":{"names":["x","y","z"]}}`:  "too many names",
			} {
				_, version, err := s.Read(t.Context(), "a")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Write(t.Context(), "a", []byte(record), version); err != nil {
					t.Fatal(err)
				}
				v, changed, err := one.Read(t.Context())
				if v != nil || !changed || !IsDamaged(err) || !strings.HasSuffix(err.Error(), ": "+want) {
					t.Errorf("%s: %v, %v; want %s", record, v, err, want)
				}
			}
			if err := one.Write(t.Context(), value{[]string{"new"}}); err != nil {
				t.Error(err)
			}
		})
	}
}
