package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

// factsFlag adds --facts, which readFacts reads.
func factsFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "facts", nil, "what is known of the clusters: a `file` of kind Facts or a folder of such, one of each hub; may be repeated")
}

// readFacts reads facts files, and all of a folder; no file is no facts.
func readFacts(names []string) (facts.Set, error) {
	var files []facts.File
	for _, name := range names {
		if name == "" { // a variable of a script that is not set
			continue
		}
		found, err := factsFiles(name)
		if err != nil {
			return facts.Set{}, usageError(nil, "--facts: %w", err)
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				return facts.Set{}, usageError(nil, "--facts: %w", err)
			}
			files = append(files, facts.File{Name: file, Data: data})
		}
	}
	f, err := facts.Join(files...)
	if err != nil {
		return facts.Set{}, &failure{status: exitUsage, err: fmt.Errorf("--facts: %w", err), problems: problem.From(err, problem.InvalidValue, problem.Pos{})}
	}
	return f, nil
}

// factsExtensions are those of the files in a folder of facts.
var factsExtensions = []string{".yaml", ".yml", ".json"}

// factsFiles is a file itself, or the facts files of a folder, sorted; those of folders in it are others'.
func factsFiles(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains(factsExtensions, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder %s has no file of facts; expected files whose names end in %s, %s or %s", name, factsExtensions[0], factsExtensions[1], factsExtensions[2])
	}
	return files, nil
}
