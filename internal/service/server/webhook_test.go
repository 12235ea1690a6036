package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/server"
)

const webhookPath = "/api/v1/webhook"

// What the service says to webhooks.
const (
	triggered = "refresh triggered"
	wrongSign = "the webhook's signature is wrong: its secret has to be the service's token"
	wrongOne  = "the bearer token is wrong"
	noBearer  = `no bearer token: expected the header "Authorization: Bearer <token>"`
)

// forge sends webhooks as one of them does; the sources are in forges.go.
type forge struct {
	name        string
	push, other string // events; "" for none
	body        string
	header      func(key, body, event string) []string // what else there is
	refusal     string                                 // of another key
}

func (f forge) signs() bool { return f.refusal == wrongSign }

// sha1 is what GitHub and Gitea send beside, which counts for nothing.
const sha1 = "sha1=7d38cdd689735b008b3c702edd92eea23791c5f6"

// bare is a signature as Gitea and Forgejo have it in their own headers.
func bare(key, body string) string { return strings.TrimPrefix(signed(key, body), "sha256=") }

func forges() []forge {
	const pushed = `{"ref":"refs/heads/main","before":"28e1879d029cb852e4844d9c718537df08844e03","after":"bffeb74224043ba2feb48d137756c8a9331c449a","repository":{"full_name":"example/fleet"}}`
	return []forge{
		{"GitHub", "push", "ping", pushed, func(key, body, event string) []string {
			return []string{"User-Agent", "GitHub-Hookshot/044aadd", "X-GitHub-Event", event, "X-GitHub-Hook-ID", "292430182", "X-Hub-Signature", sha1, "X-Hub-Signature-256", signed(key, body)}
		}, wrongSign},
		{"GitHub, a form", "push", "issues", "payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D", func(key, body, event string) []string {
			return []string{"Content-Type", "application/x-www-form-urlencoded", "X-GitHub-Event", event, "X-Hub-Signature-256", signed(key, body)}
		}, wrongSign},
		{"Gitea", "push", "pull_request", pushed, func(key, body, event string) []string {
			return []string{
				"X-Gitea-Event", event, "X-Gogs-Event", event, "X-GitHub-Event", event, "X-GitHub-Event-Type", event,
				"X-Gitea-Signature", bare(key, body), "X-Gogs-Signature", bare(key, body), "X-Hub-Signature", sha1, "X-Hub-Signature-256", signed(key, body),
			}
		}, wrongSign},
		{"Gitea, an old one", "push", "issues", pushed, func(key, body, event string) []string {
			return []string{"X-Gitea-Event", event, "X-Gitea-Signature", bare(key, body)}
		}, wrongSign},
		{"Gitea, a header instead of a secret", "push", "issues", pushed, func(key, _, event string) []string {
			return []string{"Authorization", "Bearer " + key, "X-Gitea-Event", event, "X-Gitea-Signature", "", "X-Hub-Signature", "sha1=", "X-Hub-Signature-256", "sha256="}
		}, wrongOne},
		{"Forgejo", "push", "release", pushed, func(key, body, event string) []string {
			return []string{"X-Forgejo-Event", event, "X-Forgejo-Signature", bare(key, body)}
		}, wrongSign},
		{"Gogs", "push", "issues", pushed, func(key, body, event string) []string {
			return []string{"User-Agent", "GogsServer", "X-Github-Event", event, "X-Gogs-Event", event, "X-Gogs-Signature", bare(key, body)}
		}, wrongSign},
		{"Gogs alone", "push", "create", pushed, func(key, body, event string) []string {
			return []string{"X-Gogs-Event", event, "X-Gogs-Signature", bare(key, body)}
		}, wrongSign},
		{"GitLab", "Push Hook", "Merge Request Hook", `{"object_kind":"push","ref":"refs/heads/main"}`, func(key, _, event string) []string {
			return []string{"User-Agent", "GitLab/17.4.0", "X-Gitlab-Instance", "https://gitlab.com", "X-Gitlab-Event", event, "X-Gitlab-Event-UUID", "13792a34-cac6-4fda-95a8-c58e00a3954e", "X-Gitlab-Token", key}
		}, wrongOne},
		{"GitLab, tags", "Tag Push Hook", "Note Hook", `{"object_kind":"tag_push"}`, func(key, _, event string) []string {
			return []string{"X-Gitlab-Event", event, "X-Gitlab-Token", key}
		}, wrongOne},
		{"GitLab, the system's", "System Hook", "", `{"event_name":"push"}`, func(key, _, event string) []string {
			return []string{"X-Gitlab-Event", event, "X-Gitlab-Token", key}
		}, wrongOne},
		{"Bitbucket Cloud", "repo:push", "pullrequest:created", `{"push":{"changes":[{"new":{"name":"main"}}]}}`, func(key, body, event string) []string {
			return []string{"User-Agent", "Bitbucket-Webhooks/2.0", "X-Event-Key", event, "X-Hook-UUID", "60fae8c1-e7d9-4cf1-8f32-ec3b4d8b1b1f", "X-Attempt-Number", "1", "X-Hub-Signature", signed(key, body)}
		}, wrongSign},
		{"Bitbucket Data Center", "repo:refs_changed", "diagnostics:ping", `{"eventKey":"repo:refs_changed","changes":[{"refId":"refs/heads/main"}]}`, func(key, body, event string) []string {
			return []string{"Content-Type", "application/json; charset=utf-8", "X-Event-Key", event, "X-Hub-Signature", signed(key, body)}
		}, wrongSign},
		{"Bitbucket Data Center, a mirror", "mirror:repo_synchronized", "pr:merged", "{}", func(key, body, event string) []string {
			return []string{"X-Event-Key", event, "X-Hub-Signature", signed(key, body)}
		}, wrongSign},
		{"Azure DevOps", "", "", `{"eventType":"git.push","resource":{}}`, func(key, _, _ string) []string {
			return []string{"Authorization", "Basic " + basic("any", key)}
		}, wrongOne},
		{"Azure DevOps, no user", "", "", `{"eventType":"git.push"}`, func(key, _, _ string) []string {
			return []string{"Authorization", "Basic " + basic("", key)}
		}, wrongOne},
		{"GitHub, behind a proxy with a password", "push", "ping", pushed, func(key, body, event string) []string {
			return []string{"Authorization", "Basic " + basic("proxy", "of-the-proxy"), "X-GitHub-Event", event, "X-Hub-Signature-256", signed(key, body)}
		}, wrongSign},
		{"anybody", "", "", "{}", func(key, _, _ string) []string { return []string{"Authorization", "Bearer " + key} }, wrongOne},
	}
}

// sends makes a request of a body, which has the signature of another one.
func (f forge) sends(s *service, key, body, signedBody, event string) func() *http.Request {
	header := f.header(key, signedBody, event)
	if !slices.Contains(header, "Authorization") {
		header = append(header, "Authorization", "")
	}
	return func() *http.Request { return s.request("POST", webhookPath, body, header...) }
}

// webhookTold checks what is said to a webhook, and that the source has been triggered if it is
// so: that is before the answer.
func (s *service) webhookTold(what string, request func() *http.Request, code int, message string) {
	s.Helper()
	r := s.do(request())
	want := 0
	if code == 202 {
		want = 1
	}
	got := len(s.script.Refreshes)
	if r.code != code || r.message() != message || got != want {
		s.Errorf("%s: %d %q, and the source looks %d times; want %d %q, %d times", what, r.code, r.body, got, code, message, want)
	}
	for range got {
		<-s.script.Refreshes
	}
}

// Each forge's push makes the source look; what is no push, or not of one of our tokens, does not.
func TestWebhook(t *testing.T) {
	s := serving(t)
	for _, f := range forges() {
		sends := func(event string) func() *http.Request { return f.sends(s, secret, f.body, f.body, event) }
		s.webhookTold(f.name, sends(f.push), 202, triggered)
		s.webhookTold(f.name+", again", sends(f.push), 202, triggered)
		if f.other != "" {
			s.webhookTold(f.name+", no push", sends(f.other), 200, fmt.Sprintf("the event %q is not a push: nothing to refresh", f.other))
			s.expect(f.name+", no push, other key", f.sends(s, "wrong", f.body, f.body, f.other), 401, f.refusal)
		}
		s.expect(f.name+", other key", f.sends(s, "wrong", f.body, f.body, f.push), 401, f.refusal)
		if f.signs() {
			s.expect(f.name+", other body", f.sends(s, secret, f.body+" ", f.body, f.push), 401, wrongSign)
			s.expect(f.name+", no body", f.sends(s, secret, "", f.body, f.push), 401, wrongSign)
			large := strings.Repeat("x", 3<<20) // a push of many commits, beyond the limit of other requests
			s.webhookTold(f.name+", large", f.sends(s, secret, large, large, f.push), 202, triggered)
		}
	}
}

func TestWebhookIsRefused(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.MaxWebhookBytes = 1000 })
	const body = `{"ref":"refs/heads/main"}`
	large := strings.Repeat("x", 1001)
	for _, c := range []struct {
		what    string
		body    string
		header  []string
		code    int
		message string
	}{
		{"nothing", body, nil, 401, noBearer},
		{"an event alone", body, []string{"X-GitHub-Event", "push"}, 401, noBearer},
		{"a ping alone", body, []string{"X-Event-Key", "diagnostics:ping"}, 401, noBearer},
		{"GitLab, reference", body, []string{"X-Gitlab-Token", "$x"}, 403, "the bearer token is refused: " + hint},
		{"GitHub, no digest", body, []string{"X-Hub-Signature-256", "sha256="}, 401, wrongSign},
		{"GitHub, no hex", body, []string{"X-Hub-Signature-256", "sha256=" + strings.Repeat("x", 64)}, 401, wrongSign},
		{"GitHub, short", body, []string{"X-Hub-Signature-256", signed(secret, body)[:69]}, 401, wrongSign},
		{"GitHub, long", body, []string{"X-Hub-Signature-256", signed(secret, body) + "00"}, 401, wrongSign},
		{"GitHub, another prefix", body, []string{"X-Hub-Signature-256", "sha1=" + bare(secret, body)}, 401, wrongSign},
		{"GitHub, no prefix", body, []string{"X-Hub-Signature-256", bare(secret, body)}, 401, wrongSign},
		{"GitHub, SHA-1 alone", body, []string{"X-Hub-Signature", sha1}, 401, wrongSign},
		{"Gogs, a prefix", body, []string{"X-Gogs-Signature", signed(secret, body)}, 401, wrongSign},
		{"Gogs, SHA-1", body, []string{"X-Gogs-Signature", bare(secret, body)[:40]}, 401, wrongSign},
		{"a password as the user", body, []string{"Authorization", "Basic " + basic(secret, "")}, 401, noBearer},
		{"a token that is no password", body, []string{"Authorization", "Basic " + secret}, 401, noBearer},
		{"a password, wrong signature", body, []string{"Authorization", "Basic " + basic("any", secret), "X-Hub-Signature-256", signed("wrong", body)}, 401, wrongSign},
		{"a password, reference", body, []string{"Authorization", "Basic " + basic("any", "$x")}, 403, "the bearer token is refused: " + hint},
		{"Gitea, a prefix", body, []string{"X-Gitea-Signature", signed(secret, body)}, 401, wrongSign},
		{"Bitbucket, no prefix", body, []string{"X-Hub-Signature", bare(secret, body)}, 401, wrongSign},
		{"a bad one before a good one", body, []string{"X-Hub-Signature-256", signed("wrong", body), "X-Gitea-Signature", bare(secret, body)}, 401, wrongSign},
		{"GitHub, large", large, []string{"X-Hub-Signature-256", signed(secret, large)}, 413, "the webhook's body has 1001 bytes; the limit is 1000 (--max-webhook-bytes)"},
		{"Gitea, large", large, []string{"X-Gitea-Signature", bare(secret, large)}, 413, "the webhook's body has 1001 bytes; the limit is 1000 (--max-webhook-bytes)"},
		{"Bitbucket, large", large, []string{"X-Hub-Signature", signed(secret, large)}, 413, "the webhook's body has 1001 bytes; the limit is 1000 (--max-webhook-bytes)"},
	} {
		s.expect(c.what, func() *http.Request {
			return s.request("POST", webhookPath, c.body, append([]string{"Authorization", ""}, c.header...)...)
		}, c.code, c.message)
	}
	s.expect("?token=", func() *http.Request {
		return s.request("POST", webhookPath+"?token="+secret, body, "Authorization", "")
	}, 401, noBearer)
	if n := len(s.script.Refreshes); n != 0 {
		t.Errorf("refused webhooks triggered %d times", n)
	}
}

// H10: a token's bearer may send so many webhooks and no more.
func TestWebhooksOfTokens(t *testing.T) {
	k := tokensOf(t, map[string]string{"one": "{routes: [webhook]}", "two": "{routes: [webhook]}"})
	s := serving(t, k.use, func(o *server.Options) { o.TokenRate, o.TokenBurst, o.MaxWait = 1e-3, 2, -1 })
	sends := func(key string) func() *http.Request {
		return func() *http.Request {
			return s.request("POST", webhookPath, "{}", "Authorization", "", "X-Hub-Signature-256", signed(key, "{}"))
		}
	}
	one, two := sends(k.values["one"]), sends(k.values["two"])
	s.webhookTold("one's", one, 202, triggered)
	s.webhookTold("one's next", one, 202, triggered)
	s.webhookTold("one's beyond the limit", one, 429, `too many requests with token "one"; the limit is 0.001 a second (--token-rate)`)
	s.webhookTold("two's", two, 202, triggered)
}
