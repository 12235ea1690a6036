package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// keyring are tokens of a tokens file: name to value, all in files of that name.
type keyring struct {
	file, dir string
	values    map[string]string
}

// tokensOf writes a tokens file whose tokens may do what allow says, as YAML of a flow map.
func tokensOf(t *testing.T, allow map[string]string) keyring {
	t.Helper()
	k := keyring{file: filepath.Join(t.TempDir(), "tokens.yaml"), dir: t.TempDir(), values: map[string]string{}}
	text := "apiVersion: argosy.dev/v1alpha1\nkind: Tokens\ntokens:\n"
	for _, name := range slices.Sorted(maps.Keys(allow)) {
		text += "- {name: " + name + ", files: [" + name + "], allow: " + allow[name] + "}\n"
		k.values[name] = "value-of-the-token-0123-of-" + name
		k.write(t, name, k.values[name])
	}
	require.NoError(t, os.WriteFile(k.file, []byte(text), 0o600))
	return k
}

func (k keyring) write(t *testing.T, name, value string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, name), []byte(value+"\n"), 0o600))
}

func (k keyring) use(o *server.Options) {
	o.TokensFile, o.TokensDir, o.TokensReload = k.file, k.dir, -1
}

// tenants is a fleet of two hubs and two tenants beside the platform, with a centralized member and
// one that runs Flux for each.
func tenants(more map[string]string) map[string]string {
	files := fluxFleet(map[string]string{
		"fleet/fleet-members/hub-1/c.yaml": "clusterName: c\ntenant: payments\nenvironment: dev\nsecretManagerSecretName: hub-1/c\n",
		"fleet/fleet-members/hub-1/g.yaml": strings.NewReplacer(": f\n", ": g\n", "/f\n", "/g\n", "retail", "payments").Replace(memberF),
		"fleet/fleet-members/hub-2/z.yaml": "clusterName: z\ntenant: payments\nenvironment: dev\nsecretManagerSecretName: hub-2/z\n",
		"fleet/fleet-members/hub-2/a.yaml": "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: hub-2/a\n",
	})
	maps.Copy(files, more)
	return files
}

// caller asks with one token.
type caller struct {
	*service
	token string
}

func (a caller) ask(parameters string) reply {
	return a.service.ask(parameters, "Authorization", "Bearer "+a.token)
}

func (a caller) get(path string) reply {
	return a.service.get(path, "Authorization", "Bearer "+a.token)
}

// inputs asks for the same as Flux Operator does.
func (a caller) inputs(parameters string) reply {
	var p map[string]any
	require.NoError(a, json.Unmarshal([]byte(parameters), &p))
	q := url.Values{}
	for key, v := range p {
		if text, is := v.(string); is {
			q.Set(key, text)
			continue
		}
		s := v.(map[string]any)
		var parts []string
		for key, v := range s["matchLabels"].(map[string]any) {
			parts = append(parts, key+"="+v.(string))
		}
		q.Set(key, strings.Join(parts, ","))
	}
	return a.get("/api/v1/flux/inputs?" + q.Encode())
}

// answered checks that an answer is the one that the token of the token file gets (rule 1 of
// internal/service/access: a token decides whether, never what), and denied that there is none, for
// a reason that stays the same.
func (a caller) answered(what string, got, want reply) {
	a.Helper()
	if got.code != 200 || want.code != 200 || got.body != want.body {
		a.Errorf("%s: %d %s, want the answer of the full token: %d %s", what, got.code, got.body, want.code, want.body)
	}
}

func (a caller) denial(what string, got reply, want string) {
	a.Helper()
	if message := got.message(); got.code != 403 || message != want {
		a.Errorf("%s: %d %s, want 403 %s", what, got.code, got.body, want)
	}
}

// G6
func TestTokenDecidesWhetherNeverWhat(t *testing.T) {
	k := tokensOf(t, map[string]string{
		"views":   "{routes: [getparams, flux-inputs], views: [components, releases]}",
		"hub":     "{routes: [getparams, flux-inputs], hubs: [hub-2]}",
		"group":   "{routes: [getparams, flux-inputs], groups: [addons]}",
		"owner":   "{routes: [getparams, flux-inputs], owners: [f]}",
		"ours":    "{routes: [getparams, flux-inputs], owners: [hub]}",
		"tenant":  "{routes: [getparams, flux-inputs], tenants: [payments]}",
		"two":     "{routes: [getparams, flux-inputs], tenants: [payments, retail]}",
		"webhook": "{routes: [webhook]}",
		"inputs":  "{routes: [flux-inputs]}",
	})
	s := serving(t, k.use)
	s.say(tenants(nil))
	full := caller{s, secret}
	const (
		all      = `{"view":"components","group":"addons"}`
		payments = `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"payments"}}}`
		retail   = `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"retail"}}}`
		others   = `may not ask for clusters of other tenants: expected a selector that says so, with label "tenant" in (payments), or one of their clusters as owner`
	)
	for _, c := range []struct{ token, parameters, denied string }{
		{"views", all, ""},
		{"views", `{"view":"members"}`, `view "members"`},
		{"views", `{"view":"agents"}`, `view "agents"`},
		{"hub", `{"view":"members","hub":"hub-2"}`, ""},
		{"hub", `{"view":"members"}`, `hub "hub-1"`}, // the server's own hub, when none is named
		{"hub", `{"view":"members","hub":"hub-9"}`, `hub "hub-9"`},
		{"group", all, ""},
		{"group", `{"view":"releases","group":"addons"}`, ""},
		{"group", `{"view":"components","group":"resources"}`, `group "resources"`},
		{"group", `{"view":"components"}`, `group ""`},
		{"group", `{"view":"members"}`, `view "members", which tells of all groups`},
		{"group", `{"view":"agents"}`, `view "agents", which tells of all groups`},
		{"owner", `{"view":"components","group":"addons","owner":"f"}`, ""},
		{"owner", `{"view":"components","group":"addons","owner":"g"}`, `owner "g"`},
		{"owner", `{"view":"components","group":"addons","owner":"hub"}`, `owner "hub"`},
		{"owner", all, `owner "hub"`},
		{"owner", `{"view":"components","group":"addons","owner":"hub-1"}`, `owner "hub"`}, // the hub by its own name
		{"ours", all, ""},
		{"ours", `{"view":"components","group":"addons","owner":"hub-1"}`, ""},
		{"ours", `{"view":"components","group":"addons","owner":"f"}`, `owner "f"`},
		{"tenant", payments, ""},
		{"tenant", `{"view":"members","selector":{"matchLabels":{"tenant":"payments","environment":"dev"}}}`, ""},
		{"tenant", `{"view":"agents","selector":{"matchLabels":{"tenant":"payments"}}}`, ""},
		{"tenant", `{"view":"components","group":"addons","owner":"g"}`, ""}, // sees itself alone
		{"tenant", `{"view":"agents","owner":"g"}`, ""},
		{"tenant", all, others},
		{"tenant", retail, others},
		{"tenant", `{"view":"members"}`, others},
		{"tenant", `{"view":"components","group":"addons","selector":{"matchLabels":{"environment":"dev"}}}`, others},
		{"tenant", `{"view":"components","group":"addons","owner":"f"}`, `owner "f"`},
		{"tenant", `{"view":"components","group":"addons","owner":"nobody"}`, `owner "nobody"`}, // no difference
		{"tenant", `{"view":"releases","group":"addons","selector":{"matchLabels":{"tenant":"payments"}}}`, `view "releases" of owner "hub": its sets are of the hub, which is another tenant's`},
		{"two", payments, ""},
		{"two", retail, ""},
		{"webhook", all, `route`},
	} {
		a := caller{s, k.values[c.token]}
		what := c.token + " asks " + c.parameters
		for route, ask := range map[string]func(caller, string) reply{"getparams": caller.ask, "flux-inputs": caller.inputs} {
			want := fmt.Sprintf("token %q may not ask for %s", c.token, strings.TrimPrefix(c.denied, "may not ask for "))
			switch c.denied {
			case "":
				a.answered(route+": "+what, ask(a, c.parameters), ask(full, c.parameters))
				continue
			case "route":
				want = fmt.Sprintf("token %q may not ask for route %q", c.token, route)
			}
			a.denial(route+": "+what, ask(a, c.parameters), want)
			a.denial(route+", again: "+what, ask(a, c.parameters), want)
		}
	}
	a := caller{s, k.values["inputs"]}
	a.denial("getparams", a.ask(all), `token "inputs" may not ask for route "getparams"`)
	a.answered("inputs", a.inputs(all), full.inputs(all))
	// Selectors of which no part by itself demands the tenant.
	a = caller{s, k.values["tenant"]}
	for _, selector := range []string{
		`{"matchExpressions":[{"key":"tenant","operator":"In","values":["payments","retail"]}]}`,
		`{"matchExpressions":[{"key":"tenant","operator":"NotIn","values":["retail","platform"]}]}`,
		`{"matchExpressions":[{"key":"tenant","operator":"Exists"}]}`,
		`{"matchExpressions":[{"key":"environment","operator":"In","values":["payments"]}]}`,
		`{}`, `null`, `"tenant=payments"`,
	} {
		a.denial(selector, a.ask(`{"view":"members","selector":`+selector+`}`), `token "tenant" `+others)
	}
	in := `{"view":"members","selector":{"matchExpressions":[{"key":"tenant","operator":"In","values":["payments"]},{"key":"environment","operator":"Exists"}]}}`
	a.answered(in, a.ask(in), full.ask(in))
	var sets struct {
		Output struct {
			Parameters []struct{ Name, Tenant string }
		}
	}
	if err := json.Unmarshal([]byte(a.ask(in).body), &sets); err != nil || len(sets.Output.Parameters) != 2 {
		t.Errorf("%v %+v", err, sets)
	}
	for _, p := range sets.Output.Parameters {
		assert.Equal(t, "payments", p.Tenant, "%+v", p)
	}
	if !strings.Contains(s.log.String(), "token=tenant") || !strings.Contains(s.log.String(), "token=token-file") {
		t.Error("the log does not say whose requests these were")
	}
}

// Listings tell of what the token may see, and say so.
func TestScopesOfListings(t *testing.T) {
	k := tokensOf(t, map[string]string{
		"tenant": "{routes: [fleet, explain, registry], tenants: [payments]}",
		"hub":    "{routes: [fleet, explain, registry], hubs: [hub-2]}",
		"owner":  "{routes: [fleet, explain, registry], owners: [f]}",
		"group":  "{routes: [explain], groups: [addons]}",
		"all":    "{routes: [fleet, explain, registry]}",
		"none":   "{routes: [getparams]}",
	})
	s := serving(t, k.use)
	s.say(tenants(nil))
	full := caller{s, secret}
	with := func(name string) caller { return caller{s, k.values[name]} }
	type listing struct {
		RestrictedTo *hold.Restriction
		Clusters     []struct{ Hub, Name, Tenant string }
	}
	for name, want := range map[string]string{
		"tenant": `{"tenants":["payments"]} hub-1/c hub-1/g hub-2/z`,
		"hub":    `{"hubs":["hub-2"]} hub-2/a hub-2/hub-2 hub-2/z`,
		"owner":  `{"owners":["f"]} hub-1/f`,
		"all":    `null hub-1/a hub-1/b hub-1/c hub-1/f hub-1/g hub-1/hub-1 hub-2/a hub-2/hub-2 hub-2/z`,
	} {
		var l listing
		require.NoError(t, json.Unmarshal([]byte(with(name).get("/api/v1/fleet").body), &l))
		text, err := json.Marshal(l.RestrictedTo)
		require.NoError(t, err)
		got := string(text)
		for _, c := range l.Clusters {
			got += " " + c.Hub + "/" + c.Name
		}
		assert.Equal(t, want, got, "fleet of %s", name)
	}
	with("hub").denial("fleet", with("hub").get("/api/v1/fleet?hub=hub-1"), `token "hub" may not ask for hub "hub-1"`)
	with("none").denial("fleet", with("none").get("/api/v1/fleet"), `token "none" may not ask for route "fleet"`)

	for _, c := range []struct{ token, query, denied string }{
		{"tenant", "cluster=c&component=addons/dns", ""},
		{"tenant", "cluster=g&component=addons/dns", ""},
		{"tenant", "cluster=b&component=addons/dns", `cluster "b"`},
		{"tenant", "cluster=nobody&component=addons/dns", `cluster "nobody"`}, // no difference
		{"tenant", "cluster=b&component=addons/nosuch", `cluster "b"`},
		{"hub", "cluster=z&component=addons/dns", ""},
		{"hub", "hub=hub-1&cluster=c&component=addons/dns", `hub "hub-1"`},
		{"hub", "cluster=c&component=addons/dns", `cluster "c"`},
		{"owner", "cluster=f&component=addons/dns", ""},
		{"owner", "cluster=a&component=addons/dns", `cluster "a"`},
		{"group", "cluster=c&component=addons/dns", ""},
		{"group", "cluster=c&component=resources/dns", `group "resources"`},
		{"all", "cluster=c&component=addons/dns", ""},
	} {
		a, path := with(c.token), "/api/v1/explain?"+c.query
		if c.denied == "" {
			a.answered(c.query, a.get(path), full.get(path))
			continue
		}
		a.denial(c.token+": "+c.query, a.get(path), fmt.Sprintf("token %q may not ask for %s", c.token, c.denied))
	}
	// a is on both hubs: who sees one of them means that one.
	a := with("hub")
	a.answered("a", a.get("/api/v1/explain?cluster=a&component=addons/dns"), full.get("/api/v1/explain?hub=hub-2&cluster=a&component=addons/dns"))
	full.get("/api/v1/explain?cluster=a&component=addons/dns").is(t, 400, "")

	for _, c := range []struct{ token, repository, denied string }{
		{"tenant", "flux/hub-1/g", ""},
		{"tenant", "flux/hub-1/f", `owner \"f\"`},
		{"tenant", "flux/hub-1/nobody", `owner \"nobody\"`},
		{"tenant", "flux/hub-1/hub", `owner \"hub\", which has clusters of all tenants`},
		{"hub", "flux/hub-1/f", `hub \"hub-1\"`},
		{"owner", "flux/hub-1/f", ""},
		{"owner", "flux/hub-1/g", `owner \"g\"`},
		{"owner", "flux/hub-1/hub", `owner \"hub\"`},
		{"all", "flux/hub-1/f", ""},
	} {
		a := with(c.token)
		for _, path := range []string{"/manifests/latest", "/tags/list"} {
			got, want := a.get("/v2/"+c.repository+path), full.get("/v2/"+c.repository+path)
			if c.denied == "" {
				a.answered(c.repository, got, want)
				digest := want.header.Get("Docker-Content-Digest")
				if path == "/tags/list" {
					continue
				}
				// what has been given to one is not there for another by its digest
				if r := with("hub").get("/v2/" + c.repository + "/blobs/" + digest); r.code != 403 {
					t.Errorf("%s by digest: %d %s", c.repository, r.code, r.body)
				}
				continue
			}
			if !strings.HasPrefix(got.body, `{"errors":[{"code":"DENIED","message":"token \"`+c.token+`\" may not ask for `+c.denied+`"`) || got.code != 403 {
				t.Errorf("%s with %s: %d %s", c.repository, c.token, got.code, got.body)
			}
		}
	}
	with("none").get("/v2/").is(t, 403, "", "DENIED")
	s.get("/v2/", "Authorization", "Basic "+basic("anybody", k.values["tenant"])).is(t, 200, "password")
}

// What is wrong elsewhere in the fleet refuses an answer as ever (G1), but not in words that tell
// of others.
func TestProblemsOfOthersAreWithheld(t *testing.T) {
	k := tokensOf(t, map[string]string{"tenant": "{routes: [getparams], tenants: [payments]}", "hub": "{routes: [getparams], hubs: [hub-1]}"})
	s := start(t, k.use)
	s.say(tenants(map[string]string{"addons/tenants/retail/clusters/b/addons/dns/values.yaml": "a: [\n", fileA: memberA + "tenant: twice\n"}))
	const q = `{"view":"members","selector":{"matchLabels":{"tenant":"payments"}}}`
	full := caller{s, secret}.ask(q)
	if full.code != 503 || !strings.Contains(full.body, "member \\\"a\\\"") {
		t.Fatalf("%d %s", full.code, full.body)
	}
	r := caller{s, k.values["tenant"]}.ask(q)
	if r.code != 503 || r.message() != "the fleet cannot be computed, for a reason outside of what this token may see; the service's log has it" {
		t.Errorf("%d %s", r.code, r.body)
	}
	if _, log, _ := strings.Cut(s.log.String(), "token=tenant"); !strings.Contains(log, `member \"a\"`) {
		t.Errorf("the log does not have it:\n%s", s.log.String())
	}
	if r := (caller{s, k.values["hub"]}).ask(q); r.body != full.body {
		t.Errorf("the hub's own: %d %s", r.code, r.body)
	}
}

// Tokens come and go while the service runs; scopes change with their file.
func TestTokensAreReadAgain(t *testing.T) {
	k := tokensOf(t, map[string]string{"ci": "{routes: [getparams], views: [members]}"})
	s := serving(t, k.use)
	old, next := k.values["ci"], "the-next-value-of-the-token-ci"
	code := func(token, parameters string) int { return caller{s, token}.ask(parameters).code }
	const members, agents = `{"view":"members"}`, `{"view":"agents"}`
	if code(old, members) != 200 || code(old, agents) != 403 || code(next, members) != 401 {
		t.Error("before")
	}
	k.write(t, "ci", next)
	if code(old, members) != 401 || code(next, members) != 200 {
		t.Error("rotated")
	}
	text, err := os.ReadFile(k.file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(k.file, []byte(strings.Replace(string(text), "[members]", "[agents]", 1)), 0o600))
	if code(next, members) != 403 || code(next, agents) != 200 {
		t.Error("another scope")
	}
	require.NoError(t, os.WriteFile(k.file, []byte("kind: ["), 0o600))
	if code(next, members) != 403 || code(next, agents) != 200 {
		t.Error("a broken tokens file changes nothing")
	}
	assert.Contains(t, s.get("/metrics").body, "argosy_tokens_stale 1\n", "the metric does not say so")
	assert.Equal(t, 200, code(secret, members), "the token of the token file")
}

// A forge's token need not be good for anything else.
func TestWebhookWithItsOwnToken(t *testing.T) {
	k := tokensOf(t, map[string]string{"forge": "{routes: [webhook]}", "argocd": "{routes: [getparams]}"})
	s := serving(t, k.use)
	const path, body = "/api/v1/webhook", `{"ref":"refs/heads/main"}`
	forge, argocd := k.values["forge"], k.values["argocd"]
	for what, header := range map[string][]string{
		"bearer": {"Authorization", "Bearer " + forge},
		"GitLab": {"Authorization", "", "X-Gitlab-Token", forge},
		"GitHub": {"Authorization", "", "X-Hub-Signature-256", signed(forge, body)},
	} {
		if r := s.do(s.request("POST", path, body, header...)); r.code != 202 {
			t.Errorf("%s: %d %s", what, r.code, r.body)
			continue
		}
		<-s.script.Refreshes
	}
	for what, header := range map[string][]string{
		"bearer": {"Authorization", "Bearer " + argocd},
		"GitLab": {"Authorization", "", "X-Gitlab-Token", argocd},
	} {
		s.expect(what, func() *http.Request { return s.request("POST", path, body, header...) }, 403, `token "argocd" may not ask for route "webhook"`)
	}
	s.expect("GitHub", func() *http.Request {
		return s.request("POST", path, body, "Authorization", "", "X-Hub-Signature-256", signed(argocd, body))
	}, 401, "the webhook's signature is wrong: its secret has to be the service's token")
	(caller{s, forge}).ask(`{"view":"members"}`).is(t, 403, "")
}

func signed(key, body string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(m.Sum(nil))
}

func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// TestScopeDeniesBase: a token whose scope has base: false asks for the layout's catalog alone.
func TestScopeDeniesBase(t *testing.T) {
	k := tokensOf(t, map[string]string{"reader": "{routes: [getparams], base: false}", "engine": "{routes: [getparams]}"})
	s := serving(t, k.use)
	const query = `{"view":"components","group":"addons","component":"dns"`
	const base = `,"base":{"enabled":true,"chart":{"repoURL":"r","name":"n","version":"1"}}`
	for _, c := range []struct {
		token, parameters string
		code              int
	}{
		{"reader", query + "}", 200}, {"reader", query + base + "}", 403}, {"engine", query + base + "}", 200},
	} {
		if got := (caller{s, k.values[c.token]}).ask(c.parameters); got.code != c.code || c.code == 403 && !strings.Contains(got.body, "(base)") {
			t.Errorf("%s %s: %d %s", c.token, c.parameters, got.code, got.body)
		}
	}
}
