package source

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/argosy-hub/argosy/internal/atomicfile"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

const (
	defaultRef      = "main"
	defaultInterval = time.Minute
	defaultTimeout  = 2 * time.Minute
	// fetchTimes is how many times as long as another conversation a fetch may take.
	fetchTimes = 5
	// localTimeout bounds reading the mirror when the caller's time has been used up by the server.
	localTimeout = 20 * time.Second
)

// Git is a repository that is reached by the git command, mirrored on disk.
//
// The mirror holds one commit's files and no history: each fetch is shallow. Two refs in it tell how far it got:
// refs/argosy/fetched/<ref> came from the server, refs/argosy/good/<ref> has also been read completely, and is what a
// restart begins with while the server is away.
type Git struct {
	watcher
	name        string
	address     address
	ref         string
	users       bool  // git has the configuration of user and system, too
	maxFetch    int64 // bytes of one fetch, 0 for any number
	credentials credentials
	limits      Limits
	timeout     time.Duration
	program     string
	temporary   bool
	base        string // <state>/git-<digest of the address>: the mirror, git's configuration and the lock
	mirror      string
	env         []string
	fetched     string // refs of the mirror
	good        string

	turn   chan struct{} // held by whoever looks at the repository
	latest atomic.Pointer[snapshot.Snapshot]

	// The rest belongs to the holder of turn.
	lock    *os.File
	last    *snapshot.Snapshot
	pinned  string                    // the commit, once a ref has turned out to be a commit id
	ids     map[string]string         // path to blob id, of the last snapshot
	blobs   map[string]*snapshot.File // blob id to a file with that content, of the last snapshot
	targets map[string]string         // blob id of a link to its target, of the last snapshot
	reads   int                       // blobs read so far; for tests
}

// NewGit makes a source of a Git repository. The server need not be reachable yet; the git command need not be
// there either, but then every look says so.
func NewGit(o Options) (*Git, error) { return newGit(o, false) }

// newGit is NewGit, and with users with the configuration of user and system.
func newGit(o Options, users bool) (*Git, error) {
	a, wrong := parseAddress(o.Location)
	ref := cmp.Or(o.Ref, defaultRef)
	g := &Git{
		watcher: newWatcher(cmp.Or(o.Interval, defaultInterval), true),
		name:    fmt.Sprintf("git %q", a.display),
		address: a, ref: ref, users: users, limits: o.Limits.withDefaults(),
		timeout: cmp.Or(o.Timeout, defaultTimeout), program: "git",
		fetched: "refs/argosy/fetched/" + digest(ref), good: "refs/argosy/good/" + digest(ref),
		turn: make(chan struct{}, 1),
	}
	invalid := func(detail, hint string) (*Git, error) {
		return nil, &Error{Reason: InvalidOptions, Source: g.name, Detail: detail, Hint: hint}
	}
	if wrong != "" {
		hint := ""
		if a.url != "" {
			hint = "credentials belong into the credentials folder"
		}
		return invalid(wrong, hint)
	}
	if !validRef(ref) {
		return invalid(fmt.Sprintf("ref %q is no valid name", ref), "give a branch, a tag or a commit id")
	}
	if o.Interval < 0 || o.Timeout < 0 {
		return invalid("negative interval or timeout", "")
	}
	var err error
	if g.credentials, err = findCredentials(o.Credentials); err != nil {
		return invalid("the credentials folder cannot be read", "")
	}
	if wrong := g.credentials.check(a); wrong != "" {
		return invalid(wrong, "put username and password, or identity and known_hosts there")
	}
	if err := g.prepare(o.StateDir); err != nil {
		return nil, err
	}
	return g, nil
}

// prepare makes the state directory ready: all but the mirror itself.
func (g *Git) prepare(state string) error {
	var err error
	unusable := func(err error) error {
		return &Error{Reason: InvalidOptions, Source: g.name, Detail: "the state directory cannot be used: " + fsError("", "", err).Detail, err: err}
	}
	if state == "" {
		g.temporary = true
		state, err = os.MkdirTemp("", "argosy-git-")
	} else {
		state, err = filepath.Abs(state)
	}
	if err != nil {
		return unusable(err)
	}
	g.base = filepath.Join(state, "git-"+digest(g.address.url))
	g.mirror = filepath.Join(g.base, "mirror.git")
	if err := os.MkdirAll(g.base, 0o700); err != nil {
		return unusable(err)
	}
	config := filepath.Join(g.base, "gitconfig")
	want := gitConfig(g.address, g.credentials, g.users)
	if have, err := os.ReadFile(config); err != nil || !bytes.Equal(have, want) {
		if err := atomicfile.Write(config, ".new-", want); err != nil {
			return unusable(err)
		}
	}
	if g.lock, err = os.OpenFile(filepath.Join(g.base, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return unusable(err)
	}
	g.env = gitEnv(g.base, config, g.address, g.credentials, g.users)
	return nil
}

// String is `git "url"`, without credentials.
func (g *Git) String() string { return g.name }

// Close removes the mirror if it is temporary.
func (g *Git) Close() error {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	err := g.lock.Close()
	if g.temporary {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(g.base)))
	}
	return err
}

// Watch asks the server at each interval.
func (g *Git) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	g.watch(ctx, g.Snapshot, update)
}

// Snapshot asks the server where the ref is now, and fetches what is new. When that fails, the snapshot beside the
// error is the last one, or after a start the last one of the process before.
func (g *Git) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return g.latest.Load(), ctx.Err()
	}
	defer func() { g.latest.Store(g.last) }()
	if err := g.exclude(ctx); err != nil {
		return g.last, err
	}
	defer g.admit()

	s, err := g.look(ctx)
	if err == nil {
		g.last = s
		return s, nil
	}
	if g.last == nil && !errors.Is(ctx.Err(), context.Canceled) {
		g.last = g.remembered(ctx)
	}
	return g.last, err
}

// remembered is the snapshot of the commit that was good last, nil if there is none.
func (g *Git) remembered(ctx context.Context) *snapshot.Snapshot {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), localTimeout)
	defer cancel()
	commit := g.commit(ctx, g.good)
	if commit == "" {
		return nil
	}
	s, err := g.load(ctx, commit)
	if err != nil {
		return nil
	}
	return s
}

// look is one look at the repository, with a second try on a new mirror if the mirror is damaged.
func (g *Git) look(ctx context.Context) (*snapshot.Snapshot, error) {
	target, err := g.find(ctx)
	if err != nil {
		return nil, err
	}
	s, commit, err := g.obtain(ctx, target)
	if errors.Is(err, errCorrupt) && ctx.Err() == nil {
		if err = os.RemoveAll(g.mirror); err == nil {
			s, commit, err = g.obtain(ctx, target)
		}
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, fmt.Errorf("%s: %w", g.name, ctx.Err())
	case errors.Is(err, errCorrupt):
		return nil, &Error{Reason: GitFailed, Source: g.name, Detail: g.clean(err.Error())}
	case err != nil:
		return nil, err
	}
	if s != g.last {
		_ = g.local(ctx, "update-ref", g.good, commit) // what a restart begins with is not worth an error now
	}
	return s, nil
}

// obtain makes the snapshot of a target, fetching it unless the mirror has it.
func (g *Git) obtain(ctx context.Context, t target) (*snapshot.Snapshot, string, error) {
	commit, err := g.have(ctx, t)
	if err != nil {
		return nil, "", err
	}
	if t.byID {
		g.pinned = commit
	}
	s, err := g.load(ctx, commit)
	return s, commit, err
}

// have is the commit of a target, fetched unless the mirror has it.
func (g *Git) have(ctx context.Context, t target) (string, error) {
	if err := g.ensureMirror(ctx); err != nil {
		return "", err
	}
	if commit := g.commit(ctx, t.id); commit != "" {
		return commit, nil
	}
	return g.fetch(ctx, t)
}

// ensureMirror makes an empty mirror unless there is one.
func (g *Git) ensureMirror(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(g.mirror, "HEAD")); err == nil {
		return nil
	}
	if err := os.RemoveAll(g.mirror); err != nil {
		return fsError(g.name, "", err)
	}
	_, err := g.output(ctx, 1<<10, "init", "--quiet", "--bare", "--template=", g.mirror)
	var exit *gitExit
	if errors.As(err, &exit) {
		return &Error{Reason: GitFailed, Source: g.name, Detail: g.clean(exit.message)}
	}
	return err
}

// local runs a command on the mirror.
func (g *Git) local(ctx context.Context, args ...string) error {
	_, err := g.output(ctx, 1<<20, append([]string{"--git-dir=" + g.mirror}, args...)...)
	return localError(err)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
