package server_test

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

const hint = `it begins with "$", a reference to a Secret's key that Argo CD could not resolve; see the key "token" of the plugin's ConfigMap`

func newPipe() (io.ReadCloser, io.WriteCloser) { return io.Pipe() }

func TestTokens(t *testing.T) {
	s := serving(t)
	for path, method := range map[string]string{getparams: "POST", "/api/v1/fleet": "GET", "/api/v1/explain?cluster=a&component=addons/dns": "GET", "/api/v1/webhook": "POST"} {
		for _, c := range []struct {
			header  string
			code    int
			message string
		}{
			{"", 401, `no bearer token: expected the header "Authorization: Bearer <token>"`},
			{"Bearer", 401, `no bearer token: expected the header "Authorization: Bearer <token>"`},
			{"Bearer  ", 401, `no bearer token: expected the header "Authorization: Bearer <token>"`},
			{"Basic " + secret, 401, `no bearer token: expected the header "Authorization: Bearer <token>"`},
			{secret, 401, `no bearer token: expected the header "Authorization: Bearer <token>"`},
			{"Bearer wrong", 401, "the bearer token is wrong"},
			{"Bearer " + secret + "x", 401, "the bearer token is wrong"},
			{"Bearer " + secret[1:], 401, "the bearer token is wrong"},
			{"Bearer $argosy-token:token", 403, "the bearer token is refused: " + hint},
			{"Bearer $token", 403, "the bearer token is refused: " + hint},
		} {
			r := s.expect(method+" "+path+" with "+c.header, func() *http.Request {
				return s.request(method, path, `{"input":{"parameters":{"view":"members"}}}`, "Authorization", c.header)
			}, c.code, c.message)
			if c.code == 401 && r.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %v", c.header, r.header)
			}
		}
	}
	s.ask(`{"view":"members"}`, "Authorization", "bearer "+secret).is(t, 200, "the scheme's case")
	for _, open := range []string{"/healthz", "/readyz", "/metrics"} {
		if r := s.get(open, "Authorization", ""); r.code != 200 {
			t.Errorf("%s needs a token: %d", open, r.code)
		}
	}
}

func TestTokenIsRotatedWhileRunning(t *testing.T) {
	s := serving(t, func(o *server.Options) { o.TokensReload = -1 })
	with := func(token string) int { return s.ask(`{"view":"members"}`, "Authorization", "Bearer "+token).code }
	expect := func(what string, old, updated int) {
		t.Helper()
		if o, n := with(secret), with("the-second-token-of-two-horses"); o != old || n != updated {
			t.Errorf("%s: the old one %d, the new one %d", what, o, n)
		}
	}
	expect("before", 200, 401)
	s.writeToken("the-second-token-of-two-horses\r\n")
	expect("rotated", 401, 200)
	for what, bad := range map[string]string{"empty": "", "blank": "\n", "reference": "$argosy:token\n", "two lines": "a\nb\n", "short": "fifteen-letters\n"} {
		s.writeToken(bad)
		expect(what, 401, 200) // the last good one stays
	}
	require.NoError(t, os.Remove(s.tokenFile))
	expect("no file", 401, 200)
	s.writeToken(secret)
	expect("and back", 200, 401)
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	certify(t, 1, filepath.Join(dir, "good.crt"), filepath.Join(dir, "good.key"))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	cert, key := read("good.crt"), read("good.key")
	good := server.Defaults()
	good.Source, good.Hub, good.TokenFile, good.Logger = fleettest.NewSource(), "hub-1", file("good", secret), slog.New(slog.DiscardHandler)
	if _, err := server.New(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*server.Options)
		want   string
	}{
		{func(o *server.Options) { o.Source = nil }, "no source"},
		{func(o *server.Options) { o.Hub = "" }, "--hub is required"},
		{func(o *server.Options) { o.TokenFile = "" }, "--token-file is required"},
		{func(o *server.Options) { o.TokenFile = filepath.Join(dir, "none") }, "no such file"},
		{func(o *server.Options) { o.TokenFile = file("empty", "") }, "it is empty"},
		{func(o *server.Options) { o.TokenFile = file("newline", "\r\n\n") }, "it is empty"},
		{func(o *server.Options) { o.TokenFile = file("reference", "$argosy:token") }, hint},
		{func(o *server.Options) { o.TokenFile = file("lines", "a\nb") }, "one line of ASCII characters"},
		{func(o *server.Options) { o.TokenFile = file("short", "fifteen-letters") }, "15 characters of their kind have at most 75 bits; expected at least 128 bits, as openssl rand -hex 16 makes them"},
		{func(o *server.Options) { o.TokenFile = file("large", strings.Repeat("x", 5000)) }, "larger than 4096 bytes"},
		{func(o *server.Options) { o.TLSCert = "cert" }, "--tls-cert and --tls-key belong together"},
		{func(o *server.Options) { o.TLSCert, o.TLSKey = "cert", "key" }, `TLS certificate "cert": no such file`},
		{func(o *server.Options) { o.TLSCert, o.TLSKey = file("cert", "x"), file("key", "y") }, "failed to find any PEM data"},
		{func(o *server.Options) { o.TLSClientCA = "ca" }, "--tls-client-ca needs --tls-cert and --tls-key"},
		{func(o *server.Options) {
			o.TLSCert, o.TLSKey, o.TLSClientCA = file("c.crt", cert), file("c.key", key), "ca"
		}, `TLS client CA "ca": no such file`},
		{func(o *server.Options) {
			o.TLSCert, o.TLSKey, o.TLSClientCA = file("c.crt", cert), file("c.key", key), file("ca", "x")
		}, "it has no PEM certificate"},
		{func(o *server.Options) { o.TokensFile = "f" }, "--tokens-file and --tokens-dir belong together"},
		{func(o *server.Options) { o.TokensFile, o.TokensDir = filepath.Join(dir, "none"), dir }, "no such file"},
		{func(o *server.Options) { o.TokenRate = -1 }, "--token-rate -1; expected more than 0"},
		{func(o *server.Options) { o.FailureBurst = -1 }, "--failure-burst -1; expected at least 1"},
		{func(o *server.Options) { o.IdleTimeout = -1 }, "a time limit is not above 0"},
		{func(o *server.Options) { o.MaxRequestBytes = -1 }, "--max-request-bytes -1; expected at least 1"},
		{func(o *server.Options) { o.DrainDelay = -1 }, "--drain-delay -1ns; expected 0s or more"},
	} {
		o := good
		c.change(&o)
		_, err := server.New(o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want %q, got %v", c.want, err)
		}
	}
}
