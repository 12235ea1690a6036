package plugin

import (
	"net/http"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Fleet is the body of /api/v1/fleet.
type Fleet struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Revision   string `json:"revision"`
	// Clusters are all members, by hub and name; with ?hub= those of one hub.
	Clusters []generator.Summary `json:"clusters"`
}

// fleet lists the members.
func (s *Server) fleet(w http.ResponseWriter, r *http.Request) *failure {
	st, f := s.state()
	if f != nil {
		return f
	}
	hub := r.URL.Query().Get("hub")
	body := Fleet{APIVersion: apiVersion, Kind: "Fleet", Revision: st.Revision, Clusters: []generator.Summary{}}
	for _, c := range st.Summaries() {
		if hub != "" && c.Hub != hub {
			continue
		}
		if c.Problems == nil {
			c.Problems = []problem.Problem{}
		}
		body.Clusters = append(body.Clusters, c)
	}
	respond(w, http.StatusOK, encode(body))
	return nil
}

const apiVersion = "argosy.dev/v1alpha1"
