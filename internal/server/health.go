package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/secretscan"
)

// maxListed bounds the members that /readyz lists: a probe asks for it every few seconds.
const maxListed = 20

// Readiness is the body of /readyz.
type Readiness struct {
	// Ready says whether clients should send requests here.
	Ready bool `json:"ready"`
	// Message says why not.
	Message string `json:"message,omitempty"`
	Source  string `json:"source"`
	Hub     string `json:"hub"`
	// Revision is served since Since.
	Revision string     `json:"revision,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	// LastRefresh is when the source was last polled with nothing to refuse.
	LastRefresh *time.Time `json:"lastRefresh,omitempty"`
	// ComputingSince is when the computation under way began; absent while there is none.
	ComputingSince *time.Time `json:"computingSince,omitempty"`
	// Refused lists newer revisions and facts, and why they are not served.
	Refused []refresh.Refusal `json:"refused"`
	// QuarantinedMembers counts the hub's quarantined members; Quarantined lists the first of them.
	QuarantinedMembers int                   `json:"quarantinedMembers"`
	Quarantined        []refresh.Quarantined `json:"quarantined"`
	// Mounts are the repositories that the layout mounts, and since when which of them are stale;
	// absent without any.
	Mounts []refresh.Mount `json:"mounts,omitempty"`
	// RefusedRemovals are the responses beyond the removal budget; /api/v1/fleet lists their
	// removals.
	RefusedRemovals []guard.RefusedRemoval `json:"refusedRemovals"`
	// LastKnownClusters counts the hub's members whose cluster Secrets are gone, and which are
	// computed from their last known facts; LastKnown lists the first of them.
	LastKnownClusters int      `json:"lastKnownClusters"`
	LastKnown         []string `json:"lastKnown"`
	// ReplacedLabels counts the labels and annotations of the hub's live cluster Secrets that
	// responses have otherwise; Replaced says of the first of them what they have instead.
	ReplacedLabels int      `json:"replacedLabels"`
	Replaced       []string `json:"replaced"`
	// State describes what a restart goes on from; absent without a store.
	State *StoredState `json:"state,omitempty"`
}

// StoredState describes what a restart goes on from.
type StoredState struct {
	// Where is the place of the store.
	Where string `json:"where"`
	// Problems say what of it cannot be used, read or written.
	Problems []string `json:"problems"`
}

// healthz responds while the process works.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) *failure {
	respond(w, http.StatusOK, []byte("{\"status\":\"ok\"}\n"))
	return nil
}

// readyz says whether clients should send requests here, and which revision is served.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) *failure {
	st := s.refresher.Status()
	body := Readiness{
		Ready: st.Ready(), Source: st.Source, Hub: s.o.Hub, Revision: st.Revision,
		Since: known(st.Since), LastRefresh: known(st.LastSuccess), ComputingSince: known(st.Computing), Refused: st.Refused, Quarantined: st.Quarantined[:min(len(st.Quarantined), maxListed)], QuarantinedMembers: len(st.Quarantined),
		Mounts: st.Mounts, RefusedRemovals: s.refusedRemovals(false),
	}
	body.State = s.storedState(st)
	body.LastKnown, body.Replaced = []string{}, []string{}
	if now := s.refresher.State(); now != nil {
		all := inventory.LastKnown(now, s.o.Hub)
		if s.o.Hub != "" && len(now.Fleet.Members(s.o.Hub)) == 0 {
			body.Ready, body.Message = false, fmt.Sprintf("hub %q has no member files; the repository has those of %s", s.o.Hub, strings.Join(now.Fleet.Hubs(), ", "))
		}
		body.LastKnownClusters, body.LastKnown = len(all), append(body.LastKnown, all[:min(len(all), maxListed)]...)
		replaced := inventory.AllReplaced(now, s.o.Hub)
		body.ReplacedLabels = len(replaced)
		for _, r := range replaced[:min(len(replaced), maxListed)] {
			text := r.String()
			if secretscan.Classify(r.Key, r.Live) != "" { // of a client without a token
				text = "another value than that of the cluster Secret"
			}
			body.Replaced = append(body.Replaced, fmt.Sprintf("%s: %s %q: %s", r.Cluster, r.Kind, r.Key, text))
		}
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

// storedState describes the store, nil without one.
func (s *Server) storedState(st refresh.Status) *StoredState {
	if s.o.Store == nil {
		return nil
	}
	out := &StoredState{Where: s.o.Store.String(), Problems: []string{}}
	problems := append(slices.Clone(s.o.StoreProblems), st.StoreProblem, s.guard.Stats().Problem, s.order.StoreProblem())
	if s.lastKnownFacts != nil {
		if err := s.lastKnownFacts.Problem(); err != nil {
			problems = append(problems, err.Error())
		}
	}
	for _, text := range problems {
		if text != "" && !slices.Contains(out.Problems, text) {
			out.Problems = append(out.Problems, text)
		}
	}
	return out
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
