package liveness

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/race"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// apiServers stand in for members: each responds with a status, or hangs for 0.
type apiServers struct {
	mu     sync.Mutex
	status map[string]int
	asked  int
}

func (a *apiServers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	a.asked++
	status := a.status[r.URL.Host]
	a.mu.Unlock()
	if r.URL.Path != "/livez" || len(r.Header) > 0 {
		panic("a probe is one bare GET of /livez")
	}
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: http.NoBody, Request: r}, nil
}

func (a *apiServers) set(host string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status[host] = status
}

// Rules 1, 3 and 4: a member that responds is alive, whatever it says below 500. One that hangs
// leaves that state within 100 seconds, with the time of its last response, and no silence counts
// as life after a restart.
func TestSilentMemberIsReportedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers := &apiServers{status: map[string]int{"a": 200, "b": 401, "c": 503}}
		start := func() (*Prober, func()) {
			p := New(Options{Members: func() map[string]string {
				return map[string]string{"a": "https://a", "b": "https://b/", "c": "https://c", "plain": "http://a"}
			}})
			p.client.Transport = servers
			ctx, end := context.WithCancel(t.Context())
			go p.Run(ctx)
			return p, end
		}
		p, end := start()
		if _, why := p.Silent("a"); why == "" {
			t.Error("a member is taken for alive that nobody has probed")
		}
		assert.Equal(t, "", p.Failing("a"), "a member is taken for dead that nobody has probed")
		time.Sleep(10 * time.Second)
		for name, want := range map[string]string{"a": "", "b": "", "c": "it responds Service Unavailable", "plain": "its address does not begin with https://", "other": "it was not probed yet"} {
			if _, why := p.Silent(name); why != want {
				t.Errorf("%s: %q; expected %q", name, why, want)
			}
		}
		for name, want := range map[string]string{"a": "", "b": "", "c": "it responds Service Unavailable", "plain": "", "other": ""} {
			assert.Equal(t, want, p.Failing(name), "%s fails", name)
		}
		time.Sleep(10 * time.Minute)
		stopped, version := time.Now(), p.Version()
		servers.set("a", 0)
		for time.Since(stopped) < 100*time.Second {
			time.Sleep(time.Second)
			if _, why := p.Silent("a"); why != "" {
				break
			}
		}
		since, why := p.Silent("a")
		if why != "no response in time" || since.After(stopped) || stopped.Sub(since) > DefaultInterval {
			t.Errorf("%s after the stop: %q since %s before it", time.Since(stopped), why, stopped.Sub(since))
		}
		if p.Version() == version {
			t.Error("the version is the same")
		}
		end()
		p, end = start()
		defer end()
		time.Sleep(time.Millisecond)
		if since, why := p.Silent("a"); why != "the first probe is under way" || !since.IsZero() {
			t.Errorf("after a restart: %q since %s", why, since)
		}
		servers.set("a", 403)
		time.Sleep(DefaultInterval + 3*timeout)
		if _, why := p.Silent("a"); why != "" {
			t.Errorf("it is back: %q", why)
		}
		end()
		synctest.Wait()
	})
}

// Rule 2: a probe of a real server follows no redirect, and its error does not name the address.
func TestProbeFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(other.URL, http.StatusFound))
	p := New(Options{Members: func() map[string]string { return nil }})
	assert.NoError(t, p.ask(t.Context(), server.URL), "a redirect is a response")
	server.Close()
	if err := p.ask(t.Context(), server.URL); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("a closed port: %v", err)
	}
}

// A member that accepts connections and says nothing holds none for longer than a probe.
func TestHungMemberHoldsNoConnection(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	closed := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
			_, err = io.Copy(io.Discard, c)
		}
		closed <- err
	}()
	p := New(Options{Members: func() map[string]string { return nil }})
	p.client.Transport.(*http.Transport).TLSHandshakeTimeout /= 100 //nolint:forcetypeassert // New makes it
	p.client.Timeout /= 100
	if err := p.ask(t.Context(), "https://"+l.Addr().String()); err == nil {
		t.Error("a member that says nothing is alive")
	}
	assert.NoError(t, <-closed, "the connection is held")
}

// TestHangingMembersDoNotDelayOthers (rules 3 and 4): though thousands of members hang, one that
// responds is probed in time, and not taken for silent.
func TestHangingMembersDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		members, servers := map[string]string{}, &apiServers{status: map[string]int{}}
		for n := range 300 + 5000/race.Slack { // the race detector ends on thousands in a bubble
			name := "m" + strconv.Itoa(n)
			members[name] = "https://" + name
			if servers.status[name] = 200; n >= 300 {
				servers.status[name] = 0
			}
		}
		p := New(Options{Members: func() map[string]string { return members }})
		p.client.Transport = servers
		ctx, end := context.WithCancel(t.Context())
		go p.Run(ctx)
		time.Sleep(5 * time.Minute)
		silent := map[string]string{}
		for range 10 * 60 {
			time.Sleep(time.Second)
			for n := range 300 {
				if _, why := p.Silent("m" + strconv.Itoa(n)); why != "" {
					silent["m"+strconv.Itoa(n)] = why
				}
			}
		}
		if len(silent) > 0 {
			t.Errorf("%d of 300 members that respond were taken for silent, such as %v", len(silent), slices.Sorted(maps.Values(silent))[0])
		}
		end()
		synctest.Wait()
	})
}
