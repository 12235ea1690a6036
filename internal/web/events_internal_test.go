package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// Streams are bounded for all tokens together, and a closed one makes room for another.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	s := newStreams()
	var remove func()
	for i := range maxStreams {
		var ok bool
		if remove, ok = s.add(&access.Bearer{Name: strconv.Itoa(i)}); !ok {
			t.Fatal("refused below the limit")
		}
	}
	if _, ok := s.add(&access.Bearer{}); ok {
		t.Error("more than the limit are open")
	}
	remove()
	if _, ok := s.add(&access.Bearer{}); !ok {
		t.Error("a closed stream makes no room")
	}
}

// noFleet is before the first state.
type noFleet struct{}

func (noFleet) State() *fleetstate.State { return nil }
func (noFleet) Status() refresh.Status   { return refresh.Status{} }
func (noFleet) Changed() <-chan struct{} { return nil }

// serving serves a site without a fleet until stop is called.
func serving(t *testing.T, s *Site) (address string, ended <-chan error, stop func()) {
	t.Helper()
	s.o.Fleet, s.o.Live = noFleet{}, func() overview.Live { return overview.Live{} }
	s.o.Logger = slog.New(slog.DiscardHandler)
	s.saved, s.sessions = s.newRecord(), newSessionKeys(s.o)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- s.Serve(ctx, listener) }()
	return listener.Addr().String(), end, stop
}

// A service that stops does not wait for open pages.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	s := &Site{streams: newStreams()}
	opened := make(chan struct{})
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		close(opened)
		<-s.streams.done
	})
	address, ended, stop := serving(t, s)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/events", nil)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	<-opened
	stop()
	select {
	case err := <-ended:
		assert.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Error("the service waits for an open page")
	}
}

// A panic while a state is taken into the timeline ends neither the pages nor the service: it is
// tried again.
func TestTimelineOutlivesPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		s := &Site{}
		s.o.Fleet, s.o.Logger = noFleet{}, slog.New(slog.DiscardHandler)
		s.saved, s.sessions = s.newRecord(), newSessionKeys(s.o)
		s.o.Live = func() overview.Live {
			looks++
			panic("no such thing")
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			s.follow(ctx)
			close(ended)
		}()
		time.Sleep(3 * observeEvery)
		stop()
		<-ended
		if looks < 3 {
			t.Errorf("it is tried %d times", looks)
		}
	})
}

// A listener that fails ends Serve at once, with its error: nobody would learn of it otherwise.
func TestServeEndsWhenItsListenerFails(t *testing.T) {
	t.Parallel()
	s := &Site{streams: newStreams(), handler: http.NotFoundHandler()}
	s.o.Fleet, s.o.Live = noFleet{}, func() overview.Live { return overview.Live{} }
	s.o.Logger = slog.New(slog.DiscardHandler)
	s.saved, s.sessions = s.newRecord(), newSessionKeys(s.o)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { ended <- s.Serve(ctx, listener) }()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("Serve goes on though its listener has failed")
		stop()
		<-ended
	}
}

// A service that stops waits for requests under way: the process ends when Serve returns.
func TestStopWaitsForRequestsUnderWay(t *testing.T) {
	t.Parallel()
	s := &Site{streams: newStreams()}
	begun, finish := make(chan struct{}), make(chan struct{})
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-finish
		w.WriteHeader(http.StatusNoContent)
	})
	address, ended, stop := serving(t, s)
	answered := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			err = resp.Body.Close()
		}
		answered <- err
	}()
	<-begun
	stop()
	select {
	case err := <-ended:
		t.Fatal("Serve has returned while a request is under way:", err)
	case <-time.After(500 * time.Millisecond): // it returns at once without the wait
	}
	close(finish)
	assert.NoError(t, <-answered)
	assert.NoError(t, <-ended)
}
