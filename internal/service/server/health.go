package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/service/httpserver"
)

// maxListed bounds the members that /readyz lists, as a probe requests it every few seconds.
const maxListed = 20

// Probe is the body of /readyz without a token. It has codes and numbers, but no text of a file, a
// fact or an address.
type Probe struct {
	// Ready reports whether clients should send requests here.
	Ready bool `json:"ready"`
	// Message says why not, in fixed words.
	Message string `json:"message,omitempty"`
	// Revision is the served revision; Since is when the service began to serve it.
	Revision string     `json:"revision,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	// LastRefresh is when the source was last polled and nothing was refused.
	LastRefresh *time.Time `json:"lastRefresh,omitempty"`
	// ComputingSince is when the running computation began; absent if there is none.
	ComputingSince *time.Time `json:"computingSince,omitempty"`
	// Refused lists newer revisions and facts that are not served.
	Refused []Refused `json:"refused"`
	// QuarantinedMembers counts the hub's broken members. LastKnownClusters counts the members
	// whose cluster Secrets are gone and whose last known facts are used.
	QuarantinedMembers int `json:"quarantinedMembers"`
	LastKnownClusters  int `json:"lastKnownClusters"`
	// RefusedResponses counts the responses beyond the removal budget. StaleMounts counts the
	// mounts whose newest commit is not served, StateProblems the unusable parts of stored state.
	RefusedResponses int `json:"refusedResponses"`
	StaleMounts      int `json:"staleMounts"`
	StateProblems    int `json:"stateProblems"`
	// Holds counts what the hub holds, by reason; reasons without a hold are left out.
	Holds map[hold.Reason]int `json:"holds"`
	// ReplacedLabels counts the labels and annotations of the hub's live cluster Secrets that
	// differ in responses.
	ReplacedLabels int `json:"replacedLabels"`
}

// Refused is a refusal without its text.
type Refused struct {
	Cause    refresh.Cause `json:"cause"`
	Reason   string        `json:"reason"`
	Problems int           `json:"problems"`
	Revision string        `json:"revision,omitempty"`
	Since    time.Time     `json:"since"`
}

// Readiness is the body of /readyz with a token that may read all of the hub.
type Readiness struct {
	Probe

	// Message says why clients should not send requests here, with the cause.
	Message string `json:"message,omitempty"`
	Source  string `json:"source"`
	Hub     string `json:"hub"`
	// Refused lists newer revisions and facts, and why they are not served.
	Refused []refresh.Refusal `json:"refused"`
	// Quarantined lists the first broken members.
	Quarantined []refresh.Quarantined `json:"quarantined"`
	// Mounts lists the repositories that the layout mounts, and since when one is stale; absent
	// without any.
	Mounts []refresh.Mount `json:"mounts,omitempty"`
	// RefusedRemovals lists the responses beyond the removal budget; /api/v1/fleet lists their
	// removals.
	RefusedRemovals []guard.RefusedRemoval `json:"refusedRemovals"`
	// LastKnown lists the first members whose cluster Secrets are gone.
	LastKnown []string `json:"lastKnown"`
	// Replaced lists the first replaced labels and annotations, with their values in responses.
	Replaced []string `json:"replaced"`
	// State describes the stored state that a restart uses; absent without a store.
	State *StoredState `json:"state,omitempty"`
}

// StoredState describes the stored state that a restart uses.
type StoredState struct {
	// Where names the store.
	Where string `json:"where"`
	// Problems lists the parts that cannot be used, read or written.
	Problems []string `json:"problems"`
}

// healthz responds 200 while the process runs.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) *failure {
	respond(w, http.StatusOK, []byte("{\"status\":\"ok\"}\n"))
	return nil
}

// The messages of a Probe.
const (
	notReady  = "not ready: no commit has been accepted with its facts yet; with a token /readyz says why"
	reading   = "not ready: what holds and rings keep is being read"
	noMembers = "the hub has no member files; with a token /readyz names it"
	stopping  = "draining: this instance is being stopped"
)

// readyz reports whether clients should send requests here, and the served revision. A request with
// a token also gets the reasons, or is refused.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) *failure {
	if r.Header.Get("Authorization") != "" {
		return s.withToken(access.FleetRoute, tokenOrPassword, s.detailedReadyz)(w, r)
	}
	body := s.readiness()
	respond(w, body.code(), httpserver.Encode(body.Probe))
	return nil
}

func (s *Server) detailedReadyz(w http.ResponseWriter, r *http.Request) *failure {
	if f := httpserver.Denial(bearerOf(r).Whole(s.o.Hub)); f != nil {
		return f
	}
	info(r).tenants = []string{allTenants}
	body := s.readiness()
	respond(w, body.code(), httpserver.Encode(body))
	return nil
}

// code returns 503 if clients should not send requests here.
func (b Readiness) code() int {
	if !b.Ready {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// readiness returns the body of /readyz, with the messages for requests with and without a token.
func (s *Server) readiness() (body Readiness) {
	st := s.refresher.Status()
	body = Readiness{
		Probe: Probe{
			Revision: st.Revision, Since: known(st.Since), LastRefresh: known(st.LastSuccess), ComputingSince: known(st.Computing),
			Refused: []Refused{}, QuarantinedMembers: len(st.Quarantined), Holds: map[hold.Reason]int{},
		},
		Source: st.Source, Hub: s.o.Hub, Refused: append([]refresh.Refusal{}, st.Refused...), Mounts: st.Mounts,
		Quarantined: append([]refresh.Quarantined{}, st.Quarantined[:min(len(st.Quarantined), maxListed)]...), RefusedRemovals: s.refusedRemovals(false),
		LastKnown: []string{}, Replaced: []string{}, State: s.storedState(st),
	}
	for _, x := range st.Refused {
		body.Probe.Refused = append(body.Probe.Refused, Refused{x.Cause, x.Reason, x.Problems, x.Revision, x.Since})
	}
	for _, m := range st.Mounts {
		if m.IsStale() {
			body.StaleMounts++
		}
	}
	body.RefusedResponses = len(body.RefusedRemovals)
	if body.State != nil {
		body.StateProblems = len(body.State.Problems)
	}
	if now := s.refresher.State(); now != nil {
		all := inventory.LastKnown(now, s.o.Hub)
		body.LastKnownClusters, body.LastKnown = len(all), append(body.LastKnown, all[:min(len(all), maxListed)]...)
		replaced := inventory.AllReplaced(now, s.o.Hub)
		body.ReplacedLabels = len(replaced)
		for _, r := range replaced[:min(len(replaced), maxListed)] {
			body.Replaced = append(body.Replaced, fmt.Sprintf("%s: %s %q: %s", r.Cluster, r.Kind, r.Key, r))
		}
		for _, h := range hold.Summarize(s.holdsOfHub(now)) {
			body.Holds[h.Reason] = h.Holds
		}
	}
	body.Probe.Message, body.Message = s.unready()
	body.Ready = body.Message == ""
	return body
}

// unready says why clients should not send requests here: open for every client, why for a client
// with a token. Both are empty for a service that is ready.
func (s *Server) unready() (open, why string) {
	if s.draining.Load() {
		return stopping, stopping
	}
	if err := s.refresher.Status().Err(); err != nil {
		return notReady, err.Error()
	}
	if s.rings.IsStarting(s.refresher.State()) {
		return reading, reading
	}
	if f := s.refresher.State().Fleet; s.o.Hub != "" && len(f.Members(s.o.Hub)) == 0 {
		return noMembers, fmt.Sprintf("hub %q has no member files; the repository has the member files of %s", s.o.Hub, strings.Join(f.Hubs(), ", "))
	}
	return "", ""
}

// storedState describes the stored state; nil without a store.
func (s *Server) storedState(st refresh.Status) *StoredState {
	if s.o.Store == nil {
		return nil
	}
	out := &StoredState{Where: s.o.Store.String(), Problems: []string{}}
	problems := []string{st.StoreProblem, s.guard.Stats().Problem, s.order.StoreProblem()}
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
