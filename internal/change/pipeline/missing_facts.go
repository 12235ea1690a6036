package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// missingFacts warns of templates that read facts of a cluster which the plan was not given. It
// checks changed templates, and all templates of a cluster whose member file changed. With the
// facts, such a template may produce something else.
func missingFacts(base, head *fleetstate.State) []problem.Problem {
	was, is := base.Resolver().Snapshot, head.Resolver().Snapshot
	changed := map[string]bool{}
	for _, path := range snapshot.Changed(was, is) {
		changed[path] = true
	}
	f := factReaders{}
	known := head.Facts().Names()
	for m, c := range head.Clusters() {
		if _, is := slices.BinarySearch(known, m.Name); is || len(c.Broken) > 0 || len(changed) == 0 {
			continue
		}
		all := changed[m.Pos.File]
		b := head.ResolverOf(c)
		for _, name := range slices.Sorted(maps.Keys(c.Groups)) { // the first place found is reported
			g := c.Groups[name]
			for _, component := range g.Components() {
				r, problems := b.ResolveEntry(c, g, component, nil)
				if !r.Known || len(problems) > 0 {
					continue
				}
				for _, l := range g.Catalogs {
					entry := catalog.Entries(l.Root).Get(component)
					if changed[l.Path] && !hierarchy.Equal(entryOf(base.Cluster(m.Hub, m.Name), g.Name, l.Path, component), entry) {
						f.selector(c, entry.Get(catalog.KeySelector))
						f.texts(c, entry)
					} else if r.Enabled && all {
						f.texts(c, entry)
					}
				}
				if !r.Enabled {
					continue
				}
				layers, _ := b.ValueLayers(c, g, component) // the member reports the problems
				for _, l := range layers {
					if file := b.Snapshot.File(l.Path); hierarchy.IsTemplate(l.Path) && file != nil && (all || changed[l.Path]) {
						f.text(c, problem.Pos{File: l.Path}, string(file.Data))
					}
				}
			}
		}
	}
	return f.problems()
}

// entryOf returns the catalog's entry of a component on a cluster. The cluster may be nil.
func entryOf(c *fleetstate.Cluster, group, path, component string) *yamldoc.Node {
	if c == nil || c.Groups[group] == nil {
		return nil
	}
	for _, l := range c.Groups[group].Catalogs {
		if l.Path == path {
			return catalog.Entries(l.Root).Get(component)
		}
	}
	return nil
}

// factReaders holds the files that read missing facts, by path.
type factReaders map[string]*factReader

type factReader struct {
	first           problem.Pos
	facts, clusters []string
}

func (f factReaders) selector(c *fleetstate.Cluster, selector *yamldoc.Node) {
	for _, l := range selector.Get("matchLabels").Fields() {
		f.read(c, selector.Get("matchLabels").KeyPos(l.Key), []string{"labels", l.Key})
	}
	for _, e := range selector.Get("matchExpressions").Items() {
		if key := e.Get("key"); !key.IsNull() {
			f.read(c, key.Pos(), []string{"labels", key.Text()})
		}
	}
}

func (f factReaders) texts(c *fleetstate.Cluster, n *yamldoc.Node) {
	switch {
	case n == nil:
	case n.Kind == yamldoc.String && strings.Contains(n.Text(), "{{"):
		f.text(c, n.Pos(), n.Text())
	default:
		for _, field := range n.Fields() {
			f.texts(c, field.Value)
		}
		for _, item := range n.Items() {
			f.texts(c, item)
		}
	}
}

func (f factReaders) text(c *fleetstate.Cluster, pos problem.Pos, text string) {
	t, err := tmpl.Parse(pos, text)
	if err != nil {
		return // an error of every cluster that reads it
	}
	for _, path := range t.ReadFacts() {
		f.read(c, pos, path)
	}
}

// read records a fact that is read, unless the repository has it.
func (f factReaders) read(c *fleetstate.Cluster, pos problem.Pos, path []string) {
	if len(path) > 0 && path[0] == "metadata" {
		path = path[1:]
	}
	fact := "all facts"
	if len(path) > 0 {
		known, isMap := map[string]map[string]string{"labels": c.Labels.All, "annotations": c.Annotations.All}[path[0]]
		if !isMap && path[0] != "server" {
			return
		}
		if fact = "." + path[0]; isMap && len(path) > 1 {
			if _, is := known[path[1]]; is {
				return
			}
			fact += "." + path[1]
		}
	}
	r := f[pos.File]
	if r == nil {
		r = &factReader{first: pos}
		f[pos.File] = r
	}
	if !slices.Contains(r.facts, fact) {
		r.facts = append(r.facts, fact)
	}
	if !slices.Contains(r.clusters, c.Member.Name) {
		r.clusters = append(r.clusters, c.Member.Name)
	}
}

func (f factReaders) problems() (out []problem.Problem) {
	for path, r := range f {
		slices.Sort(r.facts)
		out = append(out, problem.Problem{
			Reason: problem.MissingFacts, Severity: problem.Warning, Pos: r.first,
			Subject: fmt.Sprintf("%s reads %s", path, planreport.Named(r.facts)), Found: "no facts of " + planreport.Named(r.clusters),
			Hints: []string{"with --facts, these may make something else"},
		})
	}
	return problem.Sorted(out)
}
