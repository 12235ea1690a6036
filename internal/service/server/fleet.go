package server

import (
	"net/http"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/order"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// Fleet is the body of /api/v1/fleet.
type Fleet struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Revision   string `json:"revision"`
	// RestrictedTo is the scope that Clusters is complete for; absent if the token allows all.
	RestrictedTo *hold.Restriction `json:"restrictedTo,omitempty"`
	// Clusters lists all members by hub and name; with ?hub= only the members of one hub.
	Clusters []inventory.Summary `json:"clusters"`
	// RefusedRemovals lists the responses beyond the removal budget, with their removals.
	RefusedRemovals []guard.RefusedRemoval `json:"refusedRemovals"`
	// Waiting lists the components that wait for others of their cluster.
	Waiting []order.Wait `json:"waiting"`
}

// fleet lists the members in the token's scope.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) *failure {
	st, f := s.state(r)
	if f != nil {
		return f
	}
	hub := r.URL.Query().Get("hub")
	info(r).tenants = scopeTenants(bearerOf(r))
	if f := httpserver.Denial(bearerOf(r).Hub(hub)); f != nil {
		return f
	}
	body := Fleet{APIVersion: apiVersion, Kind: "Fleet", Revision: st.Revision, RestrictedTo: restriction(bearerOf(r)), Clusters: []inventory.Summary{}, RefusedRemovals: []guard.RefusedRemoval{}, Waiting: []order.Wait{}}
	for _, c := range inventory.Summaries(st) {
		if hub != "" && c.Hub != hub || !sees(r, st, c.Hub, c.Name) {
			continue
		}
		c.Problems = problemsFor(r, st, problem.Cut(c.Problems, maxProblems))
		if q := c.Quarantine; q != nil {
			own := *q
			own.Problem = shown(r, st, q.Problem)
			c.Quarantine = &own
		}
		body.Clusters = append(body.Clusters, c)
	}
	for _, refused := range s.refusedRemovals(true) {
		if hub != "" && refused.Hub != hub {
			continue
		}
		if bearerOf(r).Restricted() != nil {
			refused.Removals = slices.DeleteFunc(slices.Clone(refused.Removals), func(l lifecycle.Removal) bool {
				return !sees(r, st, refused.Hub, l.Cluster) // the tenant of a cluster without a member is unknown
			})
			if len(refused.Removals) == 0 {
				continue
			}
			refused.Message = shown(r, st, refused.Message)
		}
		body.RefusedRemovals = append(body.RefusedRemovals, refused)
	}
	for _, wait := range s.order.Waits(st) {
		if (hub == "" || wait.Hub == hub) && sees(r, st, wait.Hub, wait.Cluster) {
			body.Waiting = append(body.Waiting, wait)
		}
	}
	respond(w, http.StatusOK, httpserver.Encode(body))
	return nil
}

// restriction returns the scope of a restricted token, nil for a token that shows everything.
func restriction(b *access.Bearer) *hold.Restriction {
	only := b.Restricted()
	if only == nil {
		return nil
	}
	return &hold.Restriction{Hubs: only.Hubs, Owners: only.Owners, Tenants: only.Tenants}
}

// problemsFor returns problems; it withholds texts that name clusters that the token does not see.
func problemsFor(r *http.Request, st *fleetstate.State, all []problem.Problem) []problem.Problem {
	out := []problem.Problem{}
	for _, p := range all {
		if text := p.Error(); shown(r, st, text) != text {
			p = problem.Problem{Reason: p.Reason, Severity: p.Severity, Found: access.Withheld, Hub: p.Hub, Cluster: p.Cluster}
		}
		out = append(out, p)
	}
	return out
}

// maxProblems bounds the listed problems of one member.
const maxProblems = 10

const apiVersion = "argosy.dev/v1alpha1"
