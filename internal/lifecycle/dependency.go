package lifecycle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/released"
)

// Dependency is a component of the same cluster that another one waits for (P1).
type Dependency struct {
	// Group is empty where the entry names the component alone.
	Group, Component string
}

// ParseDependency reads an element of dependsOn: a component, or group/component.
func ParseDependency(text string) Dependency {
	group, component, qualified := strings.Cut(text, "/")
	if !qualified {
		return Dependency{Component: text}
	}
	return Dependency{group, component}
}

// String is the element of dependsOn.
func (d Dependency) String() string { return strings.TrimPrefix(d.Group+"/"+d.Component, "/") }

// Is reports whether the dependency names a component of a group.
func (d Dependency) Is(group, component string) bool {
	return d.Component == component && cmp.Or(d.Group, group) == group
}

// IsToRun reports whether the requester deploys a dependency to a cluster, by the catalogs that the
// repository has. One that it does not deploy is not waited for.
func (d Dependency) IsToRun(st *fleetstate.State, c *fleetstate.Cluster, requester string) bool {
	if c.IsRetired() {
		return false
	}
	for name, g := range c.Groups {
		if d.Is(name, d.Component) && g.Has(d.Component) && MayDeploy(st, c, name, requester) && isEnabled(st, c, g, d.Component) {
			return true
		}
	}
	return false
}

func isEnabled(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group, component string) bool {
	known, _ := released.GroupOf(st, c, g).Component(component)
	r, problems := st.ResolverOf(c).MergeEntry(known.Catalogs, component)
	return len(problems) == 0 && c.Enables(g.Name, component, r)
}

// BringsCredentials reports whether a component is the operator that brings an agent's credentials.
func BringsCredentials(group, component string) bool {
	return group == fleetstate.FleetGroup && placement.IsOfAgent(component) && !placement.IsEngine(component)
}

// isWorkloadOfDeleted reports whether an Application runs a team's workload on a cluster that is
// deleted: it is removed before any component, which may be what gives its load balancers and
// volumes back to the cloud (C3).
func isWorkloadOfDeleted(c *fleetstate.Cluster, group string, a facts.Application) bool {
	s := c.Member.Provision
	return c.IsRetired() && s != nil && s.Deletes && a.Group == fleet.Workloads && group != fleet.Workloads
}

// RemovedBefore returns the components of a cluster that are removed before a component of a group
// is: they depend on it, are removed as well, and there still is an Application or a HelmRelease of
// them (P2). Flux keeps what is lost, which is not waited for.
func RemovedBefore(st *fleetstate.State, c *fleetstate.Cluster, group, component string, there []facts.Application) []string {
	var out []string
	for _, a := range there {
		g := c.Groups[a.Group]
		if g == nil || a.Component == "" || a.Component == component || !c.IsRetired() && isEnabled(st, c, g, a.Component) {
			continue
		}
		known, _ := released.GroupOf(st, c, g).Component(a.Component)
		r, problems := st.ResolverOf(c).MergeEntry(known.Catalogs, a.Component)
		if len(problems) > 0 || r.Entry == nil || a.Name != catalog.ApplicationName(a.Component, c.Member.Name) {
			continue
		}
		if a.Owner != "" && !RemovesWorkloads(st, c, a.Group, a.Component, r) {
			continue
		}
		if isWorkloadOfDeleted(c, group, a) || slices.ContainsFunc(r.Entry.DependsOn, func(text string) bool { return ParseDependency(text).Is(group, component) }) {
			out = append(out, a.Group+"/"+a.Component)
		}
	}
	return out
}
