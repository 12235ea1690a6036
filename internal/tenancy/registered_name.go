package tenancy

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// registered are what the names of Secrets that charts/fleet-secret makes for a cluster, beside the
// one that registers it, have after the cluster's name: all of it, or the beginning.
var registered = struct{ ends, begins []string }{[]string{"-kubeconfig"}, []string{"-git-", "-ecr-"}}

// RegisteredName are the problems of a member that is called as a Secret of another member of its
// hub: `a-git-github` beside `a`, whose credentials have that name (W1).
func RegisteredName(f *fleet.Fleet, m *fleet.Member) (out []problem.Problem) {
	for _, name := range registeredBy(m.Name) {
		if other := f.Member(m.Hub, name); other != nil && !other.IsHub && !m.IsHub {
			out = append(out, problem.Problem{
				Reason: problem.ReservedName, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("cluster %q", m.Name),
				Found: fmt.Sprintf("a Secret of cluster %q on the hub may be called so", other.Name), Expected: "another name", Related: []problem.Pos{other.Pos},
			})
		}
	}
	return out
}

// registeredBy are the names of clusters that may have a Secret of a name.
func registeredBy(name string) (out []string) {
	for _, end := range registered.ends {
		if cluster, is := strings.CutSuffix(name, end); is {
			out = append(out, cluster)
		}
	}
	for _, begin := range registered.begins {
		for i := range name {
			if strings.HasPrefix(name[i:], begin) {
				out = append(out, name[:i])
			}
		}
	}
	return out
}
