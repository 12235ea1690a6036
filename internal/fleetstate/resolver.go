package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/memo"
)

// Resolver is a snapshot, and what has been read of it and is the same for all facts and requests:
// clusters are computed upon it. Most of a State's clusters are computed upon the State's own, and
// those that it has broken upon an earlier one (rule 5).
type Resolver struct {
	Fleet     *fleet.Fleet
	Snapshot  *snapshot.Snapshot
	Documents *hierarchy.Cache
	memo      *memo.Memo
	queried   *memo.Memo                   // of queries' own catalog entries
	Catalogs  map[string][]hierarchy.Layer // by group: the layout's catalogs, the later wins
	folders   memo.Folders
	names     *memo.Names
	paths     *companion.Paths
	index     *hierarchy.Index
	onHub     tenancy.Schemas
	teams     *team.Table  // nil without team files
	apps      *team.Apps   // nil without the group workloads
	Mounts    *mount.Table // nil without any
}

// maxRemembered bounds what is kept of what clusters have in common, in bytes. Beyond, it is
// computed anew.
const maxRemembered = 512 << 20

// maxQueried bounds what is kept of queries' own catalog entries, in bytes: a requester may send as
// many different entries as they like.
const maxQueried = 128 << 20

// newResolver reads a snapshot. What did not change since the previous resolver, which may be nil,
// is taken from it. The error, a problem.List, means that the repository as a whole cannot be used.
func newResolver(previous *Resolver, previousFleet *fleet.Fleet, s *snapshot.Snapshot, served func(*fleet.Member) *fleet.Member) (*Resolver, error) {
	g := &Resolver{Snapshot: s}
	if previous != nil {
		g.Documents, g.index, previousFleet = previous.Documents, previous.index.Next(s), previous.Fleet
	} else {
		g.Documents, g.index = hierarchy.NewCache(), hierarchy.NewIndex(s)
	}
	var err error
	if g.Fleet, err = fleet.Load(s, g.Documents, previousFleet); err != nil {
		return nil, err
	}
	g.Documents = g.Documents.Lenient(g.Fleet.Layout.DuplicateKeys == problem.Warning)
	if previous != nil && previous.Fleet.Layout == g.Fleet.Layout {
		g.memo, g.queried, g.names, g.paths = previous.memo.Succeed(), previous.queried.Succeed(), previous.names, previous.paths
	} else {
		g.memo, g.queried = memo.New(budget.MemoryShare(maxRemembered, 10)), memo.New(budget.MemoryShare(maxQueried, 3))
		g.names, g.paths = memo.NewNames(), companion.NewPaths()
	}
	if err := g.loadCatalogs(); err != nil {
		return nil, err
	}
	if g.onHub, err = tenancy.LoadSchemas(g.Fleet.Layout, g.Catalogs, s, FleetGroup+"/"+Registration); err != nil {
		return nil, err
	}
	if err := g.loadTeams(previous, served); err != nil {
		return nil, err
	}
	g.Mounts = mount.NewTable(g.Bounds())
	if err := g.Mounts.Hidden(s.Main()); err != nil {
		return nil, err
	}
	return g, nil
}

// ResolverOf is what a cluster has been computed upon.
func (st *State) ResolverOf(c *Cluster) *Resolver {
	if c.LastKnownGood != nil {
		return c.LastKnownGood
	}
	return st.resolver
}

// loadCatalogs reads the files that the layout names as groups' catalogs.
func (b *Resolver) loadCatalogs() error {
	var problems, faults problem.List
	b.Catalogs, problems = memo.ReadCatalogs(b.Fleet.Layout, b.Snapshot, b.Documents)
	if b.folders, faults = memo.CheckCatalogs(b.Fleet.Layout, b.Catalogs); len(problems)+len(faults) > 0 {
		return append(problems, faults...)
	}
	return nil
}

// file is the path of a layout's file inside a level's folder.
func (b *Resolver) file(t *fleet.FileTemplate, group, component, level string, facts func() any) (string, error) {
	return b.names.File(t, memo.FileOf{Group: group, Component: component, Level: level, Folder: b.folders.Of(group, component)}, facts)
}

// valuesFile is the path of a component's values file inside a level's folder.
func (b *Resolver) valuesFile(c *Cluster, g *Group, component string) (string, error) {
	t := b.Fleet.Layout.Values
	if t.Shared {
		if known := b.names.KnownFile(t, memo.FileOf{Group: g.Name, Component: component, Folder: b.folders.Of(g.Name, component)}); known != "" {
			return known, nil
		}
	}
	return b.FilePath(t, c, g, component, "")
}

// FilePath is the path of a layout's file inside the folder of a level of a cluster's group.
func (b *Resolver) FilePath(t *fleet.FileTemplate, c *Cluster, g *Group, component, level string) (string, error) {
	return b.file(t, g.Name, component, level, c.templateFacts.Lazy(g.Name, component, g.Root))
}
