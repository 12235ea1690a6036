package generator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/release"
)

// cluster is a member with all that is the same for every component: labels, levels' folders, catalogs, releases.
type cluster struct {
	member     *fleet.Member
	facts      facts.Cluster
	registered bool

	labels, annotations labels.Set
	metadata            json.RawMessage // both, as parameter sets have them
	data                templateFacts   // with the full labels
	registration        *hierarchy.Tree
	groups              map[string]*clusterGroup
	// broken are problems that make every answer about the cluster impossible.
	broken []problem.Problem
	place  *placement
	// problems are all errors found when the state was built; faults are those of the hub's own member file, which every
	// member of the hub depends on.
	problems, faults []problem.Problem

	// attempt is the member as the snapshot has it, where it cannot be computed and this cluster stands in for it: home is
	// what this one has been computed upon, quarantine says so in its sets (rule 10).
	attempt    *cluster
	home       *ground
	quarantine string
	// newcomer tells a member that cannot be computed, and never could since the service knows it.
	newcomer bool
}

// placement is where a cluster's files are: a function of the layout, the member file, the hub's and the facts, so that
// it outlives changes of other files.
type placement struct {
	data   templateFacts // without the hierarchy's labels
	roots  map[string]string
	dirs   map[string][]hierarchy.Dir // by group; those of one root may be one slice
	broken []problem.Problem
}

// clusterGroup is one group of a cluster.
type clusterGroup struct {
	name, root string
	folders    []hierarchy.Folder
	// catalogs are the layout's catalog and the hierarchy's, least specific first; only those that are there.
	catalogs []hierarchy.Layer
	release  release.Release
	// errors of the catalog and of the release's choice: they concern this group alone.
	errors []problem.Problem
}

// newCluster computes a member, whose placement may be known already (else it is nil). It never fails: what is wrong is
// kept where it belongs.
func (b *ground) newCluster(m *fleet.Member, known *placement, f facts.Set) *cluster {
	c := &cluster{member: m, groups: map[string]*clusterGroup{}, place: known}
	c.facts, c.registered = f.Of(m.Name)
	c.broken = problem.Errors(m.Problems)
	if len(c.broken) > 0 {
		return c
	}
	if c.place == nil {
		c.place = b.newPlacement(c)
	}
	if c.broken = c.place.broken; len(c.broken) == 0 {
		c.data = c.place.data
		folders := map[*hierarchy.Dir][]hierarchy.Folder{} // groups of one root share them
		for name, dirs := range c.place.dirs {
			if folders[&dirs[0]] == nil {
				folders[&dirs[0]] = b.index.Folders(dirs)
			}
			c.groups[name] = &clusterGroup{name: name, root: c.place.roots[name], folders: folders[&dirs[0]]}
		}
		b.labels(c)
	}
	if len(c.broken) == 0 {
		for _, g := range c.groups {
			b.group(c, g)
		}
	}
	c.broken = c.own(c.broken)
	return c
}

// own marks problems as the member's.
func (c *cluster) own(ps []problem.Problem) []problem.Problem {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Hub, out[i].Cluster = c.member.Hub, c.member.Name
	}
	return out
}

// templateFacts are what templates see, with labels and annotations to be added.
func (b *ground) templateFacts(c *cluster) templateFacts {
	m := c.member
	return templateFacts{
		"name": m.Name, "cluster": m.Name, "hub": m.Hub, "tenant": m.Tenant, "environment": m.Environment,
		"server": c.facts.Server, "model": m.Model(), "member": m.Content(),
	}
}

// reserved are the labels that cannot be declared otherwise (L1).
func reserved(m *fleet.Member) map[string]string {
	kind := fleet.Spoke
	if m.IsHub {
		kind = fleet.HubCluster
	}
	return map[string]string{
		labels.SecretType: labels.SecretTypeValue, labels.FleetMember: kind, labels.Tenant: m.Tenant, labels.Environment: m.Environment,
	}
}

// newPlacement computes the levels' folders of every group, from the facts without the hierarchy's labels.
func (b *ground) newPlacement(c *cluster) *placement {
	l, refused := labels.Compute(labels.Input{
		Kind: labels.Label, Live: c.facts.Labels, Declared: slices.Concat(c.member.FlagLabels, c.member.Labels), Reserved: reserved(c.member),
	})
	a, _ := labels.Compute(labels.Input{Kind: labels.Annotation, Live: c.facts.Annotations, Declared: b.declaredAnnotations(c.member, nil)})
	p := &placement{
		data:  b.templateFacts(c).withLabels(l.All, a.All),
		roots: map[string]string{}, dirs: map[string][]hierarchy.Dir{},
	}
	levels := b.Fleet.Layout.LevelsOf(c.member)
	own := levels.Reads("group") // else groups of one root have the same folders
	byRoot := map[string][]hierarchy.Dir{}
	for _, name := range b.Fleet.Layout.GroupNames() {
		root := b.Fleet.Root(c.member, name)
		if byRoot[root] == nil || own {
			dirs, err := levels.Dirs(p.data.with(name, "", root))
			if err != nil {
				p.broken = append(p.broken, problem.From(err, problem.TemplateFailed, c.member.Pos)...)
				continue
			}
			byRoot[root] = dirs
		}
		p.roots[name], p.dirs[name] = root, byRoot[root]
	}
	if len(p.broken) > 0 { // most likely for want of a label that is declared, but refused: that is what is to be mended
		p.broken = slices.Concat(refused, p.broken)
	}
	return p
}

// declaredAnnotations are what Git declares for a member, least specific first: the hub's repository keys, the
// hierarchy's annotations, the member's own repository keys and annotations.
func (b *ground) declaredAnnotations(m *fleet.Member, fromHierarchy []labels.Entry) []labels.Entry {
	var inherited []labels.Entry
	if self := b.Fleet.HubMember(m.Hub); self != nil && self != m {
		inherited = self.RepositoryAnnotations
	}
	return slices.Concat(inherited, fromHierarchy, m.RepositoryAnnotations, m.Annotations)
}

// labels merges fleet/fleet-secret and computes the cluster's labels and annotations (L1 to L3).
func (b *ground) labels(c *cluster) {
	m := c.member
	var declaredLabels, declaredAnnotations []labels.Entry
	if g := c.groups[fleetGroup]; g != nil {
		layers, problems := b.valueLayers(c, g, fleetSecret)
		if len(problems) > 0 {
			c.broken = append(c.broken, problems...)
			return
		}
		c.registration = b.merge(layers, fleetGroup, fleetSecret)
		c.broken = append(c.broken, b.forbiddenSecrets(c)...)
		secret := c.registration.At([]string{"externalSecret"})
		var problemsL, problemsA []problem.Problem
		declaredLabels, problemsL = labels.FromNode(labels.Label, secret.Get("labels"))
		declaredAnnotations, problemsA = labels.FromNode(labels.Annotation, secret.Get("annotations"))
		c.broken = append(c.broken, slices.Concat(problemsL, problemsA)...)
	}
	var problems []problem.Problem
	c.labels, problems = labels.Compute(labels.Input{
		Kind: labels.Label, Live: c.facts.Labels, Declared: slices.Concat(declaredLabels, m.FlagLabels, m.Labels), Reserved: reserved(m),
	})
	c.broken = append(c.broken, problems...)
	c.broken = append(c.broken, m.Contradictions(c.labels)...)
	c.annotations, problems = labels.Compute(labels.Input{
		Kind: labels.Annotation, Live: c.facts.Annotations, Declared: b.declaredAnnotations(m, declaredAnnotations),
	})
	c.broken = append(c.broken, problems...)
	c.data = c.data.withLabels(c.labels.All, c.annotations.All)
	c.metadata = metadata(c.labels.All, c.annotations.All)
}

// metadata is labels and annotations in the place where Argo CD's own cluster generator has them.
func metadata(labels, annotations map[string]string) json.RawMessage {
	text, err := marshal(Metadata{Labels: nonNil(labels), Annotations: nonNil(annotations)})
	if err != nil {
		panic(err) //nolint:forbidigo // maps of strings can always be written
	}
	return text
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// group reads a group's catalogs and chooses its release.
func (b *ground) group(c *cluster, g *clusterGroup) {
	if l, ok := b.catalogs[g.name]; ok {
		g.catalogs = append(g.catalogs, l)
	}
	fail := func(err error) {
		g.errors = append(g.errors, c.own(problem.From(err, problem.InvalidYAML, c.member.Pos))...)
	}
	facts := c.data.lazy(g, "")
	file, err := b.file(b.Fleet.Layout.Catalog, g.name, "", facts)
	if err != nil {
		fail(err)
		return
	}
	// A catalog is the values file of a group as a whole: a level that is required for values need not have one.
	optional := g.folders
	if slices.ContainsFunc(optional, func(f hierarchy.Folder) bool { return f.Required }) {
		optional = slices.Clone(optional)
		for i := range optional {
			optional[i].Required = false
		}
	}
	layers, err := hierarchy.Resolve(optional, b.cache, file, facts)
	if err != nil {
		fail(err)
	}
	for _, l := range layers {
		if !l.Missing() {
			g.catalogs = append(g.catalogs, l)
		}
	}
	if g.release, err = b.Fleet.Versions.Of(g.name).Choose(c.labels.All); err != nil {
		g.errors = append(g.errors, c.unknownRelease(err, release.LabelOf(g.name))...)
	}
}

// unknownRelease is the problem of choosing a release, at the place of the label that chose it, if Git declares it.
func (c *cluster) unknownRelease(err error, label string) []problem.Problem {
	ps := c.own(problem.From(err, problem.UnknownRelease, c.member.Pos))
	for i := range ps {
		if pos, ok := c.labels.Origins[label]; ok {
			if !ps[i].Pos.IsZero() {
				ps[i].Related = append(ps[i].Related, ps[i].Pos)
			}
			ps[i].Pos = pos
		}
		ps[i].Subject = fmt.Sprintf("member %q: %s", c.member.Name, ps[i].Subject)
	}
	return ps
}

// components are the names of all components that the group's catalogs know for this cluster, sorted.
func (g *clusterGroup) components() []string {
	names := map[string]bool{}
	for _, l := range g.catalogs {
		if entries := components(l.Root); entries != nil {
			for _, f := range entries.Fields {
				names[f.Key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// has reports whether a component is among those.
func (g *clusterGroup) has(component string) bool {
	return slices.ContainsFunc(g.catalogs, func(l hierarchy.Layer) bool { return components(l.Root).Get(component) != nil })
}

// check computes everything about a cluster that does not depend on a request and returns all errors.
func (b *ground) check(c *cluster) []problem.Problem {
	if len(c.broken) > 0 {
		return c.broken
	}
	var out []problem.Problem
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		out = append(out, g.errors...)
		for _, l := range g.catalogs {
			if l.Level != catalogLevel {
				out = append(out, c.own(b.memo.catalogErrors(l.Root))...)
			}
		}
		for _, component := range g.components() {
			_, problems := b.resolve(c, g, component, nil)
			out = append(out, problems...)
		}
	}
	if _, err := b.Fleet.FleetSecrets.Choose(c.labels.All); err != nil {
		out = append(out, c.unknownRelease(err, release.FleetSecretsLabel)...)
	}
	return out
}
