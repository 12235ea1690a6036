package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// The limits of what is read of other repositories: of a fetch, of a part and of a file, in bytes; of a part's files; and
// how long a conversation takes.
const (
	maxOtherFetch = 512 << 20
	maxOtherPart  = 100 << 20
	maxOtherFile  = 16 << 20
	maxOtherFiles = 20_000
	otherTimeout  = 30 * time.Second
	growthLooks   = 100 * time.Millisecond // between two looks at how large a mirror has become
)

// Other is a revision of a Git repository that is not the fleet's: charts and manifests are read from it, by folders. Its
// mirror is kept, and git has the configuration of the user and of the system, with its credential helpers (rule 11).
type Other struct {
	g        *Git
	revision string
	offline  bool
	commit   string // once it has been found
}

// NewOther makes one. Revision is what Argo CD takes: a branch, a tag, a commit id, a range of versions, which is the
// highest such tag, or nothing for HEAD. Dir is where mirrors are kept. Offline reads what the mirror has, and asks nobody.
func NewOther(location, revision, dir string, offline bool) (*Other, error) {
	o := &Other{revision: cmp.Or(revision, "HEAD"), offline: offline}
	ref := o.revision
	if rangeOf(ref) != nil && !validRef(ref) {
		ref = "HEAD" // until the tag is known
	}
	g, err := newGit(Options{
		Location: location, Ref: ref, StateDir: dir, Timeout: otherTimeout,
		Limits: Limits{FileSize: maxOtherFile, Files: maxOtherFiles, Bytes: maxOtherPart},
	}, true)
	if err != nil {
		return nil, err
	}
	g.maxFetch = maxOtherFetch
	g.fetched, g.good = "refs/argosy/fetched/"+digest(o.revision), "refs/argosy/good/"+digest(o.revision)
	o.g = g
	return o, nil
}

// String is `git "url"`, without credentials.
func (o *Other) String() string { return o.g.name }

// Close gives back what it holds. The mirror stays.
func (o *Other) Close() error { return o.g.Close() }

// Part is what is at a path and below: a folder's files, whatever their names, or a file. Nothing there is the error Empty.
// All parts are of the commit that the revision was at the first time.
func (o *Other) Part(ctx context.Context, at string) (*snapshot.Snapshot, error) {
	g := o.g
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := g.exclude(ctx); err != nil {
		return nil, err
	}
	defer g.admit()
	now := time.Now()
	_ = os.Chtimes(g.lock.Name(), now, now) // whoever clears mirrors away asks when they were used
	s, err := o.part(ctx, at)
	if errors.Is(err, errCorrupt) && !o.offline && ctx.Err() == nil {
		if err = os.RemoveAll(g.mirror); err == nil {
			s, err = o.part(ctx, at)
		}
	}
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, errCorrupt):
		return nil, &Error{Reason: GitFailed, Source: g.name, Detail: g.clean(err.Error())}
	}
	return nil, err
}

func (o *Other) part(ctx context.Context, at string) (*snapshot.Snapshot, error) {
	if err := o.find(ctx); err != nil {
		return nil, err
	}
	t, err := o.g.tree(ctx, o.commit)
	if err != nil {
		return nil, err
	}
	files, broken, err := t.part(at)
	switch {
	case err != nil:
		return nil, err
	case len(files)+len(broken) == 0:
		return nil, &Error{Reason: Empty, Source: o.g.name, Detail: fmt.Sprintf("path %q is not there at revision %s (%.7s)", at, o.revision, o.commit), Hint: t.nearest(at)}
	}
	return o.g.read(ctx, o.commit, files, broken)
}

// find finds the commit, and has it in the mirror.
func (o *Other) find(ctx context.Context) error {
	g := o.g
	if o.offline {
		o.commit = g.commit(ctx, g.good)
		if o.commit == "" && len(o.revision) >= 40 && hexID.MatchString(o.revision) {
			o.commit = g.commit(ctx, o.revision) // fetched as something else
		}
		if o.commit == "" {
			return &Error{Reason: UnknownRef, Source: g.name, Detail: fmt.Sprintf("revision %q is not in the mirror", o.revision)}
		}
		return nil
	}
	t := target{id: o.commit, byID: true}
	if o.commit == "" {
		var err error
		if t, err = o.target(ctx); err != nil {
			return err
		}
	}
	commit, err := g.have(ctx, t)
	if err != nil {
		return err
	}
	o.commit = commit
	return g.local(ctx, "update-ref", g.good, commit)
}

// target asks the server what the revision stands for.
func (o *Other) target(ctx context.Context) (target, error) {
	g := o.g
	if within := rangeOf(o.revision); within != nil {
		refs, err := g.listRefs(ctx, "refs/tags/*")
		if err != nil {
			return target{}, err
		}
		tag := highestTag(refs, within)
		switch {
		case tag != "":
			return target{id: cmp.Or(refs[tag+"^{}"], refs[tag]), remote: tag}, nil
		case !validRef(o.revision): // else a branch may be called that
			return target{}, &Error{Reason: UnknownRef, Source: g.name, Detail: fmt.Sprintf("no tag is a version of %q", o.revision)}
		}
	}
	return g.find(ctx)
}

// rangeOf is a revision as a range of versions, nil if it is none. (argo-cd v2.14, util/git/client.go, resolveSemverRevision)
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

// highestTag is the tag of the highest version of a range, "" if there is none.
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

// part is what stands at a path and below, with its links followed: of whatever name, unless it is too large and of a name
// that nobody asks for.
func (t *tree) part(at string) (files []placed, broken []*snapshot.File, err error) {
	within := func(p string) bool { return at == "." || p == at || strings.HasPrefix(p, at+"/") }
	limits := t.limits
	t.limits.all, t.limits.Files = true, limits.entries()
	all, links, err := t.place()
	t.limits = limits
	if err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if within(f.path) && (f.node.size <= limits.FileSize || Limits{Charts: true}.wanted(f.path)) {
			files = append(files, f)
		}
	}
	for _, f := range links {
		if within(f.Path) && (Limits{Charts: true}).wanted(f.Path) {
			broken = append(broken, f)
		}
	}
	if n := len(files) + len(broken); n > limits.Files {
		return nil, nil, overLimit(t.source, fmt.Sprintf("files in %q", at), int64(n), int64(limits.Files))
	}
	return files, broken, nil
}

// nearest is the path that may have been meant, as a hint, or what there is beside it.
func (t *tree) nearest(at string) string {
	if t.dirs == nil {
		t.index()
	}
	known := slices.Clone(t.paths)
	for dir := range t.dirs {
		known = append(known, dir)
	}
	return strings.Join(problem.Nearest(at, known), "")
}

// bounded runs a fetch, and ends it when the mirror has grown by more than it may.
func (g *Git) bounded(ctx context.Context, fetch func(context.Context) error) error {
	if g.maxFetch == 0 {
		return fetch(ctx)
	}
	before := sizeBelow(g.mirror)
	tooMuch := func() error {
		if n := sizeBelow(g.mirror) - before; n > g.maxFetch {
			return &Error{Reason: LimitExceeded, Source: g.name, Detail: fmt.Sprintf("more than %d bytes are to be fetched, which is the limit", g.maxFetch)}
		}
		return nil
	}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for tick := time.NewTicker(growthLooks); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				if err := tooMuch(); err != nil {
					cancel(err)
				}
			}
		}
	}()
	err := fetch(bounded)
	close(done)
	<-watched
	var limit *Error
	if errors.As(context.Cause(bounded), &limit) {
		return limit
	}
	if err == nil {
		err = tooMuch()
	}
	return err
}

// sizeBelow is how many bytes the files of a folder have; what vanishes meanwhile has none.
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
