package snapshot

import (
	"slices"
	"strings"
	"testing"
)

func TestCleanPath(t *testing.T) {
	for p, want := range map[string]string{"a": "a", "a/b.yaml": "a/b.yaml", "a//b": "a/b", "./a": "a", "a/": "a", ".": ".", "a..b/c": "a..b/c", "...": "..."} {
		if got, err := CleanPath(p); err != nil || got != want {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
	for _, p := range []string{"", "/a", "..", "../a", "a/..", "a/../b", "a\\b", "a\x00b", "/"} {
		if got, err := CleanPath(p); err == nil {
			t.Errorf("%q is accepted as %q (H8)", p, got)
		}
	}
}

func TestUnder(t *testing.T) {
	s := FromMap(map[string]string{"a/b/c": "1", "a/b": "2", "a/bb/x": "3", "a-/x": "4", "z": "5"})
	for dir, want := range map[string]string{"a": "a/b a/b/c a/bb/x", "a/": "a/b a/b/c a/bb/x", "a/b": "a/b/c", "a/bb": "a/bb/x", "q": "", "z": "", "": "a-/x a/b a/b/c a/bb/x z", ".": "a-/x a/b a/b/c a/bb/x z"} {
		if got := strings.Join(s.Under(dir), " "); got != want || s.HasDir(dir) != (want != "") {
			t.Errorf("%q: %q, want %q", dir, got, want)
		}
	}
	var none *Snapshot
	if none.Len() != 0 || none.File("a") != nil || none.Paths() != nil || none.HasDir("a") || s.File("a/b/") != nil {
		t.Error("a nil snapshot is not empty, or paths are cleaned")
	}
}

func TestChanged(t *testing.T) {
	a := FromMap(map[string]string{"same": "1", "other": "1", "gone": "1"})
	b := FromMap(map[string]string{"same": "1", "other": "2", "added": "1"})
	if got := Changed(a, b); !slices.Equal(got, []string{"added", "gone", "other"}) {
		t.Error(got)
	}
	if got := Changed(nil, a); len(got) != 3 || len(Changed(a, a)) != 0 {
		t.Error(got)
	}
	if a.Revision == b.Revision || a.Revision != FromMap(map[string]string{"gone": "1", "same": "1", "other": "1"}).Revision {
		t.Error("revisions do not name the content")
	}
	if FromMap(map[string]string{"ab": "c"}).Revision == FromMap(map[string]string{"a": "bc"}).Revision {
		t.Error("two contents have one revision")
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	if f := NewFile("p", make([]byte, 11), 10); f.Err == nil || f.Data != nil || f.Err.Error() != "p: file of 11 bytes; expected at most 10 bytes" {
		t.Errorf("%+v", f)
	}
	if f := NewFile("p", make([]byte, 10), 10); f.Err != nil || len(f.Data) != 10 {
		t.Errorf("%+v", f)
	}
	f := Outside("l", "/etc/passwd")
	if f.Err == nil || f.Data != nil || !strings.Contains(f.Err.Error(), `symbolic link to "/etc/passwd" leads out of the repository`) || f.Digest == Outside("l", "/etc/shadow").Digest {
		t.Errorf("%+v", f)
	}
}
