package planreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/report"
)

// loud are the first lines of a report: what Argo CD removes, and which members the plan lacks.
func (p Plan) loud() []string {
	var out []string
	if removed := p.removed(); removed != "" {
		out = append(out, removed)
	}
	if !p.Incomplete() {
		return out
	}
	var names []string
	for _, b := range p.Broken {
		if !slices.Contains(names, b.Cluster) {
			names = append(names, b.Cluster)
		}
	}
	if len(names) == 0 {
		return append(out, "incomplete: there are errors")
	}
	return append(out, fmt.Sprintf("incomplete: %s cannot be computed: %s", report.Count(len(names), "cluster"), Named(names)))
}

// removed names the removed Applications and counts them. The lost ones come first, and those of a
// removed cluster are named by the cluster.
func (p Plan) removed() string {
	var names []string
	all := 0
	for _, cause := range []plan.Cause{plan.Lost, plan.Disabled, plan.Retired, plan.Moved} {
		for _, h := range p.Hubs {
			for _, c := range h.Clusters {
				n := 0
				for _, a := range c.Applications {
					if a.Cause != cause || a.RenamedTo != "" {
						continue
					}
					n++
					if c.Action != plan.Remove {
						names = append(names, a.Name+" ("+string(cause)+")")
					}
				}
				all += n
				if c.Action == plan.Remove && n > 0 {
					names = append(names, fmt.Sprintf("all %d of cluster %s (%s)", n, c.Name, cause))
				}
			}
		}
	}
	for _, h := range p.Hubs {
		for _, o := range h.Objects {
			if o.Action == plan.Remove && !o.Left && (o.Kind == "Application" || o.Kind == "ApplicationSet") {
				names = append(names, o.Name+" ("+o.Kind+")")
				all++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("removes %d: %s", all, Named(names))
}

// notKnown are the lines about what the plan lacks: broken members, errors, and objects that it
// does not follow. Objects with the same reason share a line.
func (p Plan) notKnown() []string {
	out := append(p.broken(), p.errors()...)
	warned := map[string][]string{}
	hints, begins := map[string][]string{}, map[string]string{}
	var order []string
	for _, x := range p.Problems {
		switch {
		case x.Severity == problem.Error:
			continue
		case x.Reason == problem.UnknownStore:
			out = append(out, "warning: "+x.line())
			continue
		}
		if warned[x.Found] == nil {
			order = append(order, x.Found)
			hints[x.Found], begins[x.Found] = x.Hints, "not followed: "
			if x.Reason == problem.MissingFacts {
				begins[x.Found] = ""
			}
		}
		warned[x.Found] = append(warned[x.Found], x.Subject)
	}
	out = append(out, p.notRequested()...)
	for _, found := range order {
		out = append(out, strings.Join(append([]string{begins[found] + found + ": " + Named(warned[found])}, hints[found]...), "; "))
	}
	return out
}

// notRequested are the lines about Applications that nothing makes.
func (p Plan) notRequested() []string {
	var out []string
	for _, h := range p.Hubs {
		for _, n := range h.NotRequested {
			of := "view " + string(n.View)
			switch n.View {
			case query.Releases:
				continue // its ApplicationSets may be written by hand
			case query.Components:
				of = "group " + n.Group
			}
			out = append(out, fmt.Sprintf("not requested: no ApplicationSet of hub %s queries for %s, so that nothing makes %s", h.Name, of, report.Count(n.Applications, "Application")))
		}
	}
	return out
}

// broken says what becomes of the members that cannot be computed, once for those of a hub that it
// is the same of.
func (p Plan) broken() []string {
	type group struct {
		hub, revision string
		kept          bool
	}
	clusters := map[group][]string{}
	var order []group
	for _, b := range p.Broken {
		alike := group{b.Hub, b.Revision, b.Kept}
		if clusters[alike] == nil {
			order = append(order, alike)
		}
		clusters[alike] = append(clusters[alike], b.Cluster)
	}
	var out []string
	for _, b := range order {
		names := clusters[b]
		who, what, they := names[0], "is not in this plan", "it"
		if b.kept {
			what = "keeps what it has until it is fixed"
		}
		if n := len(names); n > 1 {
			who, what, they = fmt.Sprintf("%d clusters, %s,", n, Named(names)), "are not in this plan", "they"
			if b.kept {
				what = "keep what they have until they are fixed"
			}
		}
		out = append(out, fmt.Sprintf("%s: %s %s: %s cannot be computed at the %s", b.hub, who, what, they, b.revision))
	}
	return out
}

// errors are what fails, each once for all that it breaks alike.
func (p Plan) errors() []string {
	subjects := map[string][]string{}
	var order []Problem
	alike := func(x Problem) string {
		return strings.Join([]string{x.Revision, x.Position.String(), strings.TrimPrefix(x.Message, x.Subject)}, "\n")
	}
	for _, x := range p.Problems {
		if x.Severity != problem.Error {
			continue
		}
		key := alike(x)
		if subjects[key] == nil {
			order = append(order, x)
		}
		if !slices.Contains(subjects[key], x.Subject) { // what is shared breaks many clusters
			subjects[key] = append(subjects[key], x.Subject)
		}
	}
	out := make([]string, 0, len(order))
	for _, x := range order {
		of := x.Revision
		if of == bothRevisions {
			of = "base and the head"
		}
		x.Message = Named(subjects[alike(x)]) + strings.TrimPrefix(x.Message, x.Subject)
		out = append(out, fmt.Sprintf("error of the %s: %s", of, x.line()))
	}
	return out
}

func (x Problem) line() string {
	out := strings.Join(append([]string{x.Message}, x.Hints...), "; ")
	if at := x.Position.String(); at != "" {
		out = at + ": " + out
	}
	return out
}

// rollouts are the lines of all rollouts.
func (p Plan) rollouts() []string {
	var out []string
	for _, h := range p.Hubs {
		for _, r := range h.Rollouts {
			var steps []string
			for i, s := range r.Steps {
				if len(s.Applications) > 0 {
					steps = append(steps, fmt.Sprintf("step %d (%s): %s", i+1, s.Selector, Named(s.Applications)))
				}
			}
			if len(r.Outside) > 0 {
				steps = append(steps, "no step, so not by itself: "+Named(r.Outside))
			}
			out = append(out, h.Name+": "+r.ApplicationSet+" syncs in order: "+strings.Join(steps, "; then "))
		}
		for _, r := range h.Rings {
			var steps []string
			for _, s := range r.Rings {
				if len(s.Clusters) > 0 {
					steps = append(steps, fmt.Sprintf("ring %s: %s", s.Ring, Named(s.Clusters)))
				}
			}
			out = append(out, h.Name+": "+r.Rollout+" goes in order: "+strings.Join(steps, "; then "))
		}
	}
	return out
}

// waiting are the lines of all draining members for which something would change.
func (p Plan) waiting() []string {
	var out []string
	for _, h := range p.Hubs {
		for _, w := range h.Waiting {
			var what []string
			if w.Itself {
				what = append(what, "the cluster itself")
			}
			if w.Applications > 0 {
				what = append(what, report.Count(w.Applications, "Application"))
			}
			line := fmt.Sprintf("%s: %s is draining and takes no changes; %s would change", h.Name, w.Name, strings.Join(what, " and "))
			if !w.Position.IsZero() {
				line += fmt.Sprintf(" (%s:%d)", w.Position.File, w.Position.Line)
			}
			out = append(out, line)
		}
	}
	return out
}
