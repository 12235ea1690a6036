package access

import (
	"iter"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// A Reader reports which clusters and groups a reader may see.
type Reader interface {
	Sees(hub, cluster, tenant string) bool
	SeesGroup(group string) bool
	// SeesEverything reports that it is not restricted in any way.
	SeesEverything() bool
}

// SeesRollout reports whether a scope sees any group of a rollout policy's scope.
func SeesRollout(scope Reader, f *fleet.Fleet, p *rollout.Policy) bool {
	return slices.ContainsFunc(f.Layout.GroupNames(), func(group string) bool { return p.Scope.CoversPart(group) && scope.SeesGroup(group) })
}

// Visible reports whether a scope sees a cluster. If the member is served from an earlier file, the
// scope must see the tenants of both files.
func Visible(scope Reader, c *fleetstate.Cluster) bool {
	m, desired := c.Member, c.Desired().Member
	return scope.Sees(m.Hub, m.Name, m.Tenant) && (desired.Tenant == m.Tenant || scope.Sees(m.Hub, m.Name, desired.Tenant))
}

// FindCluster finds a visible cluster. An empty hub stands for the only hub that has it. The error,
// a *problem.QueryError, is the same for an invisible cluster and a missing one.
func FindCluster(st *fleetstate.State, scope Reader, hub, name string) (*fleetstate.Cluster, error) {
	var found []*fleetstate.Cluster
	var names []string
	for m, c := range st.Clusters() {
		if hub != "" && m.Hub != hub || !Visible(scope, c) {
			continue
		}
		names = append(names, m.Name)
		if m.Name == name {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0:
		return nil, problem.BadRequest("no cluster is called %q%s", name, problem.Hint(name, names))
	case len(found) > 1:
		return nil, problem.BadRequest("several hubs have a cluster %q: name the hub", name)
	}
	return found[0], nil
}

// Withheld replaces a text that names clusters outside of the reader's scope.
const Withheld = "the reason names what is outside of this token's scope; the platform team sees it"

// Text returns s, or Withheld if s names a cluster that the scope does not see.
func Text(st *fleetstate.State, scope Reader, s string) string {
	if scope.SeesEverything() || !NamesInvisible(st, scope, s) {
		return s
	}
	return Withheld
}

// NamesInvisible reports whether a text names a cluster, other than a hub, that a scope does not
// see.
func NamesInvisible(st *fleetstate.State, scope Reader, s string) bool {
	for word := range Words(s) {
		for _, hub := range st.Fleet.Hubs() {
			if word == hub {
				continue
			}
			for rest, ok := word, true; ok; _, rest, ok = strings.Cut(rest, "-") { // dns-one names cluster one
				if c := st.Cluster(hub, rest); c != nil && rest != hub && !Visible(scope, c) {
					return true
				}
			}
		}
	}
	return false
}

// Words returns the parts of a text that may be names.
func Words(s string) iter.Seq[string] {
	return strings.FieldsFuncSeq(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' })
}
