// Package location makes the source of a location: a folder, a bare repository or a repository's
// URL.
//
//	s, err := location.Open(git.Options{Location: "https://git.example/fleet.git", Ref: "main"})
package location

import (
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// Open returns the source of o.Location: a git.Repository for URLs and bare repositories, a
// dir.Folder for any other path. It does not read the repository yet.
func Open(o git.Options) (source.Source, error) {
	if git.IsURL(o.Location) || git.IsBareRepository(o.Location) {
		g, err := git.New(o)
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	f, err := dir.New(o.Location, o.Limits)
	if err != nil {
		return nil, err
	}
	return f, nil
}
