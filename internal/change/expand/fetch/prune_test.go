package fetch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Rule 8: the oldest go first, mirrors as a whole and as old as their locks, until there is no more
// than the limit; and no more than is needed. What has another name than the cache gives is
// nobody's to remove.
func TestPrune(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("0123456789abcdef", 4)
	shelf, mirror := "web-"+hash[:16], mirrors+"/git-"+hash[:16]
	// What there is, with the day of its last use and its size.
	all := []struct {
		path string
		day  int
		size int
	}{
		{shelf + "/1.0.0@" + hash + ".tgz", 5, 100},
		{shelf + "/1.1.0@" + hash + ".tgz", 2, 100},
		{shelf + "/" + temporary + "1", 1, 100},
		{"web/1.0.0@" + hash + ".tgz", 1, 1000},
		{shelf + "/notes.txt", 1, 1000},
		{files + "/" + hash, 4, 100},
		{mirror + "/mirror.git/objects/pack/a.pack", 1, 300},
		{mirror + "/lock", 3, 0},
		{"notes.txt", 1, 1000},
	}
	others := []string{"notes.txt", shelf + "/notes.txt", "web/1.0.0@" + hash + ".tgz"}
	for limit, want := range map[int64][]string{
		700: {files + "/" + hash, mirror, shelf + "/" + temporary + "1", shelf + "/1.0.0@" + hash + ".tgz", shelf + "/1.1.0@" + hash + ".tgz"},
		699: {files + "/" + hash, mirror, shelf + "/1.0.0@" + hash + ".tgz", shelf + "/1.1.0@" + hash + ".tgz"},
		599: {files + "/" + hash, mirror, shelf + "/1.0.0@" + hash + ".tgz"},
		499: {files + "/" + hash, shelf + "/1.0.0@" + hash + ".tgz"},
		199: {shelf + "/1.0.0@" + hash + ".tgz"},
		0:   nil,
	} {
		dir := t.TempDir()
		for _, x := range all {
			path := filepath.Join(dir, x.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, make([]byte, x.size), 0o600); err != nil {
				t.Fatal(err)
			}
			day := time.Date(2025, 1, x.day, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(path, day, day); err != nil {
				t.Fatal(err)
			}
		}
		c := cache{dir}
		other := c.use()
		c.prune(c.use(), limit)
		if n := len(c.used()); n != 5 {
			t.Errorf("limit %d: %d are left while another run uses the cache", limit, n)
		}
		_ = other.Close()
		c.prune(c.use(), limit)
		var left []string
		for _, x := range c.used() {
			path, _ := filepath.Rel(dir, x.path)
			left = append(left, path)
		}
		slices.Sort(left)
		slices.Sort(want)
		if !slices.Equal(left, want) {
			t.Errorf("limit %d: %v are left, want %v", limit, left, want)
		}
		for _, path := range others {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
	}
}

// Rule 8: a chart that is used is not old.
func TestPrune_Use(t *testing.T) {
	t.Parallel()
	c := charts(context.Background(), t, "")
	shelf := c.cache.shelf(source.Reference{RepoURL: "https://charts.example", Name: "web", Version: "1.0.0"})
	kept, err := shelf.keep("1.0.0", archive(t, small))
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(kept.path, day, day); err != nil {
		t.Fatal(err)
	}
	if _, err := shelf.find("1.0.0"); err != nil {
		t.Fatal(err)
	}
	if x := c.cache.used(); len(x) != 1 || x[0].last.Equal(day) {
		t.Errorf("got %v", x)
	}
}
