package fleetstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/placement"
)

// Cluster is a member with all that is the same for every component: labels, levels' folders,
// catalogs, releases.
type Cluster struct {
	Member     *fleet.Member
	Facts      facts.Cluster
	Registered bool

	Labels, Annotations labels.Set
	Metadata            json.RawMessage // both, as parameter sets have them
	templateFacts       tmpl.Facts      // with the full labels
	entryFacts          tmpl.Facts      // what a query's entry sees instead; nil for the same
	Registration        *hierarchy.Tree
	Groups              map[string]*Group
	// account is what computing it has cost.
	account *budget.Account
	// broken are problems that make every answer about the cluster impossible.
	Broken    []problem.Problem
	placement *placement.Placement
	// problems are all errors found when the state was built; faults are those of the hub's own
	// member file, which every member of the hub depends on.
	Problems, HubProblems []problem.Problem

	// desired is the member as the snapshot has it, where this cluster stands in for it, computed
	// from LastKnownGood, and Hold is why (rule 5).
	desired       *Cluster
	LastKnownGood *Resolver
	Hold          string
	// IsOverBudget reports that its tenant takes more than its budget: it has not been computed.
	IsOverBudget bool
	// isHeld reports that the guard holds the member, although it can be computed (rule 8).
	isHeld bool
	// faulty are the components that only a query's entry may enable and whose files are broken,
	// and spares the last good clusters of some of them.
	faulty map[string]bool
	spares map[string]spare
	// hasCutName reports that a tenant's name for a component is cut.
	hasCutName bool
	// newcomer tells a member that cannot be computed, and never could since the service knows it.
	IsNewcomer bool
}

// NewCluster computes a member, whose placement may be known already (else it is nil). It never
// fails: what is wrong is kept where it belongs.
func (b *Resolver) NewCluster(m *fleet.Member, known *placement.Placement, f facts.Set) *Cluster {
	c := &Cluster{Member: m, Groups: map[string]*Group{}, placement: known, account: budget.NewAccount(m.Name)}
	c.Facts, c.Registered = f.Of(m.Name)
	c.Broken = problem.Errors(m.Problems)
	if len(c.Broken) > 0 {
		return c
	}
	if c.placement == nil {
		c.placement = placement.New(b.Fleet, b.Mounts, c.Member, c.Facts)
	}
	if c.Broken = c.placement.Broken; len(c.Broken) == 0 {
		c.templateFacts = c.placement.Facts
		byDirs := map[*hierarchy.Dir]*Group{} // groups of one root share their folders
		for name, dirs := range c.placement.Dirs {
			g := &Group{Name: name, Root: c.placement.Roots[name]}
			if same := byDirs[&dirs[0]]; same != nil {
				g.Folders, g.stack = same.Folders, same.stack
			} else {
				g.Folders = b.index.Folders(dirs)
				g.stack = b.index.Stack(g.Folders)
				byDirs[&dirs[0]] = g
			}
			c.Groups[name] = g
		}
		b.labels(c)
	}
	if len(c.Broken) == 0 {
		for _, name := range slices.Sorted(maps.Keys(c.Groups)) { // the account is charged in this order
			b.group(c, c.Groups[name])
			g := c.Groups[name]
			catalogs, faults := m.Provision.Catalogs(name, team.Catalogs(b.teams, b.apps, m, name, g.Catalogs))
			faults = append(faults, team.Problems(b.teams, b.apps, m, name, g.Catalogs)...)
			g.Catalogs, g.Errors = catalogs, append(g.Errors, c.Attribute(faults)...)
		}
	}
	c.Broken = c.Attribute(c.Broken)
	return c
}

// AsAgent is the cluster as it is while it has an engine of its own to remove.
func (c *Cluster) AsAgent() *Cluster {
	out := *c
	out.Member = c.Member.AsAgent()
	return &out
}

// Attribute marks problems as the member's.
func (c *Cluster) Attribute(ps []problem.Problem) []problem.Problem {
	out := slices.Clone(ps)
	for i := range out {
		out[i].Hub, out[i].Cluster = c.Member.Hub, c.Member.Name
	}
	return out
}

// labels merges fleet/fleet-secret and computes the cluster's labels and annotations (L1 to L3).
func (b *Resolver) labels(c *Cluster) {
	m := c.Member
	var declaredLabels, declaredAnnotations []labels.Entry
	if g := c.Groups[FleetGroup]; g != nil {
		layers, problems := b.valueLayers(c, g, Registration, c.account)
		if len(problems) > 0 {
			c.Broken = append(c.Broken, problems...)
			return
		}
		if err := tenancy.ChargeKept(b.Fleet.Layout, c.account, layers); err != nil {
			c.Broken = append(c.Broken, problem.From(err, problem.LimitExceeded, m.Pos)...)
			return
		}
		for _, l := range layers {
			c.Broken = append(c.Broken, c.Attribute(labels.NotMaps(l.Root))...)
		}
		c.Registration = b.Merge(layers, FleetGroup, Registration)
		c.Broken = append(c.Broken, b.forbiddenValues(c, FleetGroup, Registration, layers)...)
		c.Broken = append(c.Broken, c.Attribute(tenancy.ForbiddenSecrets(b.Fleet.Layout, m, c.Registration))...)
		secret := c.Registration.At([]string{"externalSecret"})
		var problemsL, problemsA []problem.Problem
		declaredLabels, problemsL = labels.FromNode(labels.Label, secret.Get("labels"))
		declaredAnnotations, problemsA = labels.FromNode(labels.Annotation, secret.Get("annotations"))
		c.Broken = append(c.Broken, slices.Concat(problemsL, problemsA)...)
	}
	var problems []problem.Problem
	c.Labels, c.Annotations, problems = placement.Labels(b.Fleet, m, c.Facts, declaredLabels, declaredAnnotations)
	c.Broken = append(c.Broken, problems...)
	c.Broken = append(c.Broken, m.Contradictions(c.Labels)...)
	c.templateFacts = c.templateFacts.WithLabels(c.Labels.All, c.Annotations.All)
	c.Metadata = labels.NewMetadata(c.Labels.All, c.Annotations.All)
}

// ReleaseProblems is the problem of choosing a release, at the place of the label that chose it, if
// Git declares it.
func (c *Cluster) ReleaseProblems(err error, label string) []problem.Problem {
	ps := c.Attribute(problem.From(err, problem.UnknownRelease, c.Member.Pos))
	for i := range ps {
		if ps[i].Reason != problem.UnknownRelease { // the release is wrong, whatever member is on it
			continue
		}
		if pos, ok := c.Labels.Origins[label]; ok {
			if !ps[i].Pos.IsZero() {
				ps[i].Related = append(ps[i].Related, ps[i].Pos)
			}
			ps[i].Pos = pos
		}
		ps[i].Subject = fmt.Sprintf("member %q: %s", c.Member.Name, ps[i].Subject)
	}
	return ps
}

// Check computes everything about a cluster that does not depend on a request and returns all
// errors.
func (b *Resolver) Check(c *Cluster) []problem.Problem {
	if len(c.Broken) > 0 {
		return c.Broken
	}
	if err := c.account.Exceeded(); err != nil { // by its catalogs
		return c.Attribute(problem.From(err, problem.LimitExceeded, c.Member.Pos))
	}
	out := c.Attribute(slices.Concat(tenancy.Twins(b.Fleet, c.Member), tenancy.RegisteredName(b.Fleet, c.Member), b.unsupportedAgent(c)))
	used := map[string]usedComponents{}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[name]
		out = append(out, g.Errors...)
		names := g.Components()
		if err := b.chargeOwn(c, g, names); err != nil {
			return append(out, c.Attribute(problem.From(err, problem.LimitExceeded, c.Member.Pos))...)
		}
		isEnabled := make([]bool, len(names))
		for i, component := range names {
			if !labels.IsName(component) && !g.InCatalog(component) {
				continue // reported where a level names it
			}
			if c.account.Exceeded() != nil {
				return out // reported; the rest is work, too
			}
			r, problems := b.resolve(c, g, component, nil, c.account)
			out = append(out, problems...)
			c.hasCutName = c.hasCutName || !c.Member.IsHub && b.tenantNames(c, g).HasCut(component)
			isEnabled[i] = r.Enabled
			if r.Enabled && g.InCatalog(component) {
				out = append(out, c.Attribute(b.teams.Of(c.Member).Taken(r.Namespace, name, component))...)
			}
		}
		used[name] = usedComponents{names, isEnabled}
	}
	if len(out) == 0 || c.account.Exceeded() == nil {
		out = append(out, c.Attribute(b.readUnused(c, used))...)
	}
	if g := c.Groups[FleetGroup]; g != nil && g.HasCatalog() {
		out = append(out, b.MissingEngines(c)...)
	}
	choose := b.Fleet.FleetSecrets.ChooseSource
	if c.Member.IsHub { // a hub does not register itself
		choose = b.Fleet.FleetSecrets.Choose
	}
	if _, err := choose(c.Labels.All); err != nil {
		out = append(out, c.ReleaseProblems(err, release.FleetSecretsLabel)...)
	}
	return out
}

// Desired is the cluster as the snapshot has it.
func (c *Cluster) Desired() *Cluster {
	if c.desired != nil {
		return c.desired
	}
	return c
}

// IsRetired reports whether the member is to go.
func (c *Cluster) IsRetired() bool {
	return c.Member.Lifecycle == fleet.Retired && len(problem.Errors(c.Member.Problems)) == 0
}
