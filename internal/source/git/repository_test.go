package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

func TestRepositoryFollowsABranch(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "d.yaml": "a: 1\n", "notes.txt": "x"})
	g := openGit(t, Options{Location: r.URL()})
	one := sourcetest.Snapshot(t, g)
	if d := cmp.Diff(map[string]string{"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "d.yaml": "a: 1\n"}, sourcetest.Contents(one)); d != "" || one.Revision != first {
		t.Errorf("revision %s, want %s: %s", one.Revision, first, d)
	}
	if sourcetest.Snapshot(t, g) != one {
		t.Error("unchanged, but another snapshot")
	}

	// One changed file costs one blob, and the others keep their entries.
	reads := g.reads
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	two := sourcetest.Snapshot(t, g)
	if two.Revision != second || g.reads != reads+1 || two.File("b/c.yaml") != one.File("b/c.yaml") {
		t.Errorf("revision %s, %d blobs read, same entry: %v", two.Revision, g.reads-reads, two.File("b/c.yaml") == one.File("b/c.yaml"))
	}
	// A renamed file costs none.
	reads = g.reads
	r.Git("mv", "b/c.yaml", "b/e.yaml")
	third := r.Commit(nil)
	if three := sourcetest.Snapshot(t, g); three.Revision != third || g.reads != reads || three.File("b/e.yaml").Path != "b/e.yaml" || string(three.File("b/e.yaml").Data) != "c: 1\n" {
		t.Errorf("revision %s, %d blobs read, %v", three.Revision, g.reads-reads, sourcetest.Contents(three))
	}

	// A force push is followed, to another history and back.
	r.Git("checkout", "--quiet", "--orphan", "other")
	other := r.Commit(map[string]string{"a.yaml": "a: 3\n"})
	r.Git("branch", "--force", "main", "other")
	if s := sourcetest.Snapshot(t, g); s.Revision != other {
		t.Errorf("after a force push: %s, want %s", s.Revision, other)
	}
	r.Git("branch", "--force", "main", first)
	if s := sourcetest.Snapshot(t, g); s.Revision != first || len(snapshot.Changed(one, s)) > 0 {
		t.Errorf("back again: %s, want %s", s.Revision, first)
	}
}

func TestRefIsBranchTagOrCommit(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Git("tag", "v1")
	r.Git("tag", "--annotate", "--message=two", "v2")
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	r.Git("branch", "heads/one", first)
	r.Git("update-ref", "refs/heads/"+first, second) // Git takes a whole id for the commit
	r.Git("branch", "feature/x.y")
	r.Git("update-ref", "refs/pull/7/head", first)
	third := r.Commit(map[string]string{"a.yaml": "a: 3\n"})
	lost := r.Commit(map[string]string{"a.yaml": "lost\n"}) // on no branch
	r.Git("reset", "--quiet", "--hard", third)
	r.Git("config", "uploadpack.allowAnySHA1InWant", "true")
	for ref, want := range map[string]string{
		"": third, "main": third, "HEAD": third, "v1": first, "v2": first, "tags/v1": first, "refs/tags/v2": first,
		"feature/x.y": second, "heads/feature/x.y": second, "refs/heads/main": third, "refs/pull/7/head": first, "pull/7/head": first,
		"heads/one": first, "heads/main": third, first: first, lost: lost,
	} {
		g := openGit(t, Options{Location: r.URL(), Ref: ref})
		for range 2 {
			if s := sourcetest.Snapshot(t, g); s.Revision != want {
				t.Errorf("ref %q: %s, want %s", ref, s.Revision, want)
			}
		}
	}
}

// A server may send only what its refs point at.
func TestCommitIDFromAStrictServer(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	s := r.Server("", "", func(q *http.Request) { q.Header.Del("Git-Protocol") }) // version 0, where such servers exist
	if got := sourcetest.Snapshot(t, openGit(t, Options{Location: s.URL + "/.git", Ref: first})); got.Revision != first {
		t.Errorf("got %s, want %s", got.Revision, first)
	}
}

// G4: while the server is away, or has no file that the resolver reads, the last snapshot stays.
func TestUnreachableServerKeepsLastSnapshot(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	s := r.Server("", "", nil)
	o := Options{Location: s.URL + "/.git", StateDir: t.TempDir()}
	g := openGit(t, o)
	one := sourcetest.Snapshot(t, g)
	r.Git("rm", "--quiet", "a.yaml")
	r.Commit(nil)
	if got, err := g.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.Empty) || got != one {
		t.Errorf("a commit without files: %v, %v", got, err)
	}
	s.Close()
	if got, err := g.Snapshot(sourcetest.Context(t)); got != one || !errors.Is(err, source.Unreachable) {
		t.Errorf("got %v, %v", got, err)
	}
	// Another source with the same state directory has nothing of it.
	for _, other := range []Options{o, {Location: o.Location, Ref: "dev", StateDir: o.StateDir}, {Location: s.URL + "/other", StateDir: o.StateDir}} {
		if got, err := openGit(t, other).Snapshot(sourcetest.Context(t)); got != nil || !errors.Is(err, source.Unreachable) {
			t.Errorf("%s: %v, %v", other.Location, got, err)
		}
	}
}

// G4: a restart writes nothing that is there already, so that it succeeds on a full disk. A state
// directory that cannot be used is named, with what to do.
func TestRestartWritesNothing(t *testing.T) {
	state := t.TempDir()
	config := func() os.FileInfo {
		g := openGit(t, Options{Location: "https://git.example/x", StateDir: state})
		info, err := os.Stat(filepath.Join(g.base, "gitconfig"))
		sourcetest.Check(t, err)
		return info
	}
	if !os.SameFile(config(), config()) {
		t.Error("an unchanged configuration of git is written again")
	}
	sourcetest.Write(t, state, map[string]string{"file": ""})
	file := filepath.Join(state, "file")
	_, err := New(Options{Location: "https://git.example/x", StateDir: file})
	want := fmt.Sprintf(`the state directory %q cannot be used: not a directory; make room in it and let this process write to it, or name another one`, file)
	if !errors.Is(err, source.InvalidOptions) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

// A server that takes the connection and says nothing costs the time allowed, not more, and git
// does not outlive it.
func TestSilentServerTimesOut(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	g := openGit(t, Options{Location: s.URL + "/x", Timeout: 300 * time.Millisecond})
	_, err := g.Snapshot(sourcetest.Context(t))
	if want := fmt.Sprintf("git %q: the server does not answer in time", s.URL+"/x"); err == nil || err.Error() != want || !errors.Is(err, source.Unreachable) {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithTimeout(sourcetest.Context(t), 300*time.Millisecond)
	defer cancel()
	g.timeout = time.Minute
	if _, err := g.Snapshot(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if left := processes(t, s.URL); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// processes are the command lines of all processes that hold a text, this one left out.
func processes(t testing.TB, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	sourcetest.Check(t, err)
	var out []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(data), text) {
			out = append(out, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return out
}

// A mirror that is damaged in whatever way is made anew.
func TestDamagedMirrorIsFetchedAgain(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, mirror string){
		"objects gone": func(t *testing.T, m string) {
			sourcetest.Check(t, os.RemoveAll(filepath.Join(m, "objects")))
			sourcetest.Check(t, os.Mkdir(filepath.Join(m, "objects"), 0o755))
		},
		"HEAD gone":  func(t *testing.T, m string) { sourcetest.Check(t, os.Remove(filepath.Join(m, "HEAD"))) },
		"HEAD empty": func(t *testing.T, m string) { sourcetest.Check(t, os.WriteFile(filepath.Join(m, "HEAD"), nil, 0o644)) },
		"config torn": func(t *testing.T, m string) {
			sourcetest.Check(t, os.WriteFile(filepath.Join(m, "config"), []byte("[core"), 0o644))
		},
		"lock left": func(t *testing.T, m string) {
			sourcetest.Check(t, os.WriteFile(filepath.Join(m, "shallow.lock"), nil, 0o644))
		},
		"blob torn": func(t *testing.T, m string) {
			sourcetest.Check(t, filepath.Walk(filepath.Join(m, "objects"), func(p string, info os.FileInfo, err error) error {
				if err == nil && info.Mode().IsRegular() {
					sourcetest.Check(t, os.Chmod(p, 0o644))
					return os.WriteFile(p, []byte("torn"), 0o644)
				}
				return err
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := sourcetest.NewRepo(t)
			want := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
			o := Options{Location: r.URL(), StateDir: t.TempDir()}
			g := openGit(t, o)
			sourcetest.Snapshot(t, g)
			for _, changed := range []bool{false, true} {
				damage(t, g.mirror)
				sourcetest.Check(t, g.Close())
				if changed {
					want = r.Commit(map[string]string{"a.yaml": "a: 2\n"})
				}
				g = openGit(t, o)
				if s := sourcetest.Snapshot(t, g); s.Revision != want {
					t.Errorf("changed=%v: got %s, want %s", changed, s.Revision, want)
				}
			}
		})
	}
}

// H10: as for folders; a blob over the limit is not read.
func TestRepositoryBeyondLimitsIsAnError(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "0123456789", "b.yaml": "01234567890", "c/d.yaml": "9876543210", "c/e.yaml": "9876543210"})
	g := openGit(t, Options{Location: r.URL(), Limits: source.Limits{FileSize: 10}})
	s := sourcetest.Snapshot(t, g)
	if err := s.File("b.yaml").Err; err == nil || err.Error() != "b.yaml: file of 11 bytes; expected at most 10 bytes" || g.reads != 2 {
		t.Errorf("%v, %d blobs read", err, g.reads)
	}
	for want, limits := range map[string]source.Limits{
		`files: 4, at most 3; "c" has the most files, 2: keep them out of the repository, or in one of its own`:                      {Files: 3},
		`bytes of all files: 31, at most 20; "b.yaml" has the most bytes, 11: keep them out of the repository, or in one of its own`: {Bytes: 20}, // equal contents count once
	} {
		_, err := openGit(t, Options{Location: r.URL(), Limits: limits}).Snapshot(sourcetest.Context(t))
		if want := fmt.Sprintf("git %q: %s", r.URL(), want); !errors.Is(err, source.LimitExceeded) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A pointer of Git LFS names its own file, also where it comes from another one.
func TestLFSPointerIsAnErrorOfItsFile(t *testing.T) {
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	const hint = "take the file's pattern out of .gitattributes, git add --renormalize it, and commit"
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": pointer, "b.yaml": "b: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	sourcetest.Snapshot(t, g)
	r.Commit(map[string]string{"c.yaml": pointer, "d.yaml": "b: 1\n"})
	s := sourcetest.Snapshot(t, g)
	for _, name := range []string{"a.yaml", "c.yaml"} {
		if f := s.File(name); f.Err == nil || !strings.HasPrefix(f.Err.Error(), name+": Git LFS pointer; expected the content itself") || !strings.HasSuffix(f.Err.Error(), hint) || f.Data != nil {
			t.Errorf("%s: %q, %v", name, f.Data, f.Err)
		}
	}
	assert.Equal(t, "b: 1\n", string(s.File("d.yaml").Data), "%v", sourcetest.Contents(s))
}

func TestSubmodulesAreLeftOut(t *testing.T) {
	r := sourcetest.NewRepo(t)
	commit := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	r.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+",sub.yaml")
	r.Git("commit", "--quiet", "--message=submodule")
	assert.Equal(t, []string{"a.yaml"}, sourcetest.Snapshot(t, openGit(t, Options{Location: r.URL()})).Paths())
}

// What the user's and the system's configuration or a hook would do does not happen.
func TestGitReadsItsOwnConfigurationAlone(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	home := t.TempDir()
	sourcetest.Write(t, home, map[string]string{
		".gitconfig":                  fmt.Sprintf("[url \"file:///nowhere/\"]\n\tinsteadOf = file://\n[core]\n\thooksPath = %s/hooks\n", home),
		"hooks/reference-transaction": "#!/bin/sh\ntouch " + home + "/called\n",
	})
	sourcetest.Check(t, os.Chmod(filepath.Join(home, "hooks", "reference-transaction"), 0o755))
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", "/nowhere")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "url.file:///nowhere/.insteadOf")
	t.Setenv("GIT_CONFIG_VALUE_0", "file://")
	sourcetest.Snapshot(t, openGit(t, Options{Location: r.URL()}))
	if _, err := os.Stat(filepath.Join(home, "called")); err == nil {
		t.Error("a hook was called")
	}
}

// Several goroutines and two processes' worth of sources may look at one repository with one state
// directory.
func TestRepositoriesShareAStateDirectory(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 0\n"})
	state := t.TempDir()
	sources := []*Repository{openGit(t, Options{Location: r.URL(), StateDir: state}), openGit(t, Options{Location: r.URL(), StateDir: state})}
	for i := range 3 {
		want := r.Commit(map[string]string{"a.yaml": fmt.Sprintf("a: %d\n", i)})
		var wg sync.WaitGroup
		for j := range 6 {
			wg.Go(func() {
				s, err := sources[j%2].Snapshot(sourcetest.Context(t))
				if err != nil || s.Revision != want {
					t.Errorf("%v, want %s: %v", s, want, err)
				}
			})
		}
		wg.Wait()
	}
}

func TestWatchReportsChangesOnce(t *testing.T) {
	r := sourcetest.NewRepo(t)
	first := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	backend := r.Server("", "", nil)
	target, err := url.Parse(backend.URL)
	sourcetest.Check(t, err)
	var mu sync.Mutex
	away := false
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, q)
	}))
	defer front.Close()
	set := func(v bool) {
		mu.Lock()
		defer mu.Unlock()
		away = v
	}
	g := openGit(t, Options{Location: front.URL + "/.git", Interval: 100 * time.Millisecond})
	updates := sourcetest.Watch(t, g)
	if u := sourcetest.Next(t, updates); u.Err != nil || u.Snapshot.Revision != first {
		t.Fatalf("first: %v", u.Err)
	}
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	if u := sourcetest.Next(t, updates); u.Err != nil || u.Snapshot.Revision != second {
		t.Errorf("second: %v", u.Err)
	}
	set(true)
	if u := sourcetest.Next(t, updates); !errors.Is(u.Err, source.Unreachable) || u.Snapshot.Revision != second {
		t.Errorf("away: %v", u.Err)
	}
	set(false)
	if u := sourcetest.Next(t, updates); u.Err != nil || u.Snapshot.Revision != second {
		t.Errorf("back: %v", u.Err)
	}
}

// Refresh makes Watch look before its time.
func TestRefreshTriggersAPoll(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL(), Interval: time.Hour})
	updates := sourcetest.Watch(t, g)
	sourcetest.Next(t, updates)
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	g.Refresh()
	if u := sourcetest.Next(t, updates); u.Err != nil || u.Snapshot.Revision != second {
		t.Errorf("%v", u.Err)
	}
}

// BenchmarkGit compares the first load of 20,000 files with a change of one.
func BenchmarkGit(b *testing.B) {
	r := sourcetest.NewRepo(b)
	files := map[string]string{}
	for i := range 20_000 {
		files[fmt.Sprintf("addons/tenants/t%d/clusters/c%d/addons/x%d/values.yaml", i/1000, i/10, i%10)] = fmt.Sprintf("replicas: %d\n", i)
	}
	r.Commit(files)
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			g := openGit(b, Options{Location: r.URL()})
			sourcetest.Snapshot(b, g)
			b.ReportMetric(float64(g.reads), "blobs/op")
		}
	})
	b.Run("one-file", func(b *testing.B) {
		g := openGit(b, Options{Location: r.URL()})
		sourcetest.Snapshot(b, g)
		before, n := g.reads, 0
		for b.Loop() {
			b.StopTimer()
			n++
			r.Commit(map[string]string{"addons/one.yaml": fmt.Sprintf("one: %d\n", n)})
			b.StartTimer()
			sourcetest.Snapshot(b, g)
		}
		b.ReportMetric(float64(g.reads-before)/float64(n), "blobs/op")
	})
	b.Run("unchanged", func(b *testing.B) {
		g := openGit(b, Options{Location: r.URL()})
		sourcetest.Snapshot(b, g)
		for b.Loop() {
			sourcetest.Snapshot(b, g)
		}
	})
}
