package importer

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// applicationSet is an ApplicationSet of the repository, or a plain Application: the set of it
// alone, whose tree is empty.
type applicationSet struct {
	name, namespace string
	tree, plain     tree
	pos             problem.Pos
}

// setOf returns an object as an ApplicationSet or a plain Application; not ok for another object.
func setOf(t tree, pos problem.Pos) (s applicationSet, ok bool) {
	s = applicationSet{name: manifest.Text(t, "metadata", "name"), namespace: manifest.Text(t, "metadata", "namespace"), tree: t, pos: pos}
	switch kind := manifest.Text(t, "kind"); {
	case !strings.HasPrefix(manifest.Text(t, "apiVersion"), "argoproj.io/"):
	case kind == "ApplicationSet":
		ok = true
	case kind == "Application":
		s.plain, s.tree, ok = t, tree{}, !isMade(t)
	}
	return s, ok
}

// key is the same for two definitions of one object.
func (s *applicationSet) key() string { return s.subject() + " " + s.namespace }

// subject is what findings call it.
func (s *applicationSet) subject() string {
	if s.plain != nil {
		return fmt.Sprintf("Application %q", s.name)
	}
	return fmt.Sprintf("ApplicationSet %q", s.name)
}

// applicationSets finds the ApplicationSets and plain Applications of the repository, or of the
// given files, in order of place.
func (m *importer) applicationSets() []applicationSet {
	var out []applicationSet
	seen, templates := map[string]problem.Pos{}, map[string]int{}
	files := slices.Clone(m.o.ApplicationSets)
	isNamed := len(files) > 0 // by the user: then whatever a file's name
	if !isNamed && len(m.o.Roots) == 0 {
		files = m.o.Repositories.Own.Snapshot.FilesUnder("")
	}
	for _, f := range files {
		if f.Err != nil && (isNamed || manifest.IsFile(f.Path)) {
			m.report(problem.Pos{File: f.Path}, "the file", "cannot be read: "+oneLine(f.Err.Error()))
		}
		if !isNamed && !manifest.IsFile(f.Path) || !bytes.Contains(f.Data, []byte("argoproj.io/")) {
			continue
		}
		if line := kindLine(f.Data); line > 0 && source.TemplateOf(m.o.Repositories.Own.Snapshot, f) != "" {
			templates[f.Path] = line
			continue
		}
		docs, err := manifest.Documents(f)
		for _, doc := range docs {
			root, _ := doc.Root.Any().(tree)
			found := len(out)
			for _, t := range objects(root) {
				s, ok := setOf(t, doc.Pos(doc.Root))
				switch first, twice := seen[s.key()]; {
				case !ok:
				case s.plain == nil && manifest.At(t, "spec", "generators") == nil:
					m.report(s.pos, s.subject(), "has no generators: as a patch of another one, it is left out")
				case twice:
					m.report(s.pos, s.subject(), "is there twice, the first counts: "+first.String(),
						"where they belong to several hubs, --applicationsets FILE takes one hub's")
				default:
					seen[s.key()] = s.pos
					out = append(out, s)
				}
			}
			for i := range doc.Duplicates {
				if doc.Duplicates[i].Expected = "nothing: the last one counts, as in Argo CD"; len(out) > found {
					m.problems = append(m.problems, doc.Duplicates[i])
				}
			}
		}
		if line := kindLine(f.Data); err != nil && line > 0 {
			m.report(problem.Pos{File: f.Path, Line: line}, "the file", "cannot be read: "+oneLine(err.Error()),
				"fix it; or if it is a template of a chart, "+renderHint)
		}
	}
	if !isNamed {
		out = m.rendered(out, templates)
	}
	for _, file := range slices.Sorted(maps.Keys(templates)) {
		m.report(problem.Pos{File: file, Line: templates[file]}, "the file", "is a template of a chart", renderHint)
	}
	return out
}

// rendered adds what charts of the repository make, found as argosy plan finds it, and takes from
// kustomizations what they change. It removes the templates that are rendered.
func (m *importer) rendered(sets []applicationSet, templates map[string]int) []applicationSet {
	own := m.o.Repositories.Own
	if m.o.Tools.Charts == nil || pipeline.IsFleet(own.Snapshot) {
		return sets
	}
	snap := pipeline.WithStandIn(own.Snapshot, m.o.Hub)
	st, err := fleetstate.Build(nil, snap, facts.Set{})
	if err != nil {
		return sets
	}
	all, places := maps.Clone(templates), map[string]int{}
	for i, s := range sets {
		places[s.key()] = i
	}
	h := expand.New(expand.Options{State: st, Snapshot: snap, Hub: m.o.Hub, Tools: m.o.Tools, At: own.At, HasNoFleet: true, Roots: m.o.Roots, Clusters: m.known})
	h.Walk(false, func(o *object.Object) bool {
		s, ok := setOf(o.Tree, o.Pos)
		if !ok || o.Parent == nil && (len(m.o.Roots) == 0 || !o.Written()) || o.Parent != nil && o.Parent.IsSet() || o.Engine != fleet.OwnerHub {
			return true
		}
		i, isThere := places[s.key()]
		switch delete(templates, o.Pos.File); {
		case !isThere:
			sets = append(sets, s)
		case !verify.Equal([]any{sets[i].tree, sets[i].plain}, []any{s.tree, s.plain}):
			s.pos = sets[i].pos
			sets[i] = s
		}
		return true
	})
	overlays := source.OverlaysOf(own.Snapshot)
	for _, p := range h.Problems() {
		below, isOverlay := overlays[p.Pos.File] // which cannot be built
		if f := own.Snapshot.File(p.Pos.File); f != nil && source.Transforms(f) {
			below, isOverlay = overlays[path.Dir(f.Path)]
		}
		switch {
		case p.Reason == problem.NotExpanded && isOverlay:
			p.Hints = append(p.Hints, "what it is made of is left out")
			sets = slices.DeleteFunc(sets, func(s applicationSet) bool { return below[s.pos.File] })
		case p.Reason != problem.DuplicateName || all[p.Pos.File] == 0:
			continue
		}
		m.problems = append(m.problems, p)
	}
	return sets
}

// isMade reports whether an ApplicationSet has made an Application.
func isMade(app tree) bool {
	owners, _ := manifest.At(app, "metadata", "ownerReferences").([]any)
	return slices.ContainsFunc(owners, func(owner any) bool { return manifest.Text(owner, "kind") == "ApplicationSet" })
}

const renderHint = "render it (helm template), and give the output: --applicationsets FILE"

var kindOf = regexp.MustCompile(`^\s*(?:-\s+)?["']?kind["']?\s*:\s*["']?ApplicationSet["']?\s*(?:#.*|,\s*)?$`)

// kindLine returns the first line that declares an ApplicationSet; 0 if none does.
func kindLine(data []byte) int {
	return slices.IndexFunc(strings.Split(string(data), "\n"), kindOf.MatchString) + 1
}

// isRoot reports whether an Application deploys other Applications or ApplicationSets.
func (m *importer) isRoot(app tree) bool {
	return slices.ContainsFunc(source.Of(app), func(s source.Source) bool {
		snap := m.o.Repositories.Known(s.RepoURL, s.Revision)
		return snap != nil && s.Chart == "" && s.Path != "" && source.MakesApplications(snap, s)
	})
}

func oneLine(text string) string { return problem.OneLine(text, 300) }
