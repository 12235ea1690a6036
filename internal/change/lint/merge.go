package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// mergeRules reports merge rules of the layout that concern no group or component of the fleet.
func (l *linter) mergeRules() {
	layout := l.st.Fleet.Layout
	for _, rule := range layout.Merge {
		if _, known := layout.Groups[rule.Group]; rule.Group != "" && !known {
			l.ruleWithoutEffect(rule, "group", rule.Group, layout.GroupNames())
			continue
		}
		if names, concerns := l.concerned(rule); !concerns {
			l.ruleWithoutEffect(rule, "component", rule.Component, names)
		}
	}
}

func (l *linter) ruleWithoutEffect(rule hierarchy.Rule, kind, name string, known []string) {
	l.problems = append(l.problems, problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Pos: rule.Pos, Subject: fmt.Sprintf("merge rule for %s %q", kind, name),
		Found: fmt.Sprintf("has no effect: the fleet has no such %s", kind), Expected: "the name of a " + kind, Hints: problem.Nearest(name, known),
	})
}

// tenantSchemas reports components of the layout's tenantSchemas that the fleet does not have. A
// misspelt name leaves all values of the component to tenants.
func (l *linter) tenantSchemas() {
	for name, file := range l.st.Fleet.Layout.TenantSchemas {
		if hints, known := l.knows(name); !known {
			l.problems = append(l.problems, problem.Problem{
				Reason: problem.NoEffect, Severity: problem.Warning, Pos: file.Pos, Subject: fmt.Sprintf("key %q", "tenantSchemas."+name),
				Found: "has no effect: the fleet has no such component", Expected: "the group and name of a component", Hints: hints,
			})
		}
	}
}

// concerned reports whether a rule's component is in a catalog of some cluster. A component with
// only values counts, too, because queries name it with a base. Else concerned returns the names of
// the components that are in a catalog.
func (l *linter) concerned(rule hierarchy.Rule) (names []string, concerns bool) {
	known := map[string]bool{}
	for _, c := range l.st.Clusters() {
		c = c.Desired()
		for _, g := range c.Groups {
			if rule.Group != "" && rule.Group != g.Name {
				continue
			}
			for _, component := range componentsOf(g) {
				known[component] = true
			}
			if rule.Component == "" || known[rule.Component] || l.hasValues(c, g, rule.Component) {
				return nil, true
			}
		}
	}
	return slices.Sorted(maps.Keys(known)), false
}

// knows reports whether the fleet has GROUP/COMPONENT, in a catalog or only by values. Else it
// returns the group's nearest names.
func (l *linter) knows(name string) (hints []string, known bool) {
	group, component, _ := strings.Cut(name, "/")
	if catalog.Layers(l.st.Resolver().Catalogs[group]).Has(component) { // also a class that no member has yet
		return nil, true
	}
	names, known := l.concerned(hierarchy.Rule{Group: group, Component: component})
	for i := range names {
		names[i] = group + "/" + names[i]
	}
	return problem.Nearest(name, names), known
}

// hasValues reports whether some level has a component's values for a cluster.
func (l *linter) hasValues(c *fleetstate.Cluster, g *fleetstate.Group, component string) bool {
	file, err := l.st.Resolver().FilePath(l.st.Fleet.Layout.Values, c, g, component, "")
	return err == nil && slices.ContainsFunc(l.there(g.Folders), func(d hierarchy.Folder) bool {
		p := d.Path + "/" + file
		return l.st.Resolver().Snapshot.File(p) != nil || l.st.Resolver().Snapshot.File(p+hierarchy.TemplateSuffix) != nil
	})
}
