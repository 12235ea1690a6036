package web

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// changes is the model of the page that shows the changes between two revisions.
type changes struct {
	overview.Step
	overview.Selection
	Plan planpage.Plan `json:"-"`
}

// maxSections bounds what the page shows.
const maxSections = 300

func plan(q *request) (any, string, error) {
	step, err := q.site.history.Step(q.bearer, q.filter(), q.Get("base"), q.Get("head"))
	m := changes{Step: step, Selection: q.index.Select(q.bearer, q.filter())}
	m.Plan = q.planPage(step)
	return m, "What changed", err
}

func timeline(q *request) (any, string, error) {
	title := "Timeline"
	if name := q.Get("cluster"); name != "" {
		title = "Timeline of " + name
		if _, err := access.FindCluster(q.state, q.bearer, q.Get("hub"), name); err != nil {
			return nil, "", err
		}
	}
	return q.site.history.Timeline(q.index, q.bearer, q.filter(), q.Get("cluster")), title, nil
}

// planPage groups clusters that change in the same way.
func (q *request) planPage(step overview.Step) planpage.Plan {
	p := planpage.Plan{Base: shortRevision(step.Base), Head: shortRevision(step.Head), Sections: []planpage.Section{}}
	counts := map[string]int{}
	at := map[string]int{}
	for _, c := range step.Clusters {
		lines := q.lines(step, c)
		for _, l := range lines {
			counts[l.Action]++
		}
		key, _ := json.Marshal(lines) // of texts and numbers
		i, ok := at[c.Hub+string(key)]
		if !ok {
			if i = len(p.Sections); i == maxSections {
				continue
			}
			at[c.Hub+string(key)] = i
			p.Sections = append(p.Sections, planpage.Section{Hub: c.Hub, Lines: lines})
		}
		s := &p.Sections[i]
		link := planpage.Link{Name: c.Name}
		if q.state.Cluster(c.Hub, c.Name) != nil { // else it no longer has a page
			link.URL = "/cluster" + query("hub", c.Hub, "cluster", c.Name)
		}
		s.Clusters = append(s.Clusters, link)
		if len(s.Clusters) == 2 { // what is equal on several leads to the component
			for j := range s.Lines {
				for k := range s.Lines[j].Titles {
					if group, name, ok := strings.Cut(s.Lines[j].Titles[k].Name, "/"); ok {
						s.Lines[j].Titles[k].URL = "/component" + query("group", group, "component", name)
					}
				}
			}
		}
	}
	for _, c := range []planpage.Count{{Action: planpage.Create, What: "created"}, {Action: planpage.Change, What: "changed"}, {Action: planpage.Remove, What: "removed"}} {
		if c.Number = counts[c.Action]; c.Number > 0 {
			p.Counts = append(p.Counts, c)
		}
	}
	p.Summary = planpage.Plural(len(step.Clusters), "cluster") + " changed"
	warn := func(is bool, format string, args ...any) {
		if is {
			p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
		}
	}
	warn(step.Others > 0, "%s more changed, beyond what is remembered of one commit", planpage.Plural(step.Others, "cluster"))
	warn(step.Unlooked > 0, "the versions of %s were compared, and not their values: argosy plan shows all", planpage.Plural(step.Unlooked, "further cluster"))
	warn(step.Unseen, "the service did not look at all revisions in between, so changes are missing here: argosy plan shows all")
	warn(step.Trimmed, "details of some commits are forgotten: argosy plan shows all")
	warn(len(p.Sections) == maxSections, "the first %d sections are shown; the JSON has all", maxSections)
	return p
}

// lines returns the changes of one cluster.
func (q *request) lines(step overview.Step, c overview.ChangedCluster) (out []planpage.Line) {
	if c.Action != "" {
		out = append(out, planpage.Line{Action: c.Action, Titles: []planpage.Link{{Name: "cluster"}}, Notes: []string{fleet.Affiliation(c.Tenant, c.Environment)}})
	}
	for _, ch := range c.Components {
		l := planpage.Line{
			Action: planpage.Change, More: ch.More,
			Titles: []planpage.Link{{Name: ch.Group + "/" + ch.Name, URL: "/why" + query("hub", c.Hub, "cluster", c.Name, "group", ch.Group, "component", ch.Name)}},
		}
		switch {
		case !ch.Before.Deployed():
			l.Action = planpage.Create
			l.Notes = []string{strings.TrimSpace("version " + ch.After.Version)}
		case !ch.After.Deployed():
			l.Action = planpage.Remove
			l.Notes = []string{removedBecause(ch.After.State)}
		default:
			if ch.Before.Version != ch.After.Version {
				l.Fields = append(l.Fields, planpage.Field{Name: "version", Before: &planpage.Side{Text: ch.Before.Version}, After: &planpage.Side{Text: ch.After.Version}})
			}
			if ch.Before.Release != ch.After.Release {
				l.Fields = append(l.Fields, planpage.Field{Name: "release", Before: &planpage.Side{Text: ch.Before.Release}, After: &planpage.Side{Text: ch.After.Release}})
			}
		}
		for _, v := range ch.Values {
			l.Fields = append(l.Fields, planpage.Field{Name: v.Path, Before: q.side(v.Before, step.Base), After: q.side(v.After, step.Head)})
		}
		if q.state.Cluster(c.Hub, c.Name) == nil {
			l.Titles[0].URL = "" // the page no longer exists
		}
		out = append(out, l)
	}
	return out
}

// removedBecause says why a component is no longer wanted.
func removedBecause(state string) string {
	switch state {
	case explain.SwitchedOff:
		return "switched off"
	case explain.NotSelected:
		return "its selector does not match the cluster any more"
	case explain.Retired:
		return "the member is retired"
	case overview.Unknown:
		return "it cannot be computed"
	}
	return "no catalog has it any more"
}

func (q *request) side(v *overview.PlacedValue, revision string) *planpage.Side {
	if v == nil {
		return nil
	}
	text, _ := v.Value.(string)
	return &planpage.Side{Text: text, Position: v.Position, URL: q.site.source.of(v.Position, revision)}
}
