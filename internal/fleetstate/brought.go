package fleetstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/placement"
)

// A flag of a member file brings components of the group fleet: its engine, its secrets operator,
// ACK's controllers. It needs no label, and no level that switches the component on.

// Enables reports whether a cluster gets a component by its merged entry: the catalogs switch it on
// and its selector matches, or a flag of the member brings it.
func (c *Cluster) Enables(group, component string, r Component) bool {
	if r.Entry == nil {
		return false
	}
	return r.Entry.Enabled && r.Entry.Selector.Matches(c.Labels.All) || c.isBrought(group, component, r)
}

// Brings reports whether a flag of the member brings a component.
func (c *Cluster) Brings(group, component string) placement.Bringing {
	if group != FleetGroup {
		return placement.Unsaid
	}
	return placement.Brings(c.Member, component, c.Labels.All, c.Annotations.All)
}

// isBrought reports whether a flag brings a component that no level switches off.
func (c *Cluster) isBrought(group, component string, r Component) bool {
	return c.Brings(group, component) == placement.Brought && !isSwitchedOff(r)
}

// isSwitchedOff reports whether a level of the hierarchy says that a component is off. That a
// catalog does is its default.
func isSwitchedOff(r Component) bool {
	if r.EntryTree == nil {
		return false
	}
	if r.EntryTree.Root.IsNull() {
		return true
	}
	said, ok := r.EntryTree.Origin([]string{catalog.KeyEnabled})
	if !ok || said.Level == catalog.Level {
		return false
	}
	on, ok := said.Value.Truth()
	return ok && !on
}

// WithBrought are a group's components and those that flags bring, sorted: a release's chart may
// have entries that the repository lacks.
func (b *Resolver) WithBrought(c *Cluster, g *Group) []string {
	names := g.Components()
	if _, own := b.ofOwnChart(g); g.Name != FleetGroup || !own && b.KnowsCatalogs(c, g) {
		return names
	}
	for _, component := range placement.BroughtComponents() {
		if c.Brings(g.Name, component) == placement.Brought {
			names = append(names, component)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// MissingEngines are the errors of a member whose flags need components that it does not get: no
// catalog has an entry, or a level switches it off. Where the layout has no catalog of the group
// fleet, they are findings of lint alone: its engine comes by other means.
func (b *Resolver) MissingEngines(c *Cluster) (out []problem.Problem) {
	if c.Member.Lifecycle == fleet.Retired {
		return nil
	}
	g := c.Groups[FleetGroup]
	byFlag := map[string][]string{}
	for _, component := range placement.BroughtComponents() {
		if c.Brings(FleetGroup, component) == placement.Brought {
			flag, _ := placement.BringingFlag(c.Member, component)
			byFlag[flag] = append(byFlag[flag], component)
		}
	}
	for flag, components := range byFlag {
		_, key := placement.BringingFlag(c.Member, components[0])
		switch {
		case flag == placement.FlagRemote && c.Member.Owner(FleetGroup) == c.Member.Name:
			continue // its engine installs itself
		case flag != placement.FlagRemote && key == placement.FlagRemote:
			continue // the secrets operator that an agent has by default may be there
		}
		if p, missing := b.missingEngine(c, g, components); missing {
			out = append(out, p)
		}
	}
	return c.Attribute(problem.Sorted(out))
}

// missingEngine is the problem of the components of one flag. Of several, one is enough.
func (b *Resolver) missingEngine(c *Cluster, g *Group, components []string) (problem.Problem, bool) {
	names := strings.Join(components, ", ")
	flag, key := placement.BringingFlag(c.Member, components[0])
	p := problem.Problem{
		Reason: problem.MissingEngine, Severity: problem.Error, Pos: c.Member.KeyPos(key), Subject: fmt.Sprintf("key %q", key),
	}
	if flag == placement.FlagRemote {
		p.Hints = []string{placement.ExternalEngineHint}
	}
	if pos, declared := c.Labels.Origins[flag]; p.Pos.Line == 0 && declared {
		p.Pos, p.Subject = pos, fmt.Sprintf("label %q", flag)
	}
	if g == nil {
		p.Found, p.Expected = "needs "+names+", and the layout has no group "+FleetGroup, "the group "+FleetGroup+" with a catalog"
		return p, true
	}
	known := slices.DeleteFunc(slices.Clone(components), func(component string) bool { return !g.Has(component) })
	if len(known) == 0 {
		p.Found, p.Expected = fmt.Sprintf("needs %s, and no catalog of the group %s has it", names, FleetGroup), fmt.Sprintf("an entry, as in catalogs/fleet.yaml of charts/application-sets, in a catalog of groups.%s.catalog", FleetGroup)
		return p, b.KnowsCatalogs(c, g)
	}
	for _, component := range known {
		r, problems := b.MergeEntry(g.Catalogs, component)
		if len(problems) > 0 || !isSwitchedOff(r) {
			return problem.Problem{}, false
		}
		p.Related = append(p.Related, r.EntryTree.At([]string{catalog.KeyEnabled}).Pos())
	}
	p.Found, p.Expected = fmt.Sprintf("needs %s, which a level switches off", strings.Join(known, ", ")), "the component switched on, or the flag off"
	return p, true
}

// unsupportedAgent is the error of an agent with Argo CD whose hub runs Flux: such a hub has no
// ApplicationSet that installs the agent's service.
func (b *Resolver) unsupportedAgent(c *Cluster) []problem.Problem {
	m, self := c.Member, b.Fleet.HubMember(c.Member.Hub)
	if !m.Remote || m.Engine == fleet.EngineFlux || m.Lifecycle == fleet.Retired || self == nil || self.Engine != fleet.EngineFlux {
		return nil
	}
	return []problem.Problem{{
		Reason: problem.UnsupportedEngine, Severity: problem.Error, Pos: m.KeyPos(placement.FlagRemote), Subject: fmt.Sprintf("agent %q", m.Name),
		Found: fmt.Sprintf("its engine is %s, but its hub %s runs Flux and installs agents with Flux only", m.Engine, m.Hub), Expected: "remote_engine: flux",
		Hints: []string{"without " + placement.FlagRemote + " the hub deploys to the cluster"}, Related: []problem.Pos{self.KeyPos("remote_engine")},
	}}
}

// KnowsCatalogs reports whether the repository, or this program, has all catalogs that a group's
// engine deploys by: a chart that is elsewhere may have more.
func (b *Resolver) KnowsCatalogs(c *Cluster, g *Group) bool {
	s := g.Release.Source
	if _, own := b.ofOwnChart(g); own {
		return true
	}
	if b.IsDeployedByFlux(c, g.Name) || s.RepoURL == "" || g.HasCatalog() && !b.Fleet.Layout.Groups[g.Name].OwnCatalogs {
		return true
	}
	return s.Path != "" && len(b.ownCatalogs(g.Name, s.Path)) < len(b.Catalogs[g.Name])
}
