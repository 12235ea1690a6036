package server_test

import (
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// question is a request of the soak test, and its answer by a state alone.
type question struct {
	what string
	make func(*service) *http.Request
	pure func(*fleetstate.State) ([]byte, error)
}

func soakQuestions() []question {
	var out []question
	for parameters, r := range map[string]query.Query{
		`{"view":"members"}`:                                                           {View: query.Members, Hub: "hub-1"},
		`{"view":"members","hub":"hub-2"}`:                                             {View: query.Members, Hub: "hub-2"},
		`{"view":"agents"}`:                                                            {View: query.Agents, Hub: "hub-1"},
		`{"view":"releases","group":"addons"}`:                                         {View: query.Releases, Hub: "hub-1", Group: "addons"},
		`{"view":"components","group":"addons"}`:                                       {View: query.Components, Hub: "hub-1", Group: "addons"},
		`{"view":"components","group":"addons","component":"dns"}`:                     {View: query.Components, Hub: "hub-1", Group: "addons", Component: "dns"},
		`{"view":"components","group":"addons","owner":"f"}`:                           {View: query.Components, Hub: "hub-1", Group: "addons", Owner: "f"},
		`{"view":"components","group":"addons","release":"default","component":"dns"}`: {View: query.Components, Hub: "hub-1", Group: "addons", Release: "default", Component: "dns"},
	} {
		r.ApplicationSet = "try"
		out = append(out, question{
			parameters,
			func(s *service) *http.Request {
				return s.request("POST", getparams, `{"applicationSetName":"try","input":{"parameters":`+parameters+`}}`)
			},
			func(st *fleetstate.State) ([]byte, error) { return response.Bytes(st, r) },
		})
	}
	inputs := query.Query{View: query.Components, Hub: "hub-1", Group: "addons"}
	return append(out,
		question{
			"flux inputs", func(s *service) *http.Request {
				return s.request("GET", "/api/v1/flux/inputs?view=components&group=addons", "")
			},
			func(st *fleetstate.State) ([]byte, error) {
				response, err := response.Inputs(st, inputs)
				if err != nil {
					return nil, err
				}
				return response.Bytes(), nil
			},
		},
		question{
			"registry", func(s *service) *http.Request { return s.request("GET", "/v2/flux/hub-1/f/manifests/latest", "") },
			func(st *fleetstate.State) ([]byte, error) {
				a, err := flux.Build(st, "hub-1", "f")
				return a.Manifest.Data, err
			},
		})
}

// revisions are good commits, one after the other each of which changes something in every answer,
// and a bad one.
func soakRevisions() (good []map[string]string, bad map[string]string) {
	for i := range 6 {
		good = append(good, fluxFleet(map[string]string{
			"addons/defaults/addons/dns/values.yaml": fmt.Sprintf("replicas: %d\ntext: %q\n", i, strings.Repeat(fmt.Sprint(i), 3000)),
			"versions/applicationSets.yaml": fmt.Sprintf("releases:\n  globals: {chartRepoUrl: https://example.org/repo, chartRepoPath: charts/x, "+
				"chartRepoRevision: v%d, use_helm_repo_path: \"true\"}\n  addons:\n  - type: default\n", i),
			fileA: memberA + fmt.Sprintf("labels: {ring: \"%d\"}\n", i),
		}))
	}
	return good, map[string]string{"fleet/layout.yaml": "kind: [\n"}
}

// G1, G6: while states come and go under many requests at once, each answer is the one that its
// revision has by itself, byte for byte. ARGOSY_SOAK says for how long (2s); `ARGOSY_SOAK=10m go
// test -race -run UnderLoad -timeout 15m ./internal/service/server`.
func TestResponsesAreTheirRevisionsUnderLoad(t *testing.T) {
	t.Parallel()
	lasts := 2 * time.Second
	if text := os.Getenv("ARGOSY_SOAK"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	questions := soakQuestions()
	commits, broken := soakRevisions()
	expected := map[string]map[string]string{} // by revision and question
	for _, files := range commits {
		s := snapshot.FromMap(files)
		st, err := fleetstate.Build(nil, s, facts.Set{})
		require.NoError(t, err)
		expected[s.Revision] = map[string]string{}
		for _, q := range questions {
			answer, err := q.pure(st)
			require.NoError(t, err, "%s", q.what)
			expected[s.Revision][q.what] = string(answer)
		}
	}
	if len(expected) != len(commits) {
		t.Fatalf("%d revisions of %d commits", len(expected), len(commits))
	}
	s := start(t, func(o *server.Options) { o.TokenRate, o.TokenBurst, o.MaxConcurrent = 1e6, 1e6, 8 })
	s.client.Transport = &http.Transport{MaxIdleConnsPerHost: 32}
	s.say(commits[0])

	var done atomic.Bool
	var answered atomic.Int64
	var seen sync.Map
	var clients sync.WaitGroup
	for i := range 12 {
		random := rand.New(rand.NewSource(int64(i)))
		clients.Go(func() {
			for !done.Load() && !t.Failed() {
				q := questions[random.Intn(len(questions))]
				r := s.do(q.make(s))
				revision := r.header.Get("X-Argosy-Revision")
				if want, known := expected[revision][q.what]; r.code != 200 || !known || r.body != want {
					t.Errorf("%s at %s: %d %.300s, want %.300s", q.what, revision, r.code, r.body, want)
					return
				}
				seen.Store(revision, true)
				answered.Add(1)
			}
		})
	}
	turns, began := 0, time.Now()
	for ; !t.Failed(); turns++ {
		took := time.Since(began)
		enough := answered.Load() >= 200 && turns > 2*len(commits) // a busy machine takes longer
		if took > lasts && enough || took > lasts+patient {
			break
		}
		s.say(commits[turns%len(commits)])
		switch turns % 4 {
		case 1:
			s.say(broken) // refused: the answers stay those of the commit before
		case 3:
			s.script.Reports <- fleettest.Report{Err: errors.New("script: away")}
			s.until("away", func(st refresh.Status) bool { return len(st.Refused) > 0 })
		}
	}
	done.Store(true)
	clients.Wait()
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	t.Logf("%d answers of %d revisions in %d turns", answered.Load(), n, turns)
	if answered.Load() < 200 || n < 2 {
		t.Errorf("%d answers of %d revisions in %d turns prove little", answered.Load(), n, turns)
	}
}
