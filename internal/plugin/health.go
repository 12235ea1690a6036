package plugin

import (
	"net/http"
	"time"

	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/refresh"
)

// maxListed bounds the members that /readyz lists: a probe asks for it every few seconds.
const maxListed = 20

// Readiness is the body of /readyz.
type Readiness struct {
	// Ready tells whether requests are answered, and should be sent here.
	Ready bool `json:"ready"`
	// Message says why not.
	Message string `json:"message,omitempty"`
	Source  string `json:"source"`
	Hub     string `json:"hub"`
	// Revision is being served since Since.
	Revision string     `json:"revision,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	// LastRefresh is when the source was last looked at with nothing to refuse.
	LastRefresh *time.Time `json:"lastRefresh,omitempty"`
	// Refused is what is newer than the revision being served, and why it is not served.
	Refused []refresh.Refusal `json:"refused"`
	// QuarantinedMembers is how many of the hub's members cannot be computed as they are in the revision; Quarantined are the
	// first of them, and what becomes of each.
	QuarantinedMembers int                   `json:"quarantinedMembers"`
	Quarantined        []refresh.Quarantined `json:"quarantined"`
	// RefusedRemovals are the answers that are not given, as they are beyond the removal budget; /api/v1/fleet says what would
	// be lost.
	RefusedRemovals []guard.Reported `json:"refusedRemovals"`
}

// healthz tells that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) *failure {
	respond(w, http.StatusOK, []byte("{\"status\":\"ok\"}\n"))
	return nil
}

// readyz tells whether requests should come here, and how fresh the answers are.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) *failure {
	st := s.refresher.Status()
	body := Readiness{
		Ready: st.Ready(), Source: st.Source, Hub: s.o.Hub, Revision: st.Revision,
		Since: known(st.Since), LastRefresh: known(st.LastSuccess), Refused: st.Refused, Quarantined: st.Quarantined[:min(len(st.Quarantined), maxListed)], QuarantinedMembers: len(st.Quarantined),
		RefusedRemovals: s.refusedRemovals(false),
	}
	if body.Quarantined == nil {
		body.Quarantined = []refresh.Quarantined{}
	}
	if body.Refused == nil {
		body.Refused = []refresh.Refusal{}
	}
	if err := st.Err(); err != nil {
		body.Message = err.Error()
	}
	if s.draining.Load() {
		body.Ready, body.Message = false, "draining: this instance is being stopped"
	}
	code := http.StatusOK
	if !body.Ready {
		code = http.StatusServiceUnavailable
	}
	respond(w, code, encode(body))
	return nil
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
