package tenancy

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// RegisteredName reports a member with a name that charts/fleet-secret may give to a Secret of
// another member of its hub: `a-git-github` beside `a`, whose credentials have that name.
func RegisteredName(f *fleet.Fleet, m *fleet.Member) (out []problem.Problem) {
	for i := range m.Name {
		rest := m.Name[i:]
		if rest != "-kubeconfig" && !strings.HasPrefix(rest, "-git-") && !strings.HasPrefix(rest, "-ecr-") {
			continue
		}
		if other := f.Member(m.Hub, m.Name[:i]); other != nil && !other.IsHub && !m.IsHub {
			out = append(out, problem.Problem{
				Reason: problem.ReservedName, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("cluster %q", m.Name),
				Found: fmt.Sprintf("a Secret of cluster %q on the hub may be called so", other.Name), Expected: "another name", Related: []problem.Pos{other.Pos},
			})
		}
	}
	return out
}
