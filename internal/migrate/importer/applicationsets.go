package importer

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// applicationSet is an ApplicationSet of the repository.
type applicationSet struct {
	name, namespace string
	tree            tree
	pos             problem.Pos
}

// applicationSets finds the ApplicationSets of the repository and of the given files, in order of
// place.
func (m *importer) applicationSets() []applicationSet {
	var out []applicationSet
	seen := map[string]problem.Pos{}
	files := slices.Clone(m.o.ApplicationSets)
	isNamed := len(files) > 0 // by the user: then whatever a file's name
	if !isNamed {
		for _, p := range m.o.Repositories.Own.Snapshot.Paths() {
			files = append(files, m.o.Repositories.Own.Snapshot.File(p))
		}
	}
	for _, f := range files {
		if f.Err != nil && (isNamed || manifest.IsFile(f.Path)) {
			m.report(problem.Pos{File: f.Path}, "the file", "cannot be read: "+oneLine(f.Err.Error()))
		}
		if !isNamed && !manifest.IsFile(f.Path) || !bytes.Contains(f.Data, []byte("argoproj.io/")) {
			continue
		}
		if line := kindLine(f.Data); line > 0 && m.isTemplate(f) {
			m.report(problem.Pos{File: f.Path, Line: line}, "the file", "is a template of a chart", renderHint)
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
				case manifest.At(t, "spec", "generators") == nil:
					m.report(s.pos, fmt.Sprintf("ApplicationSet %q", s.name), "has no generators: as a patch of another one, it is left out")
				case twice:
					m.report(s.pos, fmt.Sprintf("ApplicationSet %q", s.name), "is there twice, the first counts: "+first.String(),
						"where they belong to several hubs, --applicationsets FILE takes one hub's")
				default:
					seen[s.namespace+"/"+s.name] = s.pos
					out = append(out, s)
				}
			}
		}
		if line := kindLine(f.Data); err != nil && line > 0 {
			m.report(problem.Pos{File: f.Path, Line: line}, "the file", "cannot be read: "+oneLine(err.Error()),
				"fix it; or if it is a template of a chart, "+renderHint)
		}
	}
	if !isNamed {
		m.reportKustomized(out)
	}
	return out
}

const renderHint = "render it (helm template), and give the output: --applicationsets FILE"

// isTemplate reports whether Helm renders a file.
func (m *importer) isTemplate(f *snapshot.File) bool {
	for dir := path.Dir(f.Path); dir != path.Dir(dir); dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && m.o.Repositories.Own.Snapshot.File(path.Join(path.Dir(dir), "Chart.yaml")) != nil {
			return bytes.Contains(f.Data, []byte("{{"))
		}
	}
	return false
}

// transformers lists the keys of a kustomization that change the ApplicationSets below it.
var transformers = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "namePrefix", "nameSuffix", "replacements", "vars", "transformers", "components"}

// reportKustomized reports kustomizations that change ApplicationSets, which are read as they are.
func (m *importer) reportKustomized(sets []applicationSet) {
	for _, p := range m.o.Repositories.Own.Snapshot.Paths() {
		if !slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, path.Base(p)) {
			continue
		}
		doc, err := yamldoc.ParseLenient(p, m.o.Repositories.Own.Snapshot.File(p).Data, nil)
		if err != nil {
			continue
		}
		t, _ := doc.Root.Any().(tree)
		resources := append(manifest.Strings(t["resources"]), manifest.Strings(t["bases"])...)
		for _, key := range transformers {
			n := doc.Root.Get(key)
			if n.IsNull() {
				continue
			}
			for _, s := range sets {
				if slices.ContainsFunc(resources, func(r string) bool {
					below := path.Join(path.Dir(p), r)
					return s.pos.File == below || strings.HasPrefix(s.pos.File, below+"/")
				}) {
					m.report(doc.Pos(n), fmt.Sprintf("ApplicationSet %q", s.name), fmt.Sprintf("is changed by %s of a kustomization, and read without it", key),
						"build it (kustomize build), and give the output: --applicationsets FILE")
				}
			}
		}
	}
}

var kindOf = regexp.MustCompile(`^\s*(?:-\s+)?["']?kind["']?\s*:\s*["']?ApplicationSet["']?\s*(?:#.*|,\s*)?$`)

// kindLine returns the first line that declares an ApplicationSet; 0 if none does.
func kindLine(data []byte) int {
	for i, line := range strings.Split(string(data), "\n") {
		if kindOf.MatchString(line) {
			return i + 1
		}
	}
	return 0
}

func oneLine(text string) string { return problem.OneLine(text, 300) }
