package hierarchy

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files again")

// generatedCases are how many generated hierarchies test/helm4 compares, besides the written ones.
const generatedCases = 100

// TestHelmCasesAreUpToDate writes what our merge makes of many hierarchies, for test/helm4: Helm 4
// needs a module of its own.
func TestHelmCasesAreUpToDate(t *testing.T) {
	t.Parallel()
	const file = "testdata/helm.txtar"
	archive := &txtar.Archive{Comment: []byte("Value files, the most general first, and what they are merged to. Helm 3 and Helm 4 make the same of them.\n")}
	add := func(name string, files []string) {
		text, err := Merge(layersOf(t, files), nil).Root.YAML()
		if err != nil {
			t.Fatal(err)
		}
		for i, data := range append(slices.Clone(files), string(text)) {
			p := fmt.Sprintf("%s/%d.yaml", name, i)
			if i == len(files) {
				p = name + "/merged.yaml"
			}
			archive.Files = append(archive.Files, txtar.File{Name: p, Data: []byte(data)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(writtenCases)) {
		add(name, writtenCases[name])
	}
	for seed := range generatedCases {
		g := newGen(uint64(seed))
		files := make([]string, 1+g.r.IntN(4))
		for i := range files {
			files[i] = g.file()
		}
		add(fmt.Sprintf("generated %03d", seed), files)
	}
	want := txtar.Format(archive)
	if *update {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s is not up to date (%v): go test ./internal/hierarchy -run TestHelmCases -update", file, err)
	}
}
