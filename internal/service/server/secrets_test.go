package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What is or looks like a secret goes in by every door, and comes out by none: no answer,
// no header, no line of the log at its most talkative, no metric.
func TestSecretsStayInside(t *testing.T) {
	const (
		gitUser, gitPassword = "git-user-name", "git-url-p4ssw0rd"
		folderPassword       = "git-folder-p4ssw0rd"
		wrong                = "wrong-t0ken-of-somebody"
		reference            = "$argosy-s3cret:key"
		client               = "some-cl1ent-credential"
	)
	asked := map[string]int{}
	forge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		asked[password]++
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		w.WriteHeader(map[bool]int{true: http.StatusUnauthorized, false: http.StatusForbidden}[password == ""])
		fmt.Fprintf(w, "remote: %s is not good here\n", password)
	}))
	defer forge.Close()
	credentials := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(credentials, "password"), []byte(folderPassword+"\n"), 0o600))
	withUser := strings.Replace(forge.URL, "://", "://"+gitUser+":"+gitPassword+"@", 1) + "/fleet.git"
	k := tokensOf(t, map[string]string{"tenant": "{routes: [getparams, fleet, explain, flux-inputs, registry], tenants: [payments]}", "forge": "{routes: [webhook]}"})
	secrets := []string{
		secret, k.values["tenant"], k.values["forge"], gitPassword, folderPassword, wrong, "s3cret:key", client,
		basic("flux", secret), basic("flux", wrong), url.QueryEscape(reference), base64.StdEncoding.EncodeToString([]byte(wrong)),
	}
	var replies strings.Builder
	tell := func(what string, r reply) {
		fmt.Fprintf(&replies, "%s: %d %v\n%s\n", what, r.code, r.header, r.body)
	}
	through := func(s *service) {
		t.Helper()
		for _, path := range []string{
			getparams, "/api/v1/fleet", "/api/v1/explain?cluster=a&component=addons/dns", "/api/v1/flux/inputs?view=members", "/v2/",
			"/v2/flux/hub-1/f/manifests/latest", "/api/v1/webhook", "/healthz", "/readyz", "/metrics", "/", "/nosuch/" + "page",
		} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				for _, token := range []string{secret, k.values["tenant"], k.values["forge"], wrong, reference, secret + "x"} {
					for _, header := range [][]string{
						{"Authorization", "Bearer " + token},
						{"Authorization", "Basic " + basic("flux", token)},
						{"Authorization", "Basic " + token},
						{"Authorization", token},
						{"Authorization", "", "X-Gitlab-Token", token},
						{"Authorization", "", "X-Hub-Signature-256", signed(token, "{}")},
						{"Authorization", "", "X-Hub-Signature-256", token},
						{"Authorization", "", "X-Api-Key", token},
						{"Authorization", "", "Cookie", "token=" + token},
					} {
						tell(method+" "+path, s.do(s.request(method, path, "{}", header...)))
					}
				}
			}
		}
		for _, name := range []string{"token", "access_token", "private_token", "password"} {
			for _, path := range []string{"/api/v1/fleet", "/api/v1/explain", "/api/v1/flux/inputs", "/api/v1/webhook", "/v2/", "/readyz"} {
				tell(path, s.get(path+"?"+name+"="+client))
				tell(path, s.get(path+"?"+name+"="+client, "Authorization", ""))
			}
			tell("parameters", s.ask(`{"view":"members","`+name+`":"`+client+`"}`))
			tell("around", s.do(s.request("POST", getparams, `{"`+name+`":"`+client+`","input":{"parameters":{"view":"members"}}}`)))
			tell("broken", s.do(s.request("POST", getparams, `{"input":{"parameters":{"`+name+`":"`+client+`}}}`)))
		}
	}
	check := func(what, text string) {
		t.Helper()
		for _, s := range secrets {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%s holds %s: ...%s", what, s, text[max(0, i-200):min(len(text), i+len(s)+20)])
			}
		}
	}

	good := serving(t, k.use, func(o *server.Options) { o.TokenRate, o.FailureBurst = 1e6, 1000 })
	good.say(fluxFleet(nil))
	through(good)
	for _, bad := range []string{"short-s3cret:key", reference, "", "a\n" + wrong} { // the files themselves go bad
		good.writeToken(bad)
		k.write(t, "tenant", bad)
		tell("bad files", good.ask(`{"view":"members"}`))
		tell("bad files", good.get("/metrics"))
	}
	check("the log", good.log.String())
	k.write(t, "tenant", k.values["tenant"])
	for _, o := range []git.Options{{Location: withUser}, {Location: forge.URL + "/fleet.git", Credentials: credentials}} {
		s := start(t, k.use, func(p *server.Options) {
			var err error
			o.Interval, o.StateDir = time.Hour, t.TempDir()
			if p.Source, err = location.Open(o); err != nil {
				t.Fatal(err)
			}
			p.Store, p.TokenRate = folderStore(t, o.StateDir), 1e6
		})
		s.until("refused by the forge", func(st refresh.Status) bool { return len(st.Refused) > 0 })
		through(s)
		check("the log", s.log.String())
		if _, body := s.readiness(); len(body.Refused) != 1 || !strings.Contains(body.Refused[0].Problem, "access denied") {
			t.Errorf("%+v", body)
		}
	}
	if asked[gitPassword] == 0 || asked[folderPassword] == 0 {
		t.Errorf("the forge was asked %v: the test proves nothing", asked)
	}
	check("an answer", replies.String())
	if !strings.Contains(replies.String(), "argosy_http_requests_total") || !strings.Contains(replies.String(), " 202 ") || !strings.Contains(replies.String(), `"inputs":[`) {
		t.Error("the answers are not those of a working service")
	}
}
