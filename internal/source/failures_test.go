package source

import (
	"strings"
	"testing"
)

// G5: of several files that cannot be read, the error names the first by name, in whatever order they were looked at.
func TestG5_FolderNamesTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir)
	root, err := openRoot(dir)
	check(t, err)
	defer root.close()
	for _, names := range []string{"c a b", "a b c", "b c a"} {
		var files []placed
		for _, name := range strings.Fields(names) {
			p := name + ".yaml" // not there
			files = append(files, placed{p, &node{path: p}})
		}
		want := f.String() + `: read "a.yaml": vanished while being read`
		w := &walk{Folder: f, ctx: testContext(t), root: root, found: map[string]seenFile{}}
		for _, p := range files {
			w.look(p, root, p.path)
		}
		if _, err := w.snapshot(files, nil); errorText(err) != want {
			t.Errorf("%s: reading gave %v, want %s", names, err, want)
		}
	}
}
