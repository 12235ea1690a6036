package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// oneFileEach sorts a hub's members by name and keeps one file of each: the one that the previous
// fleet has, else the hub's own, else the first by path. Paths with the tenant or the environment
// allow two files. Where it is not known which was first, the problem is the hub's and its commit
// is refused: a member's problem would only stop one file's tenant.
func (f *Fleet) oneFileEach(hubName string, h *hub, previous *Fleet) {
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
		wrong := &f.ofHubs[len(f.ofHubs)-1]
		switch first := kept[last]; {
		case previous.had(first, m):
			wrong.Cluster, f.Late[m.Pos.File] = m.Name, hubName
		case previous.had(m, first):
			wrong.Pos, wrong.Related, wrong.Cluster, f.Late[first.Pos.File] = first.Pos, []problem.Pos{m.Pos}, m.Name, hubName
			kept[last] = m
		case m == h.self:
			kept[last] = m
		}
	}
	h.members = kept
}

// had reports whether a file had a name, and another one that claims it came later. Nil knows
// nothing; Fleet{Late} is what is known after a restart.
func (f *Fleet) had(first, later *Member) bool {
	if f == nil {
		return false
	}
	m := f.Member(first.Hub, first.Name)
	return m != nil && m.Pos.File == first.Pos.File || f.Late[later.Pos.File] != "" && f.Late[first.Pos.File] == ""
}

// secondHub returns a member whose file claims a hub that another file had first as a spoke with an
// error; other members as they are.
func (f *Fleet) secondHub(m *Member, previous *Fleet) *Member {
	if !m.IsHub || previous == nil || f.Layout.Hubs[m.Hub] != nil {
		return m
	}
	file := previous.hubFile(m.Hub)
	for _, other := range f.byPath {
		claims := other.IsHub || len(problem.Errors(other.Problems)) > 0
		first := file == other.Pos.File || file == "" && previous.Late[m.Pos.File] != ""
		if other.Pos.File != m.Pos.File && other.Hub == m.Hub && claims && first {
			out := *m
			out.IsHub, out.Problems = false, append(slices.Clone(m.Problems), secondSelf(m, other))
			f.Late[m.Pos.File] = m.Hub
			return out.concerns()
		}
	}
	return m
}

// hubFile returns the member file of a hub, which may be unreadable; "" for none. Nil knows none.
func (f *Fleet) hubFile(name string) string {
	if f == nil || f.hubs[name] == nil {
		return ""
	}
	return f.hubs[name].file
}

func secondSelf(m, self *Member) problem.Problem {
	return problem.Problem{
		Reason: problem.DuplicateMember, Severity: problem.Error, Pos: m.Pos, Subject: fmt.Sprintf("hub %q", m.Hub),
		Found: "a second member file with fleet_member: hub-cluster", Expected: "one", Related: []problem.Pos{self.Pos}, Hub: m.Hub,
	}
}

// IsTwin reports whether two members of different hubs would be one cluster of the cloud: they have
// one name in one account and region, as far as the files say.
func (m *Member) IsTwin(other *Member) bool {
	a, b := m.Provision, other.Provision
	return a != nil && b != nil && m.Hub != other.Hub && m.Name == other.Name && a.Account == b.Account && a.Region == b.Region
}

// lateTwins finds the members that have become another one's twin.
func (f *Fleet) lateTwins(previous *Fleet) {
	if previous == nil {
		return
	}
	has := func(m *Member) bool {
		was := previous.Member(m.Hub, m.Name)
		return was != nil && was.Provision != nil && was.Provision.Account == m.Provision.Account && was.Provision.Region == m.Provision.Region
	}
	hubs := f.Hubs()
	for _, hub := range hubs {
		for _, m := range f.Members(hub) {
			for i := 0; m.Provision != nil && i < len(hubs); i++ {
				first := f.Member(hubs[i], m.Name)
				if first != nil && m.IsTwin(first) && (has(first) && !has(m) || previous.Late[m.Pos.File] != "" && previous.Late[first.Pos.File] == "") {
					f.Late[m.Pos.File] = hub
				}
			}
		}
	}
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
