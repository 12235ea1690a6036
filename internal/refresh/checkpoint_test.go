package refresh

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// example is a snapshot, and last known good ones of two revisions; one member is left out.
func example() (*snapshot.Snapshot, fleetstate.LastKnownGood) {
	of := func(content string) *snapshot.Snapshot {
		files := []*snapshot.File{snapshot.Outside("a/link", "/etc/passwd"), snapshot.TooLarge("a/large", 9, 8)}
		for p, data := range map[string]string{
			"a/b.yaml": content, "c.yaml": "", strings.Repeat("long/", 30) + "ü.yaml": "x\n",
			"binary": "\xff\x00", "latin\xe9.yaml": "<a>&\u2028",
		} {
			files = append(files, snapshot.NewFile(p, []byte(data), snapshot.MaxFileSize))
		}
		files = append(files, snapshot.Unreadable("addons/tenants/t", true, fs.ErrPermission), snapshot.TooLarge("large.yaml", 2, 1))
		return snapshot.Of(files)
	}
	return of("a: 3\n"), fleetstate.LastKnownGood{
		{Hub: "h", Name: "one"}: of("a: 1\n"), {Hub: "h", Name: "two"}: of("a: 2\n"), {Hub: "h", Name: "three"}: nil,
	}
}

// exampleHolds are of a member of the example.
var exampleHolds = []fleetstate.Hold{{Hub: "h", Tenant: "t", Members: []string{"one"}, Message: "two of two"}}

func saveExample(t testing.TB, s *store.Store) (*snapshot.Snapshot, fleetstate.LastKnownGood) {
	t.Helper()
	newest, lkg := example()
	if theirs, err := newCheckpoint(s).write(t.Context(), newest, keptMembers{lkg, exampleHolds}); err != nil || theirs != nil {
		t.Fatal(theirs, err)
	}
	return newest, lkg
}

// same reports whether two snapshots have the same revision and files, with the same errors.
func same(a, b *snapshot.Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	of, failed := archive(a)
	with, err := archive(b)
	return errors.Join(failed, err) == nil && bytes.Equal(of, with) &&
		!slices.ContainsFunc(a.Paths(), func(p string) bool {
			return a.File(p).Digest != b.File(p).Digest || a.File(p).Folder != b.File(p).Folder
		})
}

// Rule 8: what a checkpoint writes is what the next process reads; what it does not need any more
// is removed.
func TestCheckpointIsReadAsWritten(t *testing.T) {
	kept, objects := storetest.New()
	newest, lkg := saveExample(t, kept)
	c := newCheckpoint(kept)
	s, got, err := c.read(t.Context())
	if err != nil || !same(s, newest) || !maps.EqualFunc(got.lastKnownGood, lkg, same) || !slices.EqualFunc(got.holds, exampleHolds, fleetstate.Hold.Equal) {
		t.Fatalf("%v, %v, %v", s, got, err)
	}
	if names := objects.Names(); len(names) != 4 {
		t.Errorf("%v", names)
	}
	if _, err := c.write(t.Context(), newest, keptMembers{}); err != nil || len(objects.Names()) != 2 {
		t.Errorf("%v, %v", objects.Names(), err)
	}
}

// Rule 10: of two replicas that come to the same snapshot the first says what the last known good
// ones are.
func TestFirstReplicaDecidesLastKnownGood(t *testing.T) {
	kept, _ := storetest.New()
	other := newCheckpoint(kept)
	newest, lkg := saveExample(t, kept)
	theirs, err := other.write(t.Context(), newest, keptMembers{})
	if err != nil || theirs == nil || !maps.EqualFunc(theirs.lastKnownGood, lkg, same) || !slices.EqualFunc(theirs.holds, exampleHolds, fleetstate.Hold.Equal) {
		t.Errorf("%v, %v", theirs, err)
	}
}

// readForged reads the snapshot of revision r from a record that has the data.
func readForged(t *testing.T, data []byte) (*snapshot.Snapshot, error) {
	t.Helper()
	kept, _ := storetest.New()
	snapshots := NewSnapshots(kept, "snapshots", 3)
	if _, err := kept.Write(t.Context(), snapshots.Record("r"), data, ""); err != nil {
		t.Fatal(err)
	}
	return snapshots.Read(t.Context(), "r")
}

// What no snapshot contains is damaged, though its checksum is right.
func TestForgedSnapshotIsDamaged(t *testing.T) {
	of := func(revision string, entries ...*tar.Header) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "revision", PAXRecords: map[string]string{revisionKey: revision}}))
		for _, head := range entries {
			require.NoError(t, w.WriteHeader(head))
		}
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	file := func(name string) *tar.Header { return &tar.Header{Name: name, Mode: 0o600} }
	broken := func(keys map[string]string) *tar.Header { h := file("a"); h.PAXRecords = keys; return h }
	good := of("r", file("a"), file("b"))
	for name, c := range map[string]struct {
		record []byte
		want   string
	}{
		"good":             {good, ""},
		"a problem":        {of("r", broken(map[string]string{problemKey: `{"reason":"x","severity":"error"}`, digestKey: "d"})), ""},
		"empty":            {nil, "EOF"},
		"cut off":          {good[:700], "EOF"},
		"no archive":       {[]byte(strings.Repeat("text", 500)), "archive/tar: invalid tar header"},
		"another revision": {of("q", file("a")), "it is of another revision"},
		"outside":          {of("r", file("../a")), `"../a" is no path of a repository`},
		"twice":            {of("r", file("a"), file("a")), `"a" is listed twice, out of order, cut off or no file`},
		"out of order":     {of("r", file("b"), file("a")), `"a" is listed twice, out of order, cut off or no file`},
		"a link":           {of("r", &tar.Header{Name: "a", Mode: 0o600, Typeflag: tar.TypeSymlink, Linkname: "b"}), `"a" is listed twice, out of order, cut off or no file`},
		"no problem":       {of("r", broken(map[string]string{problemKey: "{", digestKey: "d"})), "unexpected end of JSON input"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := readForged(t, c.record)
			if c.want == "" && err == nil && s.Revision == "r" {
				return
			}
			if !store.IsDamaged(err) || !strings.HasSuffix(err.Error(), ": "+c.want) || s != nil {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// FuzzSnapshot: of a forged record with the right checksum all is read or nothing: a snapshot that
// is written and read as the same one, of paths that a repository can have.
func FuzzSnapshot(f *testing.F) {
	newest, _ := example()
	data, err := archive(snapshot.New("r", files(newest)))
	require.NoError(f, err)
	f.Add(data)
	f.Add(data[:1024])
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := readForged(t, data)
		if err != nil {
			if s != nil || !store.IsDamaged(err) {
				t.Fatalf("half of it is read: %v", err)
			}
			return
		}
		written, err := archive(s)
		require.NoError(t, err)
		if again, err := unarchive("r", written); err != nil || !same(s, again) {
			t.Fatalf("%q is written as %q, %v", data, written, err)
		}
	})
}

func files(s *snapshot.Snapshot) map[string]*snapshot.File {
	out := map[string]*snapshot.File{}
	for _, p := range s.Paths() {
		out[p] = s.File(p)
	}
	return out
}

// BenchmarkCheckpoint writes and reads the checkpoint of 40,000 files, and as its peer a plain
// compressed archive of the same files.
func BenchmarkCheckpoint(b *testing.B) {
	list := make([]*snapshot.File, 40_000)
	for i := range list {
		text := fmt.Sprintf("# cluster %d\nreplicas: %d\nimage:\n  tag: v1.%d.%d\nresources:\n  requests: {cpu: %dm, memory: %dMi}\n", i, i%7, i%13, i%101, i%1000, i%4096)
		list[i] = snapshot.NewFile(fmt.Sprintf("addons/tenants/t%d/clusters/c%d/addons/dns/values.yaml", i%40, i), []byte(strings.Repeat(text, 10)), snapshot.MaxFileSize)
	}
	s := snapshot.Of(list)
	folder, err := store.NewFolder(b.TempDir())
	require.NoError(b, err)
	kept := store.New(folder)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, kept.Remove(b.Context(), newCheckpoint(kept).snapshots.Record(s.Revision)))
			if _, err := newCheckpoint(kept).write(b.Context(), s, keptMembers{}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			require.NoError(b, kept.Remove(b.Context(), store.Name("accepted", 3)))
			b.StartTimer()
		}
	})
	if _, err := newCheckpoint(kept).write(b.Context(), s, keptMembers{}); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if got, _, err := newCheckpoint(kept).read(b.Context()); err != nil || got.Len() != s.Len() {
				b.Fatal(err)
			}
		}
	})
	var plain bytes.Buffer
	b.Run("peer write", func(b *testing.B) {
		for b.Loop() {
			plain.Reset()
			z := gzip.NewWriter(&plain)
			w := tar.NewWriter(z)
			for _, file := range s.FilesUnder("") {
				err := w.WriteHeader(&tar.Header{Name: file.Path, Mode: 0o600, Size: int64(len(file.Data))})
				_, unwritten := w.Write(file.Data)
				require.NoError(b, errors.Join(err, unwritten))
			}
			require.NoError(b, errors.Join(w.Close(), z.Close(), os.WriteFile(b.TempDir()+"/peer", plain.Bytes(), 0o600)))
		}
	})
	b.Run("peer read", func(b *testing.B) {
		for b.Loop() {
			z, err := gzip.NewReader(bytes.NewReader(plain.Bytes()))
			require.NoError(b, err)
			files := map[string][]byte{}
			for r := tar.NewReader(z); ; {
				head, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(b, err)
				if files[head.Name], err = io.ReadAll(r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// FuzzStoreFolder: of a folder in which a file is changed or cut off anywhere, each member has the
// last known good snapshot that was written, or none and an error says so; without the accepted
// record or its snapshot there is nothing.
func FuzzStoreFolder(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(0), false)
	f.Add(uint8(0), uint16(120), uint8(1), false) // the revision
	f.Add(uint8(1), uint16(20), uint8(3), false)  // the checksum
	f.Add(uint8(2), uint16(2000), uint8(0), true) // within a file
	dir := f.TempDir()
	folder, err := store.NewFolder(dir)
	require.NoError(f, err)
	want, lkg := saveExample(f, store.New(folder))
	written := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		f.Fatalf("%v %v", entries, err)
	}
	for _, e := range entries {
		if written[e.Name()], err = os.ReadFile(dir + "/" + e.Name()); err != nil {
			f.Fatal(err)
		}
	}
	names := slices.Sorted(maps.Keys(written))
	f.Fuzz(func(t *testing.T, which uint8, at uint16, change uint8, cut bool) {
		dir, name := t.TempDir(), names[int(which)%len(names)]
		for n, data := range written {
			data = bytes.Clone(data)
			if n == name {
				at := int(at) % len(data)
				if data[at] ^= change; cut {
					data = data[:at]
				}
			}
			require.NoError(t, os.WriteFile(dir+"/"+n, data, 0o600))
		}
		folder, err := store.NewFolder(dir)
		require.NoError(t, err)
		c := newCheckpoint(store.New(folder))
		s, got, err := c.read(t.Context())
		needed := name == store.Name("accepted", 3)+".record" || name == c.snapshots.Record(want.Revision)+".record"
		if s == nil {
			if !store.IsDamaged(err) || !needed || got != nil {
				t.Fatalf("%s is damaged: nothing, %v, %v", name, got, err)
			}
			return
		}
		missing := 0
		for id, s := range lkg {
			read, known := got.lastKnownGood[id]
			if !known {
				missing++
			} else if !same(s, read) {
				t.Fatalf("%s is damaged: %v has another snapshot", name, id)
			}
		}
		if !same(s, want) || len(got.lastKnownGood)+missing != len(lkg) || (missing > 0) != (err != nil) || missing > 1 || missing == 1 && needed {
			t.Fatalf("%s is damaged: %v, %v", name, got, err)
		}
	})
}

// FuzzAccepted: of any record that names the snapshots all is used or nothing, and damage is
// reported.
func FuzzAccepted(f *testing.F) {
	name := store.Name("accepted", 3)
	kept, objects := storetest.New()
	newest, _ := saveExample(f, kept)
	data, _, err := kept.Read(f.Context(), name)
	require.NoError(f, err)
	f.Add(data)
	for _, value := range []string{
		`{"revision":""}`, `{"revision":"r","lastKnownGood":{"h":{"m":"x"}},"more":1}`,
		`{"revision":"` + newest.Revision + `","lastKnownGood":{"h":{"m":"` + newest.Revision + `","n":"","o":"gone"}}}`,
		`{"version":1,"revision":"r"}`, "{}{",
	} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, copied := storetest.New()
		for _, other := range objects.Names() {
			if other != name {
				copied.Set(other, objects.Object(other))
			}
		}
		if _, err := s.Write(t.Context(), name, data, ""); err != nil {
			t.Fatal(err)
		}
		a, _, err := newCheckpoint(s).accepted.Read(t.Context())
		if err != nil {
			if a != nil || !store.IsDamaged(err) {
				t.Fatalf("%v, %v", a, err)
			}
			return
		}
		members := 0
		for _, of := range a.LastKnownGood {
			members += len(of)
		}
		got, lkg, err := newCheckpoint(s).read(t.Context())
		if err != nil && !store.IsDamaged(err) || got == nil && (err == nil || lkg != nil) || err == nil && len(lkg.lastKnownGood) != members {
			t.Fatalf("%v, %v of %d members, %v", got, lkg, members, err)
		}
	})
}

// A replica that has missed the commit in which a member could be computed, or that has lost its
// snapshot, takes it from no other. (G2, rule 10)
func TestReplicaThatKnowsLessTakesNothingFromOthers(t *testing.T) {
	one := fleetstate.ID{Hub: "h", Name: "one"}
	for name, forget := range map[string]func(fleetstate.LastKnownGood){
		"it has missed the commit": func(l fleetstate.LastKnownGood) { l[one] = nil },
		"it has lost the snapshot": func(l fleetstate.LastKnownGood) { delete(l, one) },
	} {
		t.Run(name, func(t *testing.T) {
			kept, _ := storetest.New()
			first, other := newCheckpoint(kept), newCheckpoint(kept)
			newest, lkg := example()
			less := maps.Clone(lkg)
			forget(less)
			if _, err := first.write(t.Context(), newest, keptMembers{less, nil}); err != nil {
				t.Fatal(err)
			}
			theirs, err := other.write(t.Context(), newest, keptMembers{lkg, nil})
			serves := lkg
			if theirs != nil {
				serves = theirs.lastKnownGood
			}
			if err != nil || !same(serves[one], lkg[one]) {
				t.Errorf("the other one serves it from %v now, %v", serves[one], err)
			}
			_, got, err := newCheckpoint(kept).read(t.Context())
			if err != nil || !same(got.lastKnownGood[one], lkg[one]) {
				t.Errorf("a restart would serve it from %v, %v", got, err)
			}
		})
	}
}

// H10, W1: a content counts once against the limit of bytes, under however many names. So a commit
// of one blob and many names does not make a record that fills the memory, or that no restart
// reads.
func TestEqualContentsTakeLittleOfARecord(t *testing.T) {
	data := []byte(strings.Repeat("#", snapshot.MaxFileSize))
	list := map[string]*snapshot.File{"b.yaml": snapshot.NewFile("b.yaml", []byte("b: 1\n"), snapshot.MaxFileSize)}
	for i := range 60 {
		p := fmt.Sprintf("addons/tenants/red/%02d.yaml", i)
		list[p] = snapshot.NewFile(p, data, snapshot.MaxFileSize)
	}
	s := snapshot.New("r", list)
	written, err := archive(s)
	if err != nil || len(written) > 20<<20 {
		t.Errorf("%d bytes of a megabyte, %v", len(written), err)
	}
	if again, err := unarchive("r", written); err != nil || !same(s, again) || again.Len() != 61 {
		t.Errorf("%v, %v", again, err)
	}
}

// Rule 10: the first replica says what the last known good snapshots are, also if the store fails
// the other one while it reads them.
func TestFirstReplicaDecidesWhateverFails(t *testing.T) {
	store, objects := storetest.New()
	other := newCheckpoint(store)
	newest, lkg := saveExample(t, store)
	failed := false
	objects.OnGet(func(name string) error {
		if failed || !strings.HasPrefix(name, other.snapshots.prefix) {
			return nil
		}
		failed = true
		return errors.New("etcdserver: request timed out")
	})
	if _, err := other.write(t.Context(), newest, keptMembers{}); err == nil || !failed {
		t.Fatal("no read has failed")
	}
	theirs, err := other.write(t.Context(), newest, keptMembers{})
	if err != nil || theirs == nil || !maps.EqualFunc(theirs.lastKnownGood, lkg, same) {
		t.Errorf("%v, %v", theirs, err)
	}
}

// TestRenewedRecordIsWrittenWhenItIsNeeded: a write of other records does not make a record that is
// to be replaced forgotten.
func TestRenewedRecordIsWrittenWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	folder, err := store.NewFolder(t.TempDir())
	require.NoError(t, err)
	files := func(revision, text string) *snapshot.Snapshot {
		return snapshot.New(revision, map[string]*snapshot.File{"a.yaml": snapshot.NewFile("a.yaml", []byte(text), snapshot.MaxFileSize)})
	}
	s := NewSnapshots(store.New(folder), "files", 1)
	write := func(needed *snapshot.Snapshot) {
		t.Helper()
		if _, err := s.Write(t.Context(), map[string]*snapshot.Snapshot{s.Record(needed.Revision): needed}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"x: 1\n", "x: 2\n"} {
		write(files("one", want))
		if got, err := s.Read(t.Context(), "one"); err != nil || string(got.File("a.yaml").Data) != want {
			t.Fatalf("%v, want %q", err, want)
		}
		s.Renew("one")
		write(files("two", want))
	}
}
