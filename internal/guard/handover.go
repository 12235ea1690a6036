package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// maxReason bounds what a refusal repeats of another response's error, in bytes.
const maxReason = 200

// handover returns why a response cannot give up what moves (rule 11): the new owner has no
// response itself, waits for another one that has none, or has no ApplicationSet. It returns nil if
// the response can.
func (g *Guard) handover(p proposal, moves []lifecycle.Removal) *Refusal {
	whole := g.commit(p.st, p.query.Hub)
	moves = slices.DeleteFunc(slices.Clone(moves), func(m lifecycle.Removal) bool {
		_, approved := whole.approvedUntil(p.st.Fleet, p.query.Hub, m, g.o.Now())
		return approved
	})
	seen := map[queryKey]bool{p.key(): true}
	for _, to := range destinations(moves) {
		if err := g.unanswered(p, to, seen); err != nil {
			return &Refusal{
				key: p.key(), found: loss{members: len(clustersOf(moves)), moves: moves},
				message: "handover: " + pendingMessage(p.query, moves, to, err), revision: p.st.Revision, pending: true,
			}
		}
	}
	return nil
}

// pendingMessage says which new owner a response waits for, and why.
func pendingMessage(r query.Query, moves []lifecycle.Removal, to destination, err error) string {
	what := "group " + r.Group
	if r.Component != "" {
		what = r.Group + "/" + r.Component
	}
	return fmt.Sprintf("%s of %d members moves, but %s has no answer: %s", what, len(clustersOf(moves)), to, problem.Truncate(err.Error(), maxReason))
}

// destination is where something of one component moves to.
type destination struct {
	group, component string
	lifecycle.Destination
}

func (d destination) String() string {
	if d.Owner != fleet.OwnerHub {
		return fmt.Sprintf("member %q", d.Owner)
	}
	return fmt.Sprintf("release %q", d.Release)
}

// query returns the one that the new owner would have.
func (d destination) query(p proposal) query.Query {
	return query.Query{
		View: query.Components, Hub: p.query.Hub, Group: d.group, Component: d.component,
		Owner: d.Owner, Release: d.Release,
	}
}

// destinations returns those of moves, sorted. What moves to another hub is left out: only that
// hub's service knows its responses.
func destinations(moves []lifecycle.Removal) []destination {
	seen := map[destination]bool{}
	var out []destination
	for _, m := range moves {
		d := destination{m.Group, m.Component, m.To}
		if m.To.Hub == "" && m.To.Owner != "" && !seen[d] {
			seen[d] = true
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b destination) int {
		return cmp.Or(
			strings.Compare(a.group, b.group), strings.Compare(a.Owner, b.Owner),
			strings.Compare(a.Release, b.Release), strings.Compare(a.component, b.component))
	})
	return out
}

// unanswered returns why a query of the new owner has no response, or one that it waits for itself.
// It looks at each query once: two releases that exchange members wait for each other only if one
// of them is refused.
func (g *Guard) unanswered(p proposal, to destination, seen map[queryKey]bool) error {
	if m := p.st.Fleet.Member(p.query.Hub, to.Owner); m != nil && m.Remote && m.Engine == fleet.EngineFlux {
		_, err := flux.OwnedBy(p.st, p.query.Hub, to.Owner)
		return err
	}
	for _, s := range g.successors(p, to) {
		q := keyOf(s.query, forArgoCD)
		if seen[q] {
			continue
		}
		seen[q] = true
		response, err := g.o.Respond(context.Background(), p.st, s.query)
		if s.guessed && isBadRequest(err) {
			continue // no ApplicationSet has this query
		}
		if err != nil {
			return err
		}
		next := proposal{p.st, s.query, response, forArgoCD}
		v, found := g.judgeRemovals(next)
		if v.err != nil {
			return v.err
		}
		for _, further := range destinations(found.moves) {
			if err := g.unanswered(next, further, seen); err != nil {
				return err
			}
		}
	}
	if g.lacksRequester(p, to) {
		return errNoRequester
	}
	return nil
}

// errNoRequester is the error of a release whose ApplicationSets do not exist: an Application makes
// them, which Argo CD may not have synced yet, or cannot sync.
var errNoRequester = errors.New("no ApplicationSet asks for it")

// lacksRequester reports whether no ApplicationSet asks for a destination. That can be known where
// all of them and all of their queries are. The view Releases makes them, so it does not wait for
// them.
func (g *Guard) lacksRequester(p proposal, to destination) bool {
	if p.query.View != query.Components || to.Owner != cmp.Or(p.query.Owner, fleet.OwnerHub) {
		return false
	}
	wide, all := to.query(p), g.o.Requesters()
	for _, qs := range all {
		if !qs.Complete || slices.ContainsFunc(qs.Requests, func(r query.Query) bool { return includes(r, wide) }) {
			return false
		}
	}
	return all[p.query.ApplicationSet].Complete
}

// successor is a query whose response takes over what moves.
type successor struct {
	query query.Query
	// guessed reports that no requester is known to have the query.
	guessed bool
}

// successors returns the queries for a destination: those of ApplicationSets, else the remembered
// ones, else the likely ones. A likely one is also whether the release is answered, without which
// it has no ApplicationSet.
func (g *Guard) successors(p proposal, to destination) []successor {
	wide := to.query(p)
	var out []successor
	for name, qs := range g.o.Requesters() {
		for _, r := range qs.Requests {
			r.ApplicationSet = name
			if name != p.query.ApplicationSet && includes(r, wide) {
				out = append(out, successor{query: r})
			}
		}
	}
	if len(out) == 0 {
		for key := range g.baselines.queries(forArgoCD) {
			if q, _ := key.parse(); q.Request.ApplicationSet != p.query.ApplicationSet && includes(q.Request, wide) {
				if q.Based {
					q.Request.Base = p.query.Base // the most that is known of it
				}
				out = append(out, successor{q.Request, q.Based})
			}
		}
	}
	if len(out) == 0 {
		releases := query.Query{View: query.Releases, Hub: p.query.Hub, Group: to.group, Owner: to.Owner}
		wide.Base = p.query.Base
		out = []successor{{wide, true}, {releases, true}}
	}
	slices.SortFunc(out, func(a, b successor) int {
		return cmp.Compare(keyOf(a.query, forArgoCD), keyOf(b.query, forArgoCD))
	})
	return out
}

// includes reports whether the response to a query contains that to another one, by their names.
func includes(r, wide query.Query) bool {
	owner := cmp.Or(r.Owner, fleet.OwnerHub)
	return r.View == query.Components && r.Hub == wide.Hub && r.Group == wide.Group && owner == wide.Owner &&
		(r.Component == "" || r.Component == wide.Component) && (r.Release == "" || r.Release == wide.Release)
}
