package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// Holds returns all that is held in a state.
func (s *Server) Holds(st *fleetstate.State) []hold.Hold {
	all := hold.Sorted(slices.Concat(
		s.refresher.Status().Holds(st), // broken, draining, limits, mount, and handover of whole groups
		hold.OfRemovals(st, s.guard.Refusals()),
		hold.OfWaits(st, s.order.Waits(st)),
		s.rings.Holds(st),
	))
	s.seen.Date(all, s.o.Now())
	return all
}

// holdsOfHub returns what is held of the service's own hub.
func (s *Server) holdsOfHub(st *fleetstate.State) []hold.Hold {
	return hold.Query{Hub: s.o.Hub}.Of(s.Holds(st))
}

// holds lists what is held in the token's scope.
func (s *Server) holds(w http.ResponseWriter, r *http.Request) *failure {
	q, err := parseHolds(r.URL.Query())
	if err != nil {
		return failureOf(err)
	}
	st, f := s.state(r)
	if f != nil {
		return f
	}
	b := bearerOf(r)
	info(r).tenants = scopeTenants(b)
	if f := httpserver.Denial(b.Hub(q.Hub)); f != nil {
		return f
	}
	all := access.Holds(st, b, s.Holds(st))
	if q.Cluster != "" {
		auditCluster(r, st.Fleet, q.Hub, q.Cluster)
		if q, err = ofCluster(st, b, all, q); err != nil {
			return s.failureFor(r, st, err)
		}
	}
	status := s.refresher.Status()
	why, _ := s.unready()
	list := hold.List{
		APIVersion: apiVersion, Kind: hold.Kind, Revision: st.Revision, Since: status.Since, Ready: why == "", RestrictedTo: restriction(b),
		Stale: status.Stale(), Items: q.Of(all),
	}
	list.Summary = hold.Summarize(list.Items)
	list.More = max(0, len(list.Items)-hold.MaxItems)
	list.Items = list.Items[:len(list.Items)-list.More]
	if !b.SeesEverything() {
		for i := range list.Stale {
			list.Stale[i].Detail = access.Withheld
		}
	}
	respond(w, http.StatusOK, httpserver.Encode(list))
	return nil
}

// parseHolds reads the query of /api/v1/holds. The component may be GROUP/COMPONENT. The error is a
// *problem.QueryError.
func parseHolds(q url.Values) (hold.Query, error) {
	var out hold.Query
	var reason string
	to := map[string]*string{"reason": &reason, "hub": &out.Hub, "tenant": &out.Tenant, "cluster": &out.Cluster, "group": &out.Group, "component": &out.Component}
	for name, values := range q {
		if to[name] == nil || len(values) > 1 {
			return out, problem.BadRequest("unknown or repeated query parameter; expected reason, hub, tenant, cluster, group, component")
		}
		*to[name] = values[0]
	}
	if out.Reason = hold.Reason(reason); reason != "" && !slices.Contains(hold.Reasons, out.Reason) {
		return out, problem.BadRequest("reason %q; expected one of %s", cut(reason), reasons())
	}
	if group, component, both := strings.Cut(out.Component, "/"); both && out.Group == "" {
		out.Group, out.Component = group, component
	}
	if out.Component != "" && out.Group == "" {
		return out, problem.BadRequest("a component needs its group: expected component=GROUP/COMPONENT")
	}
	return out, nil
}

// reasons lists all reasons for an error.
func reasons() string {
	var names []string
	for _, r := range hold.Reasons {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// ofCluster completes a query about a cluster: its hub and tenant select what holds more than the
// cluster. Where nothing is held, an unknown name is an error, so that a typing mistake does not
// read as "nothing is held". The file of a cluster that a hold names may be gone.
func ofCluster(st *fleetstate.State, scope access.Reader, all []hold.Hold, q hold.Query) (hold.Query, error) {
	c, err := access.FindCluster(st, scope, q.Hub, q.Cluster)
	if err != nil {
		if slices.ContainsFunc(q.Of(all), func(h hold.Hold) bool { return h.Cluster == q.Cluster }) {
			err = nil
		}
		return q, err
	}
	if q.Hub = c.Member.Hub; q.Tenant == "" {
		q.Tenant = c.Member.Tenant
	}
	if q.Group == "" || len(q.Of(all)) > 0 {
		return q, nil
	}
	if !scope.SeesGroup(q.Group) || c.Groups[q.Group] == nil {
		return q, problem.BadRequest("cluster %q has no group %q%s", q.Cluster, cut(q.Group), problem.Hint(q.Group, st.Groups()))
	}
	names := st.ComponentsOf(q.Hub, q.Cluster, q.Group)
	if q.Component == "" || slices.Contains(names, q.Component) {
		return q, nil
	}
	return q, problem.BadRequest("group %q of cluster %q has no component %q%s", q.Group, q.Cluster, cut(q.Component), problem.Hint(q.Component, names))
}
