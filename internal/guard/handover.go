package guard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
)

// move is something of a member that another owner or release answers for from now on.
type move struct {
	cluster, group, component string
	to                        generator.Destination
}

// maxWhy bounds what a refusal repeats of another answer's, in bytes.
const maxWhy = 200

// handover is why an answer cannot let go of what moves (rule 11): whoever it moves to has no answer itself, waits for
// somebody who has none, or is not there to ask. Nil if none of that is so.
func (g *Guard) handover(a ask, moves []move) *Refusal {
	moves = slices.DeleteFunc(slices.Clone(moves), func(m move) bool {
		_, approved := approvedUntil(a.st.Fleet, a.r.Hub, Loss{Cluster: m.cluster, Group: m.group, Component: m.component}, g.o.Now())
		return approved
	})
	seen := map[question]bool{a.question(): true}
	for _, to := range destinations(moves) {
		err := g.unanswered(a, to, seen)
		if err == nil {
			continue
		}
		message := "handover: " + waitsFor(a.r, moves, to, err)
		return &Refusal{question: a.question(), found: found{members: movers(moves)}, message: message, revision: a.st.Revision, waits: true}
	}
	return nil
}

// waitsFor says whom an answer waits for that cannot let go of what moves, and why.
func waitsFor(r generator.Request, moves []move, to destination, err error) string {
	return fmt.Sprintf("%s of %d members moves, but %s has no answer: %s", what(r), movers(moves), to, cut(err.Error()))
}

// movers are how many members something moves of.
func movers(moves []move) int {
	members := map[string]bool{}
	for _, m := range moves {
		members[m.cluster] = true
	}
	return len(members)
}

// what names what a request asks for.
func what(r generator.Request) string {
	if r.Component != "" {
		return r.Group + "/" + r.Component
	}
	return "group " + r.Group
}

func cut(s string) string {
	if len(s) <= maxWhy {
		return s
	}
	return strings.ToValidUTF8(s[:maxWhy-3], "") + "..."
}

// destination is where something of one component moves to.
type destination struct {
	group, component string
	generator.Destination
}

func (d destination) String() string {
	if d.Owner != fleet.OwnerHub {
		return fmt.Sprintf("member %q", d.Owner)
	}
	return fmt.Sprintf("release %q", d.Release)
}

// request is what would be asked of it.
func (d destination) request(a ask) generator.Request {
	return generator.Request{View: generator.Components, Hub: a.r.Hub, Group: d.group, Component: d.component, Owner: d.Owner, Release: d.Release}
}

// destinations are those of moves, sorted. Another hub's service answers for what moves there: it knows what is there.
func destinations(moves []move) []destination {
	seen := map[destination]bool{}
	var out []destination
	for _, m := range moves {
		d := destination{m.group, m.component, m.to}
		if m.to.Hub == "" && m.to.Owner != "" && !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b destination) int {
		return cmp.Or(strings.Compare(a.group, b.group), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Release, b.Release), strings.Compare(a.component, b.component))
	})
	return out
}

// unanswered is why one of those who answer for a destination has no answer, or one that it moves something to itself.
// What has been looked at is not looked at again: two releases that exchange members wait for each other only if one of
// them is refused.
func (g *Guard) unanswered(a ask, to destination, seen map[question]bool) error {
	if m := a.st.Fleet.Member(a.r.Hub, to.Owner); m != nil && m.Remote && m.Engine == fleet.EngineFlux {
		_, err := a.st.Owned(a.r.Hub, to.Owner)
		return err
	}
	for _, s := range g.successors(a, to) {
		q := questionOf(s.r, toArgoCD)
		if seen[q] {
			continue
		}
		seen[q] = true
		told, err := g.o.Responses.Get(a.st, s.r)
		if s.guessed && isBadRequest(err) {
			continue // nobody has asked so
		}
		if err != nil {
			return err
		}
		next := ask{a.st, s.r, told, toArgoCD}
		v, found := g.budget(next)
		if v.err != nil {
			return v.err
		}
		for _, further := range destinations(found.moves) {
			if err := g.unanswered(next, further, seen); err != nil {
				return err
			}
		}
	}
	if g.nobodyAsks(a, to) {
		return errNobody
	}
	return nil
}

// errNobody is why a release has no answer that could have one: its ApplicationSets are made by an Application, which Argo CD
// may not have synced yet, or cannot.
var errNobody = errors.New("no ApplicationSet asks for it")

// nobodyAsks reports whether no ApplicationSet asks for a destination. It can be known where all of them are, and all that
// they ask. The view Releases is what makes them: it does not wait for them.
func (g *Guard) nobodyAsks(a ask, to destination) bool {
	if a.r.View != generator.Components || to.Owner != cmp.Or(a.r.Owner, fleet.OwnerHub) {
		return false
	}
	all := g.o.Asking()
	for _, asked := range all {
		if !asked.All || slices.ContainsFunc(asked.Requests, func(r generator.Request) bool { return covers(r, to.request(a)) }) {
			return false
		}
	}
	return all[a.r.ApplicationSet].All
}

// successor is a question whose answer has what moves.
type successor struct {
	r generator.Request
	// guessed tells that nobody is known to ask it.
	guessed bool
}

// successors are the questions that are asked of a destination: those of ApplicationSets, those that are remembered, or
// else what would be asked, and whether its release is answered, without which there is nobody to ask.
func (g *Guard) successors(a ask, to destination) []successor {
	wide := to.request(a)
	var out []successor
	for name, asked := range g.o.Asking() {
		for _, r := range asked.Requests {
			r.ApplicationSet = name
			if name != a.r.ApplicationSet && covers(r, wide) {
				out = append(out, successor{r: r})
			}
		}
	}
	if len(out) == 0 {
		for _, r := range g.store.asked() {
			if r.ApplicationSet != a.r.ApplicationSet && covers(r.Request, wide) {
				if r.Based {
					r.Base = a.r.Base // the best that is known of it
				}
				out = append(out, successor{r.Request, r.Based})
			}
		}
	}
	if len(out) == 0 {
		releases := generator.Request{View: generator.Releases, Hub: a.r.Hub, Group: to.group, Owner: to.Owner}
		wide.Base = a.r.Base
		out = []successor{{wide, true}, {releases, true}}
	}
	slices.SortFunc(out, func(a, b successor) int {
		return strings.Compare(string(questionOf(a.r, toArgoCD)), string(questionOf(b.r, toArgoCD)))
	})
	return out
}

// covers reports whether the answer to a request has what another one asks for, as far as names say.
func covers(r, wide generator.Request) bool {
	owner := cmp.Or(r.Owner, fleet.OwnerHub)
	return r.View == generator.Components && r.Hub == wide.Hub && r.Group == wide.Group && owner == wide.Owner &&
		(r.Component == "" || r.Component == wide.Component) && (r.Release == "" || r.Release == wide.Release)
}

// remembered is a question of a record.
type remembered struct {
	generator.Request
	Based bool
}

// asked are the questions of Argo CD's that are remembered.
func (s *store) asked() []remembered {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []remembered
	for q, r := range s.records {
		if r.gone {
			continue
		}
		var x struct {
			Engine  string
			Request generator.Request
			Based   bool
		}
		if json.Unmarshal([]byte(q), &x) == nil && x.Engine == toArgoCD {
			out = append(out, remembered{x.Request, x.Based})
		}
	}
	return out
}
