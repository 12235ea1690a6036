package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/githubapp"
)

const (
	defaultRef      = "main"
	defaultInterval = time.Minute
	defaultTimeout  = 2 * time.Minute
	// fetchTimes is how many times as long as another conversation a fetch may take.
	fetchTimes = 5
	// maxMemory bounds the memory that a git process allocates. Of two similar blobs of 500 MB a
	// server sends 1 MB, and git needs both at once.
	maxMemory = 384 << 20
	// maxFetch bounds one fetch on disk, also of files that are not read.
	maxFetch = 1 << 30
	// maxIndex bounds what git writes beside files: folders and indexes.
	maxIndex = 64 << 20
)

// Repository is a repository that the git command reads from a server into a mirror on disk.
//
// The mirror holds one commit's files and no history: each fetch is shallow, and one pack. Only the
// next fetch needs it: what is served is in memory, and a restart begins with the service's store.
type Repository struct {
	source.Watcher
	name        string
	address     address
	ref         string
	userConfig  bool   // git also uses the configuration of user and system
	signers     string // file of allowed signers, "" for any commit
	offline     bool   // no server is asked
	maxFetch    int64  // bytes of each file that git writes, which a fetch is; 0 for any number
	maxMemory   int64  // bytes of memory of a git process, 0 for any number
	credentials credentials
	app         *githubapp.App // nil without one
	limits      source.Limits
	timeout     time.Duration
	program     string
	temporary   bool
	base        string // <state>/git-<digest of the address>: the mirror, git's configuration and the lock
	mirror      string
	env         []string
	fetched     string // the mirror's ref for what came from the server

	slot chan struct{} // held while the repository is polled

	// The rest belongs to the holder of slot.
	lock    *os.File
	last    *snapshot.Snapshot
	object  string                    // the id of last's commit, or of its tag
	blobs   map[string]*snapshot.File // blob id to a file with that content, of the last snapshot
	targets map[string]string         // blob id of a link to its target, of the last snapshot
	reads   int                       // blobs read so far; for tests
	fresh   bool                      // this poll has fetched
	turns   chan struct{}             // as in Options
	refused struct {                  // the target that is beyond a limit, and when that was found
		id  string
		err error
		at  time.Time
	}
}

// New makes a source of a Git repository. The server need not be reachable yet. Without a git
// command, every poll fails with the reason git-missing.
func New(o Options) (*Repository, error) { return newRepository(o, false) }

// newRepository does what New does. With userConfig, git also reads the configuration of user and
// system.
func newRepository(o Options, userConfig bool) (*Repository, error) {
	a, ref, err := o.parse()
	if err != nil {
		return nil, err
	}
	g := &Repository{
		Watcher: source.NewWatcher(cmp.Or(o.Interval, defaultInterval), true),
		name:    nameOf(a),
		address: a, ref: ref, userConfig: userConfig, limits: o.Limits.WithDefaults(),
		timeout: cmp.Or(o.Timeout, defaultTimeout), program: "git",
		fetched: "refs/argosy/fetched/" + digest(ref), slot: make(chan struct{}, 1), turns: o.Turns, maxMemory: maxMemory,
	}
	g.maxFetch = min(8*g.limits.Bytes+maxIndex, maxFetch)
	invalid := func(detail, hint string) (*Repository, error) {
		return nil, &source.Error{Reason: source.InvalidOptions, Source: g.name, Detail: detail, Hint: hint}
	}
	if o.Interval < 0 || o.Timeout < 0 {
		return invalid("negative interval or timeout", "")
	}
	if g.credentials, err = findCredentials(o.Credentials); err != nil {
		return invalid("the credentials folder cannot be read", "")
	}
	if wrong := g.credentials.check(a); wrong != "" {
		return invalid(wrong, "put username and password, a GitHub App's keys, or identity and known_hosts there")
	}
	if g.credentials.app && !g.credentials.password && a.scope != "" {
		_, host, _ := strings.Cut(a.scope, "://")
		g.app = githubapp.New(g.credentials.dir, host)
	}
	if o.Signers != "" {
		if g.signers, err = filepath.Abs(o.Signers); err == nil {
			_, err = os.Stat(g.signers)
		}
		if err != nil {
			return invalid("the file of allowed signers cannot be read: "+source.FileError("", o.Signers, err).Detail, "")
		}
	}
	if err := g.prepare(o.StateDir); err != nil {
		return nil, err
	}
	return g, nil
}

// prepare prepares the state directory, except for the mirror itself.
func (r *Repository) prepare(state string) error {
	var err error
	unusable := func(err error) error {
		folder, why := cmp.Or(state, os.TempDir()), source.FileError("", "", err).Detail
		return &source.Error{
			Reason: source.InvalidOptions, Source: r.name, Detail: fmt.Sprintf("the state directory %q cannot be used: %s", folder, why),
			Hint: "make room in it and let this process write to it, or name another one", Err: err,
		}
	}
	if state == "" {
		r.temporary = true
		state, err = os.MkdirTemp("", "argosy-git-")
	} else {
		state, err = filepath.Abs(state)
	}
	if err != nil {
		return unusable(err)
	}
	r.base = filepath.Join(state, "git-"+digest(r.address.url))
	r.mirror = filepath.Join(r.base, "mirror.git")
	if err := os.MkdirAll(r.base, 0o700); err != nil {
		return unusable(err)
	}
	config := filepath.Join(r.base, "gitconfig")
	folders := []string{r.mirror}
	if local, ok := strings.CutPrefix(r.address.url, "file://"); ok || filepath.IsAbs(local) {
		folders = append(folders, local, filepath.Join(local, ".git"))
	}
	want := gitConfig(r.address, r.credentials, r.userConfig, folders...)
	if have, err := os.ReadFile(config); err != nil || !bytes.Equal(have, want) { // a restart needs no room on the disk
		if err := disk.Write(config, ".new-", want); err != nil {
			return unusable(err)
		}
	}
	if r.lock, err = os.OpenFile(filepath.Join(r.base, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return unusable(err)
	}
	r.env = gitEnv(r.base, config, r.address, r.credentials, r.userConfig)
	return nil
}

// String returns `git "url"`, without credentials.
func (r *Repository) String() string { return r.name }

// Close removes the mirror if it is temporary.
func (r *Repository) Close() error {
	r.slot <- struct{}{}
	defer func() { <-r.slot }()
	err := r.lock.Close()
	if r.temporary {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(r.base)))
	}
	return err
}

// Watch asks the server at each interval.
func (r *Repository) Watch(ctx context.Context, update func(*snapshot.Snapshot, error)) {
	r.Poll(ctx, r.Snapshot, update)
}

// Snapshot asks the server for the ref's target, and fetches it if it is new. If that fails, it
// returns the last snapshot next to the error.
func (r *Repository) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	select {
	case r.slot <- struct{}{}:
		defer func() { <-r.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := r.lockMirror(ctx); err != nil {
		return r.last, err
	}
	defer r.unlockMirror()

	r.fresh = false
	s, err := r.poll(ctx)
	if err == nil {
		r.last = s
	}
	if r.fresh && r.maxFetch > 0 && sizeBelow(r.mirror) > r.maxFetch {
		r.collect(ctx)
	}
	if r.app != nil && errors.Is(err, source.Authentication) {
		r.app.Forget()
	}
	return r.last, err
}

// poll polls the repository.
func (r *Repository) poll(ctx context.Context) (s *snapshot.Snapshot, err error) {
	if r.app != nil {
		if err := r.app.Renew(ctx); ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", r.name, ctx.Err())
		} else if err != nil {
			return nil, &source.Error{Reason: source.Authentication, Source: r.name, Detail: err.Error(), Hint: "check the GitHub App's files in the credentials folder"}
		}
	}
	t, err := r.resolve(ctx)
	switch {
	case err != nil:
		return nil, err
	case r.last != nil && t.id == r.object:
		return r.last, nil
	}
	err = r.onMirror(ctx, func() error {
		s, t, err = r.snapshotOf(ctx, t)
		return err
	})
	if err == nil {
		r.object = t.id
	} else if ctx.Err() != nil {
		err = fmt.Errorf("%s: %w", r.name, ctx.Err())
	}
	return s, err
}

// onMirror runs a function that fetches and reads, and again with a new mirror if the first one is
// damaged.
func (r *Repository) onMirror(ctx context.Context, f func() error) error {
	err := f()
	if errors.Is(err, errCorrupt) && !r.offline && ctx.Err() == nil {
		if err = os.RemoveAll(r.mirror); err != nil {
			return source.FileError(r.name, "", err)
		}
		err = f()
	}
	if errors.Is(err, errCorrupt) {
		return &source.Error{Reason: source.GitFailed, Source: r.name, Detail: r.clean(err.Error())}
	}
	return err
}

// collect removes from the mirror what only earlier refs and fetches needed. By itself, git keeps
// for an hour what no ref has, and for good what a gc that was killed has written.
func (r *Repository) collect(ctx context.Context) {
	names, err := r.output(ctx, maxRefs, "--git-dir="+r.mirror, "for-each-ref", "--format=delete %(refname)", "refs/argosy")
	if err != nil {
		return
	}
	gone := strings.Replace(names, "delete "+r.fetched+"\n", "", 1)
	_ = r.run(ctx, command{args: []string{"--git-dir=" + r.mirror, "update-ref", "--stdin"}, stdin: strings.NewReader(gone)})
	if r.local(ctx, "gc", "--quiet", "--prune=now") != nil {
		r.removeTemporary()
	}
}

// sizeBelow returns the bytes of the files in a folder. A file that vanishes meanwhile counts as
// empty.
func sizeBelow(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}

// removeTemporary removes the files of a fetch that was ended: each further one would add more. It
// returns the size of the largest one.
func (r *Repository) removeTemporary() (largest int64) {
	for _, pattern := range []string{"pack/tmp_*", "pack/.tmp-*", "tmp_objdir-*", "incoming-*"} {
		left, _ := filepath.Glob(filepath.Join(r.mirror, "objects", pattern))
		for _, path := range left {
			largest = max(largest, sizeBelow(path))
			_ = os.RemoveAll(path)
		}
	}
	return largest
}

// snapshotOf makes the snapshot of a target, fetching it unless the mirror has it.
func (r *Repository) snapshotOf(ctx context.Context, t target) (*snapshot.Snapshot, target, error) {
	t, err := r.ensureCommit(ctx, t)
	if err != nil {
		return nil, t, err
	}
	s, err := r.load(ctx, t)
	r.refuse(t.id, err)
	return s, t, err
}

// refusedFor is how long a target beyond a limit is not tried again.
const refusedFor = time.Hour

// refuse remembers a target that is beyond a limit: until the ref points to another one, polls of
// the next hour neither fetch nor list it.
func (r *Repository) refuse(id string, err error) {
	if errors.Is(err, source.LimitExceeded) {
		r.refused.id, r.refused.err, r.refused.at = id, err, time.Now()
	}
}

// ensureCommit sets a target's commit, and fetches it unless the mirror has it.
func (r *Repository) ensureCommit(ctx context.Context, t target) (target, error) {
	if t.id == r.refused.id && time.Since(r.refused.at) < refusedFor {
		return t, r.refused.err
	}
	if err := r.ensureMirror(ctx); err != nil {
		return t, err
	}
	if t.commit = r.commit(ctx, t.id); t.commit != "" {
		return t, nil
	}
	fetched, err := r.fetch(ctx, t)
	r.refuse(t.id, err)
	return fetched, err
}

// ensureMirror makes an empty mirror unless there is one.
func (r *Repository) ensureMirror(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(r.mirror, "HEAD")); err == nil {
		return nil
	}
	if err := os.RemoveAll(r.mirror); err != nil {
		return source.FileError(r.name, "", err)
	}
	_, err := r.output(ctx, 1<<10, "init", "--quiet", "--bare", "--template=", r.mirror)
	var exit *gitExit
	if errors.As(err, &exit) {
		return &source.Error{Reason: source.GitFailed, Source: r.name, Detail: r.clean(exit.message)}
	}
	return err
}

// local runs a git command on the mirror.
func (r *Repository) local(ctx context.Context, args ...string) error {
	_, err := r.output(ctx, 1<<20, append([]string{"--git-dir=" + r.mirror}, args...)...)
	return localError(err)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
