package fetch

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	snapshots "github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// mirrors is the folder of the cache that Git repositories are in. No chart's is called so: those
// have a digest behind.
const mirrors = "repositories"

// At is what stands at a place of another Git repository and below. Its error is an
// *source.Unavailable.
func (c *Charts) At(p source.Place) (*snapshot.Snapshot, error) {
	return c.places.get(p, func() (*snapshot.Snapshot, error) {
		s, err := c.at(p)
		if err != nil {
			err = c.explainedGit(err)
		}
		return s, err
	})
}

func (c *Charts) at(p source.Place) (*snapshot.Snapshot, error) {
	other, err := c.others.get([2]string{p.RepoURL, p.Revision}, func() (*git.Remote, error) {
		if scheme, _, _ := strings.Cut(p.RepoURL, ":"); scheme == p.RepoURL || strings.ContainsAny(scheme, `/\`) {
			return nil, &source.Unavailable{Detail: "its repository's URL is not a Git URL", Hint: "https://, ssh:// or git@host:path"}
		}
		key, ok := addressKey(p.RepoURL)
		return git.NewRemote(p.RepoURL, p.Revision, filepath.Join(c.o.Dir, mirrors), c.o.Offline, ok && c.policy.allows(key))
	})
	if err != nil {
		return nil, err
	}
	ctx, done := c.slot(maxGit)
	defer done()
	return other.Part(ctx, p.Path)
}

// explainedGit is an error of internal/source for people. Its texts have no secrets.
func (c *Charts) explainedGit(err error) error {
	var e *snapshots.Error
	if !errors.As(err, &e) {
		return explained(err)
	}
	out := &source.Unavailable{Detail: e.Detail, Hint: e.Hint, Missing: e.Reason == snapshots.Empty}
	switch {
	case e.Reason == snapshots.UnknownRef && c.o.Offline:
		return notKept()
	case e.Reason == snapshots.Authentication:
		out.Hint = "git's own credentials are used: a credential helper (git config --global credential.helper) or an SSH key; there is no prompt"
	case e.Reason == snapshots.Unreachable:
		out.Hint = strings.TrimPrefix(e.Hint+"; --offline renders what the cache has", "; ")
	case e.Reason == snapshots.NotFound:
		out.Hint = "check the URL, and whether git's credentials may see it"
	}
	return out
}
