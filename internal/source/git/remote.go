package git

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// Limits of remote repositories: bytes of a fetch, of a part and of a file, and the time of a
// conversation.
const (
	maxRemoteFetch = 512 << 20
	maxRemotePart  = 100 << 20
	maxRemoteFile  = 16 << 20
	remoteTimeout  = 30 * time.Second
)

// Remote is a revision of a remote repository, from which charts and manifests are read by folders.
// Its mirror stays on disk. Git uses the configuration of the user and of the system, with its
// credential helpers.
type Remote struct {
	repository *Repository
	revision   string
	commit     string // once it has been found
}

// NewRemote makes a Remote. revision is what Argo CD takes: a branch, a tag, a commit id, a range
// of versions (the highest such tag), or nothing for HEAD. dir is the folder of mirrors. With
// offline, only the mirror is read, and no server is contacted. Git uses https and ssh; insecure
// also allows http, git and file.
func NewRemote(location, revision, dir string, offline, insecure bool) (*Remote, error) {
	o := &Remote{revision: cmp.Or(revision, "HEAD")}
	ref := o.revision
	if rangeOf(ref) != nil && !validRef(ref) {
		ref = "HEAD" // until the tag is known
	}
	g, err := newRepository(Options{
		Location: location, Ref: ref, StateDir: dir, Timeout: remoteTimeout,
		Limits: source.Limits{FileSize: maxRemoteFile, Bytes: maxRemotePart},
	}, true)
	if err != nil {
		return nil, err
	}
	protocols := "https:ssh"
	if insecure {
		protocols += ":http:git:file"
	}
	g.env = append(g.env, "GIT_ALLOW_PROTOCOL="+protocols)
	g.maxFetch, g.offline = maxRemoteFetch, offline
	g.fetched = "refs/argosy/fetched/" + digest(o.revision)
	o.repository = g
	return o, nil
}

// String returns `git "url"`, without credentials.
func (r *Remote) String() string { return r.repository.name }

// Close releases the lock of the mirror, which stays on disk.
func (r *Remote) Close() error { return r.repository.Close() }

// Part returns the files at a path and below: a folder's files of any name, or one file. It returns
// the error Empty if there are none. All parts are from the commit of the first call.
func (r *Remote) Part(ctx context.Context, at string) (s *snapshot.Snapshot, err error) {
	g := r.repository
	select {
	case g.slot <- struct{}{}:
		defer func() { <-g.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := g.lockMirror(ctx); err != nil {
		return nil, err
	}
	defer g.unlockMirror()
	g.fresh = false
	now := time.Now()
	_ = os.Chtimes(g.lock.Name(), now, now) // the removal of old mirrors uses this time of their last use
	err = g.onMirror(ctx, func() error {
		s, err = r.part(ctx, at)
		return err
	})
	return s, err
}

func (r *Remote) part(ctx context.Context, at string) (*snapshot.Snapshot, error) {
	if err := r.resolve(ctx); err != nil {
		return nil, err
	}
	t, err := r.repository.tree(ctx, r.commit)
	if err != nil {
		return nil, err
	}
	files, broken, err := t.Part(at)
	switch {
	case err != nil:
		return nil, err
	case len(files)+len(broken) == 0:
		return nil, &source.Error{Reason: source.Empty, Source: r.repository.name, Detail: fmt.Sprintf("path %q is not there at revision %s (%.7s)", at, r.revision, r.commit), Hint: t.Nearest(at)}
	}
	if err := t.CheckBytes(files); err != nil {
		return nil, err
	}
	return r.repository.read(ctx, r.commit, t, files, broken)
}

// resolve finds the commit and fetches it into the mirror.
func (r *Remote) resolve(ctx context.Context) error {
	g := r.repository
	if g.offline {
		r.commit = g.commit(ctx, g.fetched)
		if r.commit == "" && len(r.revision) >= 40 && hexID.MatchString(r.revision) {
			r.commit = g.commit(ctx, r.revision) // fetched by another name
		}
		if r.commit == "" {
			return &source.Error{Reason: source.UnknownRef, Source: g.name, Detail: fmt.Sprintf("revision %q is not in the mirror", r.revision)}
		}
		return nil
	}
	t := target{id: r.commit}
	if r.commit == "" {
		var err error
		if t, err = r.target(ctx); err != nil {
			return err
		}
	}
	t, err := g.ensureCommit(ctx, t)
	if err != nil {
		return err
	}
	r.commit = t.commit
	return g.local(ctx, "update-ref", g.fetched, t.commit)
}

// target asks the server for the commit of the revision.
func (r *Remote) target(ctx context.Context) (target, error) {
	g := r.repository
	if within := rangeOf(r.revision); within != nil {
		refs, err := g.listRefs(ctx, "refs/tags/*")
		if err != nil {
			return target{}, err
		}
		tag := highestTag(refs, within)
		switch {
		case tag != "":
			return target{id: refs[tag], remote: tag}, nil
		case !validRef(r.revision): // else a branch may have that name
			return target{}, &source.Error{Reason: source.UnknownRef, Source: g.name, Detail: fmt.Sprintf("no tag is a version of %q", r.revision)}
		}
	}
	return g.resolve(ctx)
}

// rangeOf returns a revision as a range of versions, nil if it is not one. (argo-cd v2.14,
// util/git/client.go, resolveSemverRevision)
func rangeOf(revision string) *semver.Constraints {
	if _, err := semver.NewVersion(revision); err == nil {
		return nil
	}
	within, err := semver.NewConstraint(revision)
	if err != nil {
		return nil
	}
	return within
}

// highestTag returns the tag of the highest version in a range, "" if there is none.
func highestTag(refs map[string]string, within *semver.Constraints) string {
	best, found := "", (*semver.Version)(nil)
	for name := range refs {
		v, err := semver.NewVersion(strings.TrimPrefix(name, "refs/tags/"))
		if err != nil || !within.Check(v) {
			continue
		}
		if found == nil || v.GreaterThan(found) || v.Equal(found) && name < best {
			best, found = name, v
		}
	}
	return best
}
