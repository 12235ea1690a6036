package gitsocket

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// open makes a source of a repository, with a mirror in a folder.
func open(t *testing.T, url, state string) *git.Repository {
	t.Helper()
	g, err := git.New(git.Options{Location: url, StateDir: state})
	sourcetest.Check(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// serve answers clients of a source until stop.
func serve(t *testing.T, s source.Source, socket string) (stop func()) {
	t.Helper()
	l, err := Listen(t.Context(), socket)
	sourcetest.Check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- (&Server{Source: s, Ref: "main", Log: slog.New(slog.DiscardHandler)}).Serve(ctx, l) }()
	return func() {
		cancel()
		sourcetest.Check(t, <-done)
	}
}

// client asks a server at a socket.
func client(s source.Source, socket string) *Client {
	return New(Options{Socket: socket, Name: s.String(), Ref: "main", Interval: time.Hour})
}

// shortDir has a path that fits into the address of a socket (108 bytes).
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "argosy-") //nolint:usetesting // the path of T.TempDir holds the test's name
	sourcetest.Check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// A snapshot over the socket is that of the same source in one process: contents, and files with an
// error. Later ones keep the files that have not changed, also when Git's process is a new one.
func TestSnapshotsAreThoseOfOneProcess(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{
		"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "b/\xff.yaml": "d: 1\n", "large.yaml": strings.Repeat("x", snapshot.MaxFileSize+1),
		"outside.yaml": "-> ../../etc/passwd", "nowhere.yaml": "-> nothing", "folder": "-> b", "other.txt": "left out", "empty.json": "",
	})
	state, socket := t.TempDir(), filepath.Join(shortDir(t), "socket")
	g := open(t, r.URL(), state)
	stop := serve(t, g, socket)
	c := client(g, socket)
	same := func() *snapshot.Snapshot {
		t.Helper()
		s := sourcetest.Snapshot(t, c)
		want := sourcetest.Snapshot(t, g)
		if diff := cmp.Diff(sourcetest.Contents(want), sourcetest.Contents(s)); diff != "" || s.Revision != want.Revision || s.Commit() != want.Commit() || s.Commit().Author == "" {
			t.Errorf("%s, want %s: %s", s.Revision, want.Revision, diff)
		}
		return s
	}
	first := same()
	if again := same(); again != first {
		t.Error("an unchanged repository has another snapshot")
	}
	r.Git("rm", "--quiet", "b/c.yaml")
	r.Commit(map[string]string{"a.yaml": "a: 2\n", "new.yaml": "n: 1\n"})
	second := same()
	for path, kept := range map[string]bool{"a.yaml": false, "large.yaml": true, "nowhere.yaml": true, "b/\xff.yaml": true} {
		if (first.File(path) == second.File(path)) != kept {
			t.Errorf("%q: kept %v, want %v", path, !kept, kept)
		}
	}
	stop()
	r.Commit(map[string]string{"a.yaml": "a: 3\n"})
	sourcetest.Check(t, g.Close())
	g = open(t, r.URL(), state)
	defer serve(t, g, socket)()
	if third := same(); third.File("empty.json") != second.File("empty.json") || third.File("a.yaml") == second.File("a.yaml") {
		t.Error("another process of Git has changed the unchanged files, or not the changed one")
	}
}

// G1: a folder that has too much is unknown on the other side of the socket, too, and not absent.
func TestFolderLeftOutIsUnknownToTheService(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"heavy/values.yaml": "a: 1\n", "light/values.yaml": "a: 1\n"})
	socket := filepath.Join(shortDir(t), "socket")
	g, err := git.New(git.Options{Location: r.URL(), StateDir: t.TempDir(), Limits: source.Limits{Files: 10}})
	sourcetest.Check(t, err)
	defer func() { _ = g.Close() }()
	defer serve(t, g, socket)()
	early := client(g, socket) // has the folder's files before
	sourcetest.Snapshot(t, early)
	files := map[string]string{"link": "-> heavy", "plain": "text", "none": "-> nothing", "folder.yaml/x.yaml": "a: 1\n"}
	for i := range 20 {
		files[fmt.Sprintf("heavy/%d.yaml", i)] = "a: 1\n"
	}
	r.Commit(files)
	for name, c := range map[string]*Client{"early": early, "late": client(g, socket)} {
		s, want := sourcetest.Snapshot(t, c), sourcetest.Snapshot(t, g)
		if diff := cmp.Diff(sourcetest.Contents(want), sourcetest.Contents(s)); diff != "" || len(want.BrokenFolders()) != 2 {
			t.Errorf("%s: %s", name, diff)
		}
		if len(s.Obstacles()) != 3 {
			t.Errorf("%s: obstacles %v", name, s.Obstacles())
		}
		for _, path := range []string{"heavy/values.yaml", "heavy/never/there.yaml", "link/0.yaml", "plain/values.yaml", "none/values.yaml", "folder.yaml"} {
			if f := s.File(path); f == nil || f.Err == nil {
				t.Errorf("%s: %s is %v", name, path, f)
			}
		}
		if f := s.File("light/values.yaml"); f == nil || f.Err != nil {
			t.Errorf("%s: light is %v", name, f)
		}
	}
}

// H10, W1: a path that is too long, of a file or by way of links, is not listed, and a link with a
// long target is a problem of few words. The commit is none that a Git process cannot have.
func TestLongNamesRefuseNobody(t *testing.T) {
	r := sourcetest.NewRepo(t)
	long := strings.Repeat("d", 200)
	folders := map[string]string{"light/values.yaml": "a: 1\n"}
	for i := range 12 { // each has a link to the next one
		folders[fmt.Sprintf("links/%s%d/link", long, i)] = fmt.Sprintf("-> ../%s%d", long, i+1)
	}
	folders["links/"+long+"12/values.yaml"] = "a: 2\n"
	folders["outside.yaml"] = "-> " + strings.Repeat("../", 1000) + "etc/passwd"
	start := r.Commit(folders)
	id := r.GitInput("x: 1\n", "hash-object", "-w", "--stdin")
	id = r.GitInput(fmt.Sprintf("100644 blob %s\ta.yaml\n", id), "mktree")
	for range 25 {
		id = r.GitInput(fmt.Sprintf("040000 tree %s\t%s\n", id, long), "mktree")
	}
	root := r.GitInput(r.Git("ls-tree", start)+fmt.Sprintf("\n040000 tree %s\tdeep\n", id), "mktree")
	r.Git("update-ref", "HEAD", r.Git("commit-tree", "-p", start, "-m", "deep", root))
	socket := filepath.Join(shortDir(t), "socket")
	g := open(t, r.URL(), t.TempDir())
	defer serve(t, g, socket)()
	s, want := sourcetest.Snapshot(t, client(g, socket)), sourcetest.Snapshot(t, g)
	if diff := cmp.Diff(sourcetest.Contents(want), sourcetest.Contents(s)); diff != "" || s.File("light/values.yaml") == nil {
		t.Error(diff)
	}
	for _, f := range want.FilesUnder("") {
		if len(f.Path) > snapshot.MaxPath || f.Err != nil && len(f.Err.Error()) > 300 {
			t.Errorf("%d bytes: %v", len(f.Path), f.Err)
		}
	}
	if f := want.File("links/" + long + "11/link/values.yaml"); f == nil || string(f.Data) != "a: 2\n" {
		t.Errorf("%+v", f)
	}
}

// G4: what is wrong with the repository is as with Git in one process, and its last good commit
// stays, or comes from the mirror after a restart of both.
func TestErrorsAreThoseOfOneProcess(t *testing.T) {
	r := sourcetest.NewRepo(t)
	good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	socket := filepath.Join(shortDir(t), "socket")
	g := open(t, r.URL(), t.TempDir())
	defer serve(t, g, socket)()
	c := client(g, socket)
	sourcetest.Snapshot(t, c)
	sourcetest.Check(t, os.Rename(r.Dir, r.Dir+"-away"))
	_, want := g.Snapshot(sourcetest.Context(t))
	for _, c := range []*Client{c, client(g, socket)} {
		s, err := c.Snapshot(sourcetest.Context(t))
		if s == nil || s.Revision != good || want == nil || !errors.Is(err, source.ReasonOf(want)) || err.Error() != want.Error() {
			t.Errorf("%v, %v; want %v", s, err, want)
		}
	}
}

// A service that is set to another repository or ref than Git's process is refused: it would serve
// one under the name of the other.
func TestAnotherRepositoryIsRefused(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	socket := filepath.Join(shortDir(t), "socket")
	g := open(t, r.URL(), t.TempDir())
	defer serve(t, g, socket)()
	for _, o := range []Options{{Name: `git "other"`, Ref: "main"}, {Name: g.String(), Ref: "next"}} {
		o.Socket, o.Interval = socket, time.Hour
		s, err := New(o).Snapshot(sourcetest.Context(t))
		if s != nil || !errors.Is(err, source.InvalidOptions) || !strings.Contains(err.Error(), `Git's process reads git "file://`) {
			t.Errorf("%v, %v", s, err)
		}
	}
	if _, err := Listen(t.Context(), socket); err == nil || !strings.Contains(err.Error(), "another process listens") {
		t.Errorf("a second process takes the socket: %v", err)
	}
}

// G4: a Git process that is killed, hangs or comes back changes nothing but the error.
func TestGitProcessGoesAndComesBack(t *testing.T) {
	r := sourcetest.NewRepo(t)
	good := r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	socket := filepath.Join(shortDir(t), "socket")
	g := open(t, r.URL(), t.TempDir())
	stop := serve(t, g, socket)
	c := client(g, socket)
	updates := sourcetest.Watch(t, c)
	next := func(revision, text string) {
		t.Helper()
		u := sourcetest.Next(t, updates)
		if u.Snapshot == nil || u.Snapshot.Revision != revision || !strings.Contains(sourcetest.ErrorText(u.Err), text) || (text == "") != (u.Err == nil) {
			t.Fatalf("%v, %v; want %s, %q", u.Snapshot, u.Err, revision, text)
		}
	}
	next(good, "")
	stop()
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n"})
	c.Refresh()
	next(good, "Git's own process is away; see the log of generator-plugin git")
	stop = serve(t, g, socket) // the client asks again by itself
	next(second, "")
	stop()

	l, err := Listen(t.Context(), socket) // accepts, and says nothing
	sourcetest.Check(t, err)
	defer func() { _ = l.Close() }()
	c = client(g, socket)
	c.silence = 50 * time.Millisecond
	if _, err := c.Snapshot(sourcetest.Context(t)); !errors.Is(err, source.GitAway) || !strings.Contains(err.Error(), "does not respond") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// hostile answers each client with the same bytes.
func hostile(t *testing.T, socket, response string) (stop func()) {
	t.Helper()
	l, err := Listen(t.Context(), socket)
	sourcetest.Check(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, maxLine))
			_, _ = io.WriteString(conn, response)
			_ = conn.Close()
		}
	}()
	return func() {
		_ = l.Close()
		<-done
	}
}

// H8, H10: whatever a Git process sends that has been taken over, the service takes a snapshot
// within its limits or nothing, and says why. Sizes are refused before memory is reserved.
func TestHostileResponsesAreRefused(t *testing.T) {
	const (
		commit = "0123456789012345678901234567890123456789"
		begin  = `{"start":{"revision":"` + commit + `"}}` + "\n"
		end    = `{"end":true}` + "\n"
		path   = `"path":"YS55YW1s"` // a.yaml
	)
	file := func(fields string) string { return `{"file":{` + fields + "}}\n" }
	named := func(base64 string) string { return begin + file(`"path":"`+base64+`","size":1`) + "x" + end }
	for name, c := range map[string]struct{ response, want string }{
		"no JSON":                {"GET / HTTP/1.1\r\n\r\n", "a line is no frame of protocol 2"},
		"unknown field":          {`{"run":["git","fetch"]}` + "\n", "a line is no frame of protocol 2"},
		"two frames":             {`{"busy":true}{"busy":true}` + "\n", "a line has more than one frame"},
		"endless line":           {strings.Repeat("x", 2*maxLine), "a line is longer than 131072 bytes"},
		"no start":               {file(path), "files without a beginning"},
		"empty start":            {`{"start":{}}` + "\n", "neither a snapshot nor an error"},
		"error without a reason": {`{"start":{"error":{"reason":"A b","detail":"x"}}}` + "\n", "an error without a reason"},
		"revision of any text":   {`{"start":{"revision":"main"}}` + "\n", "a revision that is no commit"},
		"unknown base":           {`{"start":{"revision":"` + commit + `","base":"` + commit + `"}}` + "\n", "the difference to a commit that the service does not have"},
		"files without revision": {`{"start":{"error":{"reason":"unreachable","detail":"x"}}}` + "\n" + file(path), "files without a revision"},
		"nothing in it":          {begin + end, "no file"},
		"size below zero":        {begin + file(path+`,"size":-1`), `"a.yaml" has -1 bytes; at most 1048576`},
		"size of the moon":       {begin + file(path+`,"size":9223372036854775807`), `"a.yaml" has 9223372036854775807 bytes; at most 1048576`},
		"folder without fault":   {begin + file(path+`,"folder":true`), `a folder without a fault: "a.yaml"`},
		"upwards":                {named("Li4vYS55YW1s"), `a path that no snapshot has: "../a.yaml"`},
		"absolute":               {named("L2EueWFtbA=="), `a path that no snapshot has: "/a.yaml"`},
		"not clean":              {named("Li9hLnlhbWw="), `a path that no snapshot has: "./a.yaml"`},
		"hidden":                 {named("Li5hLnlhbWw="), `a path that no snapshot has: "..a.yaml"`},
		"not of the resolver":    {named("YS50eHQ="), `a path that no snapshot has: "a.txt"`},
		"terminal":               {named("G1syShtbMUg="), `a path that no snapshot has: "\x1b[2J\x1b[1H"`},
		"removes the unknown":    {begin + `{"gone":"YS55YW1s"}` + "\n", "a file to remove that is not there"},
		"empty frame":            {begin + "{}\n", "a file to remove that is not there"},
		"fault with content":     {begin + file(path+`,"size":1,"fault":{"reason":"missing-file"}`), `a fault with content or without a reason: "a.yaml"`},
		"too many files":         {begin + file(path) + file(`"path":"Yi55YW1s"`) + file(`"path":"Yy55YW1s"`) + end, "more than 2 files"},
		"too many changes":       {begin + strings.Repeat(file(path), 5) + end, "more than 4 changes"},
		"too many bytes":         {begin + file(path+`,"size":5`) + "aaaaa" + file(path+`,"size":6`) + "aaaaab" + end, "more than 10 bytes of files"},
		"cut off":                {begin + file(path+`,"size":5`) + "aa", "is away"},
		"never ends":             {begin + file(path+`,"size":1`) + "x", "is away"},
		"texts for a terminal":   {`{"start":{"error":{"reason":"unreachable","detail":"\u001b[2Jx"}}}` + "\n" + end, `git "x": ?[2Jx`},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(shortDir(t), "socket")
			defer hostile(t, socket, c.response)()
			client := New(Options{Socket: socket, Name: `git "x"`, Ref: "main", Limits: source.Limits{Files: 2, Bytes: 10}})
			last := snapshot.New(strings.Repeat("a", 40), map[string]*snapshot.File{})
			if name != "unknown base" {
				client.last = last
			} else {
				last = nil
			}
			s, err := client.Snapshot(sourcetest.Context(t))
			if s != last || !strings.Contains(sourcetest.ErrorText(err), c.want) || strings.ContainsRune(sourcetest.ErrorText(err), '\x1b') {
				t.Errorf("%v, %v; want %q", s, err, c.want)
			}
		})
	}
}

// H10: what a Git process says of files beside their contents is bounded as well: names, and texts
// of faults, are the service's memory, and the reasons of errors are labels of a metric.
func TestHostileTextsAreBounded(t *testing.T) {
	const begin = `{"start":{"revision":"0123456789012345678901234567890123456789"}}` + "\n"
	hints := `"` + strings.Repeat("h", 1000) + `"` + strings.Repeat(`,"`+strings.Repeat("h", 1000)+`"`, maxHints-1)
	var faults, names strings.Builder
	for n := range 1000 {
		path := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }
		fmt.Fprintf(&faults, `{"file":{"path":%q,"fault":{"reason":"missing-file","hints":[%s]}}}`+"\n", path(fmt.Sprintf("%d.yaml", n)), hints)
		fmt.Fprintf(&names, `{"file":{"path":%q}}`+"\n", path(fmt.Sprintf("%d/%sx.yaml", n, strings.Repeat("folder/", 500))))
	}
	failed := func(reason string) string {
		return `{"start":{"error":{"reason":"` + reason + `","detail":"x"}}}` + "\n" + `{"end":true}` + "\n"
	}
	for name, c := range map[string]struct{ response, want string }{
		"faults":             {begin + faults.String() + `{"end":true}` + "\n", "bytes of names and faults"},
		"names":              {begin + names.String() + `{"end":true}` + "\n", "a path that no snapshot has"},
		"reason of a fault":  {begin + `{"file":{"path":"YS55YW1s","fault":{"reason":"` + strings.Repeat("x", 1000) + `"}}}` + "\n", "a fault with content or without a reason"},
		"reason of an error": {failed("no-such-reason"), "an error without a reason"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Name: "x", Limits: source.Limits{Files: 1000}}).read(strings.NewReader(c.response))
			if s != nil || !strings.Contains(sourcetest.ErrorText(err), c.want) {
				t.Errorf("%v, %v; want %q", s, err, c.want)
			}
		})
	}
}

// A wrong tree is all that a Git process can serve that has been taken over: the service takes it
// for a commit like any other, under digests of its own.
func TestWrongTreeIsATree(t *testing.T) {
	socket := filepath.Join(shortDir(t), "socket")
	defer hostile(t, socket, `{"busy":true}`+"\n"+`{"start":{"revision":"0123456789012345678901234567890123456789"}}`+"\n"+
		`{"file":{"path":"YS55YW1s","size":4}}`+"\n"+"a: 1"+`{"file":{"path":"Yi55YW1s","fault":{"reason":"missing-file","found":"\u001b[2J"}}}`+"\n"+`{"end":true}`+"\n")()
	s := sourcetest.Snapshot(t, New(Options{Socket: socket, Name: `git "x"`, Ref: "main"}))
	want := map[string]string{"a.yaml": "a: 1", "b.yaml": "error: b.yaml: ?[2J"}
	if diff := cmp.Diff(want, sourcetest.Contents(s)); diff != "" || s.File("a.yaml").Digest != snapshot.NewFile("a.yaml", []byte("a: 1"), 9).Digest {
		t.Error(diff)
	}
}

// FuzzResponse sends anything: the client never panics, and never takes more than its limits.
func FuzzResponse(f *testing.F) {
	f.Add(`{"start":{"revision":"0123456789012345678901234567890123456789"}}` + "\n" + `{"file":{"path":"YS55YW1s","size":4}}` + "\n" + "a: 1" + `{"end":true}` + "\n")
	f.Add(`{"start":{"error":{"reason":"unreachable","detail":"x"}}}` + "\n" + `{"end":true}` + "\n")
	f.Fuzz(func(t *testing.T, response string) {
		c := New(Options{Name: "x", Limits: source.Limits{Files: 3, Bytes: 100, FileSize: 50}})
		s, err := c.read(strings.NewReader(response))
		if err == nil && s != nil && (s.Len() == 0 || s.Len() > 3) {
			t.Errorf("%d files", s.Len())
		}
		for _, p := range s.Paths() {
			if clean, err := snapshot.CleanPath(p); err != nil || clean != p || len(s.File(p).Data) > 50 {
				t.Errorf("%q", p)
			}
		}
	})
}

// exhausted is a listener that finds no file descriptor left, once.
type exhausted struct {
	net.Listener
	was atomic.Bool
}

func (l *exhausted) Accept() (net.Conn, error) {
	if l.was.CompareAndSwap(false, true) {
		return nil, syscall.EMFILE
	}
	return l.Listener.Accept()
}

// A connection that cannot be accepted does not end Git's process.
func TestServerOutlivesAFailedAccept(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g, socket := open(t, r.URL(), t.TempDir()), filepath.Join(shortDir(t), "socket")
	l, err := Listen(t.Context(), socket)
	sourcetest.Check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- (&Server{Source: g, Ref: "main", Log: slog.New(slog.DiscardHandler)}).Serve(ctx, &exhausted{Listener: l})
	}()
	sourcetest.Snapshot(t, client(g, socket))
	cancel()
	sourcetest.Check(t, <-done)
}
