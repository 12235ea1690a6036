package server_test

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// TestMain fails when a test leaves a goroutine behind. Parallel tests mostly wait.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// What a service starts ends with it, however it is fed, and while clients still hold connections.
func TestNothingIsLeftBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	folder, bare := t.TempDir(), filepath.Join(t.TempDir(), "fleet.git")
	w := work{t, t.TempDir()}
	w.git("init", "-q", "--bare", bare)
	w.git("init", "-q")
	w.git("remote", "add", "origin", bare)
	w.push(repository(nil))
	w.git("clone", "-q", "-b", "main", bare, folder)
	certFile, keyFile := filepath.Join(folder, "..", "tls.crt"), filepath.Join(folder, "..", "tls.key")
	certify(t, 1, certFile, keyFile)
	k := tokensOf(t, map[string]string{"ci": "{routes: [getparams]}"})
	open := func(o git.Options) func(*server.Options) {
		return func(p *server.Options) {
			var err error
			if p.Source, err = location.Open(o); err != nil {
				t.Fatal(err)
			}
			p.Store = folderStore(t, t.TempDir())
		}
	}
	for what, change := range map[string]func(*server.Options){
		"folder": open(git.Options{Location: folder}),
		"git":    open(git.Options{Location: "file://" + bare, Interval: time.Hour}),
		"TLS": func(p *server.Options) {
			open(git.Options{Location: folder})(p)
			p.TLSCert, p.TLSKey, p.TLSClientCA = certFile, keyFile, certFile
		},
	} {
		s := start(t, k.use, change, func(p *server.Options) { p.IdleTimeout = time.Hour })
		s.until("serving", refresh.Status.Ready)
		if what != "TLS" {
			for range 3 {
				s.do(s.request("POST", getparams, `{"input":{"parameters":{"view":"members"}}}`)).is(t, 200, what)
				s.do(s.request("POST", "/api/v1/webhook", "{}"))
			}
		}
		assert.NoError(t, s.Stop(t.Context()), "%s", what)
		s.client.CloseIdleConnections()
	}
	goleak.VerifyNone(t, before)
}
