package guard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Verdict is what becomes of an answer that is foreseen.
type Verdict string

// The verdicts. An answer without one is given.
const (
	// OverBudget answers would lose more than the budget allows.
	OverBudget Verdict = "removal-budget"
	// Waiting answers cannot let go of what moves: whoever takes it has no answer (rule 11).
	Waiting Verdict = "handover"
	// Unanswerable are those that the state itself refuses: something is broken that they are made of.
	Unanswerable Verdict = "broken"
	// Unknown is what there is nothing to compare with.
	Unknown Verdict = "unknown"
)

// Foreseen is what a service that has answered from one state would do with one question in another: for plans.
type Foreseen struct {
	Hub, Owner                string
	View                      generator.View
	Group, Component, Release string
	// Verdict is empty if the answer would be given. Sum says why it would not: what would be lost, who is waited for, what is
	// broken.
	Verdict Verdict
	Sum     string
	// Members are those that had something, Losing those that would lose something without approval, Allowed how many may.
	Members, Losing, Allowed int
	// Unapproved is what would be lost without approval, Approved what is approved.
	Unapproved, Approved []Loss
}

// Over reports whether the answer would be refused for what it removes.
func (f Foreseen) Over() bool { return f.Verdict == OverBudget }

// Foresee judges, for each question that ApplicationSets like the fleet's own ask, the answer of a state by that of the
// state before it. Only questions whose answers lose something, or are not given, are returned, sorted by hub, owner, view,
// group, component and release. What is known of clusters alone is not foreseen: baselines are the answers of the state before.
func Foresee(before, after *generator.State, now time.Time) []Foreseen {
	x := foresight{before, after, now, map[wide]*about{}}
	var out []Foreseen
	for _, hub := range before.Fleet.Hubs() {
		for _, owner := range owners(before.Fleet, hub) {
			for _, q := range x.questions(hub, owner) {
				f := Foreseen{Hub: hub, Owner: owner, View: q.r.View, Group: q.r.Group, Component: q.r.Component, Release: q.r.Release}
				found, verdict, err := x.compare(q)
				switch {
				case err != nil:
					f.Verdict, f.Sum = verdict, cut(err.Error())
				case found.over():
					f.Verdict, f.Sum = OverBudget, found.sum(q.r)
				default:
					if f.Sum = x.handover(q, found.moves); f.Sum != "" {
						f.Verdict = Waiting
					}
				}
				f.Members, f.Losing, f.Allowed, f.Unapproved, f.Approved = found.members, found.losing, found.allowed, found.unapproved, found.approved
				if f.Verdict != "" || len(f.Unapproved)+len(f.Approved) > 0 {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// foresight is one Foresee.
type foresight struct {
	before, after *generator.State
	now           time.Time
	// asked are the answers to wide questions, each found once: what they are about, which is a small part of them.
	asked map[wide]*about
}

// wide is a question with the answers to others among its own.
type wide struct {
	st                *generator.State
	view              generator.View
	hub, group, owner string
}

// about are an answer's subjects, all and by component and release.
type about struct {
	all []generator.Subject
	of  map[[2]string][]generator.Subject
	err error
}

func (x foresight) answer(st *generator.State, r generator.Request) *about {
	key := wide{st, r.View, r.Hub, r.Group, r.Owner}
	if x.asked[key] == nil {
		a := &about{of: map[[2]string][]generator.Subject{}}
		all, err := generator.Subjects(st, r)
		a.all, a.err = subjects(all), err
		for _, s := range a.all {
			k := [2]string{s.Component, s.Release}
			a.of[k] = append(a.of[k], s)
		}
		x.asked[key] = a
	}
	return x.asked[key]
}

// compare finds what the answer to a question loses. The error is that of a state that has none, and the verdict says which.
func (x foresight) compare(q foreseen) (found, Verdict, error) {
	told, err := x.told(x.after, q)
	if err != nil {
		return found{}, Unanswerable, err
	}
	had, err := x.told(x.before, q.baseline())
	if err != nil {
		return found{}, Unknown, fmt.Errorf("the base has no answer to compare with: %w", err)
	}
	c := comparison{st: x.after, r: q.r, now: x.now, told: [][]generator.Subject{told}, everyone: members(x.before, q.r.Hub), baseline: baselineOf(had)}
	return c.compare(), "", nil
}

func baselineOf(subjects []generator.Subject) []had {
	out := make([]had, len(subjects))
	for i, s := range subjects {
		out[i] = had{cluster: s.Cluster, group: s.Group, component: s.Component, release: s.Release}
	}
	return out
}

// handover is why an answer would have to keep what moves, empty if it would not: as Guard.handover has it, for questions like the
// fleet's own. Another hub's service is not asked there either.
func (x foresight) handover(q foreseen, moves []move) string {
	seen := map[question]bool{questionOf(q.r, toArgoCD): true}
	for _, to := range destinations(moves) {
		if err := x.unanswered(q.r.Hub, to, seen); err != nil {
			return waitsFor(q.r, moves, to, err)
		}
	}
	return ""
}

func (x foresight) unanswered(hub string, to destination, seen map[question]bool) error {
	if m := x.after.Fleet.Member(hub, to.Owner); m != nil && m.Remote && m.Engine == fleet.EngineFlux {
		_, err := x.after.Owned(hub, to.Owner)
		return err
	}
	wide := generator.Request{View: generator.Components, Hub: hub, Group: to.group, Owner: to.Owner}
	r := wide
	r.Component, r.Release = to.component, to.Release
	q := questionOf(r, toArgoCD)
	if seen[q] {
		return nil
	}
	seen[q] = true
	releases := generator.Request{View: generator.Releases, Hub: hub, Group: to.group, Owner: to.Owner}
	if err := x.answer(x.after, releases).err; err != nil && !isBadRequest(err) {
		return err
	}
	found, verdict, err := x.compare(foreseen{r, wide})
	switch {
	case verdict == Unanswerable:
		return err
	case err == nil && found.over():
		return errors.New(found.message(r))
	}
	for _, further := range destinations(found.moves) {
		if err := x.unanswered(hub, further, seen); err != nil {
			return err
		}
	}
	return nil
}

func isBadRequest(err error) bool {
	var refused *generator.Error
	return errors.As(err, &refused) && refused.Kind == generator.BadRequest
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

// baseline is the question whose answer tells what there is to lose: of a release, what members have of it (rule 7).
func (q foreseen) baseline() foreseen {
	if q.r.View == generator.Releases {
		q.wide.View = generator.Components
	}
	return q
}

func (x foresight) questions(hub, owner string) []foreseen {
	var out []foreseen
	if owner == fleet.OwnerHub {
		for _, v := range []generator.View{generator.Agents, generator.Grants, generator.Members} {
			r := generator.Request{View: v, Hub: hub}
			out = append(out, foreseen{r, r})
		}
	}
	groups := x.before.Fleet.Layout.GroupNames()
	if owner != fleet.OwnerHub || x.before.HubEngine(hub) == fleet.EngineArgoCD { // Flux has no releases
		for _, group := range groups {
			r := generator.Request{View: generator.Releases, Hub: hub, Group: group, Owner: owner}
			out = append(out, foreseen{r, r})
		}
	}
	for _, group := range groups {
		wide := generator.Request{View: generator.Components, Hub: hub, Group: group, Owner: owner}
		told := x.answer(x.before, wide)
		if told.err != nil {
			told = x.answer(x.after, wide)
		}
		if told.err != nil {
			out = append(out, foreseen{wide, wide}) // nobody says which components there are
			continue
		}
		for _, key := range slices.SortedFunc(maps.Keys(told.of), func(a, b [2]string) int {
			return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
		}) {
			r := wide
			r.Component, r.Release = key[0], key[1]
			out = append(out, foreseen{r, wide})
		}
	}
	return out
}

// told are the subjects of a question's answer; none where it cannot be asked any more.
func (x foresight) told(st *generator.State, q foreseen) ([]generator.Subject, error) {
	told := x.answer(st, q.wide)
	switch {
	case told.err != nil && isBadRequest(told.err):
		return nil, nil
	case told.err != nil || q.r.Component == "":
		return told.all, told.err
	}
	return told.of[[2]string{q.r.Component, q.r.Release}], nil
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
