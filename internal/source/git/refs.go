package git

import (
	"cmp"
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

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/source"
)

// target is what a ref points to at the server now.
type target struct {
	id     string // of a commit, or of an annotated tag; may be abbreviated for a commit
	remote string // the full name of the ref, "" for a commit id
	commit string // once the mirror has it
}

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
)

var (
	hexID    = regexp.MustCompile(`^[0-9a-f]{4,64}$`)
	commitID = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	badRef   = regexp.MustCompile(`[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/.]|/\.|[./]$|\.lock(/|$)|^@$`)
	refName  = regexp.MustCompile(`^refs/(heads|tags)/`)
)

// validRef reports whether a name may name a ref (git-check-ref-format) or a commit id.
func validRef(ref string) bool { return ref != "" && len(ref) <= 250 && !badRef.MatchString(ref) }

// namesOf returns the refs that a name may mean, by Git's rules (gitrevisions(7)).
func namesOf(ref string) []string {
	if ref == "HEAD" || strings.HasPrefix(ref, "refs/") {
		return []string{ref}
	}
	return []string{tags + ref, branches + ref, "refs/" + ref}
}

// kindOf returns what a ref is: a branch, a tag or another ref.
func kindOf(name string) string {
	switch {
	case strings.HasPrefix(name, tags):
		return "tag " + name
	case strings.HasPrefix(name, branches):
		return "branch " + name
	case strings.HasPrefix(name, "refs/remotes/"):
		return "remote branch " + name
	case commitID.MatchString(name):
		return "commit " + name
	}
	return "ref " + name
}

// resolve asks the server for the ref's target. It rejects a name that is both a tag and a branch:
// a user who can push a branch must not replace a tag.
func (r *Repository) resolve(ctx context.Context) (target, error) {
	if commitID.MatchString(r.ref) {
		return target{id: r.ref}, nil // even if a branch has that name
	}
	names := namesOf(r.ref)
	refs, err := r.listRefs(ctx, names...)
	if err != nil {
		return target{}, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return refs[name] == "" })
	switch {
	case len(names) > 1:
		return target{}, r.ambiguous(r.ref, names, names)
	case len(names) == 1:
		return target{id: refs[names[0]], remote: names[0]}, nil
	case r.userConfig && hexID.MatchString(r.ref): // Argo CD takes an abbreviated one
		return target{id: r.ref}, nil
	}
	return target{}, r.unknownRef(ctx)
}

// ambiguous returns the error of a name that means several refs, with the names to write instead.
func (r *Repository) ambiguous(ref string, names, instead []string) error {
	kinds := make([]string, len(names))
	for i, name := range names {
		kinds[i] = "the " + kindOf(name)
	}
	return &source.Error{
		Reason: source.AmbiguousRef, Source: r.name, Detail: fmt.Sprintf("%q is ambiguous: it is %s", ref, strings.Join(kinds, " and ")),
		Hint: "write " + strings.Join(instead, " or ") + " in its place, or delete one of them",
	}
}

// listRefs returns object ids by names of refs, from `git ls-remote`.
func (r *Repository) listRefs(ctx context.Context, patterns ...string) (map[string]string, error) {
	out, err := r.askServer(ctx, r.timeout, append([]string{"ls-remote", "--quiet", "--", r.address.url}, patterns...)...)
	if err != nil {
		return nil, r.remoteError(ctx, err)
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
	out, err := r.output(bounded, maxRefs, args...)
	var exit *gitExit
	if errors.As(err, &exit) && redirected.MatchString(exit.all) {
		err = r.redirectError(bounded, args)
	}
	return out, err
}

// unknownRef returns the error of a ref that does not exist, with a hint at refs that do.
func (r *Repository) unknownRef(ctx context.Context) error {
	e := &source.Error{Reason: source.UnknownRef, Source: r.name, Detail: fmt.Sprintf("no branch, tag or commit %q", r.ref)}
	if hexID.MatchString(r.ref) && !commitID.MatchString(r.ref) && !r.userConfig {
		e.Detail = fmt.Sprintf("no branch or tag %q, and not the whole id of a commit (40 characters)", r.ref)
	}
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

// fetch fetches a target into the mirror.
func (r *Repository) fetch(ctx context.Context, t target) (target, error) {
	byID := t.remote == ""
	if !byID || commitID.MatchString(t.id) {
		err := r.fetchRefs(ctx, true, "+"+cmp.Or(t.remote, t.id)+":"+r.fetched)
		if err != nil && !byID {
			return t, err
		}
		if err == nil {
			t.id, t.commit = r.idOf(ctx, r.fetched), r.commit(ctx, r.fetched) // it may have moved since
			switch {
			case t.commit != "":
				return t, nil
			case strings.HasPrefix(t.remote, branches):
				return t, errCorrupt // a branch is always a commit
			}
			return t, &source.Error{Reason: source.UnknownRef, Source: r.name, Detail: fmt.Sprintf("%q is not a commit", r.ref)}
		}
		if reason := source.ReasonOf(err); reason == source.Unreachable || reason == source.Authentication || reason == source.LimitExceeded {
			return t, err
		}
	}
	// No ref points at the commit: servers may refuse to send it by id, and cannot by an
	// abbreviated id.
	if err := r.fetchRefs(ctx, false, "+refs/heads/*:refs/argosy/all/heads/*", "+refs/tags/*:refs/argosy/all/tags/*"); err != nil {
		return t, err
	}
	if t.commit = r.commit(ctx, t.id); t.commit != "" {
		return t, r.local(ctx, "update-ref", r.fetched, t.commit)
	}
	return t, r.unknownRef(ctx)
}

// fetchRefs runs `git fetch` when it is this repository's turn: of only the newest commit, or of
// all history.
func (r *Repository) fetchRefs(ctx context.Context, shallow bool, refspecs ...string) error {
	if r.turns != nil {
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r.fetchOf(ctx, shallow, refspecs...)
}

func (r *Repository) fetchOf(ctx context.Context, shallow bool, refspecs ...string) error {
	args := []string{"--git-dir=" + r.mirror, "fetch", "--quiet", "--no-tags", "--force", "--no-write-fetch-head", "--no-recurse-submodules"}
	if shallow {
		args = append(args, "--depth=1")
	} else if _, err := os.Stat(filepath.Join(r.mirror, "shallow")); err == nil {
		args = append(args, "--unshallow")
	}
	_, err := r.askServer(ctx, fetchTimes*r.timeout, append(append(args, "--", r.address.url), refspecs...)...)
	r.fresh = r.fresh || err == nil
	if err != nil && r.removeTemporary() >= r.maxFetch && r.maxFetch > 0 { // git does not say why it ended
		return &source.Error{Reason: source.LimitExceeded, Source: r.name, Detail: fmt.Sprintf("more than %d bytes are to be fetched, which is the limit", r.maxFetch)}
	}
	var exit *gitExit
	if shallow && errors.As(err, &exit) && strings.Contains(exit.all, "does not support shallow") {
		return r.fetchOf(ctx, false, refspecs...) // a plain file server
	}
	e := r.remoteError(ctx, err)
	if errors.As(err, &exit) && errors.Is(e, source.GitFailed) { // nothing about the server: the mirror may be damaged
		return fmt.Errorf("%w: %s", errCorrupt, r.clean(exit.message))
	}
	return e
}

// commit returns the id of the commit that a name means in the mirror, "" when there is none.
func (r *Repository) commit(ctx context.Context, name string) string {
	return r.idOf(ctx, name+"^{commit}")
}

// idOf returns the id of any object.
func (r *Repository) idOf(ctx context.Context, name string) string {
	out, err := r.output(ctx, 1<<10, "--git-dir="+r.mirror, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
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
			return nil // the file system has no locks
		}
		select {
		case <-ctx.Done():
			return &source.Error{Reason: source.Unreadable, Source: r.name, Detail: "another process holds the state directory", Err: ctx.Err()}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (r *Repository) unlockMirror() { _ = syscall.Flock(int(r.lock.Fd()), syscall.LOCK_UN) }
