package paramset

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// ReleaseUse is a release with the clusters of one owner that are on it.
type ReleaseUse struct {
	Release  release.Release
	Clusters []string
	Enabled  map[string]bool            // the components that the hierarchy of any of them switches on, or that are being removed
	own      map[string]map[string]bool // by tenant: those that only its own catalogs have
	// A release that only members at home are on is as it was at the home of the first of them.
	revision, hold string
}

// releaseUses are the releases of the group that the requester's clusters are on, by type (R4, R7).
func releaseUses(st *fleetstate.State, q query.Checked) (map[string]*ReleaseUse, []problem.Problem) {
	clusters, problems := queriedClusters(st, q)
	uses := map[string]*ReleaseUse{}
	for _, c := range clusters {
		if !lifecycle.IsReachable(c, q.Group) || !lifecycle.Owns(st, c, q.Group, q.Requester) {
			continue
		}
		g := c.Groups[q.Group]
		if g == nil {
			continue // its layout, of before, has no such group
		}
		if len(g.Errors) > 0 {
			problems = append(problems, relevantProblems(c, g.Errors)...)
			continue
		}
		var removing []string
		if c.IsRetired() {
			if removing = lifecycle.Removing(st, q, c, g, nil); len(removing) == 0 {
				continue
			}
		}
		u := uses[g.Release.Type]
		if u == nil {
			u = newReleaseUse(st, c, g)
			uses[g.Release.Type] = u
		}
		u.Clusters = append(u.Clusters, c.Member.Name)
		if !c.IsRetired() {
			by := st.ResolverOf(c)
			enabled, faults := by.EnabledByHierarchy(c, g)
			problems = append(problems, c.Attribute(faults)...)
			for _, component := range enabled {
				if by.Teams().Of(c.Member).Lacks(by.Teams(), by.Apps(), q.Group, component) {
					continue // a team that is not on the cluster (T2)
				}
				if st.IsOfPlatform(c, q.Group, component) {
					u.Enabled[component] = true
				} else {
					u.enableOwn(c.Member.Tenant, component)
				}
			}
			removing = lifecycle.Removing(st, q, c, g, u.Enabled)
		}
		for _, component := range removing {
			if len(component) <= catalog.MaxComponent {
				u.Enabled[component] = true
			}
		}
	}
	for _, u := range uses {
		u.admitOwn()
	}
	return uses, problems
}

// maxOwn is the limit of components of one tenant's own catalogs in a release's values, which are
// those of all tenants: the first by name. A chart has no ApplicationSet for a component that its
// catalog lacks, so that most of them have no effect.
const maxOwn = 500

// enableOwn notes a component that a tenant's own catalog switches on. The chart's values refuse
// longer names.
func (u *ReleaseUse) enableOwn(tenant, component string) {
	if len(component) > catalog.MaxComponent {
		return
	}
	if u.own == nil {
		u.own = map[string]map[string]bool{}
	}
	if u.own[tenant] == nil {
		u.own[tenant] = map[string]bool{}
	}
	u.own[tenant][component] = true
}

// admitOwn enables each tenant's own components, up to their limit.
func (u *ReleaseUse) admitOwn() {
	for _, components := range u.own {
		names := slices.Sorted(maps.Keys(components))
		for _, name := range names[:min(len(names), maxOwn)] {
			u.Enabled[name] = true
		}
	}
}

// newReleaseUse is the release of a cluster: as the snapshot has it, if it does.
func newReleaseUse(st *fleetstate.State, c *fleetstate.Cluster, g *fleetstate.Group) *ReleaseUse {
	u := &ReleaseUse{Release: g.Release, Enabled: map[string]bool{}}
	if c.LastKnownGood == nil {
		return u
	}
	rel, err := st.Fleet.Versions.Of(g.Name).Choose(map[string]string{release.LabelOf(g.Name): g.Release.Type})
	if err != nil {
		u.revision, u.hold = c.LastKnownGood.Snapshot.Revision, c.Hold
		return u
	}
	u.Release = rel
	return u
}

// DesiredReleases are the releases of a group that the clusters of an owner will be on when all
// removals are done, by type.
func DesiredReleases(st *fleetstate.State, hub, group, owner string) map[string]*ReleaseUse {
	uses, _ := releaseUses(st, query.Checked{Query: query.Query{View: query.Releases, Hub: hub, Group: group}, Requester: owner, Desired: true})
	return uses
}

// releaseSets are one set per release of the group that a cluster of the requester's is on.
func releaseSets(st *fleetstate.State, q query.Checked) ([]Set, []problem.Problem) {
	uses, problems := releaseUses(st, q)
	var sets []Set
	common := requesterCommon(st, q)
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		components := map[string]any{}
		for component := range u.Enabled {
			entry := st.Resolver().OwnEntry(q.Group, component, u.Release.Source.Path)
			entry[catalog.KeyEnabled] = true
			components[component] = entry
		}
		owner := q.Requester
		text, err := yamldoc.FromAny(nil, map[string]any{
			"group": q.Group, "release": name, "hub": q.Hub, "owner": owner, catalog.ComponentsKey: components,
		}).YAML()
		if err != nil {
			problems = append(problems, problem.From(err, problem.InvalidValue, u.Release.Pos)...)
			continue
		}
		common := common
		common.Revision, common.Hold = u.revision, u.hold
		s := &ReleaseSet{Common: common, Group: q.Group, Release: u.Release.Keys, Source: u.Release.Source, Clusters: u.Clusters, HelmValues: string(text)}
		s.ApplicationName = catalog.ReleaseApplicationName(q.Group, name)
		sets = append(sets, s)
	}
	return sets, problems
}

// requesterCommon are the common fields of the cluster whose engine asks: the one that the
// ApplicationSets live on.
func requesterCommon(st *fleetstate.State, q query.Checked) Common {
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
			Metadata: labels.NewMetadata(nil, nil),
		}
	}
	return commonOf(c, "")
}
