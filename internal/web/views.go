package web

import (
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/web/board"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// filter reads the parameters that select clusters and components.
func (q *request) filter() overview.Filter {
	return overview.Filter{
		Hub: q.Get("hub"), Tenant: q.Get("tenant"), Environment: q.Get("environment"), Group: q.Get("group"),
		Component: q.Get("component"), Label: q.Get("label"), Search: q.Get("q"),
	}
}

func matrix(q *request) (any, string, error) {
	page, _ := strconv.Atoi(q.Get("page"))
	return q.index.Matrix(q.bearer, q.live, q.filter(), q.Get("by"), page), "Matrix", nil
}

func component(q *request) (any, string, error) {
	m, err := q.index.Versions(q.bearer, q.filter())
	return m, m.Name, err
}

func cluster(q *request) (any, string, error) {
	m, err := q.index.Cluster(q.bearer, q.live, q.Get("hub"), q.Get("cluster"))
	m.Holds = q.holdsOn(m.Cluster, "", "")
	return m, m.Name, err
}

func why(q *request) (any, string, error) {
	path, err := hierarchy.ParsePath(q.Get("path"))
	if err != nil {
		return nil, "", problem.BadRequest("%v", err)
	}
	t := explain.Target{Hub: q.Get("hub"), Cluster: q.Get("cluster"), Group: q.Get("group"), Component: q.Get("component")}
	m, err := q.index.Why(q.bearer, q.live, t, path)
	if err == nil {
		m.Holds = q.holdsOn(m.Cluster, t.Group, t.Component)
		m.Changes = q.site.history.LastChanges(q.bearer, m.Cluster.Hub, m.Cluster.Name, overview.Component{Group: t.Group, Name: t.Component})
	}
	return m, t.Component + " on " + t.Cluster, err
}

func held(q *request) (any, string, error) {
	of := hold.Query{
		Reason: hold.Reason(q.Get("reason")), Hub: q.Get("hub"), Tenant: q.Get("tenant"), Cluster: q.Get("cluster"), Group: q.Get("group"), Component: q.Get("component"),
	}
	return q.reader().Held(q.holds(), of, q.status.Stale()), "Held back", nil
}

// holds returns all that is held in the bearer's scope.
func (q *request) holds() []hold.Hold {
	if q.held == nil {
		q.held = access.Holds(q.state, q.bearer, q.site.o.Holds(q.state))
	}
	return q.held
}

// holdsOn returns the holds on a cluster, or on one of its components.
func (q *request) holdsOn(c overview.Cluster, group, component string) []hold.Hold {
	return hold.Query{Hub: c.Hub, Tenant: c.Tenant, Cluster: c.Name, Group: group, Component: component}.Of(q.holds())
}

func rollouts(q *request) (any, string, error) {
	return q.reader().Rollouts(q.site.o.Rollouts()), "Rollouts", nil
}

func calendar(q *request) (any, string, error) {
	return q.reader().Calendar(q.site.o.Rollouts()), "Windows and freezes", nil
}

// reader returns the reader of rollouts.
func (q *request) reader() board.Reader {
	return board.Reader{State: q.state, Scope: q.bearer, Now: q.site.o.Now()}
}

func outliers(q *request) (any, string, error) {
	return q.index.Outliers(q.bearer, q.filter()), "Outliers", nil
}

func compare(q *request) (any, string, error) {
	m, err := q.index.Compare(q.bearer, q.Get("a"), q.Get("b"))
	return m, "Compare", err
}

func find(q *request) (any, string, error) {
	m, err := q.index.Find(q.bearer, q.filter(), q.Get("path"))
	return m, "Find a value", err
}
