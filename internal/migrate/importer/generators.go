package importer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// application is an Application that an ApplicationSet of the repository creates.
type application struct {
	verify.Application
	set        *applicationSet
	parameters map[string]any
	metadata   tree // labels and annotations
	component  string
	main       int // the component's chart or folder: the first source that deploys something
}

// followed lists the generators that Argo CD's own code runs here.
var followed = []string{"list", "clusters", "git", "matrix", "merge", "selector"}

// each calls f with each generator of a list, also with those inside matrix and merge, until f
// returns false. The result is false if f has.
func each(generators any, f func(tree) bool) bool {
	list, _ := generators.([]any)
	return !slices.ContainsFunc(list, func(g any) bool {
		t, _ := g.(tree)
		return !f(t) || !each(manifest.At(t, "matrix", "generators"), f) || !each(manifest.At(t, "merge", "generators"), f)
	})
}

// unfollowed returns the kind of the first generator that needs more than files and clusters.
// Options.Generated replaces such generators.
func unfollowed(generators any) (found string) {
	each(generators, func(g tree) bool {
		for kind := range g {
			if g[kind] != nil && !slices.Contains(followed, kind) && (found == "" || kind < found) {
				found = kind
			}
		}
		return found == ""
	})
	return found
}

// listsClusters reports whether one of the generators lists clusters.
func listsClusters(generators any) bool {
	return !each(generators, func(g tree) bool { return g["clusters"] == nil })
}

// given replaces generators that cannot be run with lists, which keep their template and selector.
func given(generators any, elements []any) []any {
	list, _ := generators.([]any)
	out := make([]any, len(list))
	for i := range list {
		g := manifest.Copy(list[i])
		for kind, of := range g {
			below := manifest.Copy(of)
			switch {
			case of == nil:
			case kind == "matrix" || kind == "merge":
				below["generators"] = given(below["generators"], elements)
				g[kind] = below
			case !slices.Contains(followed, kind):
				delete(g, kind)
				g["list"] = tree{"elements": elements, "template": below["template"]}
			}
		}
		out[i] = g
	}
	return out
}

// run creates the Applications of an ApplicationSet, as Argo CD does. It reports what it cannot
// create. An error means that the import as a whole is pointless.
func (m *importer) run(s *applicationSet) ([]*application, error) {
	if s.plain != nil {
		m.all++
		a, err := m.read(s, manifest.WithoutTracking(s.plain), nil)
		return slices.DeleteFunc([]*application{a}, func(a *application) bool { return a == nil }), err
	}
	subject := s.subject()
	if kind := unfollowed(manifest.At(s.tree, "spec", "generators")); kind != "" {
		elements, ok := m.o.Generated[s.name]
		if !ok {
			m.report(s.pos, subject, fmt.Sprintf("generator %s cannot be run without its service: none of its Applications is imported", kind),
				fmt.Sprintf("give its parameter sets: --generated FILE, a map with a list below %q", s.name))
			return nil, nil
		}
		spec := manifest.Copy(s.tree["spec"])
		spec["generators"] = given(spec["generators"], elements)
		s.tree = manifest.Copy(s.tree)
		s.tree["spec"] = spec
	}
	if len(m.known) == 0 && listsClusters(manifest.At(s.tree, "spec", "generators")) {
		m.report(s.pos, subject, "lists clusters, and none is known: it runs for the hub only", "--clusters, --facts or --context name the clusters that generators list")
	}
	sets, err := m.o.Tools.ApplicationSets.Parameters(s.tree, expand.Inputs{Git: m.o.Repositories.Open, Clusters: m.known})
	var away *verify.Away
	switch {
	case errors.As(err, &away):
		m.reportAway(s, away)
		return nil, nil
	case err != nil:
		m.report(s.pos, subject, "its generators fail, as in Argo CD: "+oneLine(err.Error()))
		return nil, nil
	}
	trees, failed := make([]tree, len(sets)), make([]error, len(sets))
	run.Each(len(sets), func(i int) { trees[i], failed[i] = m.o.Tools.ApplicationSets.Application(sets[i]) })
	m.all += len(sets)
	var out []*application
	for i, t := range trees {
		if failed[i] != nil {
			m.report(s.pos, subject, "its template fails, as in Argo CD: "+oneLine(failed[i].Error()))
			continue
		}
		a, err := m.read(s, t, sets[i].Values)
		if err != nil {
			return nil, err
		}
		if a != nil {
			out = append(out, a)
		}
	}
	return out, nil
}

// read returns an Application that is to be part of the fleet; nil for a root, and for one that
// cannot be, which it reports.
func (m *importer) read(s *applicationSet, t tree, parameters map[string]any) (*application, error) {
	name := manifest.Text(t, "metadata", "name")
	subject := fmt.Sprintf("Application %q", name)
	if found := m.secretIn(t); found != nil {
		m.report(s.pos, subject, fmt.Sprintf("has the text of %s, which looks like %s: it is not written", found.at, found.looks), "keep it in a Secret that the component reads")
		return nil, nil
	}
	if m.isRoot(t) {
		m.all--
		m.left = append(m.left, fmt.Sprintf("%s (%s)", name, s.pos))
		return nil, nil
	}
	normal, err := m.reader.Read(t)
	if m.doubted == nil && m.reader.Doubt() != nil {
		m.doubted = s
	}
	var away *verify.Away
	var unreadable *verify.Unreadable
	switch {
	case errors.As(err, &away):
		m.reportAway(s, away)
		return nil, nil
	case errors.As(err, &unreadable):
		m.report(s.pos, subject, unreadable.Text, unreadable.Hint)
		return nil, nil
	case err != nil:
		return nil, err
	}
	a := &application{Application: normal, set: s, parameters: parameters, metadata: manifest.MetadataOf(t)}
	deploys := func(s any) bool { return manifest.Text(s, "chart") != "" || manifest.Text(s, "path") != "" }
	if a.main = slices.IndexFunc(a.sources(), deploys); a.main < 0 {
		m.report(s.pos, subject, "no source has a chart or a path")
		return nil, nil
	}
	return a, nil
}

// sources returns the sources in their normal form.
func (a *application) sources() []any {
	list, _ := a.Spec["sources"].([]any)
	return list
}

// source returns the main source.
func (a *application) source() tree {
	s, _ := a.sources()[a.main].(tree)
	return s
}

// isChart reports whether Helm renders the main source.
func (a *application) isChart() bool { return a.source()["helm"] != nil }

// values returns the values of the main source.
func (a *application) values() tree {
	v, _ := manifest.At(a.source(), "helm", "values").(tree)
	return v
}

// problemAt returns a finding of an import.
func problemAt(pos problem.Pos, subject, found string, hints ...string) problem.Problem {
	hints = slices.DeleteFunc(hints, func(h string) bool { return h == "" })
	return problem.Problem{Reason: problem.NotImported, Severity: problem.Warning, Pos: pos, Subject: subject, Found: found, Hints: hints}
}
