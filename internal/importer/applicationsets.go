package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/problem"
)

// applicationSet is one of the repository.
type applicationSet struct {
	name, namespace string
	tree            tree
	pos             problem.Pos
}

// applicationSets finds those of the repository and of the files given, in order of their place.
func (m *importer) applicationSets() []applicationSet {
	var out []applicationSet
	seen := map[string]problem.Pos{}
	files := slices.Clone(m.o.ApplicationSets)
	if len(files) == 0 {
		for _, p := range m.o.Repositories.Own.Paths() {
			files = append(files, m.o.Repositories.Own.File(p))
		}
	}
	for _, f := range files {
		if f.Err != nil && manifest.IsFile(f.Path) {
			m.report(problem.Pos{File: f.Path}, "the file", "cannot be read: "+oneLine(f.Err.Error()))
		}
		if !manifest.IsFile(f.Path) || !bytes.Contains(f.Data, []byte("argoproj.io/")) {
			continue
		}
		docs, err := manifest.Documents(f)
		for _, doc := range docs {
			root, _ := doc.Root.Any().(tree)
			for _, t := range objects(root) {
				s := applicationSet{name: manifest.Text(t, "metadata", "name"), namespace: manifest.Text(t, "metadata", "namespace"), tree: t, pos: doc.Pos(doc.Root)}
				switch first, twice := seen[s.namespace+"/"+s.name]; {
				case manifest.Text(t, "kind") == "Application" && strings.HasPrefix(manifest.Text(t, "apiVersion"), "argoproj.io/"):
					m.left = append(m.left, fmt.Sprintf("%s (%s)", s.name, s.pos))
				case manifest.Text(t, "kind") != "ApplicationSet" || !strings.HasPrefix(manifest.Text(t, "apiVersion"), "argoproj.io/"):
				case twice:
					m.report(s.pos, fmt.Sprintf("ApplicationSet %q", s.name), "is there twice, the first counts: "+first.String())
				default:
					seen[s.namespace+"/"+s.name] = s.pos
					out = append(out, s)
				}
			}
		}
		if line := kindLine(f.Data); err != nil && line > 0 {
			m.report(problem.Pos{File: f.Path, Line: line}, "the file", "is no YAML, as a template of a chart: "+oneLine(err.Error()),
				"render it (helm template), and give the output: --applicationsets FILE")
		}
	}
	return out
}

// kindLine is the first line that says that there is an ApplicationSet; 0 if none does.
func kindLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if strings.TrimSpace(line) == "kind: ApplicationSet" {
			return i + 1
		}
	}
	return 0
}

func oneLine(text string) string {
	return problem.Truncate(strings.Join(strings.Fields(text), " "), 300)
}
