package flux

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// part is a file of the artifact and its component, nil for a file that several share.
type part struct {
	file    string
	of      *paramset.ComponentSet
	objects []object
}

// uniqueNames reports objects of the artifact with the same kind and name: kustomize builds nothing
// with duplicates.
func (r *renderer) uniqueNames(parts []part) {
	first := map[[2]any]*paramset.ComponentSet{}
	isReported := map[*paramset.ComponentSet]bool{nil: true}
	fault := func(c, other *paramset.ComponentSet, kind, name any) {
		if isReported[c] {
			return
		}
		isReported[c] = true
		found := "is what several clusters share, too"
		if other != nil {
			found = fmt.Sprintf("is component %q of group %q on cluster %q, too", other.Component, other.Group, other.Name)
		}
		r.fault(*c, problem.DuplicateName, fmt.Sprintf("%v %v", kind, name), found, "one name for each")
	}
	claim := func(kind, name any, c *paramset.ComponentSet) {
		other, taken := first[[2]any{kind, name}]
		if !taken {
			first[[2]any{kind, name}] = c
			return
		}
		isOwn, isOthersOwn := r.isTenants(c, name), r.isTenants(other, name)
		if isOwn || !isOthersOwn {
			fault(c, other, kind, name)
		}
		if isOthersOwn || c == nil {
			fault(other, c, kind, name)
		}
	}
	for _, p := range parts {
		if p.of != nil {
			claim("Application", p.of.ApplicationName, p.of) // whatever its kind
		}
		for _, x := range p.objects {
			claim(x["kind"], nameOf(x), p.of)
		}
	}
}

// isTenants reports whether only a tenant gives a name to an object of a component. Another cluster
// with the name keeps it.
func (r *renderer) isTenants(c *paramset.ComponentSet, name any) bool {
	if c == nil || r.owned.st == nil {
		return false
	}
	cluster := r.owned.st.Cluster(c.Hub, c.Name)
	return cluster != nil && r.owned.st.IsTenantsName(cluster, c.Group, c.Component, fmt.Sprint(name))
}
