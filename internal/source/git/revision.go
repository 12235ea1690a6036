package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

// Revision returns the snapshot of one revision of a local repository. rev is a branch, a tag, a
// commit, HEAD~1, origin/main, or anything else that `git rev-parse` takes for a commit. dir is the
// root of a working tree, or a bare repository. Neither the working tree nor the index is read or
// changed. A name of both a tag and a branch is an error.
func Revision(ctx context.Context, dir, rev string, limits source.Limits) (*snapshot.Snapshot, error) {
	return FirstRevision(ctx, dir, limits, rev)
}

// InClone returns the names that a revision of a server may have in a clone: a branch may be a
// remote branch there.
func InClone(rev string) []string {
	return []string{rev, originBranches + strings.TrimPrefix(rev, branches)}
}

// FirstRevision returns the Revision of the first of several names that exists. The names stand for
// one revision of a server: a tag and a branch among them are an error, too.
func FirstRevision(ctx context.Context, dir string, limits source.Limits, revs ...string) (*snapshot.Snapshot, error) {
	g := &Repository{name: fmt.Sprintf("repository %q", dir), limits: limits.WithDefaults(), program: "git", slot: make(chan struct{}, 1)}
	if err := g.prepare(""); err != nil {
		return nil, err
	}
	rev, s, err := g.firstRevision(ctx, dir, revs)
	if errors.Is(err, errCorrupt) {
		hint := "git fsck tells what is missing"
		if g.partial(ctx) {
			hint = "the clone is partial: take one without --filter"
			if plainRevision.MatchString(rev) {
				hint += fmt.Sprintf(", or have Git fetch what is missing: git archive %s >/dev/null", rev)
			}
		}
		err = &source.Error{Reason: source.GitFailed, Source: g.name, Detail: fmt.Sprintf("revision %q cannot be read completely", rev), Hint: hint}
	}
	if err := errors.Join(err, g.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *Repository) firstRevision(ctx context.Context, dir string, revs []string) (rev string, _ *snapshot.Snapshot, _ error) {
	rev = revs[0]
	commit, err := r.adopt(ctx, dir, rev)
	if err != nil {
		return rev, nil, err
	}
	if err := r.unambiguous(ctx, revs); err != nil {
		return rev, nil, err
	}
	for _, other := range revs[1:] {
		if commit == "" {
			rev, commit = other, r.commit(ctx, other)
		}
	}
	if commit != "" {
		s, err := r.load(ctx, target{id: commit, commit: commit})
		return rev, s, err
	}
	if err := ctx.Err(); err != nil {
		return rev, nil, fmt.Errorf("%s: %w", r.name, err)
	}
	return rev, nil, r.unknownRevision(ctx, revs[0])
}

// originBranches is the prefix of a clone's refs for its server's branches.
const originBranches = "refs/remotes/origin/"

// abbreviatedID matches names that may be the beginning of an object's id.
var abbreviatedID = regexp.MustCompile(`^[0-9a-f]{4,39}$`)

// unambiguous returns an error for names that several refs have, or that are a ref and the
// beginning of another commit's id. Git takes one of them, with a warning. (gitrevisions(7))
func (r *Repository) unambiguous(ctx context.Context, revs []string) error {
	var all []string
	for _, rev := range revs {
		name, _, _ := strings.Cut(rev, "@{")
		if end := strings.IndexAny(name, "~^:"); end >= 0 {
			name = name[:end]
		}
		if !validRef(name) {
			continue
		}
		names := append(namesOf(name), "refs/remotes/"+name, "refs/remotes/"+name+"/HEAD")
		out, err := r.output(ctx, maxRefs, append([]string{"--git-dir=" + r.mirror, "for-each-ref", "--format=%(refname)"}, names...)...)
		if err != nil {
			return localError(err)
		}
		found := strings.Fields(out) // also refs below these names
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(found, n) })
		if len(names) == 1 && abbreviatedID.MatchString(name) {
			if id := r.commit(ctx, "id-g"+name); id != "" && id != r.commit(ctx, names[0]) {
				names = append(names, id)
			}
		}
		if len(names) > 1 {
			return r.ambiguous(name, names, names)
		}
		all = append(all, names...)
	}
	isTag := func(name string) bool { return strings.HasPrefix(name, tags) }
	if !slices.ContainsFunc(all, isTag) || !slices.ContainsFunc(all, func(name string) bool { return !isTag(name) }) {
		return nil
	}
	name := refName.ReplaceAllString(strings.TrimPrefix(revs[0], originBranches), "")
	return r.ambiguous(name, all, []string{tags + name, branches + name})
}

// partial reports whether the mirror is a clone that left objects at the server.
func (r *Repository) partial(ctx context.Context) bool {
	out, err := r.output(ctx, 64<<10, "--git-dir="+r.mirror, "config", "--local", "--get-regexp", `^remote\..*\.promisor$`)
	return err == nil && out != ""
}

// adopt uses a local repository as the mirror, read-only. Git would fetch what a partial clone
// lacks, by commands in the repository's own configuration. The repository may not be the user's,
// so no server is asked. (Git before 2.45 ignores GIT_NO_LAZY_FETCH, but cannot fetch without an
// allowed protocol.) It returns the commit of a revision, "" if there is none.
func (r *Repository) adopt(ctx context.Context, dir, rev string) (commit string, _ error) {
	r.env = append(r.env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	abs, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return "", source.FileError(r.name, "", err)
	}
	// The folder that the user names may have another owner, as a checkout in a container has.
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		r.env = append(r.env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0="+real)
	}
	if IsBareRepository(abs) {
		r.mirror = abs
		return r.commit(ctx, rev), nil
	}
	where := []string{"-C", abs, "rev-parse", "--absolute-git-dir", "--show-prefix"}
	out, err := r.output(ctx, 64<<10, append(slices.Clone(where), "--verify", "--quiet", "--end-of-options", rev+"^{commit}")...)
	var exit *gitExit
	if errors.As(err, &exit) { // most likely because of the revision
		out, err = r.output(ctx, 64<<10, where...)
	}
	switch {
	case errors.As(err, &exit) && strings.Contains(exit.all, "not a git repository"):
		return "", &source.Error{Reason: source.NotFound, Source: r.name, Detail: "no Git repository", Hint: "give the root folder of one"}
	case errors.As(err, &exit):
		return "", &source.Error{Reason: source.GitFailed, Source: r.name, Detail: r.clean(exit.message)}
	case err != nil:
		return "", err
	}
	gitDir, rest, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	prefix, commit, _ := strings.Cut(rest, "\n")
	if prefix != "" {
		return "", &source.Error{
			Reason: source.InvalidOptions, Source: r.name, Detail: fmt.Sprintf("it is the folder %q of a Git repository", strings.TrimSuffix(prefix, "/")),
			Hint: "give the repository's root folder",
		}
	}
	r.mirror = gitDir
	return commit, nil
}

// Names returns the branches, tags and remote branches of a local repository, in Git's short form.
func Names(ctx context.Context, dir string) ([]string, error) {
	g := &Repository{name: fmt.Sprintf("repository %q", dir), program: "git", slot: make(chan struct{}, 1)}
	if err := g.prepare(""); err != nil {
		return nil, err
	}
	_, err := g.adopt(ctx, dir, "HEAD")
	var names []string
	if err == nil {
		names, err = g.refNames(ctx)
	}
	return names, errors.Join(err, g.Close())
}

// MergeBase returns the commit where HEAD has parted from another revision of a local repository.
func MergeBase(ctx context.Context, dir, rev string) (string, error) {
	g := &Repository{name: fmt.Sprintf("repository %q", dir), program: "git", slot: make(chan struct{}, 1)}
	if err := g.prepare(""); err != nil {
		return "", err
	}
	commit, err := g.adopt(ctx, dir, rev)
	if err == nil && commit == "" {
		err = g.unknownRevision(ctx, rev)
	}
	if err == nil {
		if commit, err = g.output(ctx, maxRefs, "--git-dir="+g.mirror, "merge-base", commit, "HEAD"); err != nil && ctx.Err() == nil {
			err = &source.Error{Reason: source.UnknownRef, Source: g.name, Detail: fmt.Sprintf("%q and HEAD have no commit in common", rev)}
		}
	}
	return strings.TrimSpace(commit), errors.Join(err, g.Close())
}

func (r *Repository) refNames(ctx context.Context) ([]string, error) {
	out, err := r.output(ctx, maxRefs, "--git-dir="+r.mirror, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	return strings.Fields(out), err
}

// unknownRevision returns the error of a revision that does not exist, with a hint at a similar
// one.
func (r *Repository) unknownRevision(ctx context.Context, rev string) error {
	e := &source.Error{Reason: source.UnknownRef, Source: r.name, Detail: fmt.Sprintf("no revision %q", rev)}
	names, err := r.refNames(ctx)
	if err != nil {
		return e
	}
	for _, name := range names {
		if strings.HasSuffix(name, "/"+rev) { // main, where only origin/main has been fetched
			e.Hint = fmt.Sprintf("did you mean %q?", name)
			return e
		}
	}
	switch hints, fetch := problem.Nearest(rev, names), r.fetchHint(ctx, rev); {
	case len(hints) > 0:
		e.Hint = hints[0]
		if fetch != "" {
			e.Hint += "; " + fetch
		}
	case fetch != "":
		e.Hint = fetch
	case len(names) == 0:
		e.Hint = "the repository has no commits"
	case len(names) <= 5:
		e.Hint = "there are " + strings.Join(names, ", ")
	}
	return e
}

// generations matches a revision that counts back from a commit: HEAD~2, main^, main^^.
var generations = regexp.MustCompile(`^([^~^]+)(?:~([0-9]*)|(\^+))$`)

// fetchHint says how to fetch a revision that a shallow clone, or a clone of one branch, may lack;
// empty for any other.
func (r *Repository) fetchHint(ctx context.Context, rev string) string {
	out, _ := r.output(ctx, 1<<10, "--git-dir="+r.mirror, "rev-parse", "--is-shallow-repository")
	shallow := strings.TrimSpace(out) == "true"
	depth := ""
	if shallow {
		depth = "--depth=1 "
	}
	if m := generations.FindStringSubmatch(rev); shallow && m != nil && r.commit(ctx, m[1]) != "" {
		n := max(1, len(m[3]))
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2])
		}
		return fmt.Sprintf("the clone is shallow, its history does not go so far back: git fetch --deepen=%d", n)
	}
	// The command fetches only one commit: a plan needs no history.
	if remote, branch, ok := strings.Cut(rev, "/"); ok && r.hasRemote(ctx, remote) && plainRevision.MatchString(branch) && !strings.ContainsAny(branch, "~^") {
		return fmt.Sprintf("if %s has it: git fetch %s%s %s:refs/remotes/%s/%s", remote, depth, remote, branch, remote, branch)
	}
	if !shallow {
		return ""
	}
	return "the clone is shallow, and may lack it: git fetch --unshallow --tags gets all of its history"
}

// plainRevision matches names that need no quotes in a shell.
var plainRevision = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/~^-]*$`)

func (r *Repository) hasRemote(ctx context.Context, name string) bool {
	out, err := r.output(ctx, maxRefs, "--git-dir="+r.mirror, "remote")
	return err == nil && slices.Contains(strings.Fields(out), name)
}
