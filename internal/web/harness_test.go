package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/web"
)

const (
	secret = "correct-horse-battery-staple"
	retail = "the-token-of-the-retail-team"
	hubTwo = "the-token-of-the-second-hub"
	addons = "the-token-of-the-addons-team"
	nobody = "a-token-without-all-of-the-pages"
)

// now is the clock of all tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fleet is a state with its status.
type fleet struct {
	mu      sync.Mutex
	state   *fleetstate.State
	status  refresh.Status
	changed chan struct{}
}

func (f *fleet) State() *fleetstate.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *fleet) Status() refresh.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fleet) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// serve makes the state that the fleet shows from files, and from the state before.
func (f *fleet) serve(t testing.TB, revision string, files fleettest.Tree, known facts.Set) {
	t.Helper()
	require.NoError(t, f.tryServe(fleettest.Snapshot(revision, files), known))
}

// tryServe is serve where the snapshot may be refused.
func (f *fleet) tryServe(s *snapshot.Snapshot, known facts.Set) error {
	st, err := fleetstate.Build(f.state, s, known)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	f.state = st
	f.status = refresh.Status{Source: "folder \"fleet\"", Revision: s.Revision, Since: now, LastSuccess: now}
	for _, q := range st.Quarantined("") {
		f.status.Quarantined = append(f.status.Quarantined, refresh.Quarantined{Hub: q.Hub, Member: q.Name, Since: now.Add(-time.Hour)})
	}
	return nil
}

// wide is a fleet of two hubs and three tenants, in which cluster two of retail is quarantined and
// cluster laboratory of science drains.
func wide(t testing.TB) *fleet {
	t.Helper()
	files := wideFiles()
	f := &fleet{}
	f.serve(t, "1111111111111111111111111111111111111111", files, facts.Set{})
	f.serve(t, "2222222222222222222222222222222222222222", files.With(fleettest.Tree{
		fleettest.Member("two"):        "{clusterName: two, tenant: retail, environment: dev, tenannt: x}\n",
		hubTwoFile + "laboratory.yaml": "{clusterName: laboratory, tenant: science, environment: prod, lifecycle: draining}\n",
		"addons/unreachable.yaml":      "a: b\n",
	}), facts.NewSet(false).WithApplications(facts.Application{Name: "dns-three", Cluster: "three", Group: "addons", Component: "dns"}))
	return f
}

// wideFiles are the files of the first state of wide.
func wideFiles() fleettest.Tree {
	files := fleettest.Small().With(fleettest.Tree{
		fleettest.Member("three"):                                    fleettest.Spoke("three", ""),
		fleettest.Member("four"):                                     fleettest.Spoke("four", ""),
		fleettest.Member("secretive"):                                "{clusterName: secretive, tenant: bank, environment: prod}\n",
		hubTwoFile + "hub-2.yaml":                                    "{clusterName: hub-2, tenant: platform, environment: prod, fleet_member: hub-cluster}\n",
		hubTwoFile + "laboratory.yaml":                               "{clusterName: laboratory, tenant: science, environment: prod}\n",
		"addons/tenants/retail/clusters/four/addons/dns/values.yaml": "from: \"four <b>&\"\nreplicas: 3\n",
		fleettest.OneCatalog:                                         "dns: {chart: {version: 0.9.0}}\n",
	})
	files["versions/applicationSets.yaml"] += "    - {type: edge, chartRepoRevision: v3}\n"
	return files
}

const hubTwoFile = "fleet/fleet-members/hub-2/"

// change makes wide's next state: every cluster gets another version, and some a value.
func change(t testing.TB, f *fleet) {
	t.Helper()
	files := wideFiles().With(fleettest.Tree{
		fleettest.SystemCatalog: "dns: {enabled: true, chart: {repoURL: https://charts.example.com, name: dns, version: 2.0.0}, namespace: dns}\n",
		"addons/tenants/retail/clusters/four/addons/dns/values.yaml": "from: \"five <b>&\"\nreplicas: 3\n",
		"addons/tenants/bank/addons/dns/values.yaml":                 "from: bank\n",
	})
	f.serve(t, "3333333333333333333333333333333333333333", files, f.State().Facts())
}

// tokensOf are tokens of several scopes.
func tokensOf(t testing.TB) *access.Tokens {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, text := range map[string]string{"retail": retail, "hub-two": hubTwo, "addons": addons, "nobody": nobody} {
		write(name, text)
	}
	tokens, err := access.Open(access.Options{
		TokenFile: write("token", secret), TokensDir: dir, Reload: time.Hour, Rate: 1e6, Burst: 1e6,
		TokensFile: write("tokens.yaml", `apiVersion: argosy.dev/v1alpha1
kind: Tokens
tokens:
- {name: retail, files: [retail], allow: {routes: [web], tenants: [retail]}}
- {name: hub-two, files: [hub-two], allow: {routes: [web], hubs: [hub-2]}}
- {name: addons, files: [addons], allow: {routes: [web], groups: [addons]}}
- {name: nobody, files: [nobody], allow: {routes: [explain]}}
`),
	})
	require.NoError(t, err)
	return tokens
}

// site serves a fleet's pages by HTTP, with tokens of several scopes.
func site(t testing.TB, f *fleet, change ...func(*web.Options)) *httptest.Server {
	t.Helper()
	o := web.Options{Fleet: f, Tokens: tokensOf(t), Now: func() time.Time { return now }, SourceURL: "https://github.com/example/fleet.git"}
	for _, c := range change {
		c(&o)
	}
	s, err := web.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server
}

// reply is a response that has been read whole.
type reply struct {
	code   int
	header http.Header
	body   string
}

// is fails the test unless a reply has a code, and parts in its body.
func (r reply) is(t testing.TB, code int, what string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, r.body, part, "%s", what)
	}
	if r.code != code {
		t.Errorf("%s: expected %d, got %d %s", what, code, r.code, r.body)
	}
}

// get asks for a page with a token; redirects are not followed.
func get(t testing.TB, server *httptest.Server, token, path string) reply {
	t.Helper()
	return do(t, request(t, server, token, path))
}

// uncompressed is get without compression, which took about a fifth of a fuzz target's time.
func uncompressed(t testing.TB, server *httptest.Server, token, path string) reply {
	t.Helper()
	r := request(t, server, token, path)
	r.Header.Set("Accept-Encoding", "identity")
	return do(t, r)
}

func request(t testing.TB, server *httptest.Server, token, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func do(t testing.TB, r *http.Request) reply {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// post sends a form as a browser does that is on the page itself.
func post(t testing.TB, server *httptest.Server, path string, form url.Values, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return do(t, r)
}
