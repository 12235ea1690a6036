package guard

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Foreseen is what a service that has answered from one state would do with one question in another: for plans.
type Foreseen struct {
	Hub, Owner                string
	View                      generator.View
	Group, Component, Release string
	// Sum says what would be lost, if that is beyond the budget; it is empty if the answer would be given.
	Sum string
	// Members are those that had something, Losing those that would lose something without approval, Allowed how many may.
	Members, Losing, Allowed int
	// Unapproved is what would be lost without approval, Approved what is approved.
	Unapproved, Approved []Loss
}

// Over reports whether the answer would be refused.
func (f Foreseen) Over() bool { return f.Sum != "" }

// Foresee judges, for each question that ApplicationSets like the fleet's own ask, the answer of a state by that of the
// state before it. Only questions whose answers lose something are returned, sorted by hub, owner, view, group, component
// and release. Both states are complete: they have no errors.
func Foresee(before, after *generator.State, now time.Time) []Foreseen {
	var out []Foreseen
	for _, hub := range before.Fleet.Hubs() {
		for _, owner := range owners(before.Fleet, hub) {
			for _, q := range questions(before, hub, owner) {
				c := comparison{st: after, r: q.r, now: now, told: [][]generator.Subject{toldOf(after, q)}, everyone: members(before, hub)}
				for _, s := range toldOf(before, q) {
					c.baseline = append(c.baseline, had{cluster: s.Cluster, group: s.Group, component: s.Component, release: s.Release})
				}
				found := c.compare()
				if len(found.unapproved)+len(found.approved) == 0 {
					continue
				}
				f := Foreseen{
					Hub: hub, Owner: owner, View: q.r.View, Group: q.r.Group, Component: q.r.Component, Release: q.r.Release,
					Members: found.members, Losing: found.losing, Allowed: found.allowed, Unapproved: found.unapproved, Approved: found.approved,
				}
				if found.over() {
					f.Sum = found.sum(q.r)
				}
				out = append(out, f)
			}
		}
	}
	return out
}

// members are those that are registered.
func members(st *generator.State, hub string) func() map[string]bool {
	return func() map[string]bool {
		out := map[string]bool{}
		for _, m := range st.Fleet.Members(hub) {
			out[m.Name] = out[m.Name] || !m.IsHub && m.Lifecycle != fleet.Retired
		}
		maps.DeleteFunc(out, func(_ string, registered bool) bool { return !registered })
		return out
	}
}

// owners are the engines of a hub's members that ask by themselves.
func owners(f *fleet.Fleet, hub string) []string {
	out := []string{fleet.OwnerHub}
	for _, m := range f.Members(hub) {
		if m.Remote && m.Engine == fleet.EngineArgoCD && m.Lifecycle != fleet.Retired {
			out = append(out, m.Name)
		}
	}
	return out
}

// foreseen is a question of Foresee, and the one by which its answer is found: a component that no catalog has any more
// cannot be asked for without the base that its ApplicationSet sends.
type foreseen struct{ r, wide generator.Request }

func questions(st *generator.State, hub, owner string) []foreseen {
	var out []foreseen
	if owner == fleet.OwnerHub {
		for _, v := range []generator.View{generator.Agents, generator.Members} {
			r := generator.Request{View: v, Hub: hub}
			out = append(out, foreseen{r, r})
		}
	}
	for _, group := range st.Fleet.Layout.GroupNames() {
		wide := generator.Request{View: generator.Components, Hub: hub, Group: group, Owner: owner}
		told, err := st.Told(wide)
		if err != nil {
			continue
		}
		seen := map[[2]string]bool{}
		for _, s := range told.Subjects() {
			seen[[2]string{s.Component, s.Release}] = true
		}
		for _, key := range slices.SortedFunc(maps.Keys(seen), func(a, b [2]string) int {
			return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
		}) {
			r := wide
			r.Component, r.Release = key[0], key[1]
			out = append(out, foreseen{r, wide})
		}
	}
	return out
}

// toldOf are the subjects of a question's answer; none where it cannot be asked any more.
func toldOf(st *generator.State, q foreseen) []generator.Subject {
	told, err := st.Told(q.wide)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(subjects(told)), func(s generator.Subject) bool {
		return q.r.Component != "" && (s.Component != q.r.Component || s.Release != q.r.Release)
	})
}

// Wanted is an approval that would let answers pass, as far as it goes.
type Wanted struct {
	Hub        string
	Clusters   []string
	Components []string
}

// Approval is what would have to be approved, so that all answers that are foreseen to be refused are given: clusters
// that lose the same are put together.
func Approval(all []Foreseen, after *fleet.Fleet) []Wanted {
	type member struct{ hub, cluster string }
	lost := map[member]map[string]bool{}
	for _, f := range all {
		if !f.Over() {
			continue
		}
		for _, l := range f.Unapproved {
			m := member{f.Hub, l.Cluster}
			if lost[m] == nil {
				lost[m] = map[string]bool{}
			}
			name := l.Group + "/" + l.Component
			if after.Member(f.Hub, l.Cluster) == nil || !labels.IsName(l.Component) {
				name = fleet.Any // it is gone as a whole
			}
			lost[m][name] = true
		}
	}
	together := map[string]*Wanted{}
	for _, m := range slices.SortedFunc(maps.Keys(lost), func(a, b member) int {
		return cmp.Or(strings.Compare(a.hub, b.hub), strings.Compare(a.cluster, b.cluster))
	}) {
		components := slices.Sorted(maps.Keys(lost[m]))
		if lost[m][fleet.Any] {
			components = []string{fleet.Any}
		}
		key := m.hub + " " + strings.Join(components, " ")
		if together[key] == nil {
			together[key] = &Wanted{Hub: m.hub, Components: components}
		}
		together[key].Clusters = append(together[key].Clusters, m.cluster)
	}
	var out []Wanted
	for _, key := range slices.Sorted(maps.Keys(together)) {
		out = append(out, *together[key])
	}
	return out
}
