package planreport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/report"
)

// section is everything that changes alike on a set of clusters. A change at the level of the
// system over a thousand clusters is one section with one line.
type section struct {
	clusters []string
	lines    []planLine
}

// planLine is one change, the same for all clusters of its section.
type planLine struct {
	action   plan.Action
	cause    plan.Cause
	detail   string
	deletion string
	position string
	// own is the position where it is another one for each cluster: shown for one alone.
	own string
	// titles are what changes: GROUP/COMPONENT, or an Application's or a cluster's name. There are
	// several when they have the same differences.
	titles      []string
	about       string
	differences []plan.Difference
	more        int  // further differences
	secret      bool // an access to a secret, which is no Application
	object      bool // an object beside Applications
	left        bool // which nothing removes
}

// clusterTitle stands for a cluster itself; no Application's title is without a slash or hyphen but
// "agent".
const clusterTitle = "cluster"

// sections groups the changes of one hub: the same ones of several clusters into one line, and
// lines for the same clusters into one section. Sections for more clusters come first.
func sections(h plan.Hub) []section {
	type group struct {
		line     planLine
		clusters []string
	}
	groups := map[string]*group{}
	var order []*group
	add := func(line planLine, cluster string) {
		key := line.key(true)
		g := groups[key]
		if g == nil {
			g = &group{line: line}
			groups[key] = g
			order = append(order, g)
		}
		if n := len(g.clusters); n == 0 || g.clusters[n-1] != cluster {
			g.clusters = append(g.clusters, cluster)
		}
	}
	for _, c := range h.Clusters {
		for _, line := range planLines(c) {
			add(line, c.Name)
		}
	}
	lines, clusters := objectLines(h)
	for i, line := range lines {
		add(line, clusters[i])
	}
	for _, a := range h.Secrets {
		add(secretLine(a), a.Cluster)
	}
	byClusters := map[string]int{}
	var out []section
	for _, g := range order {
		if len(g.clusters) == 1 {
			g.line.position = cmp.Or(g.line.position, g.line.own)
		}
		key := strings.Join(g.clusters, " ")
		i, ok := byClusters[key]
		if !ok {
			i = len(out)
			byClusters[key] = i
			out = append(out, section{clusters: g.clusters})
		}
		out[i].lines = append(out[i].lines, g.line)
	}
	for i := range out {
		slices.SortStableFunc(out[i].lines, func(a, b planLine) int {
			return cmp.Or(cmp.Compare(a.rank(), b.rank()), strings.Compare(a.titles[0], b.titles[0]))
		})
		out[i].lines = joinTitles(out[i].lines)
	}
	slices.SortStableFunc(out, func(a, b section) int {
		return cmp.Or(cmp.Compare(len(b.clusters), len(a.clusters)), slices.Compare(a.clusters, b.clusters))
	})
	return out
}

// joinTitles makes lines with the same differences one line.
func joinTitles(lines []planLine) []planLine {
	seen := map[string]int{}
	var out []planLine
	for _, l := range lines {
		if len(l.differences) == 0 {
			out = append(out, l)
			continue
		}
		key := l.key(false)
		if i, ok := seen[key]; ok {
			out[i].titles = append(out[i].titles, l.titles...)
			continue
		}
		seen[key] = len(out)
		out = append(out, l)
	}
	return out
}

// rank puts a cluster's own change first, then those of its Applications, and its secrets last.
func (l planLine) rank() int {
	switch {
	case l.secret:
		return 2
	case l.titles[0] == clusterTitle:
		return 0
	}
	return 1
}

// key is the same for lines that say the same.
func (l planLine) key(titles bool) string {
	parts := []any{l.action, l.cause, l.detail, l.deletion, l.position, l.about, l.differences, l.more}
	if titles {
		parts = append(parts, l.titles)
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return fmt.Sprintf("%v", parts) // with pointers: like nothing else. (YAML holds nothing that JSON cannot.)
	}
	return string(text)
}

// planLines are a cluster's changes, its own first.
func planLines(c plan.Cluster) []planLine {
	var out []planLine
	if c.Action != "" {
		l := planLine{action: c.Action, cause: c.Cause, own: c.Position.String(), titles: []string{clusterTitle}, differences: c.Differences}
		if c.Action == plan.Create {
			l.about = fleet.Affiliation(c.Tenant, c.Environment)
		}
		out = append(out, l)
	}
	for _, a := range c.Applications {
		out = append(out, planLine{
			action: a.Action, cause: a.Cause, detail: a.Detail, deletion: a.Deletion, position: a.Position.String(), titles: []string{applicationTitle(a)}, about: about(a, c.Name),
			differences: a.Differences,
		})
	}
	return out
}

// applicationTitle is an Application's name for people: as explain takes it where it can.
func applicationTitle(a plan.Application) string {
	switch a.View {
	case query.Components, query.Members:
		return a.Group + "/" + a.Component
	case query.Agents:
		return "agent"
	}
	return a.Name
}

// about is what is worth knowing of an Application besides its differences.
func about(a plan.Application, cluster string) string {
	var parts []string
	if a.Action == plan.Create && a.Chart != "" {
		parts = append(parts, strings.TrimSpace(a.Chart+" "+a.Version))
	}
	if a.Action == plan.Change && len(a.Differences) == 0 {
		parts = append(parts, "with its cluster")
	}
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

// other is another Application of the cluster and the group, as applicationTitle has it: alike on
// all clusters.
func other(a plan.Application, name, cluster string) string {
	if component, ok := strings.CutSuffix(name, "-"+cluster); ok { // rule N1, unless it is cut
		return a.Group + "/" + component
	}
	return name
}

// Named lists the first names, and says how many more there are: "a, b and 3 more".
func Named(names []string) string {
	if len(names) <= maxNames+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}

// why is a removal's cause in words, with what becomes of what runs.
func (l planLine) why() string {
	out := string(l.cause)
	switch {
	case l.detail == "" && l.cause == plan.Lost:
		out += ": its files are gone"
	case l.detail != "":
		out += ": " + l.detail
	}
	switch l.deletion {
	case fleet.Cascade:
		out += "; what runs is removed"
	case fleet.Orphan:
		out += "; what runs stays"
	}
	return out
}

// objectLines are a hub's objects as lines, by the cluster that they are shown for.
func objectLines(h plan.Hub) (lines []planLine, clusters []string) {
	for _, o := range h.Objects {
		by := cmp.Or(strings.TrimSuffix(o.From, "-"+cmp.Or(o.Cluster, h.Name)), "hand")
		name, cluster := o.Name, cmp.Or(o.Cluster, h.Name)
		if short, ok := strings.CutSuffix(name, "-"+cluster); ok {
			name = short
		}
		l := planLine{action: o.Action, titles: []string{o.Kind + " " + name}, differences: o.Differences, more: o.More, object: true, left: o.Left}
		switch {
		case o.Left:
			l.about = "left behind: nobody makes it any more, and nothing removes it"
		case o.Action == plan.Create:
			l.about = "by " + by
		case o.Action == plan.Remove:
			l.about = "was made by " + by
		}
		if o.Action != plan.Change {
			l.position = o.Position.String()
		}
		if o.Owner != fleet.OwnerHub && o.Owner != cluster {
			l.about = strings.TrimPrefix(l.about+", on "+o.Owner, ", ")
		}
		lines, clusters = append(lines, l), append(clusters, cluster)
	}
	return lines, clusters
}
