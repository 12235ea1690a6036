package refresh

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
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
		return snapshot.Of(files)
	}
	return of("a: 3\n"), fleetstate.LastKnownGood{
		{Hub: "h", Name: "one"}: of("a: 1\n"), {Hub: "h", Name: "two"}: of("a: 2\n"), {Hub: "h", Name: "three"}: nil,
	}
}

func saveExample(t testing.TB, s state.Store) (*snapshot.Snapshot, fleetstate.LastKnownGood) {
	t.Helper()
	newest, lkg := example()
	if theirs, err := newCheckpoint(s).write(t.Context(), newest, lkg); err != nil || theirs != nil {
		t.Fatal(theirs, err)
	}
	return newest, lkg
}

// same reports whether two snapshots have the same revision and files, with the same errors.
func same(a, b *snapshot.Snapshot) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Revision == b.Revision && slices.Equal(a.Paths(), b.Paths()) && cmp.Equal(saveSnapshot(a), saveSnapshot(b)) &&
		!slices.ContainsFunc(a.Paths(), func(p string) bool { return a.File(p).Digest != b.File(p).Digest })
}

// Rule 8: what a checkpoint writes is what the next process reads; what it does not need any more
// is removed.
func TestCheckpointIsReadAsWritten(t *testing.T) {
	store := newSharedStore()
	newest, lkg := saveExample(t, store)
	c := newCheckpoint(store)
	s, got, err := c.read(t.Context())
	if err != nil || !same(s, newest) || !maps.EqualFunc(got, lkg, same) {
		t.Fatalf("%v, %v, %v", s, got, err)
	}
	if len(store.records) != 4 {
		t.Errorf("%d records", len(store.records))
	}
	if _, err := c.write(t.Context(), newest, nil); err != nil || len(store.records) != 2 {
		t.Errorf("%d records, %v", len(store.records), err)
	}
}

// Rule 10: of two replicas that come to the same snapshot the first says what the last known good
// ones are.
func TestFirstReplicaDecidesLastKnownGood(t *testing.T) {
	store := newSharedStore()
	other := newCheckpoint(store)
	newest, lkg := saveExample(t, store)
	theirs, err := other.write(t.Context(), newest, nil)
	if err != nil || !maps.EqualFunc(theirs, lkg, same) {
		t.Errorf("%v, %v", theirs, err)
	}
}

// What no snapshot contains is damaged, though its checksum is right.
func TestForgedSnapshotIsDamaged(t *testing.T) {
	const head, tail = `{"format":"snapshot/2","value":{"revision":"r","files":[`, `]}}`
	for name, c := range map[string]struct{ record, want string }{
		"good":             {head + `{"path":"a","data":"1"},{"path":"b"}` + tail, ""},
		"bytes":            {head + `{"path":"a","rawData":"/w=="}` + tail, ""},
		"empty":            {"", "unexpected end of JSON input"},
		"another format":   {`{"format":"snapshot/3"}`, `another version has written it: its format is "snapshot/3"; expected "snapshot/2"`},
		"earlier version":  {`{"version":1}`, `another version has written it: its format is ""; expected "snapshot/2"`},
		"another revision": {strings.Replace(head, `"r"`, `"q"`, 1) + tail, "it is of another revision"},
		"outside":          {head + `{"path":"../a"}` + tail, `"../a" is no path of a repository`},
		"twice":            {head + `{"path":"a"},{"path":"a"}` + tail, `"a" is listed twice or out of order`},
		"text as bytes":    {head + `{"path":"a","rawData":"YQ=="}` + tail, `"a" is text and raw`},
		"more":             {head + `{"path":"a","more":1}` + tail, "it is not as it was written"},
		"content and none": {head + `{"path":"a","data":"x","problem":{"reason":"x","severity":"error"},"digest":"d"}` + tail, `"a" has a problem and content, or neither`},
		"no digest":        {head + `{"path":"a","problem":{"reason":"x","severity":"error"}}` + tail, `"a" has a problem and content, or neither`},
	} {
		t.Run(name, func(t *testing.T) {
			store := newSharedStore()
			store.records[snapshotRecord("r")] = []byte(c.record)
			saved, _, err := snapshotDocument(store, "r").Read(t.Context())
			if c.want == "" && err == nil && saved.snapshot().Revision == "r" {
				return
			}
			if !state.IsDamaged(err) || !strings.HasSuffix(err.Error(), ": "+c.want) || saved != nil {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// FuzzSnapshot: of a forged record with the right checksum all is read or nothing: a snapshot that
// is written as the record is, of paths that a repository can have.
func FuzzSnapshot(f *testing.F) {
	newest, _ := example()
	store := newSharedStore()
	if err := snapshotDocument(store, "r").Write(f.Context(), saveSnapshot(snapshot.New("r", files(newest)))); err != nil {
		f.Fatal(err)
	}
	f.Add(store.records[snapshotRecord("r")])
	f.Add([]byte(`{"format":"snapshot/2","value":{"revision":"r","files":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := newSharedStore()
		store.records[snapshotRecord("r")] = data
		saved, _, err := snapshotDocument(store, "r").Read(t.Context())
		if err != nil {
			if saved != nil || !state.IsDamaged(err) {
				t.Fatalf("half of it is read: %v", err)
			}
			return
		}
		again := newSharedStore()
		if err := snapshotDocument(again, "r").Write(t.Context(), saveSnapshot(saved.snapshot())); err != nil {
			t.Fatal(err)
		}
		if len(saved.Files) > 0 && !bytes.Equal(again.records[snapshotRecord("r")], data) {
			t.Fatalf("%q is written as %q", data, again.records[snapshotRecord("r")])
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

// FuzzStoreFolder: of a folder in which a file is changed or cut off anywhere, each member has the
// last known good snapshot that was written, or none and an error says so; without the accepted
// record or its snapshot there is nothing.
func FuzzStoreFolder(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(0), false)
	f.Add(uint8(0), uint16(120), uint8(1), false) // the revision
	f.Add(uint8(1), uint16(20), uint8(3), false)  // the checksum
	f.Add(uint8(2), uint16(2000), uint8(0), true) // within a file
	dir := f.TempDir()
	folder, err := state.NewFolder(dir)
	if err != nil {
		f.Fatal(err)
	}
	want, lkg := saveExample(f, folder)
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
			if err := os.WriteFile(dir+"/"+n, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		folder, err := state.NewFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		s, got, err := newCheckpoint(folder).read(t.Context())
		needed := name == acceptedRecord+".record" || name == snapshotRecord(want.Revision)+".record"
		if s == nil {
			if !state.IsDamaged(err) || !needed || got != nil {
				t.Fatalf("%s is damaged: nothing, %v, %v", name, got, err)
			}
			return
		}
		missing := 0
		for id, s := range lkg {
			read, known := got[id]
			if !known {
				missing++
			} else if !same(s, read) {
				t.Fatalf("%s is damaged: %v has another snapshot", name, id)
			}
		}
		if !same(s, want) || len(got)+missing != len(lkg) || (missing > 0) != (err != nil) || missing > 1 || missing == 1 && needed {
			t.Fatalf("%s is damaged: %v, %v", name, got, err)
		}
	})
}

// FuzzAccepted: of any record that names the snapshots all is used or nothing, and damage is
// reported.
func FuzzAccepted(f *testing.F) {
	store := newSharedStore()
	newest, _ := saveExample(f, store)
	f.Add(store.records[acceptedRecord])
	for _, value := range []string{
		`{"revision":""}`, `{"revision":"r","lastKnownGood":[{"members":[["h"]]}],"more":1}`,
		`{"revision":"` + newest.Revision + `","lastKnownGood":[{"revision":"` + newest.Revision + `","members":[["h","m"]]},{"members":[["h","m"]]}]}`,
	} {
		f.Add([]byte(`{"format":"accepted/2","value":` + value + `}`))
	}
	f.Add([]byte(`{"version":1,"revision":"r"}`))
	f.Add([]byte("{}{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSharedStore()
		maps.Copy(s.records, store.records)
		s.records[acceptedRecord] = data
		a, _, err := newCheckpoint(s).accepted.Read(t.Context())
		if err != nil {
			if a != nil || !state.IsDamaged(err) {
				t.Fatalf("%v, %v", a, err)
			}
			return
		}
		members := 0
		for _, l := range a.LastKnownGood {
			members += len(l.Members)
		}
		got, lkg, err := newCheckpoint(s).read(t.Context())
		if err != nil && !state.IsDamaged(err) || got == nil && (err == nil || lkg != nil) || err == nil && len(lkg) != members {
			t.Fatalf("%v, %d of %d members, %v", got, len(lkg), members, err)
		}
		again := newSharedStore()
		if err := newCheckpoint(again).accepted.Write(t.Context(), *a); err != nil || !bytes.Equal(again.records[acceptedRecord], data) {
			t.Fatalf("%s is read as %s, %v", data, again.records[acceptedRecord], err)
		}
	})
}
