package server

import (
	"bytes"
	"errors"
	"net/http"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// explain shows where a component's values on a cluster come from, as `argosy explain -o json`
// does. The query needs cluster and component; without group, component is GROUP/COMPONENT. It
// needs hub if several hubs have such a cluster; path restricts the values.
func (s *Server) explain(w http.ResponseWriter, r *http.Request) *failure {
	q := r.URL.Query()
	for name := range q {
		switch name {
		case "cluster", "hub", "group", "component", "path":
		default:
			return &failure{Code: http.StatusBadRequest, Message: "unknown query parameter; expected cluster, hub, group, component, path"}
		}
	}
	group, component := q.Get("group"), q.Get("component")
	if group == "" {
		group, component, _ = strings.Cut(component, "/")
	}
	if q.Get("cluster") == "" || group == "" || component == "" {
		return &failure{Code: http.StatusBadRequest, Message: "expected the query parameters cluster, group and component"}
	}
	path, err := hierarchy.ParsePath(q.Get("path"))
	if err != nil {
		return &failure{Code: http.StatusBadRequest, Message: "path: " + err.Error()}
	}
	st, f := s.state(r)
	if f != nil {
		return f
	}
	info(r).request = cut(strings.Trim(q.Get("hub")+"/"+group+"/"+component, "/"))
	auditCluster(r, st.Fleet, q.Get("hub"), q.Get("cluster"))
	hub, err := bearerOf(r).Cluster(q.Get("hub"), q.Get("cluster"), group, st.Fleet)
	if err != nil {
		return httpserver.Denial(err)
	}
	auditCluster(r, st.Fleet, hub, q.Get("cluster"))
	if f := ofOthers(r, st, "cluster", hub, q.Get("cluster")); f != nil {
		return f
	}
	t := explain.Target{Hub: hub, Cluster: q.Get("cluster"), Group: group, Component: component}
	explanation, err := explain.Component(st, t, path)
	var missing *explain.PathError
	if errors.As(err, &missing) {
		message := strings.Join(append([]string{missing.Error()}, missing.Hints...), "; ")
		return &failure{Code: http.StatusBadRequest, Message: message}
	}
	if err != nil {
		return s.failureFor(r, st, err)
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, explanation); err != nil {
		return &failure{Code: http.StatusInternalServerError, Message: "the explanation cannot be written as JSON"}
	}
	respond(w, http.StatusOK, b.Bytes())
	return nil
}
