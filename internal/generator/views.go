package generator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// registrationSets are the one set of a spoke, what registers it.
func (st *State) registrationSets(q query, c *cluster) (out clusterSets) {
	deletion, is := st.registration(q, c)
	if !is {
		return out
	}
	s, faults := st.memberSet(c, deletion)
	if out.problems = c.concerns(faults); s != nil {
		out.sets = []set{s}
	}
	return out
}

// memberSet is what registers a member.
func (st *State) memberSet(c *cluster, deletion string) (*MemberSet, []problem.Problem) {
	rel, err := st.of(c).Fleet.FleetSecrets.Choose(c.labels.All)
	if err != nil {
		return nil, c.unknownRelease(err, release.FleetSecretsLabel)
	}
	text, err := st.registrationValues(c).YAML()
	if err != nil {
		return nil, c.own(problem.From(err, problem.InvalidValue, c.member.Pos))
	}
	return &MemberSet{
		Common: c.common(applicationName(fleetSecret, c.member.Name)), SecretManagerSecretName: c.member.SecretManagerSecret,
		SecretLabels: c.labels.Declared, SecretAnnotations: c.annotations.Declared,
		Release: rel.Keys, Source: rel.Source, HelmValues: string(text), ValueFiles: files(c.registration.Layers()), Deletion: deletion,
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

// releaseUse is a release with the clusters of one owner that are on it.
type releaseUse struct {
	rel      release.Release
	clusters []string
	enabled  map[string]bool // the components that the hierarchy of any of them switches on, or that are being removed
	// A release that only members at home are on is as it was at the home of the first of them.
	revision, quarantine string
}

// releaseUses are the releases of the group that the asker's clusters are on, by type (R4, R7).
func (st *State) releaseUses(q query) (map[string]*releaseUse, []problem.Problem) {
	clusters, problems := st.asked(q)
	uses := map[string]*releaseUse{}
	for _, c := range clusters {
		if !c.registered || !st.owns(q, c, q.Group) {
			continue
		}
		g := c.groups[q.Group]
		if g == nil {
			continue // its layout, of before, has no such group
		}
		if len(g.errors) > 0 {
			problems = append(problems, c.concerns(g.errors)...)
			continue
		}
		var removing []string
		if c.retired() {
			if removing = st.removing(q, c, g, nil); len(removing) == 0 {
				continue
			}
		}
		u := uses[g.release.Type]
		if u == nil {
			u = st.releaseUse(c, g)
			uses[g.release.Type] = u
		}
		u.clusters = append(u.clusters, c.member.Name)
		if !c.retired() {
			enabled, faults := st.of(c).enabledByHierarchy(g)
			problems = append(problems, c.own(faults)...)
			for _, component := range enabled {
				u.enabled[component] = true
			}
			removing = st.removing(q, c, g, u.enabled)
		}
		for _, component := range removing {
			u.enabled[component] = true
		}
	}
	return uses, problems
}

// releaseUse is the release of a cluster: as the snapshot has it, if it does.
func (st *State) releaseUse(c *cluster, g *clusterGroup) *releaseUse {
	u := &releaseUse{rel: g.release, enabled: map[string]bool{}}
	if c.home == nil {
		return u
	}
	rel, err := st.Fleet.Versions.Of(g.name).Choose(map[string]string{release.LabelOf(g.name): g.release.Type})
	if err != nil {
		u.revision, u.quarantine = c.home.snapshot.Revision, c.quarantine
		return u
	}
	u.rel = rel
	return u
}

// releaseSets are one set per release of the group that a cluster of the asker's is on.
func (st *State) releaseSets(q query) ([]set, []problem.Problem) {
	uses, problems := st.releaseUses(q)
	var sets []set
	common := st.askersCommon(q)
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		components := map[string]any{}
		for component := range u.enabled {
			components[component] = map[string]any{keyEnabled: true}
		}
		owner := q.owner
		text, err := yamldoc.FromAny(nil, map[string]any{
			"group": q.Group, "release": name, "hub": q.Hub, "owner": owner, componentsKey: components,
		}).YAML()
		if err != nil {
			problems = append(problems, problem.From(err, problem.InvalidValue, u.rel.Pos)...)
			continue
		}
		common := common
		common.revision = u.revision
		if u.quarantine != "" {
			common.Quarantine = u.quarantine
		}
		s := &ReleaseSet{Common: common, Group: q.Group, Release: u.rel.Keys, Source: u.rel.Source, Clusters: u.clusters, HelmValues: string(text)}
		s.ApplicationName = releaseName(q.Group, name)
		sets = append(sets, s)
	}
	return sets, problems
}

// enabledByHierarchy are the components that the hierarchy switches on for the cluster, whatever the catalog's own
// default is (R7). An entry that cannot be read is a problem: it must not look like one that is switched off (G1).
func (b *ground) enabledByHierarchy(g *clusterGroup) (out []string, problems []problem.Problem) {
	catalogs := g.catalogs
	if g.catalogued() {
		catalogs = catalogs[1:]
	}
	for _, component := range g.components() {
		entries, _ := b.memo.entryLayers(catalogs, component)
		if len(entries) == 0 {
			continue
		}
		_, e, faults := b.mergeEntry(entries, component)
		problems = append(problems, faults...)
		if len(faults) == 0 && e.enabled {
			out = append(out, component)
		}
	}
	return out, problems
}

// askersCommon are the common fields of the cluster whose engine asks: the one that the ApplicationSets live on.
func (st *State) askersCommon(q query) Common {
	name := q.owner
	if name == fleet.OwnerHub {
		name = ""
		if self := st.hubs[q.Hub]; self != nil {
			name = self.Name
		}
	}
	c := st.cluster(q.Hub, name)
	if c == nil {
		return Common{
			Name: q.Hub, NameNormalized: q.Hub, Hub: q.Hub, Model: fleet.Centralized,
			Metadata: metadata(nil, nil),
		}
	}
	return c.common("")
}

// componentSets are one set per component that is enabled on a cluster and owned by the asker.
func (st *State) componentSets(q query, c *cluster, base *yamldoc.Node) (out clusterSets) {
	g := c.groups[q.Group]
	if g == nil {
		return out
	}
	out.knows = q.Component != "" && g.has(q.Component)
	if !c.registered || !st.may(q, c, q.Group) {
		return out
	}
	if len(g.errors) > 0 {
		out.problems = c.concerns(g.errors)
		return out
	}
	if q.Release != "" && g.release.Type != q.Release {
		return out
	}
	for _, component := range q.components(g) {
		s, problems := st.componentSet(q, c, g, component, base)
		out.problems = append(out.problems, problems...)
		if s != nil {
			out.sets = append(out.sets, s)
		}
	}
	return out
}

// components are the names that a request asks for.
func (q query) components(g *clusterGroup) []string {
	if q.Component != "" {
		return []string{q.Component}
	}
	return g.components()
}

// base is the request's catalog entry as a node.
func (st *State) base(q query) (*yamldoc.Node, *Error) {
	if q.Base == nil {
		return nil, nil
	}
	n, err := st.now.memo.base(&yamldoc.Doc{File: basePath}, q.Base)
	if err != nil {
		return nil, badRequest("input.parameters.base: %v", err)
	}
	if e := readEntry(longForm(n)); len(e.problems) > 0 {
		return nil, badRequest("input.parameters.%s", strings.TrimPrefix(e.problems[0].Error(), ": "))
	}
	return n, nil
}

// componentSet is one cluster's set of one component, nil when there is to be no Application: it is not to run there,
// and what runs has been taken care of (D3); or when it belongs to another ApplicationSet yet.
func (st *State) componentSet(q query, c *cluster, g *clusterGroup, component string, base *yamldoc.Node) (*ComponentSet, []problem.Problem) {
	ground := st.of(c)
	r, problems := ground.resolve(c, g, component, base)
	if problems = c.concerns(problems); len(problems) > 0 {
		return nil, problems
	}
	if r.enabled && !c.retired() {
		if st.held(q, c, g, component) {
			return nil, nil
		}
		return ground.newComponentSet(c, g, component, q.told(r), orphan)
	}
	if r.entry == nil || st.removal(q, c, g, component) != wanted || !c.goes(r.entry, ground.memo.entry(r.entry)) {
		return nil, nil
	}
	if r.values == nil {
		if r, problems = ground.whole(c, g, component, base, r); len(problems) > 0 {
			return nil, nil // it cannot be told any more what runs: it stays, and so does the rest of the answer
		}
	}
	return ground.newComponentSet(c, g, component, q.told(r), cascade)
}

// told is what is written of a component.
func (q query) told(r resolved) resolved {
	if q.bare {
		r.values = nil
	}
	return r
}

func (b *ground) newComponentSet(c *cluster, g *clusterGroup, component string, r resolved, deletion string) (*ComponentSet, []problem.Problem) {
	var root *yamldoc.Node
	if r.values != nil {
		root = r.values.Root
	}
	text, err := b.memo.text(root)
	if err != nil {
		return nil, c.own([]problem.Problem{{
			Reason: problem.InvalidValue, Severity: problem.Error, Pos: c.member.Pos, Subject: fmt.Sprintf("component %q", component), Found: err.Error(),
		}})
	}
	e := b.memo.entry(r.entry)
	return &ComponentSet{
		Common: c.common(applicationName(component, c.member.Name)), Component: component, Group: g.name, Release: g.release.Type,
		Chart: r.chart, Namespace: r.ns, ReleaseName: r.relName, HelmValues: text, ValueFiles: valueFiles(r.values), Deletion: deletion,
		Kind: e.kind, DependsOn: e.dependsOn, Substitute: e.substitute,
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
