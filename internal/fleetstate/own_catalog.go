package fleetstate

import (
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// decided are the catalogs by which the fleet decides, whatever the chart of a release has: the
// fleet's own, then the levels'.
func (b *Resolver) decided(g *Group) []hierarchy.Layer {
	if g.Name == team.Workloads { // whose apps are in no chart
		return g.Catalogs
	}
	levels := g.Catalogs[len(g.Catalogs.OfLayout()):]
	return append(b.ownCatalogs(g.Name, g.Release.Source.Path), levels...)
}

// ofOwnChart is the catalog that a group's release brings, where this program has the chart and the
// layout names no catalog in its place.
func (b *Resolver) ofOwnChart(g *Group) (hierarchy.Layer, bool) {
	if group := b.Fleet.Layout.Groups[g.Name]; len(group.Catalogs) > 0 && !group.OwnCatalogs {
		return hierarchy.Layer{}, false
	}
	return catalog.OfOwnChart(g.Release.Source, g.Name)
}

// ownCatalogs are a group's catalogs that are not in the folder of a release's chart.
func (b *Resolver) ownCatalogs(group, chart string) (own []hierarchy.Layer) {
	if !b.Fleet.Layout.Groups[group].OwnCatalogs {
		return nil
	}
	for _, l := range b.Catalogs[group] {
		if chart == "" || !strings.HasPrefix(l.Path, strings.Trim(chart, "/")+"/") {
			own = append(own, l)
		}
	}
	return own
}

// OwnEntry is a component's entry in the fleet's own catalogs, those that the layout lists beside
// the one in the chart's folder. The releases view hands it to the chart, which has no entry of it.
// It is an empty map where there is none.
func (b *Resolver) OwnEntry(group, component, chart string) map[string]any {
	out := map[string]any{}
	own := b.ownCatalogs(group, chart)
	if group == team.Group && b.teams.Has(component) { // no chart has an entry of it
		own, component = b.Catalogs[group], team.MemberEntry
	}
	entries, values := b.memo.EntryLayers(own, component)
	if len(entries) == 0 {
		return out
	}
	if entry, ok := b.memo.Merge(entries, nil, "").Root.AnyAsWritten().(map[string]any); ok {
		out = entry
	}
	delete(out, catalog.KeyFolder)
	if group == team.Workloads {
		delete(out, team.KeyTeam)
		out[team.KeyProject] = b.apps.Project(component)
	}
	if len(values) > 0 {
		out[catalog.KeyValues] = b.memo.Merge(values, nil, "").Root.Any()
	}
	return out
}
