package verify

import (
	"fmt"
	"slices"
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
	// Own is the repository itself; nil for none. URLs are its addresses: without any, it is the
	// first repository that is named.
	Own  *snapshot.Snapshot
	URLs []string
	// At reads another revision of it; nil where there is only one revision.
	At func(revision string) (*snapshot.Snapshot, error)

	guessed  string
	revision string // the revision that the folder stands for
}

// Known returns an available repository at a revision, and nil for any other. A repository that was
// not named before may be the own one. If a revision cannot be read, Known returns the folder as it
// is.
func (r *Repositories) Known(repoURL, revision string) *snapshot.Snapshot {
	address := source.Address(repoURL)
	for _, other := range r.Others {
		if source.Address(other.URL) == address {
			return knownAt(other.Snapshot, other.At, revision)
		}
	}
	isOwn := func(u string) bool { return u == "" || source.Address(u) == address }
	if len(r.URLs) > 0 && !slices.ContainsFunc(r.URLs, isOwn) || len(r.URLs) == 0 && !isOwn(r.guessed) {
		return nil
	}
	return knownAt(r.Own, r.At, revision)
}

func knownAt(folder *snapshot.Snapshot, at func(string) (*snapshot.Snapshot, error), revision string) *snapshot.Snapshot {
	if at != nil && revision != "" && revision != "HEAD" {
		if s, err := at(revision); err == nil {
			return s
		}
	}
	return folder
}

// IsGuess reports whether a repository is only assumed to be the own one.
func (r *Repositories) IsGuess(repoURL string) bool {
	return len(r.URLs) == 0 && r.guessed != "" && source.Address(r.guessed) == source.Address(repoURL)
}

// Open reads a repository at a revision.
func (r *Repositories) Open(repoURL, revision string) (*snapshot.Snapshot, error) {
	address := source.Address(repoURL)
	for i := range r.Others {
		if other := &r.Others[i]; source.Address(other.URL) == address {
			return revisionOf(repoURL, revision, &other.revision, other.Snapshot, other.At)
		}
	}
	if address == "" || strings.ContainsAny(repoURL, "{<") {
		return nil, &Unreadable{
			Text: fmt.Sprintf("names no repository: its URL is %q", repoURL),
			Hint: "its placeholder is filled in by a kustomization (--applicationsets takes its output), or by a label or annotation of the cluster Secret",
		}
	}
	if r.Own == nil {
		return nil, &Away{
			Text: fmt.Sprintf("repository %s is not given", source.Shown(repoURL)),
			Hint: fmt.Sprintf("--from DIR names a clone of it, as --repository %s=DIR does", source.Shown(repoURL)),
		}
	}
	if len(r.URLs) == 0 && r.guessed == "" {
		r.guessed = repoURL
	}
	if !slices.ContainsFunc(append(r.URLs, r.guessed), func(u string) bool { return source.Address(u) == address }) {
		return nil, &Away{
			Text: fmt.Sprintf("repository %s is not %s", source.Shown(repoURL), source.Shown(strings.Join(append(r.URLs, r.guessed), ""))),
			Hint: fmt.Sprintf("--repository %s=DIR names a clone of it", source.Shown(repoURL)),
		}
	}
	return revisionOf(repoURL, revision, &r.revision, r.Own, r.At)
}

// revisionOf returns a repository's folder for the one revision that it stands for, and another
// revision from its clone.
func revisionOf(repoURL, revision string, folderIs *string, folder *snapshot.Snapshot, at func(string) (*snapshot.Snapshot, error)) (*snapshot.Snapshot, error) {
	switch {
	case revision == "" || revision == "HEAD" || revision == *folderIs:
		return folder, nil
	case at != nil:
		return at(revision)
	case *folderIs == "":
		*folderIs = revision
		return folder, nil
	}
	return nil, &Away{
		Text: fmt.Sprintf("repository %s is read at the revisions %s and %s, and a folder has one", source.Shown(repoURL), *folderIs, revision),
		Hint: "--from and --repository take a clone, which has both",
	}
}
