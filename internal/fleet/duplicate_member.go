package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// oneFileEach sorts a hub's members by name and keeps one file of each: the hub's own, else the
// first by path. Paths with the tenant or the environment allow two files. It is not known which is
// right, so the problem is the hub's and its commit is refused: a member's problem would only stop
// one file's tenant.
func (f *Fleet) oneFileEach(hubName string, h *hub) {
	slices.SortStableFunc(h.members, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
	kept := h.members[:0]
	for _, m := range h.members {
		last := len(kept) - 1
		if last < 0 || kept[last].Name != m.Name {
			kept = append(kept, m)
			continue
		}
		f.ofHubs = append(f.ofHubs, problem.Problem{
			Reason: problem.DuplicateMember, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("member %q of hub %q", m.Name, hubName),
			Found: "a second member file of this name", Expected: "one", Related: []problem.Pos{kept[last].Pos}, Hub: hubName,
		})
		if m == h.self {
			kept[last] = m
		}
	}
	h.members = kept
}

// duplicates reports members whose files declare the same name: Argo CD could not distinguish their
// clusters.
func (f *Fleet) duplicates(hubName string, h *hub) {
	first := map[string]*Member{}
	for _, m := range h.members {
		declared, _ := m.content["clusterName"].(string)
		if declared == "" {
			continue
		}
		other, dup := first[declared]
		if !dup {
			first[declared] = m
			continue
		}
		wrong := m // the other one is right if this is a copy whose name was not changed
		if m.Name == declared {
			wrong = other
		}
		f.ofHubs = append(f.ofHubs, problem.Problem{
			Reason: problem.DuplicateMember, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("member %q of hub %q", declared, hubName),
			Found: "declared by two files", Expected: "each cluster once", Related: []problem.Pos{other.Pos}, Hub: hubName, Cluster: wrong.Name,
		})
	}
}
