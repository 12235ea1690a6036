package mount

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/team"
)

// entryKeys are the keys that a mount may set for a component. How the component is made and its
// dependencies are the platform's: a dependency could hold up another's removal.
var entryKeys = []string{catalog.KeyEnabled, catalog.KeyChart, catalog.KeyNamespace, catalog.KeyReleaseName, catalog.KeySelector, catalog.KeyValues, keyRepository, "version", "path", team.KeyProject}

const keyRepository = "repoURL"

// catalog checks a catalog file of a level.
func (r *reader) catalog(group string, root *yamldoc.Node) {
	entries := catalog.Entries(root)
	switch {
	case root.IsNull() || root.Get(catalog.ComponentsKey) != nil && root.Get(catalog.ComponentsKey).IsNull():
		return
	case entries == nil:
		r.add(root.Pos(), "a catalog", "is a "+root.Kind.String(), "a map of components")
		return
	case entries != root && len(root.Fields()) > 1:
		r.add(root.Pos(), "a catalog", "has keys beside "+catalog.ComponentsKey, catalog.ComponentsKey+" alone")
	}
	for _, f := range entries.Fields() {
		subject := fmt.Sprintf("component %q of group %q", f.Key, group)
		switch {
		case !r.Owns(group, f.Key):
			r.add(entries.KeyPos(f.Key), subject, "it is not the team's", r.itsOwn())
		case !f.Value.IsMap():
			r.add(f.Value.Pos(), subject, "is a "+f.Value.Kind.String(), "a map")
		default:
			r.entry(subject, f.Value)
		}
	}
}

// entry checks a catalog's entry of a component.
func (r *reader) entry(subject string, e *yamldoc.Node) {
	for _, f := range e.Fields() {
		if !slices.Contains(entryKeys, f.Key) {
			r.add(e.KeyPos(f.Key), fmt.Sprintf("key %q of %s", f.Key, subject), "a mount does not say this", "one of "+strings.Join(entryKeys, ", "), problem.Nearest(f.Key, entryKeys)...)
		}
	}
	chart := e.Get(catalog.KeyChart)
	if chart != nil && !chart.IsMap() && chart.Kind != yamldoc.String {
		r.add(chart.Pos(), "chart of "+subject, "is a "+chart.Kind.String(), "a name, or a map of coordinates")
	}
	for _, f := range chart.Fields() {
		if !slices.Contains(catalog.ChartKeys, f.Key) {
			r.add(chart.KeyPos(f.Key), fmt.Sprintf("key %q of the chart of %s", f.Key, subject), "a mount does not say this", "one of "+strings.Join(catalog.ChartKeys, ", "), problem.Nearest(f.Key, catalog.ChartKeys)...)
		}
	}
	if n := e.Get(team.KeyProject); n != nil && (n.Kind != yamldoc.String || n.Text() != r.team.Component()) {
		r.add(n.Pos(), "project of "+subject, fmt.Sprintf("is %q", n.Text()), fmt.Sprintf("%q, or none", r.team.Component()))
	}
	if n := e.Get(catalog.KeyNamespace); n != nil && (n.Kind != yamldoc.String || !r.team.Claims(n.Text())) {
		r.add(n.Pos(), "namespace of "+subject, fmt.Sprintf("%q is not the team's", n.Text()), "a namespace that the team's file claims, in full")
	}
	for _, n := range []*yamldoc.Node{e.Get(keyRepository), chart.Get(keyRepository)} {
		if n != nil && (n.Kind != yamldoc.String || !r.team.Allows(n.Text())) {
			r.add(n.Pos(), "repository of "+subject, fmt.Sprintf("%q is not one that the team may deploy from", n.Text()), "an address that repositories of the team's file allow, in full")
		}
	}
	for _, n := range []*yamldoc.Node{e.Get("path"), chart.Get("path")} {
		if n != nil && (n.Kind != yamldoc.String || leaves(n.Text())) {
			r.add(n.Pos(), "path of "+subject, fmt.Sprintf("%q leaves the repository", n.Text()), "a folder of it, without templates")
		}
	}
	for _, n := range []*yamldoc.Node{chart, chart.Get("name")} {
		if n != nil && n.Kind == yamldoc.String && leaves(n.Text()) {
			r.add(n.Pos(), "name of the chart of "+subject, fmt.Sprintf("%q leaves the repository", n.Text()), "a chart of it, without templates")
		}
	}
}

// leaves reports whether a path may lead out of the folder that it is in. The result of a template
// is not known, so it may.
func leaves(text string) bool {
	return strings.Contains(text, "..") || strings.HasPrefix(text, "/") || strings.Contains(text, "{{")
}
