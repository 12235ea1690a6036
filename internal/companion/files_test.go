package companion

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// TestPathsAreFoundAlikeOnceAndEachTime: the readers of a folder's files are the same, whether they
// are remembered by path or looked for in each folder.
func TestPathsAreFoundAlikeOnceAndEachTime(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	names := []string{"a", "b", "a-b", "values", "g"}
	forms := map[string]func(component string) string{
		"folder": func(component string) string { return "g/" + component + "/values.yaml" },
		"file":   func(component string) string { return component + ".yaml" },
		"both":   func(component string) string { return component + "/" + component + ".yaml.gotmpl" },
	}
	paths, found := NewPaths(), 0
	for step := range 300 {
		contents := map[string]string{}
		for range random.IntN(8) {
			file := []string{"", "g/", names[random.IntN(5)] + "/", "g/" + names[random.IntN(5)] + "/"}[random.IntN(4)]
			file += []string{"values", names[random.IntN(5)], "values.a", "a.b"}[random.IntN(4)] + []string{".yaml", ".yaml.gotmpl", ".yml"}[random.IntN(3)]
			contents["d/"+file] = fmt.Sprint(step)
		}
		folder := hierarchy.NewIndex(snapshot.FromMap(contents)).Folders([]hierarchy.Dir{{Path: "d"}})[0]
		for form, path := range forms {
			values := func(component string) (string, error) { return path(component), nil }
			want := paths.ValuesFiles(folder, form, "g", false, values)
			for range 2 {
				if got := paths.ValuesFiles(folder, form, "g", true, values); !slices.Equal(got, want) {
					t.Fatalf("step %d, %s: %v, want %v", step, form, got, want)
				}
			}
			for _, file := range want {
				at := path(file.Component)
				if file.OfCompanion == (file.Path == at || file.Path+hierarchy.TemplateSuffix == at) {
					t.Fatalf("step %d, %s: %v, and the component's values file is %s", step, form, file, at)
				}
			}
			found += len(want)
		}
	}
	if found < 150 {
		t.Errorf("%d files are found: too few to say anything", found)
	}
}
