package server_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// stopped is a clock that stops the guard, which reads it before each response.
type stopped struct {
	armed   atomic.Bool
	panics  atomic.Bool // after the release
	readers atomic.Int32
	release chan struct{}
}

func (c *stopped) now() time.Time {
	if c.armed.Load() && isCalledBy("guard.(*Guard).judgeRemovals") {
		c.readers.Add(1)
		<-c.release
		if c.panics.Load() {
			panic("the clock is broken")
		}
	}
	return time.Now()
}

// isCalledBy reports whether a function is running in this goroutine.
func isCalledBy(name string) bool {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) || !more {
			return strings.HasSuffix(f.Function, name)
		}
	}
}

// shares is a service whose responses stop while they are computed, until the clock is released.
func shares(t *testing.T, change ...func(*server.Options)) (*service, *stopped) {
	t.Helper()
	clock := &stopped{release: make(chan struct{})}
	s := serving(t, append(change, func(o *server.Options) { o.Now = clock.now })...)
	clock.armed.Store(true)
	return s, clock
}

// count is a metric of the service.
func (s *service) count(name string) int {
	s.Helper()
	return figure(s, s.get("/metrics").body, name)
}

// reading is a request in the background.
type reading struct {
	leave context.CancelFunc
	done  chan reply // with code 0 after leave
}

func (s *service) begin(parameters string) reading {
	s.Helper()
	ctx, leave := context.WithCancel(context.Background())
	s.Cleanup(leave)
	r := s.request(http.MethodPost, getparams, `{"applicationSetName":"try","input":{"parameters":`+parameters+`}}`).WithContext(ctx)
	out := reading{leave, make(chan reply, 1)}
	go func() {
		resp, err := s.client.Do(r)
		if err != nil {
			out.done <- reply{}
			return
		}
		defer resp.Body.Close()
		var body bytes.Buffer
		_, _ = body.ReadFrom(resp.Body)
		out.done <- reply{resp.StatusCode, resp.Header, body.String()}
	}()
	return out
}

// resolved is the response of the resolver alone.
func (s *service) resolved(parameters string) string {
	s.Helper()
	q, err := query.Parse([]byte(parameters), "hub-1")
	require.NoError(s, err)
	out, err := response.Bytes(s.Refresher().State(), q)
	require.NoError(s, err)
	return string(out)
}

// TestEqualRequestsShareOneResponse: twelve retries of a client that has timed out run one
// computation, from the resolver to the guard; another query is not held up by them.
func TestEqualRequestsShareOneResponse(t *testing.T) {
	t.Parallel()
	s, clock := shares(t)
	var all []reading
	for range 12 {
		all = append(all, s.begin(`{"view":"members"}`))
	}
	s.eventually("all are there", func() bool {
		return s.Joined() == 11 && clock.readers.Load() == 1 || clock.readers.Load() > 1
	})
	assert.Equal(t, int32(1), clock.readers.Load(), "responses in the guard")
	clock.armed.Store(false)
	s.ask(`{"view":"agents"}`).is(t, http.StatusOK, "another query")
	close(clock.release)
	for _, r := range all {
		shared := <-r.done // a request before it could share it, too
		assert.Equal(t, s.ask(`{"view":"members"}`).body, shared.body, "a shared response")
	}
	assert.Equal(t, 11, s.count("argosy_requests_shared_total"), "requests that shared")
	assert.Equal(t, 2, s.count("argosy_responses_computed_total"), "computed for members and agents")
	assert.Equal(t, 0, s.count("argosy_responses_abandoned_total"), "abandoned")
}

// TestPanicEndsNothingElse: equal requests share a panic; the service and other requests go on.
func TestPanicEndsNothingElse(t *testing.T) {
	t.Parallel()
	s, clock := shares(t)
	clock.panics.Store(true)
	first, second := s.begin(`{"view":"members"}`), s.begin(`{"view":"members"}`)
	s.eventually("both wait", func() bool { return s.Joined() == 1 && clock.readers.Load() > 0 })
	clock.armed.Store(false)
	close(clock.release)
	for _, r := range []reading{first, second} {
		(<-r.done).is(t, http.StatusInternalServerError, "after the panic", "internal error")
	}
	assert.Contains(t, s.log.String(), "the clock is broken")
	s.ask(`{"view":"members"}`).is(t, http.StatusOK, "the next request")
}

// TestAnotherQueryIsNotShared: what a response depends on tells requests apart.
func TestAnotherQueryIsNotShared(t *testing.T) {
	t.Parallel()
	s, clock := shares(t)
	const dns = `"view":"components","group":"addons","component":"dns"`
	queries := []string{
		`{` + dns + `}`, `{` + dns + `,"release":"default"}`, `{` + dns + `,"owner":"hub"}`,
		`{` + dns + `,"selector":{"matchLabels":{"environment":"dev"}}}`, `{` + dns + `,"selector":{"matchLabels":{"environment":"prod"}}}`,
		`{` + dns + `,"base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"}}}`,
		`{` + dns + `,"base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"2"}}}`,
	}
	var all []reading
	for _, q := range queries {
		all = append(all, s.begin(q))
	}
	s.eventually("all are computed apart", func() bool { return int(clock.readers.Load()) == len(queries) })
	clock.armed.Store(false)
	close(clock.release)
	for i, r := range all {
		got := <-r.done
		assert.Equal(t, s.resolved(queries[i]), got.body, "%s", queries[i])
	}
	assert.Equal(t, 0, s.count("argosy_requests_shared_total"), "shared")
}

// TestClientThatGoesFreesItsSlot: a client that goes away gives its slot back while the computation
// goes on for another one.
func TestClientThatGoesFreesItsSlot(t *testing.T) {
	t.Parallel()
	s, clock := shares(t, func(o *server.Options) { o.MaxConcurrent, o.MaxWait = 4, soon }) // two of one token
	first, second := s.begin(`{"view":"members"}`), s.begin(`{"view":"members"}`)
	s.eventually("both wait", func() bool { return s.Joined() == 1 && clock.readers.Load() == 1 || clock.readers.Load() > 1 })
	const wrong = `{"view":1}` // it takes a slot to find that out
	s.ask(wrong).is(t, http.StatusTooManyRequests, "without a slot")
	first.leave()
	<-first.done
	s.eventually("the slot is free", func() bool { return s.ask(wrong).code == http.StatusBadRequest })
	clock.armed.Store(false)
	close(clock.release)
	(<-second.done).is(t, http.StatusOK, "the client that stayed", `"name":"a"`)
	assert.Equal(t, 1, s.count(`argosy_http_requests_total{code="499",endpoint="getparams",view="members"}`), "requests whose client has gone")
	assert.Equal(t, 1, s.count("argosy_responses_computed_total"), "computed")
	assert.Equal(t, 0, s.count("argosy_responses_abandoned_total"), "abandoned")
}

// TestComputationEndsWithItsClient: a response that no client waits for any more is given up in the
// middle. The next client gets it whole.
func TestComputationEndsWithItsClient(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.Hub = fleettest.Hub })
	s.say(fleettest.Files(fleettest.Options{Clusters: 640}))
	var asked string
	for i := range 20 {
		if s.count("argosy_responses_abandoned_total") > 0 {
			break // else it was done before the client had gone
		}
		asked = fmt.Sprintf(`{"view":"components","group":"addons","selector":{"matchExpressions":[{"key":"tenant","operator":"NotIn","values":["t%d"]}]}}`, i)
		r := s.begin(asked)
		s.eventually("has begun", func() bool { return s.count("argosy_responses_computed_total") > i })
		r.leave()
		<-r.done
		s.eventually("its end is recorded", func() bool {
			return strings.Count(s.log.String(), "endpoint=getparams code=") == i+1
		})
	}
	assert.Equal(t, 1, s.count("argosy_responses_abandoned_total"), "abandoned")
	assert.Equal(t, s.resolved(asked), s.ask(asked).body, "the next client's response")
}
