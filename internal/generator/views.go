package generator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// registrationSets are the one set of a spoke, what registers it.
func (st *State) registrationSets(q query, c *Cluster) (out ClusterSets) {
	deletion, is := st.registration(q, c)
	if !is {
		return out
	}
	s, faults := st.NewMemberSet(c, deletion)
	if out.Problems = c.concerns(faults); s != nil {
		out.Sets = []ParameterSet{s}
	}
	return out
}

// NewMemberSet is what registers a member.
func (st *State) NewMemberSet(c *Cluster, deletion string) (*MemberSet, []problem.Problem) {
	rel, err := st.ResolverOf(c).Fleet.FleetSecrets.Choose(c.Labels.All)
	if err != nil {
		return nil, c.UnknownRelease(err, release.FleetSecretsLabel)
	}
	text, err := st.registrationValues(c).YAML()
	if err != nil {
		return nil, c.Attribute(problem.From(err, problem.InvalidValue, c.Member.Pos))
	}
	return &MemberSet{
		Common: c.common(ApplicationName(Registration, c.Member.Name)), SecretManagerSecretName: c.Member.SecretManagerSecret,
		SecretLabels: c.Labels.Declared, SecretAnnotations: c.Annotations.Declared,
		Release: rel.Keys, Source: rel.Source, HelmValues: string(text), ValueFiles: files(c.Registration.Layers()), Deletion: deletion,
	}, nil
}

// files are the paths of the layers that are there, in order.
func files(layers []hierarchy.Layer) []string {
	out := []string{}
	for _, l := range layers {
		if !l.Missing() {
			out = append(out, l.Path)
		}
	}
	return out
}

// ReleaseUse is a release with the clusters of one owner that are on it.
type ReleaseUse struct {
	Release  release.Release
	Clusters []string
	Enabled  map[string]bool // the components that the hierarchy of any of them switches on, or that are being removed
	// A release that only members at home are on is as it was at the home of the first of them.
	revision, quarantine string
}

// releaseUses are the releases of the group that the asker's clusters are on, by type (R4, R7).
func (st *State) releaseUses(q query) (map[string]*ReleaseUse, []problem.Problem) {
	clusters, problems := st.asked(q)
	uses := map[string]*ReleaseUse{}
	for _, c := range clusters {
		if !c.Registered || !st.Owns(c, q.Group, q.Requester) {
			continue
		}
		g := c.Groups[q.Group]
		if g == nil {
			continue // its layout, of before, has no such group
		}
		if len(g.Errors) > 0 {
			problems = append(problems, c.concerns(g.Errors)...)
			continue
		}
		var removing []string
		if c.IsRetired() {
			if removing = st.removing(q, c, g, nil); len(removing) == 0 {
				continue
			}
		}
		u := uses[g.Release.Type]
		if u == nil {
			u = st.releaseUse(c, g)
			uses[g.Release.Type] = u
		}
		u.Clusters = append(u.Clusters, c.Member.Name)
		if !c.IsRetired() {
			enabled, faults := st.ResolverOf(c).EnabledByHierarchy(g)
			problems = append(problems, c.Attribute(faults)...)
			for _, component := range enabled {
				u.Enabled[component] = true
			}
			removing = st.removing(q, c, g, u.Enabled)
		}
		for _, component := range removing {
			u.Enabled[component] = true
		}
	}
	return uses, problems
}

// releaseUse is the release of a cluster: as the snapshot has it, if it does.
func (st *State) releaseUse(c *Cluster, g *Group) *ReleaseUse {
	u := &ReleaseUse{Release: g.Release, Enabled: map[string]bool{}}
	if c.LastKnownGood == nil {
		return u
	}
	rel, err := st.Fleet.Versions.Of(g.Name).Choose(map[string]string{release.LabelOf(g.Name): g.Release.Type})
	if err != nil {
		u.revision, u.quarantine = c.LastKnownGood.Snapshot.Revision, c.Quarantine
		return u
	}
	u.Release = rel
	return u
}

// DesiredReleases are the releases of a group that the clusters of an owner will be on when all removals are done, by type.
func (st *State) DesiredReleases(hub, group, owner string) map[string]*ReleaseUse {
	uses, _ := st.releaseUses(query{Request: Request{View: Releases, Hub: hub, Group: group}, Requester: owner, Desired: true})
	return uses
}

// releaseSets are one set per release of the group that a cluster of the asker's is on.
func (st *State) releaseSets(q query) ([]ParameterSet, []problem.Problem) {
	uses, problems := st.releaseUses(q)
	var sets []ParameterSet
	common := st.askersCommon(q)
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		components := map[string]any{}
		for component := range u.Enabled {
			components[component] = map[string]any{KeyEnabled: true}
		}
		owner := q.Requester
		text, err := yamldoc.FromAny(nil, map[string]any{
			"group": q.Group, "release": name, "hub": q.Hub, "owner": owner, ComponentsKey: components,
		}).YAML()
		if err != nil {
			problems = append(problems, problem.From(err, problem.InvalidValue, u.Release.Pos)...)
			continue
		}
		common := common
		common.Revision = u.revision
		if u.quarantine != "" {
			common.Quarantine = u.quarantine
		}
		s := &ReleaseSet{Common: common, Group: q.Group, Release: u.Release.Keys, Source: u.Release.Source, Clusters: u.Clusters, HelmValues: string(text)}
		s.ApplicationName = ReleaseApplicationName(q.Group, name)
		sets = append(sets, s)
	}
	return sets, problems
}

// askersCommon are the common fields of the cluster whose engine asks: the one that the ApplicationSets live on.
func (st *State) askersCommon(q query) Common {
	name := q.Requester
	if name == fleet.OwnerHub {
		name = ""
		if self := st.HubMember(q.Hub); self != nil {
			name = self.Name
		}
	}
	c := st.Cluster(q.Hub, name)
	if c == nil {
		return Common{
			Name: q.Hub, NameNormalized: q.Hub, Hub: q.Hub, Model: fleet.Centralized,
			Metadata: metadata(nil, nil),
		}
	}
	return c.common("")
}

// componentSets are one set per component that is enabled on a cluster and owned by the asker.
func (st *State) componentSets(q query, c *Cluster) (out ClusterSets) {
	g := c.Groups[q.Group]
	if g == nil {
		return out
	}
	out.Known = q.Component != "" && g.Has(q.Component)
	if !c.Registered || !st.MayDeploy(c, q.Group, q.Requester) {
		return out
	}
	if len(g.Errors) > 0 {
		out.Problems = c.concerns(g.Errors)
		return out
	}
	if q.Release != "" && g.Release.Type != q.Release {
		return out
	}
	for _, component := range q.components(g) {
		s, problems := st.componentSet(q, c, g, component)
		out.Problems = append(out.Problems, problems...)
		if s != nil {
			out.Sets = append(out.Sets, s)
		}
	}
	return out
}

// components are the names that a request asks for.
func (q query) components(g *Group) []string {
	if q.Component != "" {
		return []string{q.Component}
	}
	return g.Components()
}

// componentSet is one cluster's set of one component, nil when there is to be no Application: it is not to run there,
// and what runs has been taken care of (D3); or when it belongs to another ApplicationSet yet.
func (st *State) componentSet(q query, c *Cluster, g *Group, component string) (*ComponentSet, []problem.Problem) {
	resolver := st.ResolverOf(c)
	r, problems := resolver.Resolve(c, g, component, q.BaseEntry)
	if problems = c.concerns(problems); len(problems) > 0 {
		return nil, problems
	}
	if r.Enabled && !c.IsRetired() {
		if st.held(q, c, g, component) {
			return nil, nil
		}
		return NewComponentSet(resolver, c, g, component, q.written(r), fleet.Orphan)
	}
	if r.EntryTree == nil || st.removal(q, c, g, component) != wanted || !RemovesWorkloads(c, r) {
		return nil, nil
	}
	if r.Values == nil {
		if r, problems = resolver.Complete(c, g, component, q.BaseEntry, r); len(problems) > 0 {
			return nil, nil // it cannot be told any more what runs: it stays, and so does the rest of the answer
		}
	}
	return NewComponentSet(resolver, c, g, component, q.written(r), fleet.Cascade)
}

// written is what is encoded of a component.
func (q query) written(r Component) Component {
	if q.SubjectsOnly {
		r.Values = nil
	}
	return r
}

// NewComponentSet is the parameter set of a component, which a resolver has computed.
func NewComponentSet(b *Resolver, c *Cluster, g *Group, component string, r Component, deletion string) (*ComponentSet, []problem.Problem) {
	var root *yamldoc.Node
	if r.Values != nil {
		root = r.Values.Root
	}
	text, err := b.Text(root)
	if err != nil {
		return nil, c.Attribute([]problem.Problem{{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: c.Member.Pos, Subject: fmt.Sprintf("component %q", component), Found: err.Error(),
		}})
	}
	e := r.Entry
	return &ComponentSet{
		Common: c.common(ApplicationName(component, c.Member.Name)), Component: component, Group: g.Name, Release: g.Release.Type,
		Chart: r.Chart, Namespace: r.Namespace, ReleaseName: r.ReleaseName, HelmValues: text, ValueFiles: valueFiles(r.Values), Deletion: deletion,
		Kind: e.Kind, DependsOn: e.DependsOn, Substitute: e.Substitute,
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
