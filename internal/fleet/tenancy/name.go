package tenancy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// Names checks the names that a tenant gives to components of a group on a cluster, except a hub's.
type Names struct {
	Fleet    *fleet.Fleet
	Member   *fleet.Member
	Group    string
	Catalogs catalog.Layers
	// IsFlux reports that Flux deploys the group; it has an object for each companion, too.
	IsFlux bool
	// Reserved are the names of what Argosy itself makes for a cluster, except its grants.
	Reserved []string
	// Platform returns the names of the platform's components on the cluster, of all groups.
	Platform func() []string
}

// Forbidden reports a tenant's own component whose Application on a hub has a name of another
// member, or of a release. Examples are dns-blue on the cluster red, beside a cluster blue-red, or
// argo on the cluster cd-red, where the platform has argo-cd on red. Argo CD would give the name to
// the first of the two. A cluster with a longer name need not have the component, because it may
// get one later. Cut names are compared, too.
func (n Names) Forbidden(component string) []problem.Problem {
	if n.Member.Owner(n.Group) != fleet.OwnerHub {
		return nil // an engine of the member's own
	}
	var out []problem.Problem
	for name, at := range n.given(component) {
		if found := n.found(name); found != "" {
			out = append(out, problem.Problem{
				Reason: problem.DuplicateName, Severity: problem.Error, Pos: at,
				Subject: fmt.Sprintf("component %q of group %q: Application %q", component, n.Group, catalog.ApplicationName(name, n.Member.Name)),
				Found:   found, Expected: "a name that is no other cluster's, for a component of a tenant's own catalog",
				Hints: []string{"give the component another name"},
			})
		}
	}
	return problem.Sorted(out)
}

// Gives reports whether only a tenant's catalogs give a name to an Application of a component, or
// with Flux to a companion's HelmRelease.
func (n Names) Gives(component, application string) bool {
	for name := range n.given(component) {
		if catalog.ApplicationName(name, n.Member.Name) == application {
			return true
		}
	}
	return false
}

// HasCut reports whether a tenant's name for a component is cut: a cut name does not show which
// other cluster it may belong to.
func (n Names) HasCut(component string) bool {
	for name := range n.given(component) {
		if _, is := catalog.CutStem(catalog.ApplicationName(name, n.Member.Name)); is {
			return true
		}
	}
	return false
}

// found says what is wrong with a component's name.
func (n Names) found(component string) string {
	name := catalog.ApplicationName(component, n.Member.Name)
	of, other := n.readsAs(component+"-"+n.Member.Name, name)
	switch {
	case slices.Contains(n.reserved(), component):
		return "is the name of what Argosy makes for each cluster"
	case strings.HasPrefix(name, catalog.ReleaseApplicationPrefix):
		return "reads as the Application of a release"
	case other != "":
		return fmt.Sprintf("reads as component %q of cluster %q", of, other)
	}
	return ""
}

// reserved returns Reserved, and the names of grants.
func (n Names) reserved() []string {
	out := slices.Clone(n.Reserved)
	for _, group := range n.Fleet.Layout.GroupNames() {
		out = append(out, catalog.GrantPrefix+"-"+group)
	}
	return out
}

// readsAs returns the component of another member that may have an Application's name. Full is the
// name before it was cut.
func (n Names) readsAs(full, name string) (component, cluster string) {
	f, m := n.Fleet, n.Member
	platform := func() []string { return slices.Concat(n.reserved(), n.Platform()) }
	for _, text := range slices.Compact([]string{full, name}) {
		for _, end := range namesBelow(text) {
			if end == m.Name || f.Member(m.Hub, end) == nil {
				continue
			}
			of := strings.TrimSuffix(text, "-"+end)
			if text != full || len(end) > len(m.Name) || slices.Contains(platform(), of) {
				component, cluster = of, end
			}
		}
	}
	stem, isCut := catalog.CutStem(name)
	if !isCut {
		return component, cluster
	}
	for _, of := range platform() {
		rest, _ := strings.CutPrefix(stem, of+"-")
		if strings.HasPrefix(of+"-", stem) {
			rest = "" // the stem ends before the other cluster's name begins
		}
		first, _ := f.Place(m.Hub, rest)
		for _, other := range f.Members(m.Hub)[first:] {
			if !strings.HasPrefix(other.Name, rest) {
				break
			}
			if other.Name != m.Name && catalog.ApplicationName(of, other.Name) == name {
				component, cluster = of, other.Name
			}
		}
	}
	return component, cluster
}

// ConcernedByNames returns the members of a hub whose components may have names of members that
// came or went: their names begin or end with each other, or a name is cut.
func ConcernedByNames(hub string, before, now *fleet.Fleet, hasCut func(*fleet.Member) bool) []*fleet.Member {
	changed := cameOrWent(hub, before, now)
	return slices.DeleteFunc(slices.Clone(now.Members(hub)), func(other *fleet.Member) bool {
		return !slices.ContainsFunc(changed, func(m *fleet.Member) bool {
			return strings.HasSuffix(m.Name, "-"+other.Name) || strings.HasSuffix(other.Name, "-"+m.Name) || strings.HasPrefix(other.Name, m.Name+"-") || hasCut(other)
		})
	})
}

func cameOrWent(hub string, before, now *fleet.Fleet) (out []*fleet.Member) {
	for _, pair := range [2][2]*fleet.Fleet{{before, now}, {now, before}} {
		for _, m := range pair[0].Members(hub) {
			if pair[1].Member(hub, m.Name) == nil {
				out = append(out, m)
			}
		}
	}
	return out
}

// namesBelow returns the ends of a name that follow a hyphen, the longest first: the clusters that
// an Application of the name may be on.
func namesBelow(name string) []string {
	var out []string
	for i := range len(name) {
		if name[i] == '-' {
			out = append(out, name[i+1:])
		}
	}
	return out
}
