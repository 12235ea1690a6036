package generator

import (
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
)

// Explanation is where everything about one component of one cluster comes from (rule H7).
type Explanation struct {
	Member    *fleet.Member
	Group     string
	Component string
	Revision  string
	// Known tells whether any catalog has the component; Enabled, whether the catalogs switch it on; Selected, whether
	// the catalog's selector matches the cluster.
	Known, Enabled, Selected bool
	// Deletion is what becomes of what runs of a component that is not to run: cascade if it is switched off or its
	// member is retired with cascade, else orphan (D2, D3).
	Deletion   string
	Registered bool
	// Lifecycle is the member's as the snapshot has it, which a draining one is not computed from.
	Lifecycle string
	Release   string
	// Versions is that release as the versions file has it; the zero value for the registration chart.
	Versions release.Release
	// Catalog is the release's catalog at the revision that the release names, nil where that is not known, or the snapshot's
	// own. Unlisted tells that it lacks the component.
	Catalog  *Catalog
	Unlisted bool
	Owner    string
	// Engine is the owner's: fleet.EngineArgoCD or fleet.EngineFlux.
	Engine string
	// Kind is KindManifests, or empty for a chart.
	Kind                   string
	Chart                  Chart
	Namespace, ReleaseName string
	// Entry is the merged catalog entry but for its values, Values the merged values; nil when nothing is known of them.
	Entry, Values *hierarchy.Tree
	// Layers are those of Values, and those that its levels do not have.
	Layers []hierarchy.Layer
	// Labels are the cluster's, with the place where Git declares each.
	Labels       map[string]string
	LabelOrigins map[string]problem.Pos
	// Conflicts are type conflicts in the values (H3).
	Conflicts []problem.Problem
}

// Explain computes one component of one cluster as the components view would, without a base. An empty hub is the one
// hub that has such a member. The error is an *Error.
func (st *State) Explain(hub, name, group, component string) (*Explanation, error) {
	m, failure := st.find(hub, name)
	if failure != nil {
		return nil, failure
	}
	if groups := st.Groups(); !slices.Contains(groups, group) {
		return nil, BadRequestError("group %q is not in the layout%s; expected one of %s", group, Hint(group, groups), strings.Join(groups, ", "))
	}
	c := st.ClusterOf(m)
	if broken := c.BlockingProblems(); len(broken) > 0 {
		return nil, UnavailableError(broken)
	}
	lifecycle := m.Lifecycle
	if c.LastKnownGood != nil {
		m = c.Member
	}
	resolver, g := st.ResolverOf(c), c.Groups[group]
	if g == nil {
		return nil, BadRequestError("group %q is not in the layout that cluster %q is computed by", group, name)
	}
	e := &Explanation{
		Member: m, Group: group, Component: component, Revision: resolver.Snapshot.Revision, Registered: c.Registered,
		Lifecycle: lifecycle, Release: g.Release.Type, Owner: m.Owner(group), Engine: fleet.EngineArgoCD, Labels: c.Labels.All, LabelOrigins: c.Labels.Origins,
	}
	if resolver.IsDeployedByFlux(c, group) {
		e.Engine = fleet.EngineFlux
	}
	if group == FleetGroup && component == Registration {
		e.Known, e.Enabled, e.Selected, e.Values = true, true, true, c.Registration
		files, _ := resolver.ValueLayers(c, g, Registration) // it has been computed from them
		e.Layers = allLayers(e.Values, files)
		e.Conflicts = c.Registration.Conflicts()
		return e, nil
	}
	if len(g.Errors) > 0 {
		return nil, UnavailableError(g.Errors)
	}
	found := st.GroupAsReleased(c, g)
	g, listed := found.Component(component)
	e.Catalog, e.Unlisted = found.Catalog, !listed
	r, problems := resolver.Resolve(c, g, component, nil)
	if len(problems) > 0 {
		return nil, UnavailableError(problems)
	}
	if !r.Known {
		names := found.Components()
		return nil, BadRequestError("component %q is in no catalog of group %q for cluster %q%s; expected one of %s",
			component, group, name, Hint(component, names), strings.Join(names, ", "))
	}
	entry := r.Entry
	e.Versions, e.Kind = g.Release, entry.Kind
	e.Known, e.Enabled, e.Selected = true, entry.Enabled, entry.Selector.Matches(c.Labels.All)
	e.Deletion = fleet.Orphan
	if RemovesWorkloads(c, r) {
		e.Deletion = fleet.Cascade
	}
	e.Chart, e.Namespace, e.ReleaseName = r.Chart, r.Namespace, r.ReleaseName
	e.Entry, e.Values = r.EntryTree, r.Values
	files, problems := resolver.ValueLayers(c, g, component)
	if len(problems) > 0 {
		return nil, UnavailableError(problems)
	}
	if !r.Enabled { // its values would still be these
		e.Values, e.Chart = resolver.Merge(files, group, component), entry.Chart
	}
	e.Layers = allLayers(e.Values, files)
	e.Conflicts = e.Values.Conflicts()
	return e, nil
}

// allLayers are the layers of a tree, of which these are the files, with those that are missing.
func allLayers(t *hierarchy.Tree, files []hierarchy.Layer) []hierarchy.Layer {
	layers := t.Layers()
	for _, l := range files {
		if !l.Missing() {
			layers = layers[:len(layers)-1]
		}
	}
	return slices.Concat(layers, files)
}

func (st *State) find(hub, name string) (*fleet.Member, *Error) {
	var found []*fleet.Member
	var names []string
	for _, h := range st.Fleet.Hubs() {
		if hub != "" && h != hub {
			continue
		}
		for _, m := range st.Fleet.Members(h) {
			names = append(names, m.Name)
			if m.Name == name {
				found = append(found, m)
			}
		}
	}
	switch {
	case hub != "" && names == nil:
		return nil, BadRequestError("hub %q has no member files%s", hub, Hint(hub, st.Fleet.Hubs()))
	case len(found) == 0:
		return nil, BadRequestError("no member is called %q%s", name, Hint(name, names))
	case len(found) > 1:
		return nil, BadRequestError("cluster %q is a member of hubs %s and %s: name the hub", name, found[0].Hub, found[1].Hub)
	}
	return found[0], nil
}

// Summary is a member in a few words, for listings.
type Summary struct {
	Hub         string            `json:"hub"`
	Name        string            `json:"name"`
	Tenant      string            `json:"tenant"`
	Environment string            `json:"environment"`
	Model       string            `json:"model"`
	Engine      string            `json:"engine,omitempty"`
	Lifecycle   string            `json:"lifecycle"`
	IsHub       bool              `json:"isHub"`
	Registered  bool              `json:"registered"`
	Releases    map[string]string `json:"releases"`
	File        string            `json:"file"`
	Problems    []problem.Problem `json:"problems"`
	// LastKnown tells that the cluster's Secret has gone, and that all is computed from what was last known of it.
	LastKnown bool `json:"lastKnown,omitempty"`
	// Keeps is the revision whose sets a draining member keeps.
	Keeps string `json:"keeps,omitempty"`
	// Quarantine is there for a member that cannot be computed (rule 10); Problems say why, all else is as it is answered.
	Quarantine *Quarantine `json:"quarantine,omitempty"`
}

// Quarantine is what becomes of a member that cannot be computed, in a few words.
type Quarantine struct {
	Standing Standing `json:"standing"`
	// Revision is what its sets are computed from; empty unless they are kept.
	Revision string `json:"revision,omitempty"`
	Reason   string `json:"reason"`
	// Problem is the first of its problems, with its place.
	Problem string `json:"problem"`
}

// Summaries are all members, by hub and name.
func (st *State) Summaries() []Summary {
	var out []Summary
	for _, hub := range st.Fleet.Hubs() {
		for _, m := range st.Fleet.Members(hub) {
			c := st.ClusterOf(m)
			file, lifecycle, keeps := m.Pos.File, m.Lifecycle, st.DrainingRevision(m)
			if c.LastKnownGood != nil {
				m = c.Member
			}
			s := Summary{
				Hub: hub, Name: m.Name, Tenant: m.Tenant, Environment: m.Environment, Model: m.Model(), Lifecycle: lifecycle, Keeps: keeps,
				IsHub: m.IsHub, Registered: c.Registered, LastKnown: st.IsLastKnown(c), Releases: map[string]string{}, File: file, Problems: c.Problems,
			}
			if m.Remote {
				s.Engine = m.Engine
			}
			for name, g := range c.Groups {
				s.Releases[name] = g.Release.Type
			}
			if q, is := st.QuarantineOf(c); is {
				s.Quarantine = &Quarantine{Standing: q.Standing, Revision: q.Revision, Reason: string(q.First().Reason), Problem: q.First().Error()}
			}
			out = append(out, s)
		}
	}
	return out
}

// Errors are the problems that concern a hub: its members' and those of the repository as a whole. An empty hub means
// all.
func (st *State) Errors(hub string) []problem.Problem {
	return slices.DeleteFunc(slices.Clone(st.Problems), func(p problem.Problem) bool { return hub != "" && p.Hub != "" && p.Hub != hub })
}

// ComponentsOf are the names of all components that a group's catalogs know for a member, sorted; nil when there is no
// such member or group. An empty hub is the one hub that has such a member.
func (st *State) ComponentsOf(hub, name, group string) []string {
	m, failure := st.find(hub, name)
	if failure != nil {
		return nil
	}
	g := st.ClusterOf(m).Groups[group]
	if g == nil {
		return nil
	}
	return g.Components()
}
