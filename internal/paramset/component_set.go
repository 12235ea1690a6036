package paramset

import (
	"errors"
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// ResolvedComponent is a component of a cluster that a response has a set of.
type ResolvedComponent struct {
	fleetstate.Component
	Resolver *fleetstate.Resolver
	Cluster  *fleetstate.Cluster
	Group    *fleetstate.Group
	Name     string
	Deletion string
}

// Set is the component's parameter set.
func (r *ResolvedComponent) Set() (*ComponentSet, []problem.Problem) {
	return NewComponentSet(r.Resolver, r.Cluster, r.Group, r.Name, r.Component, r.Deletion)
}

// EachComponent visits what OfCluster makes sets of in the view of components, without making them.
// Visit returns problems.
func EachComponent(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, visit func(*ResolvedComponent) []problem.Problem) ClusterSets {
	is, problems := isAbout(st, q, c)
	if !is {
		return ClusterSets{Problems: problems}
	}
	out := eachComponent(st, q, c, visit)
	out.Live, out.Problems = !c.IsRetired(), append(problems, out.Problems...)
	return out
}

// componentSets are one set per component that is enabled on a cluster and owned by the requester.
func componentSets(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster) ClusterSets {
	var sets []Set
	out := eachComponent(st, q, c, func(r *ResolvedComponent) []problem.Problem {
		s, problems := r.Set()
		if s != nil {
			sets = append(sets, s)
		}
		return problems
	})
	out.Sets = sets
	return out
}

func eachComponent(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, visit func(*ResolvedComponent) []problem.Problem) (out ClusterSets) {
	g := c.Groups[q.Group]
	if g == nil {
		return out
	}
	out.Known = q.Component != "" && g.Has(q.Component)
	if !lifecycle.IsReachable(c, q.Group) || !lifecycle.MayDeploy(st, c, q.Group, q.Requester) {
		return out
	}
	if len(g.Errors) > 0 {
		out.Problems = relevantProblems(c, g.Errors)
		return out
	}
	if q.Release != "" && g.Release.Type != q.Release {
		return out
	}
	for _, component := range componentsOf(q, g) {
		r, problems := resolvedComponent(st, q, c, g, component)
		if r != nil {
			problems = visit(r)
			if len(problems) == 0 && !st.IsOfPlatform(c, q.Group, component) {
				out.Own++
			}
		}
		out.Problems = append(out.Problems, problems...)
	}
	return out
}

// componentsOf are the names that a request asks for.
func componentsOf(q query.Checked, g *fleetstate.Group) []string {
	if q.Component != "" {
		return []string{q.Component}
	}
	return g.Components()
}

// resolvedComponent is a component of one cluster, nil when there is to be no Application: it is
// not to run there, and what runs has been taken care of (D3); or when it belongs to another
// ApplicationSet yet.
func resolvedComponent(st *fleetstate.State, q query.Checked, c *fleetstate.Cluster, g *fleetstate.Group, component string) (*ResolvedComponent, []problem.Problem) {
	resolver := st.ResolverOf(c)
	resolve := resolver.Resolve
	if q.SubjectsOnly && q.BaseEntry == nil && c.LastKnownGood == nil && len(c.Problems) == 0 {
		resolve = resolver.ResolveEntry // the build has found the rest to be without problems
	}
	r, problems := resolve(c, g, component, q.BaseEntry)
	if problems = relevantProblems(c, problems); len(problems) > 0 {
		if q.BaseEntry != nil && q.Requester == fleet.OwnerHub && st.IsUnused(c, g.Name, component) {
			return nil, nil
		}
		return nil, problems
	}
	if r.Enabled && !c.IsRetired() {
		if lifecycle.WaitsForRelease(st, q, c, g, component) || lifecycle.WaitsForEngine(st, c, g, component, q.Requester) {
			return nil, nil
		}
		return &ResolvedComponent{written(q, r), resolver, c, g, component, fleet.Orphan}, nil
	}
	waits := lifecycle.InfrastructureWaits(st, c, g.Name) || lifecycle.WaitsForHandover(st, c, g.Name, component, r)
	if r.EntryTree == nil || lifecycle.RemovalStep(st, q, c, g, component) != lifecycle.Wanted || !lifecycle.RemovesWorkloads(st, c, g.Name, component, r) && !waits {
		return nil, nil
	}
	if r.Values == nil {
		if r, problems = resolver.Complete(c, g, component, q.BaseEntry, r); len(problems) > 0 {
			return nil, nil // the workloads are not known any more: they stay, and so does the rest of the response
		}
	}
	deletion := fleet.Cascade
	if waits {
		deletion = fleet.Orphan
	}
	return &ResolvedComponent{written(q, r), resolver, c, g, component, deletion}, nil
}

// written is what is encoded of a component.
func written(q query.Checked, r fleetstate.Component) fleetstate.Component {
	if q.SubjectsOnly {
		r.Values, r.Companions = nil, nil
	}
	return r
}

// NewComponentSet is the parameter set of a component, which a resolver has computed.
func NewComponentSet(b *fleetstate.Resolver, c *fleetstate.Cluster, g *fleetstate.Group, component string, r fleetstate.Component, deletion string) (*ComponentSet, []problem.Problem) {
	text, err := b.ValuesText(r, r.Values)
	var companions map[string]CompanionSet
	for _, one := range r.Companions {
		values, failed := b.ValuesText(r, one.Values)
		if companions == nil {
			companions = map[string]CompanionSet{}
		}
		companions[one.Name] = CompanionSet{one.Chart, one.ReleaseName, values, valueFiles(one.Values)}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, c.Attribute([]problem.Problem{{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: c.Member.Pos, Subject: fmt.Sprintf("component %q", component), Found: err.Error(),
		}})
	}
	e, common := r.Entry, commonOf(c, catalog.ApplicationName(component, c.Member.Name))
	if r.IsBroken && common.Hold == "" {
		common.Hold, common.Revision = fleetstate.Broken, b.Snapshot.Revision
	}
	return &ComponentSet{
		Common: common, Component: component, Group: g.Name, Release: g.Release.Type,
		Chart: r.Chart, Namespace: r.Namespace, ReleaseName: r.ReleaseName, HelmValues: text, ValueFiles: valueFiles(r.Values), Deletion: deletion,
		Kind: e.Kind, DependsOn: e.DependsOn, Substitute: e.Substitute, Companions: companions,
		Team: b.Apps().Owner(g.Name, component),
	}, nil
}

// valueFiles are the value files among a tree's layers: catalog entries are no value files.
func valueFiles(t *hierarchy.Tree) []string {
	var layers []hierarchy.Layer
	for _, l := range t.Layers() {
		if l.Root != nil && l.Root.Doc != nil && l.Root == l.Root.Doc.Root {
			layers = append(layers, l)
		}
	}
	return files(layers)
}
