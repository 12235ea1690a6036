package fleetstate

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/companion"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// A query's entry (`base`) may switch on a component that the layout's catalogs lack, or leave off.
// A build reads the files of a tenant's folders for it, too. A broken one is a problem of no member
// until a query needs it: then that component of that member is served as it last was (rule 5).

// spare is the last good cluster of a broken component; empty for a member that has come with it.
type spare struct {
	cluster  *Cluster
	resolver *Resolver
}

// usedComponents are a group's components, sorted, and which of them are enabled.
type usedComponents struct {
	names     []string
	isEnabled []bool
}

func (u usedComponents) has(component string) bool {
	i, found := slices.BinarySearch(u.names, component)
	return found && u.isEnabled[i]
}

// readUnused reads the files of a tenant's folders that a query's entry alone has a cluster read,
// but those of used components. The problem is that of the account.
func (b *Resolver) readUnused(c *Cluster, used map[string]usedComponents) []problem.Problem {
	var large companion.Large
	c.faulty = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		g := c.Groups[name]
		folders := slices.DeleteFunc(slices.Clone(g.Folders), func(f hierarchy.Folder) bool { return c.Member.IsHub || !b.Fleet.Layout.OfTenant(f.Level) })
		seen := map[companion.ValuesFile]bool{}
		t := b.Fleet.Layout.Values
		path := func(component string) (string, error) { return b.FilePath(t, c, g, component, "") }
		for _, folder := range folders {
			for _, file := range b.paths.ValuesFiles(folder, t, name, t.Shared && !t.ReadsFolder, path) {
				isUsed := used[name].has(file.Component) || name == FleetGroup && file.Component == Registration && !slices.Contains(used[name].names, Registration)
				if seen[file] || !b.Mounts.Reads(folder, name, file.Component) || isUsed && !file.OfCompanion || c.account.Exceeded() != nil {
					continue
				}
				seen[file] = true
				key := name + "/" + file.Component
				if large.Add(folders, file) { // unread: a query that needs it resolves it
					c.faulty[key] = true
					continue
				}
				layers, err := hierarchy.Resolve(hierarchy.Optional(folders), b.Documents, c.templateFacts.Lazy(name, file.Component, g.Root), c.account, file.Path)
				if err != nil || len(b.forbiddenValues(c, name, file.Component, layers)) > 0 {
					c.faulty[key] = true
				}
			}
		}
	}
	return problem.From(c.account.Exceeded(), problem.LimitExceeded, c.Member.Pos)
}

// spares are the last good clusters of a cluster's broken components.
func (p *history) spares(c *Cluster) map[string]spare {
	out := map[string]spare{}
	old := p.previous(ID{c.Member.Hub, c.Member.Name})
	for key := range c.faulty {
		s := spare{resolver: p.lastKnownGood[componentID(c, key)]}
		isNew := old == nil && p.before != nil || p.neverGood[componentID(c, key)]
		switch {
		case old != nil && !old.faulty[key] && (old.LastKnownGood != nil || len(old.Errors()) == 0):
			s = spare{old, p.before.ResolverOf(old)}
		case old != nil:
			s, isNew = old.spares[key]
			isNew = isNew || old.IsNewcomer
		case s.resolver != nil:
			if m := s.resolver.Fleet.Member(c.Member.Hub, c.Member.Name); m != nil {
				s.cluster = s.resolver.NewCluster(m, nil, p.st.facts)
			}
		}
		if s.cluster != nil {
			if f, registered := p.st.facts.Of(c.Member.Name); s.cluster.Registered != registered || !s.cluster.Facts.Equal(f) {
				s.cluster = s.resolver.NewCluster(s.cluster.Member, nil, p.st.facts)
			}
			out[key] = s
		} else if isNew {
			out[key] = spare{}
		}
	}
	return out
}

// componentID names a component of a member among last known good snapshots.
func componentID(c *Cluster, key string) ID {
	return ID{c.Member.Hub, c.Member.Name + " " + key}
}

// resolveSpare resolves a component by its last good cluster; false where there is none.
func (c *Cluster) resolveSpare(g *Group, component string, resolve func(*Resolver, *Cluster, *Group) (Component, []problem.Problem)) (Component, bool) {
	s := c.spares[g.Name+"/"+component]
	if s.cluster == nil || s.cluster.Groups[g.Name] == nil || len(s.cluster.Broken) > 0 {
		return Component{}, false
	}
	r, problems := resolve(s.resolver, s.cluster, s.cluster.Groups[g.Name])
	return r, len(problems) == 0
}

// IsUnused reports whether a component that cannot be resolved has no Application, or came with its
// member, and its tenant's files are why: it may be left out of a response.
func (st *State) IsUnused(c *Cluster, group, component string) bool {
	key := group + "/" + component
	if _, deployed := st.facts.Application(catalog.ApplicationName(component, c.Member.Name)); st.KnowsApplications() {
		return !deployed && c.faulty[key]
	}
	s, known := c.spares[key]
	return known && s.cluster == nil
}
