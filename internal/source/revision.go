package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Revision is the snapshot of one revision of a local repository: a branch, a tag, a commit, HEAD~1, origin/main, or
// whatever else `git rev-parse` takes for a commit. Dir is the root of a working tree, or a bare repository. Neither
// the working tree nor the index is read or touched.
func Revision(ctx context.Context, dir, rev string, limits Limits) (*snapshot.Snapshot, error) {
	g := &Git{name: fmt.Sprintf("repository %q", dir), limits: limits.withDefaults(), program: "git", turn: make(chan struct{}, 1)}
	if err := g.prepare(""); err != nil {
		return nil, err
	}
	s, err := g.revision(ctx, dir, rev)
	if errors.Is(err, errCorrupt) {
		hint := "git fsck tells what is missing"
		if g.partial(ctx) {
			hint = "the clone is partial: take one without --filter"
		}
		err = &Error{Reason: GitFailed, Source: g.name, Detail: fmt.Sprintf("revision %q cannot be read completely", rev), Hint: hint}
	}
	if err := errors.Join(err, g.Close()); err != nil {
		return nil, err
	}
	return s, nil
}

func (g *Git) revision(ctx context.Context, dir, rev string) (*snapshot.Snapshot, error) {
	if err := g.adopt(ctx, dir); err != nil {
		return nil, err
	}
	if commit := g.commit(ctx, rev); commit != "" {
		return g.load(ctx, commit)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", g.name, err)
	}
	return nil, g.unknownRevision(ctx, rev)
}

// partial reports whether the mirror is a clone that left objects at the server.
func (g *Git) partial(ctx context.Context) bool {
	out, err := g.output(ctx, 64<<10, "--git-dir="+g.mirror, "config", "--local", "--get-regexp", `^remote\..*\.promisor$`)
	return err == nil && out != ""
}

// adopt takes a local repository for the mirror, to be read alone. Git would fetch what a partial clone lacks, by the
// commands that the repository's own configuration names: it may be somebody else's, so no server is asked. (Git before
// 2.45 knows GIT_NO_LAZY_FETCH not, but does nothing without an allowed protocol.)
func (g *Git) adopt(ctx context.Context, dir string) error {
	g.env = append(g.env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	abs, err := filepath.Abs(dir)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return fsError(g.name, "", err)
	}
	if isBareRepository(abs) {
		g.mirror = abs
		return nil
	}
	out, err := g.output(ctx, 64<<10, "-C", abs, "rev-parse", "--absolute-git-dir", "--show-prefix")
	var exit *gitExit
	switch {
	case errors.As(err, &exit) && strings.Contains(exit.all, "not a git repository"):
		return &Error{Reason: NotFound, Source: g.name, Detail: "no Git repository", Hint: "give the root folder of one"}
	case errors.As(err, &exit):
		return &Error{Reason: GitFailed, Source: g.name, Detail: g.clean(exit.message)}
	case err != nil:
		return err
	}
	gitDir, prefix, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\n")
	if prefix != "" {
		return &Error{
			Reason: InvalidOptions, Source: g.name, Detail: fmt.Sprintf("it is the folder %q of a Git repository", strings.TrimSuffix(prefix, "/")),
			Hint: "give the repository's root folder",
		}
	}
	g.mirror = gitDir
	return nil
}

// unknownRevision is the error of a revision that is not there, with a hint at what may have been meant.
func (g *Git) unknownRevision(ctx context.Context, rev string) error {
	e := &Error{Reason: UnknownRef, Source: g.name, Detail: fmt.Sprintf("no revision %q", rev)}
	out, err := g.output(ctx, maxRefs, "--git-dir="+g.mirror, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return e
	}
	names := strings.Fields(out)
	for _, name := range names {
		if strings.HasSuffix(name, "/"+rev) { // main, where only origin/main has been fetched
			e.Hint = fmt.Sprintf("did you mean %q?", name)
			return e
		}
	}
	_, err = os.Stat(filepath.Join(g.mirror, "shallow"))
	switch hints := problem.Nearest(rev, names); {
	case len(hints) > 0:
		e.Hint = hints[0]
	case err == nil:
		e.Hint = "the clone is shallow: git fetch --unshallow gets all of its history"
	case len(names) == 0:
		e.Hint = "the repository has no commits"
	case len(names) <= 5:
		e.Hint = "there are " + strings.Join(names, ", ")
	}
	return e
}
