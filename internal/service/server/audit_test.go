package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// audited are the lines of an audit log without what differs from run to run.
func audited(t *testing.T, log *lockedBuffer) []string {
	t.Helper()
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields), "%q", line)
		if fields["log"] != "audit" || fields["time"] == nil {
			t.Errorf("%q", line)
		}
		for _, name := range []string{"log", "time", "level", "took", "id", "revision"} {
			delete(fields, name)
		}
		text, err := json.Marshal(fields)
		require.NoError(t, err)
		out = append(out, string(text))
	}
	return out
}

// TestAuditLogSaysWhoAskedForWhat: each request of the API is a line with token, address, query and
// tenants, whether it is answered or refused; probes and metrics are none, and no line has a token.
func TestAuditLogSaysWhoAskedForWhat(t *testing.T) {
	t.Parallel()
	k := tokensOf(t, map[string]string{"tenant": "{routes: [getparams, fleet, explain], tenants: [payments]}", "forge": "{routes: [webhook]}"})
	log := &lockedBuffer{}
	s := serving(t, k.use, func(o *server.Options) { o.Audit = log })
	s.say(tenants(nil))
	as := func(name string) []string { return []string{"Authorization", "Bearer " + k.values[name]} }
	s.ask(`{"view":"members"}`)
	s.ask(`{"view":"components","group":"addons","owner":"g"}`, as("tenant")...)
	s.ask(`{"view":"members","selector":{"matchLabels":{"tenant":"payments"}}}`, as("tenant")...)
	s.ask(`{"view":"members"}`, as("tenant")...)
	s.ask(`{"view":"members"}`, "Authorization", "Bearer wrong-and-secret")
	s.get("/api/v1/explain?cluster=c&component=addons/dns", as("tenant")...)
	s.get("/api/v1/fleet", as("tenant")...)
	s.do(s.request("POST", "/api/v1/webhook", "{}", append(as("forge"), "X-GitHub-Event", "push")...))
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		s.get(path, "Authorization", "")
	}
	s.get("/readyz")
	want := []string{
		`{"address":"127.0.0.1","applicationSet":"try","code":200,"method":"POST","msg":"request","query":"members/hub-1","route":"getparams","tenants":["*"],"token":"token-file"}`,
		`{"address":"127.0.0.1","applicationSet":"try","cluster":"g","code":200,"method":"POST","msg":"request","query":"components/hub-1/g/addons","route":"getparams","tenants":["payments"],"token":"tenant"}`,
		`{"address":"127.0.0.1","applicationSet":"try","code":200,"method":"POST","msg":"request","query":"members/hub-1","route":"getparams","tenants":["payments"],"token":"tenant"}`,
		`{"address":"127.0.0.1","applicationSet":"try","code":403,"denied":"token \"tenant\" may not ask for ...","method":"POST","msg":"request","query":"members/hub-1","route":"getparams","tenants":["payments"],"token":"tenant"}`,
		`{"address":"127.0.0.1","code":401,"denied":"the bearer token is wrong","method":"POST","msg":"request","route":"getparams"}`,
		`{"address":"127.0.0.1","cluster":"c","code":200,"method":"GET","msg":"request","query":"addons/dns","route":"explain","tenants":["payments"],"token":"tenant"}`,
		`{"address":"127.0.0.1","code":200,"method":"GET","msg":"request","route":"fleet","tenants":["payments"],"token":"tenant"}`,
		`{"address":"127.0.0.1","code":202,"event":"push","method":"POST","msg":"request","route":"webhook","token":"forge"}`,
		`{"address":"127.0.0.1","code":200,"method":"GET","msg":"request","route":"readyz","tenants":["*"],"token":"token-file"}`,
	}
	got := audited(t, log)
	for i := range max(len(got), len(want)) {
		line, expected := "none", "none"
		if i < len(got) {
			line = got[i]
		}
		if i < len(want) {
			expected = want[i]
		}
		if begin, end, cut := strings.Cut(expected, "..."); line != expected && !(cut && strings.HasPrefix(line, begin) && strings.HasSuffix(line, end)) {
			t.Errorf("line %d: %s\nwant %s", i+1, line, expected)
		}
	}
	for _, token := range []string{secret, k.values["tenant"], "wrong-and-secret"} {
		if strings.Contains(log.String(), token) {
			t.Errorf("the audit log has the token %q", token)
		}
	}
}

// TestAuditLogNamesCertificatesAndRotations: a client's certificate is named by subject and serial
// number, and new values of tokens and certificates are lines of their own.
func TestAuditLogNamesCertificatesAndRotations(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedBuffer{}
	certFile, keyFile, caFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	roots := x509.NewCertPool()
	roots.AddCert(certify(t, 1, certFile, keyFile))
	ours := newAuthority(t, "ours")
	require.NoError(t, os.WriteFile(caFile, []byte(ours.pem()), 0o600))
	k := tokensOf(t, map[string]string{"forge": "{routes: [webhook]}"})
	s := start(t, k.use, func(o *server.Options) {
		o.TLSCert, o.TLSKey, o.TLSClientCA, o.Audit = certFile, keyFile, caFile, log
	})
	s.say(repository(nil))
	mine := ours.client(x509.ExtKeyUsageClientAuth, time.Now().Add(time.Hour))
	s.client = &http.Client{Timeout: patient, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{mine}}}}
	s.ask(`{"view":"members"}`)
	k.write(t, "forge", "another-value-of-the-token")
	s.ask(`{"view":"members"}`)
	request := `{"address":"127.0.0.1","applicationSet":"try","certificate":"CN=flux 2","code":200,"method":"POST","msg":"request","query":"members/hub-1","route":"getparams","tenants":["*"],"token":"token-file"}`
	assert.Equal(t, fmt.Sprint([]string{request, `{"msg":"rotated","token":"forge"}`, request}), fmt.Sprint(audited(t, log)))
}

// TestAuditLogNamesUsedApprovals: a removal that an approval lets pass is one line, with the file.
func TestAuditLogNamesUsedApprovals(t *testing.T) {
	t.Parallel()
	log := &lockedBuffer{}
	s := guarded(t, nil, func(o *server.Options) {
		o.Now, o.Audit = func() time.Time { return today }, log
	})
	s.say(twelve(with(half(), approved("2026-11-21"))))
	s.gives(ofDNS, askDNS, dozen/2)
	used := map[string]int{}
	for _, line := range audited(t, log) {
		if strings.Contains(line, `"msg":"approval used"`) && strings.Contains(line, `"approval":"`+approval+`:3:1"`) && strings.Contains(line, `"component":"addons/dns"`) {
			used[line]++
		}
	}
	if len(used) != dozen/2 {
		t.Errorf("%d approved removals of addons/dns; want %d:\n%s", len(used), dozen/2, log)
	}
	for line, n := range used {
		if n != 1 {
			t.Errorf("%d times: %s", n, line)
		}
	}
}
