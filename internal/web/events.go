package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
)

// Limits of the streams of one replica.
const (
	maxStreams       = 1024             // open at once; a page beyond them polls
	maxTokenStreams  = 256              // of one restricted token
	defaultHeartbeat = 10 * time.Second // between the events of a stream without news
	streamTimeout    = 10 * time.Second // for a reader to take an event
)

// streams counts the open streams. Closing done ends them all.
type streams struct {
	mu     sync.Mutex
	open   int
	tokens map[string]int // of restricted tokens, by name
	done   chan struct{}
	end    sync.Once
}

func newStreams() *streams { return &streams{tokens: map[string]int{}, done: make(chan struct{})} }

// add counts a stream of a token. It returns false beyond the limits.
func (s *streams) add(b *access.Bearer) (remove func(), ok bool) {
	name, restricted := b.Label(), b.Restricted() != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= maxStreams || restricted && s.tokens[name] >= maxTokenStreams {
		return nil, false
	}
	count := func(n int) {
		s.open += n
		if restricted {
			if s.tokens[name] += n; s.tokens[name] == 0 {
				delete(s.tokens, name)
			}
		}
	}
	count(1)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		count(-1)
	}, true
}

func (s *streams) close() { s.end.Do(func() { close(s.done) }) }

// version changes with everything that a page may show.
type version struct {
	mu    sync.Mutex
	state *fleetstate.State
	// refused lists the refusals: another problem of the same state shows, too.
	refused []string
	count   uint64
}

func (v *version) of(st *fleetstate.State, status refresh.Status) uint64 {
	var refused []string
	for _, r := range status.Refused {
		refused = append(refused, string(r.Cause)+" "+r.Revision+" "+r.Problem)
	}
	for _, m := range status.Mounts {
		refused = append(refused, m.Path+" "+m.Revision+" "+m.Problem)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if st != v.state || !slices.Equal(refused, v.refused) {
		v.state, v.refused = st, refused
		v.count++
	}
	return v.count
}

// event is the content of a stream's event: how old the state is, and a text that changes with the
// pages.
type event struct {
	Freshness
	Version string `json:"version"`
}

func (s *Site) event() event {
	live, status := s.o.Live(), s.o.Fleet.Status()
	return event{s.freshness(status), fmt.Sprintf("%d.%d.%t", s.version.of(s.o.Fleet.State(), status), live.Version, live.Silent != "")}
}

// events streams an event at each change of the state or of a status, and one in each heartbeat.
// The events are the same for every token and name no cluster.
func (s *Site) events(w http.ResponseWriter, r *http.Request) {
	bearer, f := s.authenticate(r)
	if f != nil {
		s.writeFailure(w, r, nil, f)
		return
	}
	leave, f := s.gate.Enter(r.Context(), bearer) // an open stream does not count as a request
	if f != nil {
		s.writeFailure(w, r, nil, f)
		return
	}
	leave()
	remove, ok := s.streams.add(bearer)
	if !ok {
		w.Header().Set("Retry-After", "60")
		s.writeFailure(w, r, nil, &failure{Code: http.StatusServiceUnavailable, Message: "too many open pages: this one polls"})
		return
	}
	defer remove()
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // the server's deadline is for a request, not for a stream
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy passes events on immediately
	beat := time.NewTicker(s.o.Heartbeat)
	defer beat.Stop()
	look := time.NewTicker(observeEvery) // statuses change without a new state
	defer look.Stop()
	for {
		changed := s.o.Fleet.Changed()
		now := s.event()
		text, err := json.Marshal(now)
		if err != nil {
			s.o.Logger.Error("events", "error", err)
			return
		}
		_ = out.SetWriteDeadline(time.Now().Add(streamTimeout))
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
			return
		}
		if out.Flush() != nil {
			return
		}
		for isSame := true; isSame; {
			select {
			case <-look.C:
				isSame = s.event().Version == now.Version
			case <-changed:
				isSame = false
			case <-beat.C:
				if _, f := s.authenticate(r); f != nil { // the token is revoked, or the session is over
					return
				}
				isSame = false
			case <-s.streams.done:
				return
			case <-r.Context().Done():
				return
			}
		}
	}
}
