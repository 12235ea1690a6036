package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/hack/release/archive"
)

// checkLibraries reports the first program or library whose loader or library is not among the
// files: it would not start.
func checkLibraries(files archive.Files) error {
	names := map[string]bool{}
	for name := range files {
		names[path.Base(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name].Content
		if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
			continue
		}
		binary, err := elf.NewFile(bytes.NewReader(content))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		needed, err := binary.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if loader := binary.Section(".interp"); loader != nil {
			text, err := loader.Data()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			loader := strings.Trim(string(text), "/\x00")
			if _, is := files[loader]; !is {
				return fmt.Errorf("%s: its loader /%s is not in the image: pin its package", name, loader)
			}
		}
		for _, library := range needed {
			if !names[library] {
				return fmt.Errorf("%s: its library %s is not in the image: pin its package", name, library)
			}
		}
	}
	return nil
}
