package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// The states of Freshness.
const (
	Current = "current"
	Behind  = "behind"
	Unknown = "unknown"
	Waiting = "waiting"
)

// Freshness says how old the state is, and whether it is the newest.
type Freshness struct {
	// State is current; behind, where something newer is refused; unknown, where there has been no
	// news for too long; or waiting, before the first state.
	State    string `json:"state"`
	Detail   string `json:"detail"`
	Revision string `json:"revision,omitempty"`
	Source   string `json:"source"`
	// Since is when serving the revision began, and Heard when the newest of everything was last
	// seen.
	Since *time.Time `json:"since,omitempty"`
	Heard *time.Time `json:"heard,omitempty"`
}

// freshness returns how old the state is.
func (s *Site) freshness(st refresh.Status) Freshness {
	out := Freshness{State: Current, Detail: "the newest commit and facts are served", Revision: st.Revision, Source: st.Source, Since: overview.Known(st.Since), Heard: overview.Known(st.LastSuccess)}
	switch {
	case !st.Ready():
		out.State, out.Detail = Waiting, "the service has not read the repository yet"
	case len(st.Refused) > 0:
		since := st.Refused[0].Since.UTC().Format(time.DateTime) + " UTC"
		out.State = Behind
		switch st.Refused[0].Cause {
		case refresh.Source:
			out.State, out.Detail = Unknown, "the repository cannot be read since "+since+"; there may be newer commits"
		case refresh.Commit:
			out.Detail = "the newest commit is refused since " + since
		default:
			out.State, out.Detail = Unknown, "the facts cannot be read since "+since
		}
	case slices.ContainsFunc(st.Mounts, refresh.Mount.IsStale):
		out.State, out.Detail = Behind, "the newest commit of a mounted repository is not served"
	case s.o.Now().Sub(st.LastSuccess) > s.o.Stale:
		out.State, out.Detail = Unknown, fmt.Sprintf("nothing heard of the repository for more than %s", s.o.Stale)
	}
	return out
}

// freshnessAPI serves the Freshness, by which an open page finds out whether it is still current.
func (s *Site) freshnessAPI(w http.ResponseWriter, r *http.Request) {
	if _, f := s.authenticate(r); f != nil {
		s.writeFailure(w, r, nil, f)
		return
	}
	s.writeJSON(w, r, http.StatusOK, s.freshness(s.o.Fleet.Status()))
}
