package git

import (
	"context"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Limits of a commit's author and subject, in bytes.
const (
	maxCommitText = 200
	maxCommit     = 64 << 10
)

// commitOf returns who made a commit and its subject. Only people read it, so it is empty after an
// error.
func (r *Repository) commitOf(ctx context.Context, commit string) (out snapshot.Commit) {
	text, err := r.output(ctx, maxCommit, "--git-dir="+r.mirror, "show", "--no-patch", "--no-notes", "--no-show-signature", "--encoding=UTF-8", "--format=%an%x00%cI%x00%s", commit, "--")
	author, rest, ok := strings.Cut(strings.TrimSuffix(text, "\n"), "\x00")
	when, subject, complete := strings.Cut(rest, "\x00")
	at, wrong := time.Parse(time.RFC3339, when)
	if err != nil || !ok || !complete || wrong != nil {
		return out
	}
	cut := func(s string) string { return problem.Truncate(strings.ToValidUTF8(s, "?"), maxCommitText) }
	return snapshot.Commit{Author: cut(author), Subject: cut(subject), At: at.UTC()}
}
