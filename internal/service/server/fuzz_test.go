package server_test

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// fuzzed is a service for a fuzz target. It logs nothing: the log would be what takes the time and
// the memory.
func fuzzed(f *testing.F) *service {
	f.Helper()
	s := launch(f, func(o *server.Options) {
		o.Logger, o.MaxRequestBytes = slog.New(slog.DiscardHandler), 4096
		o.TokenRate, o.TokenBurst, o.FailureRate, o.FailureBurst = 1e9, 1e9, 1e9, 1e9
	})
	s.say(repository(nil))
	return s
}

// in is the service for one case of a fuzz target.
func (s *service) in(t *testing.T) *service {
	t.Helper()
	one := *s
	one.TB = t
	return &one
}

// errorIsJSON fails when an error is not the JSON object that Argo CD reads, or is one of the
// service's own faults.
func (r reply) errorIsJSON(t *testing.T, what string, codes ...int) {
	t.Helper()
	for _, code := range codes {
		if r.code == code {
			if code >= 400 && (r.message() == "" || len(r.body) > 64<<10) {
				t.Fatalf("%s: %d with %d bytes: %.200q", what, r.code, len(r.body), r.body)
			}
			return
		}
	}
	t.Fatalf("%s: %d %.500s; expected one of %v", what, r.code, r.body, codes)
}

// FuzzBody: whatever Argo CD's question has for a body, it is answered with JSON or refused with a
// message, in the same way twice (G5); only JSON is answered, and never more than the limit of a
// request is read.
func FuzzBody(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", `{"applicationSetName":"a","input":{"parameters":{"view":"members"}}}`, `{"input":{"parameters":{"view":"components","group":"addons"}}}`,
		`{"input":{"parameters":{"view":"releases","group":"addons","release":"x"}},"input":{}}`, `{"input":{"parameters":null}}`, `{"input":[]}`, `{"applicationSetName":1}`,
		"\xef\xbb\xbf{}", `{"input":{"parameters":{"view":"members","selector":{"matchLabels":{"a":"b"}}}}} x`, strings.Repeat("[", 3000), strings.Repeat(" ", 4097),
	} {
		f.Add(s)
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, body string) {
		s := s.in(t)
		ask := func() reply { return s.do(s.request(http.MethodPost, getparams, body)) }
		first, second := ask(), ask()
		first.errorIsJSON(t, body, 200, 400, 413, 503)
		if first.code != second.code || first.body != second.body {
			t.Fatalf("%q is answered %d %s, then %d %s", body, first.code, first.body, second.code, second.body)
		}
		if (first.code == 413) != (len(body) > 4096) {
			t.Fatalf("%d bytes: %d", len(body), first.code)
		}
		var answer struct {
			Output *struct{ Parameters []map[string]any }
		}
		if first.code == 200 && (!json.Valid([]byte(body)) || json.Unmarshal([]byte(first.body), &answer) != nil || answer.Output == nil || answer.Output.Parameters == nil) {
			t.Fatalf("%q is answered %s", body, first.body)
		}
	})
}

// FuzzWebhook: a body makes the source look if its signature is that of the token, whatever the
// body is and in whichever forge's header, and in no other case.
func FuzzWebhook(f *testing.F) {
	for _, s := range []string{"", "{}", `{"ref":"refs/heads/main"}`, "payload=%7B%7D", "\x00\xff"} {
		f.Add(s, signed(secret, s))
		f.Add(s, bare(secret, s))
		f.Add(s, strings.ToUpper(signed(secret, s)))
		f.Add(s, signed("another", s))
		f.Add(s, "sha256=")
		f.Add(s, "sha1=00")
	}
	s := fuzzed(f)
	f.Fuzz(func(t *testing.T, body, signature string) {
		s := s.in(t)
		if !inHeader(signature) || signature == "" {
			t.Skip() // no header has it
		}
		for header, prefix := range map[string]string{"X-Hub-Signature-256": "sha256=", "X-Hub-Signature": "sha256=", "X-Gitea-Signature": "", "X-Forgejo-Signature": "", "X-Gogs-Signature": ""} {
			for _, signature := range []string{signature, prefix + bare(secret, body)} {
				r := s.do(s.request(http.MethodPost, webhookPath, body, "Authorization", "", header, signature))
				digest, isOne := strings.CutPrefix(signature, prefix)
				got, err := hex.DecodeString(digest)
				if isOne && err == nil && hex.EncodeToString(got) == bare(secret, body) {
					r.errorIsJSON(t, "a good signature", 202)
					<-s.script.Refreshes
				} else {
					r.errorIsJSON(t, header+": "+signature, 401)
				}
			}
		}
		if len(s.script.Refreshes) > 0 {
			t.Fatalf("%q with %q makes the source look", body, signature)
		}
	})
}

// FuzzEvent: whatever a forge calls an event, a push makes the source look once, and nothing else
// does.
func FuzzEvent(f *testing.F) {
	for i, event := range []string{"", "push", "Push", "ping", "Push Hook", "repo:refs_changed", "push,ping", "\"<&>"} {
		f.Add(event, uint8(i))
	}
	s := fuzzed(f)
	pushes := []string{"", "push", "Push Hook", "Tag Push Hook", "System Hook", "repo:push", "repo:refs_changed", "mirror:repo_synchronized"}
	headers := []string{"X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Gogs-Event", "X-Gitlab-Event", "X-Event-Key"}
	f.Fuzz(func(t *testing.T, event string, which uint8) {
		s := s.in(t)
		if !inHeader(event) {
			t.Skip()
		}
		code, looks := 200, 0
		if slices.Contains(pushes, event) {
			code, looks = 202, 1
		}
		s.do(s.request(http.MethodPost, webhookPath, "{}", headers[int(which)%len(headers)], event)).errorIsJSON(t, event, code)
		if n := len(s.script.Refreshes); n != looks {
			t.Fatalf("the source looks %d times; expected %d", n, looks)
		}
		for range looks {
			<-s.script.Refreshes
		}
	})
}

// inHeader tells whether a header's value arrives as it is sent.
func inHeader(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7e }) && strings.TrimSpace(text) == text
}

// FuzzPaths: whatever is asked for by GET, there is an answer, and none is the service's own fault.
func FuzzPaths(f *testing.F) {
	for _, s := range []string{
		"/", "/api/v1/fleet", "/api/v1/explain?cluster=a&component=addons/dns", "/api/v1/explain?cluster=../a&component=/&path=%00", "/api/v1/flux/inputs?view=members&selector=a%3Db",
		"/v2/flux/hub-1/f/manifests/latest", "/v2/flux/hub-1/../x/blobs/sha256:00", "/v2//tags/list", "/api/v1/flux/inputs?view=components&group=addons&group=x", "/readyz?verbose", "/%2e%2e/x",
	} {
		f.Add(s)
	}
	s := fuzzed(f)
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(u.RawQuery, func(r rune) bool { return r <= 0x20 || r > 0x7e }) {
			t.Skip() // not what a client can send: net/http answers it by itself
		}
		req, err := http.NewRequest(http.MethodGet, s.Addr(), http.NoBody)
		require.NoError(t, err)
		req.URL.Path, req.URL.RawPath, req.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
		req.Header.Set("Authorization", "Bearer "+secret)
		resp, err := s.client.Do(req)
		require.NoError(t, err, "%q", path)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 500 && resp.StatusCode != http.StatusServiceUnavailable || resp.StatusCode == http.StatusServiceUnavailable && !json.Valid(body) {
			t.Fatalf("%q: %d %.300q, %v", path, resp.StatusCode, body, err)
		}
		checkHeaders(t, path, resp.Header)
	})
}
