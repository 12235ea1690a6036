package source

import (
	"os"
	"strings"
	"testing"
)

// G5: of several files that cannot be read, the error names the first by name, in whatever order they were looked at.
func TestG5_FolderNamesTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir)
	root, err := os.OpenRoot(dir)
	check(t, err)
	defer root.Close()
	for _, names := range []string{"c a b", "a b c", "b c a"} {
		var files []placed
		known := &walk{Folder: f, ctx: testContext(t), real: dir, stats: map[string]fileStat{}}
		for _, name := range strings.Fields(names) {
			p := name + ".yaml" // not there
			files = append(files, placed{p, &node{path: p}})
			known.stats[p] = fileStat{}
		}
		want := f.String() + `: read "a.yaml": vanished while being read`
		if _, err := f.read(root, known, files, nil); errorText(err) != want {
			t.Errorf("%s: reading gave %v, want %s", names, err, want)
		}
		links := &walk{Folder: f, ctx: testContext(t), real: dir, stats: map[string]fileStat{}}
		if err := f.sum(links, files); errorText(err) != want {
			t.Errorf("%s: sizes gave %v, want %s", names, err, want)
		}
	}
}
