// Package factsfile reads files of facts, removes from facts what must not be written to a file,
// and checks the records of members.
//
//	set, err := factsfile.Read([]string{"facts/prod.yaml"})
//	clean, removed := factsfile.WithoutSecrets(set)
//	problems, err := factsfile.CheckRecords("records", members) // records/hub-eu/prod-eu-1.json
package factsfile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"

	"github.com/argosy-hub/argosy/internal/change/lint/secretscan"
)

// None is the name for no facts.
const None = "none"

// Read reads facts files, and all facts files of a folder. Without names there are no facts. An
// empty name is an error: it comes from an unset variable, and results without facts would look the
// same.
func Read(names []string) (facts.Set, error) {
	var files []facts.File
	for _, name := range names {
		switch name {
		case "":
			return facts.Set{}, problem.Usage(nil, "--facts is empty; expected a file of kind Facts, a folder of such, or %s", None)
		case None:
			continue
		}
		found, err := list(name)
		if err != nil {
			return facts.Set{}, problem.Usage(nil, "--facts: %w", err)
		}
		for _, file := range found {
			data, err := os.ReadFile(file)
			if err != nil {
				return facts.Set{}, problem.Usage(nil, "--facts: %w", err)
			}
			files = append(files, facts.File{Name: file, Data: data})
		}
	}
	f, err := facts.Join(files...)
	if err != nil {
		return facts.Set{}, &problem.Failure{Err: fmt.Errorf("--facts: %w", err), Problems: problem.From(err, problem.InvalidValue, problem.Pos{})}
	}
	return f, nil
}

// extensions are the extensions of facts files in a folder.
var extensions = []string{".yaml", ".yml", ".json"}

// list returns a file itself, or the facts files of a folder, sorted; it does not descend into
// folders.
func list(name string) ([]string, error) {
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
		if !e.IsDir() && slices.Contains(extensions, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder %s has no file of facts; expected files whose names end in %s, %s or %s", name, extensions[0], extensions[1], extensions[2])
	}
	return files, nil
}

// WithoutSecrets removes labels and annotations that look like secrets, and names them.
func WithoutSecrets(s facts.Set) (clean facts.Set, removed []string) {
	var clusters []facts.Cluster
	for _, name := range s.Names() {
		c, _ := s.Of(name)
		strip := func(what string, from map[string]string) map[string]string {
			out := maps.Clone(from)
			for _, key := range slices.Sorted(maps.Keys(from)) {
				if looks := secretscan.Classify(key, from[key]); looks != "" {
					removed = append(removed, fmt.Sprintf("cluster %q: %s %q looks like %s: left out", name, what, key, looks))
					delete(out, key)
				}
			}
			return out
		}
		c.Labels, c.Annotations = strip("label", c.Labels), strip("annotation", c.Annotations)
		clusters = append(clusters, c)
	}
	return s.WithClusters(clusters...), removed
}
