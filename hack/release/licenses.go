package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences of modules that may be in the programs. MPL-2.0 concerns changes of its
// own files alone, and there are none.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense", "CC0-1.0"}

// licenses fails for each module in a program whose licence is unknown or not allowed.
func licenses(ctx context.Context, o options) error {
	modules := map[string]bool{}
	for name := range programs {
		file, err := buildWithSymbols(ctx, o, name)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			modules[m.Path] = true
		}
	}
	arguments := append([]string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}, slices.Sorted(maps.Keys(modules))...)
	out, err := exec.CommandContext(ctx, "go", arguments...).Output() //nolint:gosec // names of modules
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	var all []error
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(path, "github.com/argosy-hub/argosy/") {
			continue
		}
		if names := licensesIn(dir); len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(allowed, n) }) {
			all = append(all, fmt.Errorf("%s: licences %v; expected some of %v", path, names, allowed))
		}
	}
	fmt.Printf("licences of %d modules\n", len(modules))
	return errors.Join(all...)
}

// licensesIn are those of a module's files of licences.
func licensesIn(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // without files there is no licence
	for _, e := range entries {
		stem, _, _ := strings.Cut(strings.ToUpper(e.Name()), ".")
		if e.IsDir() || strings.HasSuffix(e.Name(), ".docs") || // of a documentation
			stem != "LICENSE" && stem != "LICENCE" && stem != "COPYING" && !strings.HasPrefix(stem, "LICENSE-") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL && !slices.Contains(names, m.ID) {
				names = append(names, m.ID)
			}
		}
	}
	return names
}
