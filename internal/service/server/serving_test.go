package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// Before the first good snapshot every answer is 503 with a reason, none is an empty list (G1, G4).
func TestNoResponseBeforeTheFirstGoodSnapshot(t *testing.T) {
	s := start(t)
	post := func() *http.Request {
		return s.request("POST", getparams, `{"input":{"parameters":{"view":"members"}}}`)
	}
	s.expect("at the start", post, 503, "not ready: script has not been read yet")
	s.expect("explain", func() *http.Request {
		return s.request("GET", "/api/v1/explain?cluster=a&group=addons&component=dns", "")
	}, 503, "not ready: script has not been read yet")
	s.expect("fleet", func() *http.Request { return s.request("GET", "/api/v1/fleet", "") }, 503, "not ready: script has not been read yet")
	if r, body := s.readiness(); r.code != 503 || body.Ready || body.Message != "not ready: script has not been read yet" {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r := s.get("/healthz"); r.code != 200 || r.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("healthz: %d %s", r.code, r.body)
	}

	s.script.Reports <- fleettest.Report{Err: &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"}}
	s.until("away", func(st refresh.Status) bool { return len(st.Refused) == 1 })
	s.expect("unreachable", post, 503, "not ready: script: away")

	s.say(repository(map[string]string{"versions/applicationSets.yaml": "releases: [\n"}))
	r := s.do(post())
	if r.code != 503 || !strings.HasPrefix(r.message(), "not ready: versions/applicationSets.yaml:") {
		t.Errorf("unusable: %d %s", r.code, r.body)
	}
	if _, body := s.readiness(); body.Ready || len(body.Refused) != 1 || body.Refused[0].Cause != refresh.Commit {
		t.Errorf("%+v", body)
	}

	good := s.say(repository(nil))
	s.do(post()).is(t, 200, "good", good.Revision)
	if r, body := s.readiness(); r.code != 200 || !body.Ready || body.Revision != good.Revision || body.Since == nil || body.LastRefresh == nil || len(body.Refused) != 0 || body.Message != "" {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// TestMisspeltHubIsNotReady: a repository without any member of the hub is refused at the start,
// and so is a commit that takes all members of the hub away: the old state serves on. (G1)
func TestMisspeltHubIsNotReady(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *server.Options) { o.Hub = "hub-11" })
	s.say(repository(nil))
	const message = `not ready: fleet/fleet-members: hub "hub-11": no member file; the repository has the hubs hub-1, hub-2; ` +
		`expected files named fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml; did you mean "hub-1"?`
	s.expect("a query of another hub", func() *http.Request {
		return s.request("POST", "/api/v1/getparams.execute", `{"input":{"parameters":{"view":"members","hub":"hub-1"}}}`)
	}, 503, message)
	if r, body := s.readiness(); r.code != 503 || body.Ready || body.Message != message {
		t.Errorf("readiness: %d %+v", r.code, body)
	}
}

// A member that is broken at the first load makes answers about it 503, with its file and line;
// others are answered. (G1)
func TestFirstLoadRefusesOnlyTheBrokenMembersResponses(t *testing.T) {
	s := start(t)
	s.say(repository(map[string]string{fileA: memberA + "tenant: twice\n"}))
	s.expect("members", func() *http.Request {
		return s.request("POST", getparams, `{"input":{"parameters":{"view":"members"}}}`)
	},
		503, `member "a" of hub "hub-1": `+fileA+`:5:1: key "tenant": given again, first at line 2; expected each key once`)
	s.ask(`{"view":"members","owner":"b"}`).is(t, 200, "b alone")
	s.ask(`{"view":"releases","hub":"hub-2","group":"addons"}`).is(t, 200, "another hub")
	if r, body := s.readiness(); r.code != 200 || !body.Ready {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// A broken commit changes nothing in the answers; /readyz and the metrics say so.
func TestBrokenCommitKeepsTheOldAnswers(t *testing.T) {
	s := serving(t)
	questions := []string{`{"view":"members"}`, `{"view":"components","group":"addons"}`, `{"view":"releases","group":"addons"}`, `{"view":"agents"}`}
	var before []string
	for _, q := range questions {
		r := s.ask(q)
		if r.code != 200 {
			t.Fatalf("%s: %d %s", q, r.code, r.body)
		}
		before = append(before, r.body)
	}
	good := s.Refresher().State().Revision
	for what, files := range map[string]map[string]string{
		"versions": {"versions/applicationSets.yaml": "releases: [\n"},
		"layout":   {"fleet/layout.yaml": "kind: [\n"},
		"folders":  {"addons/defaults/application-sets/addons.yaml": "", "addons/defaults/addons/dns/values.yaml": ""},
	} {
		bad := s.say(repository(files))
		for i, q := range questions {
			if r := s.ask(q); r.code != 200 || r.body != before[i] {
				t.Errorf("%s: %s: %d, another answer", what, q, r.code)
			}
		}
		r, body := s.readiness()
		if r.code != 200 || !body.Ready || body.Revision != good || len(body.Refused) != 1 || body.Refused[0].Revision != bad.Revision ||
			body.Refused[0].Problem == "" || body.Refused[0].Since.IsZero() {
			t.Errorf("%s: %d %s", what, r.code, r.body)
		}
		s.isSettled(r)
		m := s.get("/metrics").body
		for _, line := range []string{`argosy_serving_stale{cause="commit"} 1`, `argosy_revision_info{revision="` + good + `"} 1`} {
			assert.Contains(t, m, line+"\n", "%s: metrics lack %s", what, line)
		}
	}
	s.say(repository(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"}))
	if r := s.ask(`{"view":"components","group":"addons"}`); r.code != 200 || r.body == before[1] || !strings.Contains(r.body, "replicas: 2") {
		t.Errorf("the fixed commit: %d %s", r.code, r.body)
	}
	if _, body := s.readiness(); len(body.Refused) != 0 {
		t.Errorf("%+v", body)
	}
}

// G4
func TestUnreachableSourceChangesNothing(t *testing.T) {
	s := serving(t)
	before := s.ask(`{"view":"members"}`)
	s.script.Reports <- fleettest.Report{Err: &source.Error{Reason: source.Unreachable, Source: "script", Detail: "away"}}
	s.until("away", func(st refresh.Status) bool { return len(st.Refused) == 1 })
	if r := s.ask(`{"view":"members"}`); r.code != 200 || r.body != before.body {
		t.Errorf("%d %s", r.code, r.body)
	}
	if r, body := s.readiness(); r.code != 200 || body.Refused[0].Reason != "unreachable" || body.Refused[0].Problem != "script: away" {
		t.Errorf("%d %s", r.code, r.body)
	}
}

// While it drains, the service is not ready, and still answers; what runs is finished.
func TestDrain(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.DrainDelay = time.Hour })
	finish := s.held()
	hurry, cut := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(hurry) }()
	var r reply
	var body server.Readiness
	for r, body = s.readiness(); r.code == 200; r, body = s.readiness() {
	}
	if r.code != 503 || body.Ready || body.Message != "draining: this instance is being stopped" || body.Revision == "" {
		t.Errorf("%d %s", r.code, r.body)
	}
	s.ask(`{"view":"members"}`).is(t, 200, "while draining")
	cut()
	finish().is(t, 200, "what ran")
	assert.NoError(t, <-stopped)
	if resp, err := http.Get(s.Addr() + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("it still listens")
	}
}

// Requests that do not end are cut off after the shutdown timeout.
func TestDrainIsBounded(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.ShutdownTimeout = time.Millisecond; o.MaxConcurrent, o.MaxWait = 1, -1 })
	body, w := newPipe()
	r := s.request("POST", getparams, "")
	r.Body, r.ContentLength = body, -1
	failed := make(chan error, 1)
	go func() {
		resp, err := s.client.Do(r)
		if err == nil {
			err = fmt.Errorf("answered %s", resp.Status)
			resp.Body.Close()
			failed <- err
			return
		}
		failed <- nil
	}()
	if _, err := w.Write([]byte("{")); err != nil {
		t.Fatal(err)
	}
	for s.ask(`{"view":"members"}`).code == 200 { // until the server has the request
	}
	if err := s.Stop(context.Background()); err == nil || err.Error() != "requests still ran after 1ms" {
		t.Error(err)
	}
	_ = w.Close() // the client's transport waits for its body
	assert.NoError(t, <-failed)
	s.Server = serving(t).Server // what the cleanup stops
}

func TestFleet(t *testing.T) {
	s := serving(t)
	r := s.get("/api/v1/fleet")
	var fleet struct {
		APIVersion, Kind, Revision string
		Clusters                   []struct {
			Hub, Name string
			Problems  []json.RawMessage
			Releases  map[string]string
		}
	}
	if err := json.Unmarshal([]byte(r.body), &fleet); err != nil || r.code != 200 {
		t.Fatalf("%d %s %v", r.code, r.body, err)
	}
	if fleet.Kind != "Fleet" || fleet.APIVersion != "argosy.dev/v1alpha1" || fleet.Revision != s.Refresher().State().Revision || len(fleet.Clusters) != 4 ||
		fleet.Clusters[0].Name != "a" || fleet.Clusters[0].Problems == nil || fleet.Clusters[0].Releases["addons"] != "default" {
		t.Errorf("%s", r.body)
	}
	s.get("/api/v1/rollouts").is(t, 200, "without a policy", `"rollouts":[]`)
	if r := s.get("/api/v1/fleet?hub=hub-2"); strings.Count(r.body, `"hub":`) != 1 {
		t.Errorf("%s", r.body)
	}
}

func TestExplain(t *testing.T) {
	s := serving(t)
	r := s.get("/api/v1/explain?cluster=a&group=addons&component=dns")
	var e struct {
		Kind   string
		Values []struct {
			Path     string
			Position struct {
				File string
				Line int
			}
		}
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil || r.code != 200 || e.Kind != "Explanation" || len(e.Values) != 2 ||
		e.Values[1].Path != "replicas" && e.Values[0].Path != "replicas" {
		t.Fatalf("%d %s %v", r.code, r.body, err)
	}
	if same := s.get("/api/v1/explain?cluster=a&hub=hub-1&component=addons/dns&path="); same.body != r.body {
		t.Errorf("group/component: %d %s", same.code, same.body)
	}
	if one := s.get("/api/v1/explain?cluster=a&component=addons/dns&path=replicas"); one.code != 200 || strings.Contains(one.body, "<&>") {
		t.Errorf("path: %d %s", one.code, one.body)
	}
	for query, message := range map[string]string{
		"":                                      "expected the query parameters cluster, group and component",
		"cluster=a&group=addons":                "expected the query parameters cluster, group and component",
		"cluster=a&token=x":                     "unknown query parameter; expected cluster, hub, group, component, path",
		"cluster=aa&group=addons&component=dns": `no member is called "aa", did you mean "a"?`,
		"cluster=a&group=addons&component=dsn":  `component "dsn" is in no catalog of group "addons" for cluster "a", did you mean "dns"?; expected one of dns`,
		"cluster=a&group=addons&component=dns&path=replicaz": `path "replicaz": no such value in addons/dns of cluster "a"; did you mean "replicas"?`,
	} {
		s.expect(query, func() *http.Request { return s.request("GET", "/api/v1/explain?"+query, "") }, 400, message)
	}
}

// A folder of member files whose name is no hub's, and no text either, ends neither the scrape nor
// the service (W1).
func TestMetricsOfAFolderThatIsNoHub(t *testing.T) {
	s := start(t)
	s.say(repository(map[string]string{"fleet/fleet-members/\xff/x.yaml": "clusterName: x\n", "fleet/fleet-members/Hub/y.yaml": "clusterName: y\n"}))
	if r := s.get("/metrics"); r.code != http.StatusOK || !strings.Contains(r.body, `argosy_members{hub="hub-1"} 3`) || strings.Contains(r.body, `hub="Hub"`) {
		t.Errorf("%d %s", r.code, r.body)
	}
}

func TestMetrics(t *testing.T) {
	s := serving(t)
	s.ask(`{"view":"members"}`)
	s.ask(`{"view":"members"}`)
	s.ask(`{"view":"made-up-by-somebody"}`)
	s.ask(`{"view":"members"}`, "Authorization", "")
	m := s.get("/metrics", "Authorization", "").body
	for _, line := range []string{
		`argosy_http_requests_total{code="200",endpoint="getparams",view="members"} 2`,
		`argosy_http_requests_total{code="400",endpoint="getparams",view=""} 1`,
		`argosy_http_requests_total{code="401",endpoint="getparams",view=""} 1`,
		`argosy_parameter_sets_sum{view="members"} 4`,
		`argosy_parameter_sets_count{view="members"} 2`,
		`argosy_ready 1`,
		`argosy_members{hub="hub-1"} 3`,
		`argosy_serving_stale{cause="commit"} 0`,
		`argosy_serving_stale{cause="source"} 0`,
		`argosy_serving_stale{cause="facts"} 0`,
		`argosy_refreshes_total{swapped="true"} 1`,
		`argosy_revision_info{revision="` + s.Refresher().State().Revision + `"} 1`,
	} {
		assert.Contains(t, m, line+"\n", "metrics lack %s", line)
	}
	for _, name := range []string{
		"argosy_http_request_duration_seconds_bucket{", "argosy_http_response_bytes_bucket{", "argosy_refresh_last_success_timestamp_seconds 1", "argosy_refresh_computing_since_timestamp_seconds 0\n",
		"argosy_serving_since_timestamp_seconds 1", "go_goroutines ",
	} {
		assert.Contains(t, m, name, "metrics")
	}
	if strings.Contains(m, "made-up") {
		t.Error("a label holds what somebody sent")
	}
	s.script.Reports <- fleettest.Report{Err: errors.New("script: away")}
	s.until("away", func(st refresh.Status) bool { return len(st.Refused) == 1 })
	s.say(repository(map[string]string{"versions/applicationSets.yaml": "releases: []\nreleases: []\n"}))
	m = s.get("/metrics").body
	for _, line := range []string{
		`argosy_refresh_failures_total{cause="source",reason="git-failed"} 1`,
		`argosy_refresh_failures_total{cause="commit",reason="duplicate-key"} 1`,
		`argosy_quarantined_members{standing="kept"} 0`,
	} {
		assert.Contains(t, m, line+"\n", "metrics lack %s", line)
	}
	// A first load with a broken member has its problems as metrics.
	broken := start(t)
	broken.say(repository(map[string]string{fileA: memberA + "tenant: twice\n"}))
	assert.Contains(t, broken.get("/metrics").body, `argosy_problems{reason="duplicate-key"} 1`+"\n", "metrics lack the problem")
}
