package verify

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Repository is a Git repository that can be read.
type Repository struct {
	URL      string
	Snapshot *snapshot.Snapshot
	// At reads another revision of it; nil where there is only one revision.
	At func(revision string) (*snapshot.Snapshot, error)

	revision string // the revision that the folder stands for
}

// Away is a repository, or a revision of it, that cannot be read.
type Away struct{ Text, Hint string }

func (a *Away) Error() string { return a.Text }

// Repositories are the repositories that Applications may read. A folder is read as it is, for the
// one revision that Applications name. A second revision has other content, which the folder lacks.
type Repositories struct {
	Others []Repository
	// Own is the repository itself; without a snapshot for none. Without a URL, it is the first
	// repository that is named.
	Own Repository

	isGuess bool // of the URL of Own
}

// find returns the repository with a URL, nil for none.
func (r *Repositories) find(repoURL string) *Repository {
	for i := range r.Others {
		if source.Address(r.Others[i].URL) == source.Address(repoURL) {
			return &r.Others[i]
		}
	}
	if r.Own.URL != "" && r.Own.Snapshot != nil && source.Address(r.Own.URL) == source.Address(repoURL) {
		return &r.Own
	}
	return nil
}

// Known returns an available repository at a revision, and nil for any other. A repository that was
// not named before may be the own one. If a revision cannot be read, Known returns the folder as it
// is.
func (r *Repositories) Known(repoURL, revision string) *snapshot.Snapshot {
	of := r.find(repoURL)
	if of == nil && r.Own.URL == "" {
		of = &r.Own
	}
	if of == nil {
		return nil
	}
	if of.At != nil && revision != "" && revision != "HEAD" {
		if s, err := of.At(revision); err == nil {
			return s
		}
	}
	return of.Snapshot
}

// IsGuess reports whether a repository is only assumed to be the own one.
func (r *Repositories) IsGuess(repoURL string) bool { return r.isGuess && r.find(repoURL) == &r.Own }

// Open reads a repository at a revision.
func (r *Repositories) Open(repoURL, revision string) (*snapshot.Snapshot, error) {
	of, shown := r.find(repoURL), source.Shown(repoURL)
	switch {
	case of != nil:
	case source.Address(repoURL) == "" || strings.ContainsAny(repoURL, "{<"):
		return nil, &Unreadable{
			Text: fmt.Sprintf("names no repository: its URL is %q", repoURL),
			Hint: "its placeholder is filled in by a kustomization (--applicationsets takes its output), or by a label or annotation of the cluster Secret",
		}
	case r.Own.Snapshot == nil:
		return nil, &Away{
			Text: fmt.Sprintf("repository %s is not given", shown),
			Hint: fmt.Sprintf("--from DIR names a clone of it, as --repository %s=DIR does", shown),
		}
	case r.Own.URL == "":
		of, r.Own.URL, r.isGuess = &r.Own, repoURL, true
	default:
		return nil, &Away{
			Text: fmt.Sprintf("repository %s is not %s", shown, source.Shown(r.Own.URL)),
			Hint: fmt.Sprintf("--repository %s=DIR names a clone of it", shown),
		}
	}
	switch {
	case revision == "" || revision == "HEAD" || revision == of.revision:
		return of.Snapshot, nil
	case of.At != nil:
		return of.At(revision)
	case of.revision == "":
		of.revision = revision
		return of.Snapshot, nil
	}
	return nil, &Away{
		Text: fmt.Sprintf("repository %s is read at the revisions %s and %s, and a folder has one", shown, of.revision, revision),
		Hint: "--from and --repository take a clone, which has both",
	}
}
