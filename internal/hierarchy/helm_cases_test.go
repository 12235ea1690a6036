package hierarchy

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var helmCases = flag.String("helm-cases", "", "the file to write the cases of test/helm4 to")

// TestWriteHelmCases writes what our merge makes of many hierarchies, for make helm4: Helm 4 needs
// a module of its own.
func TestWriteHelmCases(t *testing.T) {
	if *helmCases == "" {
		t.Skip("make helm4 passes -helm-cases")
	}
	archive := &txtar.Archive{}
	add := func(name string, files []string) {
		text, err := Merge(layersOf(t, files), nil).Root.YAML()
		require.NoError(t, err)
		for i, data := range files {
			archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("%s/%d.yaml", name, i), Data: []byte(data)})
		}
		archive.Files = append(archive.Files, txtar.File{Name: name + "/merged.yaml", Data: text})
	}
	for _, name := range slices.Sorted(maps.Keys(writtenCases)) {
		add(name, writtenCases[name])
	}
	for seed := range 1000 {
		g := newGen(uint64(seed))
		files := make([]string, 1+g.r.IntN(4))
		for i := range files {
			files[i] = g.file()
		}
		add(fmt.Sprintf("generated %d", seed), files)
	}
	require.NoError(t, os.WriteFile(*helmCases, txtar.Format(archive), 0o600))
}
