package expand

import (
	"cmp"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// unrendered is a chart that is not rendered, with the name that it has in any version and
// repository, and what an Application gives it. entry is a kustomization's, or a Chart.yaml.
type unrendered struct {
	*source.Chart
	entryName string
	entry     *yamldoc.Node
}

// unrendered returns an Application's charts that are not rendered, or lack dependencies. In a
// fleet, only charts of kustomizations count: the resolver knows all other values.
func (h *Hub) unrendered(o *object.Object, parts []part) (out []unrendered) {
	if h.Renders() || !o.Application() {
		return nil
	}
	for _, p := range parts {
		if p.err == nil && p.chart != nil && p.folder != nil && h.o.HasNoFleet {
			if wanted, err := source.Dependencies(p.chart.Files); err != nil || len(wanted) > 0 {
				out = append(out, withOwnValues(*p.chart, p.folder))
			}
		}
		if p.built == nil || p.err != nil {
			continue
		}
		charts, _ := h.o.Tools.Kustomizations.Charts(h.kustomization(p.source, p.folder)) // parts reports errors
		for _, x := range charts {
			c, err := h.kustomizationChart(p.folder.Snapshot, x)
			switch {
			case err != nil:
				h.reportUnmade(o, p.source, err)
			case c.Files == nil:
				out = append(out, unrendered{c, "helmCharts." + c.Name, entryOf(p.folder.Snapshot.File(x.File), x.Index)})
			}
		}
	}
	if !h.o.HasNoFleet {
		return out
	}
	for _, s := range o.Sources() {
		if snap, missing := h.local(s); snap != nil || missing != "" || s.Chart+s.Path == "" || s.Err != nil {
			continue
		}
		if c, err := h.chart(o, s, nil); err != nil {
			h.reportUnmade(o, s, err)
		} else {
			c.Name = cmp.Or(s.Chart, s.Path)
			if slices.ContainsFunc(out, func(x unrendered) bool { return x.Name == c.Name }) {
				c.Name += "-" + c.ReleaseName
			}
			out = append(out, unrendered{Chart: c})
		}
	}
	return out
}

// withOwnValues returns a chart of the repository that lacks dependencies. Its own values count.
func withOwnValues(c source.Chart, dir *source.Folder) unrendered {
	c.Name = path.Base(dir.Dir)
	if f := dir.Snapshot.File(path.Join(dir.Dir, "values.yaml")); f != nil && f.Err == nil {
		c.Own, c.Values = slices.Insert(slices.Clone(c.Own), 0, f), slices.Insert(slices.Clone(c.Values), 0, source.Values{Text: string(f.Data), Path: f.Path})
	}
	f := dir.Snapshot.File(path.Join(dir.Dir, "Chart.yaml"))
	doc, err := yamldoc.ParseLenient(f.Path, f.Data, nil)
	if err != nil {
		return unrendered{Chart: &c}
	}
	return unrendered{&c, "chart", doc.Root}
}

// ChartValues returns the values that an Application gives to each chart that is not rendered, by
// the chart's name and merged as Helm does. They have their places; ones that the Application
// itself holds have none. A chart without values has nil. One with values that cannot be read is
// left out, and reported.
func (h *Hub) ChartValues(o *object.Object) map[string]*yamldoc.Node {
	out := map[string]*yamldoc.Node{}
	for _, c := range h.unrendered(o, h.parts(o)) {
		tree, broken := (*hierarchy.Tree)(nil), []problem.Problem(nil)
		for _, v := range c.Values {
			doc, err := yamldoc.ParseLenient(v.Path, []byte(v.Text), nil)
			if err != nil {
				broken = append(broken, problem.From(err, problem.InvalidYAML, problem.Pos{File: v.Path})...)
				continue
			}
			l := hierarchy.Layer{Path: v.Path, Root: doc.Root}
			if p, isNot := hierarchy.NotMap(l); isNot {
				broken = append(broken, p)
				continue
			}
			tree = tree.With(l, nil)
		}
		for _, p := range broken {
			h.reportAt(o, p.Pos, problem.Error, problem.Problem{Found: p.Found, Expected: p.Expected}.Message())
		}
		if c.entry != nil {
			out[c.entryName] = c.entry
		}
		if broken == nil {
			out[c.Name] = nil
			if tree != nil {
				out[c.Name] = tree.Root
			}
		}
	}
	return out
}

// entryOf returns one of a kustomization's helmCharts.
func entryOf(f *snapshot.File, i int) *yamldoc.Node {
	doc, err := yamldoc.ParseLenient(f.Path, f.Data, nil)
	if err != nil {
		return nil
	}
	all := cmp.Or(doc.Root.Get("helmCharts"), doc.Root.Get("helmChartInflationGenerator")) // its older name
	if all == nil || i >= len(all.Items()) {
		return nil
	}
	return all.Items()[i]
}

// changesValues reports whether an Application gives other values to charts that are not rendered.
func (c *comparison) changesValues(b, a *object.Object, before, after []part) bool {
	sameFiles := func(x, y unrendered) bool {
		return hierarchy.Equal(x.entry, y.entry) && slices.EqualFunc(x.Own, y.Own, func(x, y *snapshot.File) bool { return x.Path == y.Path && x.Digest == y.Digest })
	}
	if slices.EqualFunc(c.before.unrendered(b, before), c.after.unrendered(a, after), sameFiles) {
		return false
	}
	old, updated := c.before.ChartValues(b), c.after.ChartValues(a)
	for name, values := range updated {
		if was, known := old[name]; known && !hierarchy.Equal(was, values) {
			return true
		}
	}
	return false
}
