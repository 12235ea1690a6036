package server_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var update = flag.Bool("update", false, "write the answers into testdata")

const inputs = "/api/v1/flux/inputs"

// provider is a ResourceSetInputProvider of type ExternalService as Flux Operator reconciles it
// (v0.58.0, internal/controller/resourcesetinputprovider_controller.go,
// callExternalServiceProvider): what it takes, what it refuses, and what it cuts off.
type provider struct {
	query  string
	limit  int               // spec.filter.limit; 0 is 100
	secret map[string]string // nil is a good token
}

func (s *service) provide(p provider) ([]map[string]any, error) {
	s.Helper()
	r, err := http.NewRequest(http.MethodGet, s.Addr()+inputs+"?"+p.query, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if p.secret == nil {
		p.secret = map[string]string{"token": secret + "\n"}
	}
	if token, ok := p.secret["token"]; ok {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	} else {
		r.SetBasicAuth(strings.TrimSpace(p.secret["username"]), strings.TrimSpace(p.secret["password"]))
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, 900*1024))
	if err != nil {
		return nil, err
	}
	var body struct {
		Inputs []map[string]any `json:"inputs"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	if body.Inputs == nil {
		return nil, errors.New("no inputs")
	}
	seen := map[string]bool{}
	for _, input := range body.Inputs {
		id, ok := input["id"].(string)
		if !ok || seen[id] {
			return nil, fmt.Errorf("id %v is no string, or of two inputs", input["id"])
		}
		seen[id] = true
	}
	if p.limit == 0 {
		p.limit = 100
	}
	return body.Inputs[:min(len(body.Inputs), p.limit)], nil
}

// inputs are what a provider takes over, by their ids.
func (s *service) inputs(p provider) map[string]map[string]any {
	s.Helper()
	list, err := s.provide(p)
	if err != nil {
		s.Fatalf("%s: %v: %s", p.query, err, s.get(inputs+"?"+p.query).body)
	}
	out := map[string]map[string]any{}
	for _, input := range list {
		out[input["id"].(string)] = input
	}
	return out
}

const dnsInputs = "view=components&group=addons&component=dns"

// TestFluxInputsGolden is one whole answer; `-update` writes it anew. (G6)
func TestFluxInputsGolden(t *testing.T) {
	const golden = "testdata/flux-inputs.json"
	s := serving(t)
	r := s.get(inputs + "?" + dnsInputs + "&selector=environment+in+(dev,staging)")
	if r.code != http.StatusOK || r.header.Get("Content-Type") != "application/json" || r.header.Get("X-Argosy-Revision") == "" {
		t.Fatalf("%d %v %s", r.code, r.header, r.body)
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(r.body), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), r.body)
}

// TestFluxInputsAreThePluginsSets: whatever is asked, an input is the plugin's parameter set and an
// id. (G1)
func TestFluxInputsAreThePluginsSets(t *testing.T) {
	s := serving(t)
	s.say(repository(map[string]string{
		fileA: memberA + "use_remote_argo: true\nremote_engine: flux\nenable_remote_addons: true\n",
	}))
	for _, c := range []struct{ query, parameters, ids string }{
		{"view=components&group=addons", `{"view":"components","group":"addons"}`, "dns-b dns-hub-1"},
		{"view=components&group=addons&hub=hub-1&owner=hub&release=default&limit=2", `{"view":"components","group":"addons","release":"default"}`, "dns-b dns-hub-1"},
		{"view=components&group=addons&owner=a", `{"view":"components","group":"addons","owner":"a"}`, "dns-a"},
		{"view=components&group=addons&hub=hub-2", `{"view":"components","group":"addons","hub":"hub-2"}`, "dns-hub-2"},
		{dnsInputs + "&selector=environment%3Dprod%2C!nothing,tenant!=retail", `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"prod","tenant":"platform"}}}`, "dns-hub-1"},
		{dnsInputs + "&selector=tenant+notin+(retail)&hub=&owner=", `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"platform"}}}`, "dns-hub-1"},
		{"view=components&group=monitoring", `{"view":"components","group":"monitoring"}`, ""},
		{"view=members", `{"view":"members"}`, "fleet-secret-a fleet-secret-b"},
		{"view=releases&group=addons", `{"view":"releases","group":"addons"}`, "application-sets-addons-default"},
		{"view=agents", `{"view":"agents"}`, "agent-a"},
	} {
		got := s.inputs(provider{query: c.query})
		var ids []string
		for id := range got {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		assert.Equal(t, c.ids, strings.Join(ids, " "), "%s: ids %s, want", c.query, ids)
		var plugins struct {
			Output struct{ Parameters []map[string]any }
		}
		if r := s.ask(c.parameters); r.code != http.StatusOK || json.Unmarshal([]byte(r.body), &plugins) != nil {
			t.Fatalf("%s: %d %s", c.parameters, r.code, r.body)
		}
		for _, set := range plugins.Output.Parameters {
			id, _ := set["applicationName"].(string)
			set["id"] = id
			assert.Equal(t, set, got[id], "%s: %s", c.query, id)
		}
		if len(plugins.Output.Parameters) != len(got) {
			t.Errorf("%s: %d inputs, %d parameter sets", c.query, len(got), len(plugins.Output.Parameters))
		}
	}
}

// TestNoFluxInputsBeforeTheFirstState: an empty list would remove everything. A commit that cannot
// be used changes nothing. (G4)
func TestNoFluxInputsBeforeTheFirstState(t *testing.T) {
	s := start(t)
	if list, err := s.provide(provider{query: dnsInputs}); err == nil || err.Error() != "HTTP 503" {
		t.Fatalf("%v %v", list, err)
	}
	s.say(repository(nil))
	before := s.inputs(provider{query: dnsInputs})
	s.say(map[string]string{"README.md": "everything is gone\n"})
	s.say(repository(map[string]string{"versions/applicationSets.yaml": "releases: [\n"}))
	if diff := cmp.Diff(before, s.inputs(provider{query: dnsInputs})); len(before) != 3 || diff != "" {
		t.Errorf("%d inputs, then %s", len(before), diff)
	}
}

// TestFluxInputsAreNeverCutOff: what the operator would leave out, or not read, is an error.
// (H10)
func TestFluxInputsAreNeverCutOff(t *testing.T) {
	files := repository(nil)
	const more = 98 // a, b and the hub have the component too
	for i := range more {
		name := fmt.Sprintf("m%03d", i)
		files["fleet/fleet-members/hub-1/"+name+".yaml"] = "clusterName: " + name + "\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-1/" + name + "\n"
	}
	s := serving(t)
	s.say(files)
	const tooMany = "the answer has 101 inputs; the limit is %d, beyond which Flux Operator would remove what they deploy: " +
		"raise spec.filter.limit of the provider, and limit in its url with it (at most 10000), or ask for less, with component, release or selector"
	for _, c := range []struct {
		limit   string
		refused int
	}{{"", 100}, {"&limit=100", 100}, {"&limit=1", 1}, {"&limit=101", 0}, {"&limit=10000", 0}} {
		query := dnsInputs + c.limit
		if c.refused > 0 {
			s.expect(query, func() *http.Request { return s.request("GET", inputs+"?"+query, "") }, 503, fmt.Sprintf(tooMany, c.refused))
			continue
		}
		if got := s.inputs(provider{query: query, limit: 101}); len(got) != more+3 {
			t.Errorf("%s: %d inputs", query, len(got))
		}
	}
	if got := s.inputs(provider{query: dnsInputs + "&selector=environment=prod"}); len(got) != 2 {
		t.Errorf("asked for less: %d inputs", len(got))
	}

	// Exactly as many bytes as the operator reads, then one more.
	value := func(n int) map[string]string {
		return repository(map[string]string{"addons/defaults/addons/dns/values.yaml": "text: " + strings.Repeat("x", n) + "\n"})
	}
	const query = dnsInputs + "&selector=tenant=platform" // the hub alone
	s.say(value(1))
	spare := 900*1024 - len(s.get(inputs+"?"+query).body)
	s.say(value(1 + spare))
	if r := s.get(inputs + "?" + query); r.code != 200 || len(r.body) != 900*1024 {
		t.Errorf("at the limit: %d, %d bytes", r.code, len(r.body))
	}
	if got := s.inputs(provider{query: query}); len(got) != 1 {
		t.Errorf("at the limit: %d inputs", len(got))
	}
	s.say(value(2 + spare))
	s.expect("beyond the limit", func() *http.Request { return s.request("GET", inputs+"?"+query, "") }, 503,
		"the answer has 921601 bytes; the limit is 921600 (Flux Operator's): ask for less, with component, release or selector")
	s.ask(`{"view":"components","group":"addons"}`).is(t, 200, "the plugin's answer")
	small := serving(t, func(o *server.Options) { o.MaxResponseBytes = 10 })
	small.expect("beyond the service's own limit", func() *http.Request { return small.request("GET", inputs+"?view=components&group=monitoring", "") }, 503,
		"the answer has 14 bytes; the limit is 10 (--max-response-bytes): ask for less, with component, release or selector")
}

// TestFluxInputsHaveUniqueIDs: the operator refuses inputs with one id, and so does the service,
// with their names.
func TestFluxInputsHaveUniqueIDs(t *testing.T) {
	s := serving(t)
	chart := "  chart: {repoURL: https://example.org/charts, name: dns, version: 1.0.0}\n"
	s.say(repository(map[string]string{
		"addons/defaults/application-sets/addons.yaml": "dns:\n  enabled: true\n" + chart + "dns-b:\n  enabled: true\n" + chart,
		"fleet/fleet-members/hub-1/b-b.yaml":           strings.ReplaceAll(memberB, "b\n", "b-b\n"),
	}))
	s.expect("dns-b on b, dns on b-b", func() *http.Request { return s.request("GET", inputs+"?view=components&group=addons", "") }, 503,
		`id "dns-b-b" is that of two sets, of clusters "b" and "b-b"; expected ids that are unique: rename a component or a cluster, or ask for one component`)
}

func TestFluxBadRequests(t *testing.T) {
	s := serving(t)
	const known = "expected view, hub, group, component, release, owner, selector, limit"
	for _, c := range []struct {
		query   string
		message string
	}{
		{"", `view "" is not known; expected one of agents, components, grants, members, releases`},
		{"view=component", `view "component" is not known, did you mean "components"?; expected one of agents, components, grants, members, releases`},
		{"view=components&gruop=addons", `unknown query parameter "gruop": did you mean "group"?; ` + known},
		{"view=members&token=hunter2", `unknown query parameter "token": ` + known},
		{"view=members&View=members", `unknown query parameter "View": did you mean "view"?; ` + known},
		{"view=members&view=members", "query parameter view is given 2 times; expected once"},
		{"view=components&group=addons&component=dns&base=%7B%7D", "query parameter base is not available here: put the catalog entry into the group's catalog in the repository"},
		{"view=members&limit=", `query parameter limit is ""; expected spec.filter.limit of the provider, from 1 to 10000`},
		{"view=members&limit=0", `query parameter limit is "0"; expected spec.filter.limit of the provider, from 1 to 10000`},
		{"view=members&limit=10001", `query parameter limit is "10001"; expected spec.filter.limit of the provider, from 1 to 10000`},
		{"view=members&limit=many", `query parameter limit is "many"; expected spec.filter.limit of the provider, from 1 to 10000`},
		{"view=members&selector=tier%3E3", `query parameter selector: "tier>3": expected one of =, !=, in, notin, key, !key`},
		{"view=members&selector=tier+in+gold", "query parameter selector: unable to parse requirement: found 'gold' expected: '('"},
		{"view=members&hub=%zz", `the query cannot be read: invalid URL escape "%zz"`},
		{"view=members;hub=x", "the query cannot be read: invalid semicolon separator in query"},
		{"view=members&hub=hub-3", `hub "hub-3" has no member files, did you mean "hub-1"?; expected fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml`},
		{"view=components", `view "components" needs a group; expected one of addons, fleet, monitoring, resources`},
		{"view=components&group=addons&component=dsn", `component "dsn" is in no catalog of group "addons", did you mean "dns"?`},
	} {
		s.expect(c.query, func() *http.Request { return s.request("GET", inputs+"?"+c.query, "") }, 400, c.message)
		if list, err := s.provide(provider{query: c.query}); err == nil {
			t.Errorf("%s: the operator takes %v for an answer", c.query, list)
		}
	}
	r := s.expect("POST", func() *http.Request { return s.request("POST", inputs+"?"+dnsInputs, "") }, 405, "method not allowed; expected GET")
	if r.header.Get("Allow") != "GET, HEAD" {
		t.Error(r.header)
	}
}

func TestFluxTokens(t *testing.T) {
	s := serving(t)
	const none = `no token: expected the header "Authorization: Bearer <token>", or Basic with the token as password`
	for _, good := range []map[string]string{
		{"token": secret},
		{"token": secret + "\n"},
		{"username": "flux", "password": secret},
		{"username": "", "password": secret + "\n"},
	} {
		if _, err := s.provide(provider{query: dnsInputs, secret: good}); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
	for _, c := range []struct {
		secret  map[string]string
		code    int
		message string
	}{
		{map[string]string{"token": ""}, 401, none},
		{map[string]string{"token": "wrong"}, 401, "the bearer token is wrong"},
		{map[string]string{"token": "$argosy-token:token"}, 403, "the bearer token is refused: " + hint},
		{map[string]string{"username": secret, "password": ""}, 401, none},
		{map[string]string{"username": secret, "password": "wrong"}, 401, "the bearer token is wrong"},
	} {
		if _, err := s.provide(provider{query: dnsInputs, secret: c.secret}); err == nil || err.Error() != fmt.Sprintf("HTTP %d", c.code) {
			t.Errorf("%v: %v", c.secret, err)
		}
		s.expect(fmt.Sprint(c.secret), func() *http.Request {
			r := s.request("GET", inputs+"?"+dnsInputs, "", "Authorization", "Bearer "+c.secret["token"])
			if _, bearer := c.secret["token"]; !bearer {
				r.SetBasicAuth(c.secret["username"], c.secret["password"])
			}
			return r
		}, c.code, c.message)
	}
	for what, header := range map[string]string{"nothing": "", "no base64": "Basic " + secret, "no scheme": secret} {
		s.expect(what, func() *http.Request { return s.request("GET", inputs+"?"+dnsInputs, "", "Authorization", header) }, 401, none)
	}
	if log := s.log.String(); strings.Contains(log, secret) || strings.Contains(log, "$argosy-token") {
		t.Errorf("the log holds a token:\n%s", log)
	}
}

// TestFluxInputsAreRemovedInOneStep: what Argo CD removes in two steps, Flux removes as
// soon as it is left out, whatever Applications there are. (D3)
func TestFluxInputsAreRemovedInOneStep(t *testing.T) {
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(
		facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default"},
		facts.Application{Name: "fleet-secret-a", Cluster: "a"},
	)}
	s := serving(t, func(o *server.Options) { o.Facts = known })
	for _, c := range []struct {
		what, query string
		files       map[string]string
		want        int
	}{
		{"all is on", dnsInputs, nil, 3},
		{"switched off", dnsInputs, map[string]string{"addons/tenants/retail/clusters/a/application-sets/addons.yaml": "dns: {enabled: false}\n"}, 2},
		{"all are members", "view=members", nil, 2},
		{"retired: its components", dnsInputs, map[string]string{fileA: memberA + "lifecycle: retired\ndeletion: cascade\n"}, 2},
		{"retired: the member", "view=members", map[string]string{fileA: memberA + "lifecycle: retired\ndeletion: cascade\n"}, 1},
		{"retired, to be kept", "view=members", map[string]string{fileA: memberA + "lifecycle: retired\n"}, 1},
	} {
		s.say(repository(c.files))
		got := s.inputs(provider{query: c.query})
		if len(got) != c.want {
			t.Errorf("%s: %d inputs, want %d", c.what, len(got), c.want)
		}
		for id, input := range got {
			assert.Equal(t, "orphan", input["deletion"], "%s: %s has deletion", c.what, id)
		}
	}
	if r := s.ask(`{"view":"members"}`); !strings.Contains(r.body, `"name":"a"`) {
		t.Errorf("the plugin's answer has left out what Argo CD removes in two steps: %s", r.body)
	}
}

func TestFluxInputsAreLoggedAndCounted(t *testing.T) {
	s := serving(t)
	s.inputs(provider{query: dnsInputs + "&owner=hub&release=default"})
	s.get(inputs + "?" + dnsInputs + "&limit=2")
	s.get(inputs + "?view=made-up&group=addons")
	log, metrics := s.log.String(), s.get("/metrics").body
	for _, want := range []string{"endpoint=flux-inputs", "request=components/hub-1/hub/addons/dns/default", "sets=3", "message=\"the answer has 3 inputs; the limit is 2,"} {
		assert.Contains(t, log, want, "the log")
	}
	for _, want := range []string{
		`argosy_http_requests_total{code="200",endpoint="flux-inputs",view="components"} 1`,
		`argosy_http_requests_total{code="503",endpoint="flux-inputs",view="components"} 1`,
		`argosy_http_requests_total{code="400",endpoint="flux-inputs",view=""} 1`,
		`argosy_parameter_sets_sum{view="components"} 3`,
	} {
		assert.Contains(t, metrics, want, "no metric")
	}
}
