package refresh

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

// keptExample is a snapshot with homes of two revisions: a member is at each, and one is left out.
func keptExample() (*snapshot.Snapshot, generator.Homes) {
	of := func(text string) *snapshot.Snapshot {
		files := []*snapshot.File{snapshot.Outside("a/link", "/etc/passwd"), snapshot.TooLarge("a/large", 9, 8)}
		for p, data := range map[string]string{"a/b.yaml": text, "c.yaml": "", strings.Repeat("long/", 30) + "ü.yaml": "x\n"} {
			files = append(files, snapshot.NewFile(p, []byte(data), snapshot.MaxFileSize))
		}
		return snapshot.Of(files)
	}
	return of("a: 3\n"), generator.Homes{{Hub: "h", Name: "one"}: of("a: 1\n"), {Hub: "h", Name: "two"}: of("a: 2\n"), {Hub: "h", Name: "three"}: nil}
}

// forged is an archive with the right sums, whatever it says; nil if tar cannot say it.
func forged(t testing.TB, revision, list string, files ...forgery) []byte {
	t.Helper()
	sum := seal(revision)
	sum.add(list)
	all := []forgery{{}, {Header: tar.Header{Typeflag: tar.TypeReg, Name: homesName}, text: list}}
	for _, f := range files {
		digest := snapshot.NewFile(f.Name, []byte(f.text), int64(len(f.text))).Digest
		if f.digest != "" {
			digest = f.digest
		}
		f.PAXRecords = map[string]string{digestRecord: digest, errorRecord: f.failure}
		maps.Copy(f.PAXRecords, f.more)
		sum.add(f.Name, digest, f.failure)
		all = append(all, f)
	}
	all[0].Header = tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "snapshot", PAXRecords: map[string]string{formatRecord: archiveFormat, revisionRecord: revision, sumRecord: sum.text()}}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		if f.Size = int64(len(f.text)); f.Typeflag == 0 {
			f.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&f.Header); err != nil {
			return nil
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// forgery is a file of a forged archive.
type forgery struct {
	tar.Header
	text, digest, failure string
	more                  map[string]string
}

// TestArchivesOfOthers: what a snapshot cannot be is not read, though its sums are right; a small archive cannot stand for much.
func TestArchivesOfOthers(t *testing.T) {
	file := func(name, text string) forgery { return forgery{Header: tar.Header{Name: name}, text: text} }
	// Tar lets nobody write a sparse file: this is one of 512 bytes that stands for a million.
	sparse := bytes.ReplaceAll(forged(t, "r", "null", forgery{Header: tar.Header{Name: "a"}, text: "0\n" + strings.Repeat("\x00", 510), more: map[string]string{
		"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": "a", "XXX.sparse.realsize": "1000000",
	}}), []byte("XXX.sparse."), []byte("GNU.sparse."))
	for name, c := range map[string]struct {
		archive []byte
		want    string
	}{
		"good":             {forged(t, "r", "null", file("a", "1"), file("b", "2")), ""},
		"empty":            {nil, "it is no archive: EOF"},
		"another format":   {bytes.ReplaceAll(forged(t, "r", "null"), []byte(archiveFormat), []byte("argosy-snapshot/2")), `it is of format "argosy-snapshot/2"; expected "argosy-snapshot/1"`},
		"outside":          {forged(t, "r", "null", file("../a", "")), `"../a" is no path of a repository`},
		"twice":            {forged(t, "r", "null", file("a", "1"), file("a", "2")), `"a" is there twice, or not in its place`},
		"sparse":           {sparse, `"a" is no plain file`},
		"a link":           {forged(t, "r", "null", forgery{Header: tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}), `"a" is no plain file`},
		"more":             {forged(t, "r", "null", forgery{Header: tar.Header{Name: "a"}, failure: `{"reason":"x","severity":"error","more":1}`, digest: "d"}), "it is not as it was written"},
		"content and none": {forged(t, "r", "null", forgery{Header: tar.Header{Name: "a"}, failure: `{"reason":"x","severity":"error"}`, digest: "d", text: "x"}), `the content of "a" is damaged`},
		"a member twice":   {forged(t, "r", `[{"revision":"q","members":[["h","m"]]},{"members":[["h","m"]]}]`), `its list of homes: member "m" of hub "h" is there twice, or has no name`},
		"half a member":    {forged(t, "r", `[{"members":[["h"]]}]`), "its list of homes: it is not as it was written"},
		"a home of nobody": {forged(t, "r", `[{"revision":"q","members":[]}]`), `its list of homes: revision "q" is there twice, or without members`},
	} {
		t.Run(name, func(t *testing.T) {
			s, homes, err := readArchive(bytes.NewReader(c.archive))
			if c.want == "" && err == nil && s.Len() == 2 {
				return
			}
			if err == nil || err.Error() != c.want || s != nil || homes != nil {
				t.Errorf("%v; want %s", err, c.want)
			}
		})
	}
}

// FuzzArchive: of an archive with the right sums all is read or nothing: what is read is what write writes, of paths that a
// repository can have, and no member is at two homes.
func FuzzArchive(f *testing.F) {
	f.Add("r", "null", "a/b", "text", "")
	f.Add("r", `[{"revision":"q","members":[["h","m"]]}]`, "a", "", `{"reason":"invalid-value","severity":"error"}`)
	f.Add("r", `[{"members":[["h"]]}]`, "../a", "", "{}")
	f.Fuzz(func(t *testing.T, revision, list, name, content, failure string) {
		f := forgery{Header: tar.Header{Name: name}, text: content, failure: failure}
		if failure != "" {
			f.digest = "too-large:1"
		}
		data := forged(t, revision, list, f)
		s, homes, err := readArchive(bytes.NewReader(data))
		if err != nil {
			if s != nil || homes != nil {
				t.Fatal("half of it is read")
			}
			return
		}
		if !fs.ValidPath(name) || s.Revision != revision || s.Len() != 1 || string(s.File(name).Data) != content {
			t.Fatalf("%q is read: %q %q", name, s.Revision, s.Paths())
		}
		if err := checkHomes(homes); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := write(&b, s, homes); err != nil {
			t.Fatal(err)
		}
		again, andHomes, err := readArchive(&b)
		if err != nil || again.Revision != s.Revision || !slices.EqualFunc(homes, andHomes, home.equal) || !sameFiles(s, again) {
			t.Fatalf("it is not read as it was written: %v", err)
		}
	})
}

// sameFiles reports whether two snapshots have the same files, with the same errors.
func sameFiles(a, b *snapshot.Snapshot) bool {
	return slices.EqualFunc(a.Paths(), b.Paths(), func(p, q string) bool {
		one, errOne := errorText(a.File(p))
		two, errTwo := errorText(b.File(q))
		return p == q && errOne == nil && errTwo == nil && one == two && a.File(p).Digest == b.File(q).Digest && bytes.Equal(a.File(p).Data, b.File(q).Data)
	})
}

// FuzzKept: of a state folder of which a file is changed or cut off anywhere, each member has the home that was kept, or none
// and an error says so; without the state file itself there is nothing.
func FuzzKept(f *testing.F) {
	f.Add(uint8(0), uint16(0), uint8(0), false)
	f.Add(uint8(0), uint16(600), uint8(1), false) // the revision
	f.Add(uint8(1), uint16(700), uint8(3), false) // the sum
	f.Add(uint8(2), uint16(2000), uint8(0), true) // between two files
	want, homes := keptExample()
	dir := f.TempDir()
	if err := save(dir+"/kept", want, homes, &kept{}); err != nil {
		f.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		f.Fatalf("%v %v", entries, err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(dir + "/" + e.Name()); err != nil {
			f.Fatal(err)
		}
	}
	names := slices.Sorted(maps.Keys(files)) // the state file is the first
	f.Fuzz(func(t *testing.T, which uint8, at uint16, change uint8, cut bool) {
		dir, name := t.TempDir(), names[int(which)%len(names)]
		for n, data := range files {
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
		got, at2, err := restore(dir+"/kept", &kept{})
		if got == nil {
			if err == nil || name != names[0] || at2 != nil {
				t.Fatalf("%s is damaged: nothing, homes %v, %v", name, at2, err)
			}
			return
		}
		if got.Revision != want.Revision || !sameFiles(got, want) {
			t.Fatalf("%s is damaged: revision %q is read", name, got.Revision)
		}
		missing := 0
		for id, s := range homes {
			is, known := at2[id]
			if !known {
				missing++
			} else if (s == nil) != (is == nil) || s != nil && (s.Revision != is.Revision || !sameFiles(s, is)) {
				t.Fatalf("%s is damaged: %v has another home", name, id)
			}
		}
		if len(at2)+missing != len(homes) || (missing > 0) != (err != nil) || missing > 1 || missing == 1 && name == names[0] {
			t.Fatalf("%s is damaged: homes %v, %v", name, at2, err)
		}
	})
}

// FuzzAccepted: of any record that names the homes, all of it is used or nothing, and what cannot be is told as damaged.
func FuzzAccepted(f *testing.F) {
	s, homes := keptExample()
	room := newShared()
	if _, err := (&roomKeeper{room: room}).save(f.Context(), s, homes); err != nil {
		f.Fatal(err)
	}
	f.Add(room.records[acceptedRecord])
	for _, text := range []string{`{"version":2}`, `{"version":1,"revision":""}`, `{"version":1,"revision":"r","homes":[{"members":[["h"]]}],"more":1}`, "{}{"} {
		f.Add([]byte(text))
	}
	text, err := json.Marshal(acceptedState{acceptedVersion, s.Revision, []home{{s.Revision, [][2]string{{"h", "m"}}}, {"", [][2]string{{"h", "m"}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newShared()
		maps.Copy(r.records, room.records)
		r.records[acceptedRecord] = data
		k := &roomKeeper{room: r}
		is, _, err := k.read(t.Context())
		if err != nil {
			if is != nil || !state.IsDamaged(err) {
				t.Fatalf("%v, %v", is, err)
			}
			return
		}
		members := 0
		for _, h := range is.Homes {
			members += len(h.Members)
		}
		got, homes, err := k.restore(t.Context())
		if err != nil && !state.IsDamaged(err) || got == nil && (err == nil || homes != nil) || err == nil && len(homes) != members {
			t.Fatalf("%v, %d homes of %d members, %v", got, len(homes), members, err)
		}
		if again, err := json.Marshal(is); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s is read as %s, %v", data, again, err)
		}
	})
}
