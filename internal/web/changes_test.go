package web_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
	"github.com/argosy-hub/argosy/internal/web"
)

// What a commit changed shows by file and line on both sides, and whom it concerns; a team sees its
// own part of both.
func TestChangesHavePlaces(t *testing.T) {
	t.Parallel()
	f := wide(t)
	server := site(t, f)
	for _, path := range []string{"/plan", "/timeline"} {
		if r := get(t, server, secret, path); r.code != http.StatusOK || !strings.Contains(r.body, "next commit shows here") {
			t.Errorf("%s before a change: %d %s", path, r.code, r.body)
		}
	}
	change(t, f)
	text := func(token, path string) string {
		return strings.ReplaceAll(get(t, server, token, path).body, "<wbr>", "")
	}
	const blob = "https://github.com/example/fleet/blob/"
	all := text(secret, "/plan")
	for _, want := range []string{
		"four &lt;b&gt;&amp;", "five &lt;b&gt;&amp;", ">1.0.0<", ">2.0.0<", "secretive",
		blob + strings.Repeat("2", 40) + "/addons/tenants/retail/clusters/four/addons/dns/values.yaml#L1",
		blob + strings.Repeat("3", 40) + "/addons/tenants/retail/clusters/four/addons/dns/values.yaml#L1",
	} {
		assert.Contains(t, all, want, "the plan")
	}
	if own := text(retail, "/plan"); !strings.Contains(own, "five") || strings.Contains(own, "secretive") || strings.Contains(own, "bank") {
		t.Errorf("the plan of a team: %s", own)
	}
	assert.Contains(t, text(secret, "/timeline?cluster=secretive"), "not reported in sync yet", "the timeline")
	get(t, server, retail, "/timeline?cluster=secretive").is(t, http.StatusNotFound, "the timeline of another team's cluster")
	for _, path := range []string{"/plan?base=" + strings.Repeat("3", 40) + "&head=" + strings.Repeat("2", 40), "/plan?head=nosuch"} {
		if r := get(t, server, secret, path); r.code != http.StatusNotFound || !strings.Contains(r.body, "has served the base after the head") && !strings.Contains(r.body, "has not served revision") && !strings.Contains(r.body, "first revision") {
			t.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
}

// The timeline goes on after a restart of the service, and a team still sees its own part alone. A
// store that cannot be reached, or that holds rubbish, costs the past and nothing else.
func TestTimelineIsServedAfterARestart(t *testing.T) {
	t.Parallel()
	kept, objects := storetest.New()
	begin := func(f *fleet) (get func(token, path string) reply, end func()) {
		s, err := web.New(web.Options{Fleet: f, Tokens: tokensOf(t), Now: func() time.Time { return now }, Store: kept})
		require.NoError(t, err)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(ctx, listener) }()
		get = func(token, path string) reply {
			r, err := http.NewRequest(http.MethodGet, "http://"+listener.Addr().String()+path, nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+token)
			r.Close = true
			return do(t, r)
		}
		return get, func() {
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	f := wide(t)
	get, end := begin(f)
	get(secret, "/timeline")
	change(t, f)
	get(secret, "/timeline")
	end() // writes

	get, end = begin(f)
	var got string
	for until := time.Now().Add(time.Minute); !strings.Contains(got, "secretive") && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		got = get(secret, "/timeline").body
	}
	if !strings.Contains(got, "333333333333") || !strings.Contains(got, "secretive") {
		t.Errorf("the timeline after a restart: %s", got)
	}
	if own := get(retail, "/timeline").body; !strings.Contains(own, "four") || strings.Contains(own, "secretive") {
		t.Errorf("a team's timeline after a restart: %s", own)
	}
	end()

	objects.Set(store.Name("timeline", 1), []byte("rubbish"))
	get, end = begin(f)
	get(secret, "/timeline").is(t, http.StatusOK, "with a damaged record", "Nothing has changed")
	end()
}

// TestRemovedClusterHasNoDeadLink: what a commit has removed has no page any more, and nothing
// waits for it to be in sync.
func TestRemovedClusterHasNoDeadLink(t *testing.T) {
	t.Parallel()
	f := &fleet{}
	f.serve(t, strings.Repeat("1", 40), wideFiles(), facts.Set{})
	server := site(t, f)
	get(t, server, secret, "/") // the timeline begins
	f.serve(t, strings.Repeat("2", 40), wideFiles().With(fleettest.Tree{fleettest.Member("three"): ""}), facts.Set{})
	for path, r := range crawl(t, server, secret, "/timeline", "/plan") {
		r.is(t, http.StatusOK, path)
	}
	if r := get(t, server, secret, "/timeline"); !strings.Contains(r.body, "three") || strings.Contains(r.body, "not reported in sync yet") {
		t.Error(r.body)
	}
}
