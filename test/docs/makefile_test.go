package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A target works as it is documented, without variables that the user would have to set: the
// Makefile defines all that it uses, but those of the environment and of make itself.
func TestMakefileDefinesItsVariables(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	defined := []string{"CURDIR", "HOME", "MAKE", "MAKEFILE_LIST", "XDG_CACHE_HOME"}
	for _, m := range regexp.MustCompile(`(?m)^(?:[a-z0-9-]+: export )?([A-Z][A-Z0-9_]*) *[?:]?=`).FindAllStringSubmatch(string(content), -1) {
		defined = append(defined, m[1])
	}
	used := regexp.MustCompile(`[^$]\$\(([A-Z][A-Z0-9_]*)\)|\$\(if \$\(([A-Z]+)\)`).FindAllStringSubmatch(string(content), -1)
	if len(used) < 50 {
		t.Fatalf("the Makefile uses variables in %d places: they are not understood", len(used))
	}
	for _, m := range used {
		if name := m[1] + m[2]; !slices.Contains(defined, name) {
			t.Errorf("$(%s) has no value without one that the user sets: give it a default, NAME ?=", name)
		}
	}
}
