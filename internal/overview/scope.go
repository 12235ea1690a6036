package overview

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/queryerr"
	"github.com/argosy-hub/argosy/internal/rollout"
)

// Scope says what a reader may see (rule 2).
type Scope interface {
	Sees(hub, cluster, tenant string) bool
	SeesGroup(group string) bool
}

// SeesRollout reports whether a scope sees any group of a rollout policy's scope.
func SeesRollout(scope Scope, f *fleet.Fleet, p *rollout.Policy) bool {
	return slices.ContainsFunc(f.Layout.GroupNames(), func(group string) bool { return p.Scope.CoversPart(group) && scope.SeesGroup(group) })
}

// visible reports whether a scope sees a cluster. Where a member is served from an earlier file, it
// has to see both tenants.
func visible(scope Scope, c *fleetstate.Cluster) bool {
	m, desired := c.Member, c.Desired().Member
	return scope.Sees(m.Hub, m.Name, m.Tenant) && (desired.Tenant == m.Tenant || scope.Sees(m.Hub, m.Name, desired.Tenant))
}

// Visible reports whether a scope sees a cluster.
func Visible(scope Scope, c *fleetstate.Cluster) bool { return visible(scope, c) }

// FindCluster finds a visible cluster. An empty hub stands for the one hub that has it. The error,
// a *queryerr.Error, is the same for a cluster that is not visible and for one that is not there.
func FindCluster(st *fleetstate.State, scope Scope, hub, name string) (*fleetstate.Cluster, error) {
	var found []*fleetstate.Cluster
	var names []string
	for m, c := range st.Clusters() {
		if hub != "" && m.Hub != hub || !visible(scope, c) {
			continue
		}
		names = append(names, m.Name)
		if m.Name == name {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0:
		return nil, queryerr.BadRequest("no cluster is called %q%s", name, queryerr.Hint(name, names))
	case len(found) > 1:
		return nil, queryerr.BadRequest("several hubs have a cluster %q: name the hub", name)
	}
	return found[0], nil
}
