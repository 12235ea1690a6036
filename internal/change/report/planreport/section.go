package planreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// change is a line of one cluster. Own is a note that is shown only for a single cluster.
type change struct {
	cluster, own string
	line         planpage.Line
}

// sections groups the changes of one hub: equal changes of several clusters into one line, and
// lines for the same clusters into one section. A change at the level of the system over a thousand
// clusters is one section with one line. Sections for more clusters come first.
func sections(h plan.Hub) (out []planpage.Section) {
	type sharedLine struct {
		line     planpage.Line
		clusters []string
	}
	var lines []sharedLine
	for _, same := range grouped(changes(h), func(c change) string { return key(c.line) }) {
		l := sharedLine{line: same[0].line}
		for _, c := range same {
			l.clusters = append(l.clusters, report.Printable(c.cluster))
		}
		if l.clusters = slices.Compact(l.clusters); len(l.clusters) == 1 && same[0].own != "" {
			l.line.Notes = append(l.line.Notes, same[0].own)
		}
		lines = append(lines, l)
	}
	for _, same := range grouped(lines, func(l sharedLine) string { return strings.Join(l.clusters, " ") }) {
		on := same[0].clusters
		s := planpage.Section{Hub: report.Printable(h.Name), More: max(0, len(on)-maxClusters)}
		for _, c := range on[:len(on)-s.More] {
			s.Clusters = append(s.Clusters, planpage.Link{Name: c})
		}
		for _, l := range same {
			s.Lines = append(s.Lines, l.line)
		}
		slices.SortStableFunc(s.Lines, func(a, b planpage.Line) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Titles[0].Name, b.Titles[0].Name))
		})
		s.Lines = joinTitles(s.Lines)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b planpage.Section) int {
		return cmp.Or(cmp.Compare(len(b.Clusters)+b.More, len(a.Clusters)+a.More), slices.Compare(names(a.Clusters), names(b.Clusters)))
	})
	return out
}

// changes returns all lines of a hub.
func changes(h plan.Hub) (out []change) {
	for _, c := range h.Clusters {
		if c.Action != "" {
			about := ""
			if c.Action == plan.Create {
				about = fleet.Affiliation(c.Tenant, c.Environment)
			}
			out = append(out, change{c.Name, at(c.Position), line(c.Action, "", "cluster", c.Differences, about, why(c.Cause, "", ""))})
		}
		for _, a := range c.Applications {
			l := line(a.Action, "Application", applicationTitle(a), a.Differences, about(a, c.Name), why(a.Cause, a.Detail, a.Deletion), at(a.Position))
			l.Why = strings.Join(notEmpty(held(a.HeldBy), why(a.Cause, "", a.Deletion)), "; ")
			out = append(out, change{cluster: c.Name, line: l})
		}
	}
	for _, o := range h.Objects {
		cluster := cmp.Or(o.Cluster, h.Name)
		out = append(out, change{cluster: cluster, line: objectLine(o, cluster)})
	}
	for _, a := range h.Secrets {
		out = append(out, change{cluster: a.Cluster, line: secretLine(a)})
	}
	return out
}

// grouped groups elements by key, in the order in which they first appear. An element without a key
// is its own group.
func grouped[T any](all []T, key func(T) string) (out [][]T) {
	at := map[string]int{}
	for _, x := range all {
		k := key(x)
		i, ok := at[k]
		if !ok || k == "" {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], x)
	}
	return out
}

// joinTitles merges lines with the same differences into one line, and shortens long values.
func joinTitles(lines []planpage.Line) (out []planpage.Line) {
	for _, same := range grouped(lines, func(l planpage.Line) string {
		if len(l.Fields) == 0 {
			return ""
		}
		l.Titles = nil
		return key(l)
	}) {
		for _, l := range same[1:] {
			same[0].Titles = append(same[0].Titles, l.Titles...)
		}
		for i := range same[0].Fields {
			shorten(&same[0].Fields[i])
		}
		out = append(out, same[0])
	}
	return out
}

// shorten reduces long values to the part that differs.
func shorten(f *planpage.Field) {
	none := &planpage.Side{}
	old, updated := cmp.Or(f.Before, none), cmp.Or(f.After, none)
	a, b := report.Pair(old.Text, updated.Text)
	old.Text, updated.Text = report.Printable(a), report.Printable(b)
}

// rank puts a cluster's own change first, then its Applications' changes, and its secrets last.
func rank(l planpage.Line) int {
	switch l.Unit {
	case access:
		return 2
	case "":
		return 0
	}
	return 1
}

// key returns the same text for equal lines.
func key(l planpage.Line) string {
	text, _ := json.Marshal(l) // of texts and numbers
	return string(text)
}

// line returns a change with the notes that are not empty.
func line(action plan.Action, unit, title string, differences []plan.Difference, notes ...string) planpage.Line {
	l := planpage.Line{Action: string(action), Unit: unit, Titles: []planpage.Link{{Name: report.Printable(title)}}, Notes: notEmpty(notes...), Fields: []planpage.Field{}}
	for _, d := range differences {
		name := d.Name
		if d.Kind == plan.Label || d.Kind == plan.Annotation { // values and settings speak for themselves
			name = string(d.Kind) + " " + name
		}
		l.Fields = append(l.Fields, planpage.Field{Name: report.Printable(name), Before: side(d.Old, d.Kind), After: side(d.New, d.Kind), Caused: d.Kind == plan.Field})
	}
	return l
}

// side converts one side of a difference: to JSON for the chart's values, where types matter.
func side(s *plan.Side, kind plan.Kind) *planpage.Side {
	if s == nil {
		return nil
	}
	text, ok := s.Value.(string)
	if !ok || kind == plan.Value {
		text = report.JSON(s.Value)
	}
	return &planpage.Side{Text: text, Position: s.Position}
}

func notEmpty(notes ...string) []string {
	return printable("", slices.DeleteFunc(notes, func(n string) bool { return n == "" }))
}

// at formats a place as a note.
func at(p problem.Pos) string {
	if p.IsZero() {
		return ""
	}
	return "(" + p.String() + ")"
}

// applicationTitle returns an Application's name for people, as explain takes it where it can.
func applicationTitle(a plan.Application) string {
	switch a.View {
	case query.Components, query.Members:
		return a.Group + "/" + a.Component
	case query.Agents:
		return "agent"
	}
	return a.Name
}

// about returns notes about an Application besides its differences.
func about(a plan.Application, cluster string) string {
	var parts []string
	if a.Action == plan.Create && a.Chart != "" {
		parts = append(parts, strings.TrimSpace(a.Chart+" "+a.Version))
	}
	if a.Action == plan.Change && len(a.Differences) == 0 {
		parts = append(parts, "with its cluster")
	}
	parts = append(parts, notEmpty(held(a.HeldBy))...)
	if len(a.WaitsFor) > 0 {
		parts = append(parts, "waits for "+Named(a.WaitsFor))
	}
	if n := len(a.Clusters); n > 0 && (n > 1 || a.Clusters[0] != cluster) {
		parts = append(parts, fmt.Sprintf("for %s: %s", report.Count(n, "cluster"), Named(a.Clusters)))
	}
	if a.RenamedFrom != "" {
		parts = append(parts, "renamed from "+other(a, a.RenamedFrom, cluster))
	}
	if a.RenamedTo != "" {
		parts = append(parts, "renamed to "+other(a, a.RenamedTo, cluster))
	}
	switch {
	case a.Owner == fleet.OwnerHub:
	case a.Owner == cluster:
		parts = append(parts, "by the cluster's own "+a.Engine)
	default:
		parts = append(parts, "by "+a.Engine+" of "+a.Owner)
	}
	return strings.Join(parts, ", ")
}

// held says that a hold keeps something as it is; empty without one.
func held(by string) string {
	if by == "" {
		return ""
	}
	return "held by " + by
}

// other returns the title of another Application of the same cluster and group, as applicationTitle
// returns it: equal on all clusters.
func other(a plan.Application, name, cluster string) string {
	if component, ok := strings.CutSuffix(name, "-"+cluster); ok { // the usual name, unless cut
		return a.Group + "/" + component
	}
	return name
}

// why formats a removal's cause, with what becomes of the workloads; empty without a cause.
func why(cause plan.Cause, detail, deletion string) string {
	out := string(cause)
	switch {
	case detail != "":
		out += ": " + detail
	case cause == plan.Lost:
		out += ": its files are gone"
	}
	switch {
	case cause == "":
	case deletion == fleet.Cascade:
		out += "; what runs is removed"
	case deletion == fleet.Orphan:
		out += "; what runs stays"
	}
	return out
}

// objectLine formats an object as a line of the cluster that it is shown for.
func objectLine(o plan.Object, cluster string) planpage.Line {
	by := cmp.Or(strings.TrimSuffix(o.From, "-"+cluster), "hand")
	name := strings.TrimSuffix(o.Name, "-"+cluster)
	var about, left, position string
	switch {
	case o.Left:
		left = "left behind: nothing generates it any more, and nothing removes it"
		about = left
	case o.Action == plan.Create:
		about = "by " + by
	case o.Action == plan.Remove:
		about = "was made by " + by
	}
	if o.Action != plan.Change {
		position = at(o.Position)
	}
	if o.Owner != fleet.OwnerHub && o.Owner != cluster {
		about = strings.TrimPrefix(about+", on "+o.Owner, ", ")
	}
	l := line(o.Action, "object", o.Kind+" "+name, o.Differences, held(o.HeldBy), about, position)
	l.Why, l.More = left, o.More
	return l
}
