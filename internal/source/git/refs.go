package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/source"
)

// target is what a ref stands for at the server now.
type target struct {
	id     string // object id, or abbreviated commit id
	remote string // the full name of the ref, "" for a commit id
	byID   bool
}

var (
	hexID   = regexp.MustCompile(`^[0-9a-f]{4,64}$`)
	badRef  = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[./]$|\.lock(/|$)|^@$`)
	refName = regexp.MustCompile(`^refs/(heads|tags)/`)
)

// validRef reports whether a name may be that of a ref (git-check-ref-format) or a commit id.
func validRef(ref string) bool { return ref != "" && len(ref) <= 250 && !badRef.MatchString(ref) }

// resolve asks the server for the ref: a branch, then a tag, then a commit id.
func (r *Repository) resolve(ctx context.Context) (target, error) {
	if r.pinned != "" {
		return target{id: r.pinned, byID: true}, nil
	}
	full := len(r.ref) >= 40 && hexID.MatchString(r.ref)
	if full && r.commit(ctx, r.ref) != "" {
		return target{id: r.ref, byID: true}, nil // a commit never changes: nothing to ask
	}
	var names []string
	if r.ref == "HEAD" || strings.HasPrefix(r.ref, "refs/") {
		names = []string{r.ref}
	} else {
		names = []string{"refs/heads/" + r.ref, "refs/tags/" + r.ref}
	}
	patterns := slices.Clone(names)
	for _, name := range names {
		patterns = append(patterns, name+"^{}") // an annotated tag's commit
	}
	refs, err := r.listRefs(ctx, patterns...)
	if err != nil {
		return target{}, err
	}
	for _, name := range names {
		if id, ok := refs[name+"^{}"]; ok {
			return target{id: id, remote: name}, nil
		}
		if id, ok := refs[name]; ok {
			return target{id: id, remote: name}, nil
		}
	}
	if hexID.MatchString(r.ref) {
		return target{id: r.ref, byID: true}, nil
	}
	return target{}, r.unknownRef(ctx)
}

// listRefs is `git ls-remote`: names to object ids.
func (r *Repository) listRefs(ctx context.Context, patterns ...string) (map[string]string, error) {
	out, err := r.askServer(ctx, r.timeout, append([]string{"ls-remote", "--quiet", "--", r.address.url}, patterns...)...)
	if err != nil {
		e, _ := r.remoteError(ctx, err)
		return nil, e
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			refs[name] = id
		}
	}
	return refs, nil
}

// maxRefs is the limit of git's list of refs, in bytes.
const maxRefs = 16 << 20

// askServer runs a command that talks to the server, bounded in time.
func (r *Repository) askServer(ctx context.Context, timeout time.Duration, args ...string) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.output(bounded, maxRefs, args...)
}

// unknownRef is the error of a ref that is not there, with a hint at those that are.
func (r *Repository) unknownRef(ctx context.Context) error {
	e := &source.Error{Reason: source.UnknownRef, Source: r.name, Detail: fmt.Sprintf("no branch, tag or commit %q", r.ref)}
	refs, err := r.listRefs(ctx, "refs/heads/*", "refs/tags/*")
	if err != nil {
		return e
	}
	var names []string
	for name := range refs {
		if short := refName.ReplaceAllString(name, ""); short != name && !strings.HasSuffix(name, "^{}") {
			names = append(names, short)
		}
	}
	slices.Sort(names)
	hints := problem.Nearest(r.ref, names)
	switch {
	case len(names) == 0:
		e.Hint = "the repository has no branches"
	case len(hints) > 0:
		e.Hint = hints[0]
	case len(names) <= 5:
		e.Hint = "there are " + strings.Join(names, ", ")
	}
	return e
}

// fetch gets a target into the mirror and gives its commit id.
func (r *Repository) fetch(ctx context.Context, t target) (string, error) {
	what := t.remote
	if t.byID {
		what = t.id
	}
	if !t.byID || len(t.id) >= 40 {
		err := r.fetchRefs(ctx, true, "+"+what+":"+r.fetched)
		if err != nil && !t.byID {
			return "", err
		}
		if err == nil {
			if commit := r.commit(ctx, r.fetched); commit != "" {
				return commit, nil
			}
			if strings.HasPrefix(t.remote, "refs/heads/") {
				return "", errCorrupt // a branch is always a commit
			}
			return "", &source.Error{Reason: source.UnknownRef, Source: r.name, Detail: fmt.Sprintf("%q is no commit", r.ref)}
		}
		if reason := source.ReasonOf(err); reason == source.Unreachable || reason == source.Authentication {
			return "", err
		}
	}
	// A commit that no ref points at: servers may refuse to send it by id, and cannot by an
	// abbreviated one.
	if err := r.fetchRefs(ctx, false, "+refs/heads/*:refs/argosy/all/heads/*", "+refs/tags/*:refs/argosy/all/tags/*"); err != nil {
		return "", err
	}
	if commit := r.commit(ctx, t.id); commit != "" {
		return commit, r.local(ctx, "update-ref", r.fetched, commit)
	}
	return "", r.unknownRef(ctx)
}

// fetchRefs is `git fetch`: of the newest commit alone, or of all history.
func (r *Repository) fetchRefs(ctx context.Context, shallow bool, refspecs ...string) error {
	args := []string{"--git-dir=" + r.mirror, "fetch", "--quiet", "--no-tags", "--force", "--no-write-fetch-head", "--no-recurse-submodules"}
	if shallow {
		args = append(args, "--depth=1", filterOf(r.limits.FileSize))
	} else if _, err := os.Stat(filepath.Join(r.mirror, "shallow")); err == nil {
		args = append(args, "--unshallow")
	}
	err := r.limitGrowth(ctx, func(ctx context.Context) error {
		_, err := r.askServer(ctx, fetchTimes*r.timeout, append(append(args, "--", r.address.url), refspecs...)...)
		return err
	})
	r.fresh = r.fresh || err == nil
	if promised := r.forgetPromise(); err == nil {
		err = promised
	}
	if err != nil {
		r.removeTemporary()
	}
	var exit *gitExit
	if shallow && errors.As(err, &exit) && strings.Contains(exit.all, "does not support shallow") {
		return r.fetchRefs(ctx, false, refspecs...) // a plain file server
	}
	e, local := r.remoteError(ctx, err)
	if local {
		return fmt.Errorf("%w: %s", errCorrupt, detailOf(e))
	}
	return e
}

// detailOf is an error's detail without the source's name.
func detailOf(err error) string {
	var e *source.Error
	if errors.As(err, &e) {
		return e.Detail
	}
	return err.Error()
}

// commit is the id of the commit that a name means in the mirror, "" when there is none.
func (r *Repository) commit(ctx context.Context, name string) string {
	out, err := r.output(ctx, 1<<10, "--git-dir="+r.mirror, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// lockMirror keeps other processes with the same state directory from the mirror.
func (r *Repository) lockMirror(ctx context.Context) error {
	for {
		err := syscall.Flock(int(r.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil // a file system without locks has to do without
		}
		select {
		case <-ctx.Done():
			return &source.Error{Reason: source.Unreadable, Source: r.name, Detail: "another process holds the state directory", Err: ctx.Err()}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *Repository) unlockMirror() { _ = syscall.Flock(int(r.lock.Fd()), syscall.LOCK_UN) }
