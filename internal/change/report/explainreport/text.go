// Package explainreport writes explanations as text.
package explainreport

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// printer writes an explanation as text.
type printer struct{ *report.Printer }

// Write writes an explanation as text: the component, its layers, and each value with the place
// that set it and the places that it overrode. An explanation of one path shows only the values.
func Write(w io.Writer, e explain.Explanation, s report.Style) error {
	p := printer{report.NewPrinter(w, s)}
	p.Line("%s", p.Bold(fmt.Sprintf("%s/%s on %s", e.Group, e.Component, e.Cluster)))
	if e.Path != "" {
		p.values(e.Values)
		return p.Err
	}
	p.head(e)
	p.Line("")
	p.layers(e)
	p.Line("")
	switch {
	case len(e.Values) > 0:
		p.Line("%s", p.Bold("values"))
		p.values(e.Values)
	case isManifests(e):
		p.Line("%s: none; manifests are applied as they are", p.Bold("values"))
	default:
		p.Line("%s: none; the chart's own values.yaml applies", p.Bold("values"))
	}
	if len(e.Conflicts) > 0 {
		p.Line("")
		p.Line("%s", p.Bold("conflicts"))
		for _, f := range e.Conflicts {
			p.Finding(f)
		}
	}
	return p.Err
}

func (p printer) head(e explain.Explanation) {
	p.field("cluster", e.Cluster+", "+fleet.Affiliation(e.Tenant, e.Environment), e.Member.String())
	p.field("hub", e.Hub, "")
	p.field("state", p.state(e), "")
	switch e.Deletion {
	case fleet.Cascade:
		p.field("deletion", "cascade: what still runs of it is removed", "")
	case fleet.Orphan:
		p.field("deletion", "orphan: what still runs of it stays", "")
	}
	owner := fmt.Sprintf("the hub's %s (%s)", e.Engine, e.Model)
	if e.Owner == e.Cluster {
		owner = fmt.Sprintf("the cluster's own %s (%s)", e.Engine, e.Model)
	}
	p.field("owner", owner, "")
	p.field("release", e.Release.Type, releaseText(e.Release))
	if s := e.Release.Source; s != nil {
		p.setting("  repoURL", s.RepoURL)
		p.setting("  path", s.Path)
		p.setting("  chart", s.Chart)
		p.setting("  revision", s.TargetRevision)
		if e.Release.Catalog != "" && s.TargetRevision != nil {
			p.catalog(e.Release, fmt.Sprint(s.TargetRevision.Value))
		}
	}
	if len(e.Catalog) == 0 {
		return // the registration chart
	}
	p.setting("enabled", e.Enabled)
	p.setting("selector", e.Selector)
	for _, l := range e.SelectorLabels {
		value := "absent"
		if l.Value != nil {
			value = *l.Value
		}
		p.field("  label", l.Key+" = "+value, l.Position.String())
	}
	if isManifests(e) {
		p.setting("kind", e.Source)
	}
	p.setting("chart", e.Chart.Name)
	p.setting("path", e.Chart.Path)
	p.setting("repoURL", e.Chart.RepoURL)
	p.setting("version", e.Chart.Version)
	p.setting("namespace", e.Namespace)
	p.setting("releaseName", e.ReleaseName)
	p.setting("dependsOn", e.DependsOn)
	p.setting("substitute", e.Substitute)
}

// catalog prints which catalog is shown, and why if it is not the catalog of the release's
// revision.
func (p printer) catalog(r explain.ReleaseChoice, revision string) {
	here := r.Catalog + " as it is here"
	switch {
	case catalog.IsOfOwnChart(r.Catalog):
		p.field("  catalog", r.Catalog, "")
	case r.CatalogMissing != "":
		p.field("  catalog", p.Yellow(here+", not as the release has it: "+r.CatalogMissing), "")
		p.Line("      hint: git fetch origin %[1]s:refs/remotes/origin/%[1]s, or --revision %[1]s=REV takes another revision for it", revision)
	case r.Unlisted:
		p.field("  catalog", p.Yellow(fmt.Sprintf("%s; the catalog of %s (%.7s) has no such component", here, revision, r.CatalogRevision)), "")
	case r.CatalogRevision != "":
		p.field("  catalog", fmt.Sprintf("%s (%s)", r.Catalog, revision), "")
	default:
		p.field("  catalog", fmt.Sprintf("%s; the release has the one of %s", here, revision), "")
	}
}

// isManifests reports whether the component is a folder of manifests, not a chart.
func isManifests(e explain.Explanation) bool {
	return e.Source != nil && e.Source.Value == catalog.KindManifests
}

func (p printer) state(e explain.Explanation) string {
	switch e.State {
	case explain.Deployed:
		return p.Green("deployed")
	case explain.SwitchedOff:
		return p.Yellow("switched off:") + " no level says enabled: true, or a later one says false"
	case explain.NotSelected:
		if len(e.Catalog) == 0 {
			return p.Yellow("not selected:") + " a hub does not register itself"
		}
		return p.Yellow("not selected:") + " the cluster's labels do not match the selector"
	case explain.NotRegistered:
		return p.Yellow("not registered:") + " the hub has no cluster Secret for it yet"
	case explain.NotListed:
		return p.Yellow("not listed:") + " the catalog of its release does not have it, so no ApplicationSet asks for it, unless one is left from before"
	case explain.NotRequested:
		return p.Yellow("not requested:") + fmt.Sprintf(" no ApplicationSet of hub %s queries for its group", e.Hub)
	case explain.Unknown:
		return p.Yellow("unknown:") + " it is in the catalog of its release's chart alone, which is neither in the repository nor a chart of this program"
	case explain.Retired:
		return p.Yellow("retired:") + " the member file says lifecycle: retired"
	}
	return e.State
}

func releaseText(r explain.ReleaseChoice) string {
	switch {
	case !r.Position.IsZero():
		return "label " + r.Label + ", " + r.Position.String()
	case r.Labelled:
		return "label " + r.Label + " of the cluster Secret"
	}
	return "no label " + r.Label
}

// field prints one line of the head: a name, a value, and where it comes from.
func (p printer) field(name, value, from string) {
	if from != "" {
		from = "  " + p.Dim("("+from+")")
	}
	p.Line("  %-12s %s%s", name, value, from)
}

func (p printer) setting(name string, s *explain.Setting) {
	if s == nil {
		return
	}
	from := "default"
	if s.Level != "" {
		from = place(s.Level, s.Position)
	}
	value, isText := s.Value.(string)
	if !isText {
		value = report.Value(s.Value)
	}
	p.field(name, value, from)
	p.over("      ", s.Over)
}

func place(level string, pos problem.Pos) string {
	return strings.TrimSpace(level + " " + pos.String())
}

func (p printer) over(indent string, over []explain.Overridden) {
	for _, o := range over {
		p.Line("%s%s", indent, p.Dim(fmt.Sprintf("over %s = %s", place(o.Level, o.Position), report.Value(o.Value))))
	}
}

func (p printer) layers(e explain.Explanation) {
	p.Line("%s (least specific first, the later wins)", p.Bold("layers"))
	level, path := 0, 0
	for _, l := range append(append([]explain.Layer{}, e.Catalog...), e.Layers...) {
		level, path = max(level, utf8.RuneCountInString(l.Level)), max(path, utf8.RuneCountInString(l.Path))
	}
	row := func(l explain.Layer, state string) { p.Line("  %-*s  %-*s  %s", level, l.Level, path, l.Path, state) }
	for _, l := range e.Catalog {
		row(l, p.Dim("catalog entry"))
	}
	for _, l := range e.Layers {
		switch {
		case !l.Present:
			row(l, p.Dim("missing"))
		case slices.Contains(e.Catalog, l):
			row(l, p.Green("present")+" (the entry's values)")
		default:
			row(l, p.Green("present"))
		}
	}
}

func (p printer) values(values []explain.Value) {
	for _, v := range values {
		p.Line("  %s = %s", p.Cyan(v.Path), report.Value(v.Value))
		p.Line("      from %s", place(v.Level, v.Position))
		p.over("      ", v.Over)
	}
}
