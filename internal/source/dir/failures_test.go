package dir

import (
	"os"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source/tree"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// G5: of several files that cannot be read, the error names the first by name, in whatever order
// they were looked at.
func TestFolderErrorNamesTheFirstFailure(t *testing.T) {
	dir := t.TempDir()
	f := openFolder(t, dir)
	root, err := os.OpenRoot(dir)
	sourcetest.Check(t, err)
	defer root.Close()
	for _, names := range []string{"c a b", "a b c", "b c a"} {
		var files []tree.Placed
		for _, name := range strings.Fields(names) {
			p := name + ".yaml" // not there
			files = append(files, tree.Placed{Path: p, Node: &tree.Node{Path: p}})
		}
		want := f.String() + `: read "a.yaml": vanished while being read`
		w := &walk{Folder: f, ctx: sourcetest.Context(t), root: root, found: map[string]readFile{}}
		for _, p := range files {
			w.visit(p, root, p.Path)
		}
		if _, err := w.snapshot(files, nil); sourcetest.ErrorText(err) != want {
			t.Errorf("%s: reading gave %v, want %s", names, err, want)
		}
	}
}
