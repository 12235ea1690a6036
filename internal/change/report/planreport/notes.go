package planreport

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
)

// loud returns the first lines of a report: what Argo CD removes, and which members the plan lacks.
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
		names = append(names, b.Cluster)
	}
	names = unique(names)
	if len(names) == 0 {
		return append(out, "incomplete: there are errors")
	}
	return append(out, fmt.Sprintf("incomplete: %s cannot be computed: %s", report.Count(len(names), "cluster"), Named(names)))
}

// removed names the removed Applications and counts them, without what a hold keeps. Lost ones come
// first. For a removed cluster, it names the cluster instead of its Applications.
func (p Plan) removed() string {
	var names []string
	all := 0
	for _, cause := range []plan.Cause{plan.Lost, plan.Disabled, plan.Retired, plan.Moved} {
		for _, h := range p.Hubs {
			for _, c := range h.Clusters {
				n := 0
				for _, a := range c.Applications {
					if a.Cause != cause || a.RenamedTo != "" || a.HeldBy != "" {
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

// unique returns names without duplicates.
func unique(names []string) (out []string) {
	for _, same := range grouped(names, func(name string) string { return "name " + name }) {
		out = append(out, same[0])
	}
	return out
}

// lines executes a template: "notes", or "warnings", which says what the plan lacks: broken
// members, errors, and what it does not follow. Equal findings share a line, because an error in a
// shared file breaks many clusters.
func (p Plan) lines(name string) ([]string, error) {
	var errors, others []Problem
	for _, x := range p.Problems {
		if x.Severity == problem.Error {
			errors = append(errors, x)
		} else {
			others = append(others, x)
		}
	}
	out, err := blocks(notes, name, map[string]any{
		"Hubs":   p.Hubs,
		"Broken": grouped(p.Broken, func(b plan.Broken) string { return fmt.Sprint(b.Hub, " ", b.Revision, " ", b.Kept) }),
		"Errors": grouped(errors, func(x Problem) string {
			return strings.Join([]string{x.Revision, x.Pos.String(), withoutSubject(x)}, "\n")
		}),
		"NotFollowed": grouped(others, func(x Problem) string { return "found " + x.Found }),
	})
	return printable("", out), err
}

//go:embed notes.tmpl
var notesTemplate string

var notes = template.Must(template.New("").Funcs(functions).Funcs(template.FuncMap{
	"list": Named, "withoutSubject": withoutSubject,
	"subjects": func(all []Problem) string {
		return listed(all, func(x Problem) string { return x.Subject })
	},
	"clusters": func(all []plan.Broken) string {
		return listed(all, func(b plan.Broken) string { return b.Cluster })
	},
}).Parse(notesTemplate))

func withoutSubject(x Problem) string { return strings.TrimPrefix(x.Message, x.Subject) }

// listed lists one name for each element, without duplicates.
func listed[T any](all []T, name func(T) string) string {
	var names []string
	for _, x := range all {
		names = append(names, name(x))
	}
	return Named(unique(names))
}
