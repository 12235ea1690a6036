package tenancy

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// ForbiddenName is the problem of a tenant's own component whose Application on a hub reads as that
// of another member, or of a release: dns-blue on the cluster red, where there is a cluster
// blue-red (N1). Argo CD would give the name to the first of the two. Whether the other member has
// such a component does not matter, because it may get one later. Nil means that the name is free.
func ForbiddenName(f *fleet.Fleet, m *fleet.Member, group, component string, at problem.Pos) *problem.Problem {
	if m.Owner(group) != fleet.OwnerHub {
		return nil // an engine of the member's own
	}
	found := ""
	for _, end := range namesBelow(component) {
		if other := end + "-" + m.Name; f.Member(m.Hub, other) != nil {
			found = fmt.Sprintf("reads as component %q of cluster %q", strings.TrimSuffix(component, "-"+end), other)
		}
	}
	if strings.HasPrefix(component, catalog.ReleaseApplicationPrefix) {
		found = "reads as the Application of a release"
	}
	if found == "" {
		return nil
	}
	return &problem.Problem{
		Reason: problem.DuplicateName, Severity: problem.Error, Pos: at,
		Subject: fmt.Sprintf("component %q of group %q: Application %q", component, group, catalog.ApplicationName(component, m.Name)),
		Found:   found, Expected: "a name that is no other cluster's, for a component of a tenant's own catalog",
		Hints: []string{"give the component another name"},
	}
}

// ConcernedByNames are the members of a hub whose own components may read as those of members that
// have come or gone.
func ConcernedByNames(hub string, before, now *fleet.Fleet) []*fleet.Member {
	var out []*fleet.Member
	for _, pair := range [2][2]*fleet.Fleet{{before, now}, {now, before}} {
		for _, m := range pair[0].Members(hub) {
			if pair[1].Member(hub, m.Name) != nil {
				continue
			}
			for _, name := range namesBelow(m.Name) {
				if other := now.Member(hub, name); other != nil {
					out = append(out, other)
				}
			}
		}
	}
	return out
}

// namesBelow are the names of members whose own components may read as those of a member of the
// given name: the ends of the name that follow a hyphen.
func namesBelow(name string) []string {
	var out []string
	for i := range len(name) {
		if name[i] == '-' {
			out = append(out, name[i+1:])
		}
	}
	return out
}
