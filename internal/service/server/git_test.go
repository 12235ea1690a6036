package server_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// work is a clone that commits and pushes.
type work struct {
	*testing.T
	dir string
}

func (w work) git(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// push commits files and returns the commit.
func (w work) push(files map[string]string) string {
	w.Helper()
	sourcetest.Write(w.T, w.dir, files)
	w.git("add", "-A")
	w.git("commit", "-qm", "change")
	w.git("push", "-q", "origin", "HEAD:main")
	return w.git("rev-parse", "HEAD")
}

// servingGit is a service of a Git repository, and a clone of that.
func servingGit(t *testing.T) (work, *service) {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "fleet.git")
	w := work{t, t.TempDir()}
	w.git("init", "-q", "--bare", bare)
	w.git("init", "-q")
	w.git("remote", "add", "origin", bare)
	w.push(repository(nil))
	s := start(t, func(o *server.Options) {
		var err error
		if o.Source, err = location.Open(git.Options{Location: "file://" + bare, StateDir: t.TempDir(), Interval: time.Hour}); err != nil {
			t.Fatal(err)
		}
	})
	s.until("serving", refresh.Status.Ready)
	return w, s
}

// learns has the service poll, by a webhook.
func (s *service) learns() {
	s.Helper()
	if r := s.do(s.request("POST", "/api/v1/webhook", "{}")); r.code != 202 {
		s.Fatalf("%d %s", r.code, r.body)
	}
}

// arrives waits until the service serves a commit, which it has to learn of by a webhook.
func (s *service) arrives(commit string) refresh.Status {
	s.Helper()
	s.learns()
	s.until("serving "+commit, func(st refresh.Status) bool { return st.Revision == commit && len(st.Refused) == 0 })
	return s.Refresher().Status()
}

// A commit pushed to a real repository arrives by the webhook, a broken one does not change the
// answers, and a restart while the server is away goes on from the state directory.
func TestGitSource(t *testing.T) {
	t.Parallel()
	bare, state := filepath.Join(t.TempDir(), "fleet.git"), t.TempDir()
	w := work{t, t.TempDir()}
	w.git("init", "-q", "--bare", bare)
	w.git("init", "-q")
	w.git("remote", "add", "origin", bare)
	first := w.push(repository(nil))

	open := func(o *server.Options) {
		var err error
		o.Store = folderStore(t, state)
		if o.Source, err = location.Open(git.Options{Location: "file://" + bare, StateDir: state, Interval: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, open)
	serves := func(s *service, commit string) reply {
		t.Helper()
		s.until("serving "+commit, func(st refresh.Status) bool { return st.Revision == commit && len(st.Refused) == 0 })
		r := s.ask(`{"view":"components","group":"addons"}`)
		if r.code != 200 || r.header.Get("X-Argosy-Revision") != commit {
			t.Fatalf("%d %s", r.code, r.body)
		}
		return r
	}
	webhook := func() {
		t.Helper()
		if r := s.do(s.request("POST", "/api/v1/webhook", "{}")); r.code != 202 {
			t.Fatalf("%d %s", r.code, r.body)
		}
	}
	serves(s, first)
	second := w.push(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"})
	webhook()
	before := serves(s, second)
	assert.Contains(t, before.body, `"replicas: 2\n"`)
	const versions = "versions/applicationSets.yaml"
	good := repository(nil)[versions]
	broken := w.push(map[string]string{versions: "releases: [\n"})
	webhook()
	s.until("refused", func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Revision == broken })
	if r := s.ask(`{"view":"components","group":"addons"}`); r.code != 200 || r.body != before.body {
		t.Errorf("%d %s", r.code, r.body)
	}
	fixed := w.push(map[string]string{versions: good})
	webhook()
	after := serves(s, fixed)
	// Broken again, and then the service is restarted: what was accepted goes on being served.
	worse := w.push(map[string]string{versions: "releases: [\n"})
	webhook()
	s.until("refused again", func(st refresh.Status) bool { return len(st.Refused) == 1 && st.Refused[0].Revision == worse })
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, os.Rename(bare, bare+".away"))
	again := start(t, open)
	again.until("the store", func(st refresh.Status) bool { return st.Revision == fixed })
	if r := again.ask(`{"view":"components","group":"addons"}`); r.code != 200 || r.body != after.body {
		t.Errorf("after a restart: %d %s", r.code, r.body)
	}
	if _, body := again.readiness(); len(body.Refused) != 1 || body.Refused[0].Cause != refresh.Source {
		t.Errorf("%+v", body)
	}
}

// Rule H10: a large file of one member quarantines that member, with the file and the limit, and
// the others go on.
func TestLargeFileQuarantinesItsMember(t *testing.T) {
	t.Parallel()
	unreadFile(t, "text: "+strings.Repeat("x", 2<<20)+"\n", "file of 2097159 bytes; expected at most 1048576 bytes")
}

// A pointer of Git LFS is not taken for the content of its file, and says what it is.
func TestLFSPointerQuarantinesItsMember(t *testing.T) {
	t.Parallel()
	unreadFile(t, "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
		"Git LFS pointer; expected the content itself")
}

// unreadFile checks that a file of one member that cannot be read holds that member alone.
func unreadFile(t *testing.T, content, problem string) {
	t.Helper()
	w, s := servingGit(t)
	w.push(map[string]string{"addons/tenants/retail/clusters/a/addons/dns/values.yaml": content})
	commit := w.push(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 7\n"})
	st := s.arrives(commit)
	if len(st.Quarantined) != 1 || st.Quarantined[0].Member != "a" || !strings.Contains(st.Quarantined[0].Problem, "clusters/a/addons/dns/values.yaml: "+problem) {
		t.Fatalf("%+v", st.Quarantined)
	}
	r := s.ask(`{"view":"components","group":"addons","component":"dns"}`)
	if sets := setsIn(t, r.body); sets["dns-b"]["helmValues"] == nil || !strings.Contains(sets["dns-b"]["helmValues"].(string), "replicas: 7") ||
		strings.Contains(sets["dns-a"]["helmValues"].(string), "replicas: 7") {
		t.Errorf("%s", r.body)
	}
}

// Rule H10, G4: a commit beyond a limit, as by links that lead to 2^30 files, is refused as a
// whole, with its largest folder. The last one stays served, until a commit within the limits.
func TestCommitBeyondLimitsIsRefused(t *testing.T) {
	t.Parallel()
	w, s := servingGit(t)
	before := s.ask(`{"view":"components","group":"addons"}`)
	const folder = "addons/tenants/retail/clusters/a"
	links := map[string]string{folder + "/0/x.yaml": "x: 1\n", folder + "/addons/dns": "-> ../30"}
	for i := 1; i <= 30; i++ {
		links[fmt.Sprintf("%s/%d/l", folder, i)], links[fmt.Sprintf("%s/%d/m", folder, i)] = fmt.Sprintf("-> ../%d", i-1), fmt.Sprintf("-> ../%d", i-1)
	}
	w.push(links)
	s.learns()
	s.until("refused", func(st refresh.Status) bool {
		return len(st.Refused) == 1 && st.Refused[0].Reason == string(source.LimitExceeded) &&
			strings.Contains(st.Refused[0].Problem, `files: more than 100000, which is the limit; "`+folder)
	})
	if r := s.ask(`{"view":"components","group":"addons"}`); r.code != http.StatusOK || r.body != before.body {
		t.Errorf("%d %s", r.code, r.body)
	}
	w.git("revert", "--no-edit", "HEAD")
	s.arrives(w.push(map[string]string{dnsValues: "replicas: 7\n"}))
}

// Rule G4: a Git server that accepts connections and says nothing does not leave a restarted
// service unready: it serves what it accepted before, and says so.
func TestHangingGitServerServesRestoredState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, storedIn(t, dir))
	revision := first.say(repository(nil)).Revision
	want := first.ask(`{"view":"components","group":"addons"}`)
	require.NoError(t, first.Stop(t.Context()))
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = hanging.Close() })
	second := start(t, storedIn(t, dir), func(o *server.Options) {
		o.SourcePatience = time.Millisecond
		var err error
		if o.Source, err = location.Open(git.Options{Location: "http://" + hanging.Addr().String() + "/fleet.git"}); err != nil {
			t.Fatal(err)
		}
	})
	second.until("serving", refresh.Status.Ready)
	if got := second.ask(`{"view":"components","group":"addons"}`); got.code != http.StatusOK || got.body != want.body {
		t.Errorf("%d %s, want %s", got.code, got.body, want.body)
	}
	r, ready := second.readiness()
	if r.code != http.StatusOK || ready.Revision != revision || len(ready.Refused) != 1 || ready.Refused[0].Reason != string(source.Unreachable) ||
		!strings.HasSuffix(ready.Refused[0].Problem, "/fleet.git\": nothing has been read within 1ms of the start") {
		t.Errorf("readyz: %s", r.body)
	}
	assert.Contains(t, second.get("/metrics").body, `argosy_serving_stale{cause="source"} 1`, "no metric says so")
}
