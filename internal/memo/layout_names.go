package memo

import (
	"sync"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Names remembers what a layout says of groups and components.
type Names struct {
	mu    sync.RWMutex
	rules map[[2]string]hierarchy.Rules
	files map[fileKey]string
}

type fileKey struct {
	t *fleet.FileTemplate
	FileOf
}

// FileOf says of what a file is: Level and Folder count where the file's path reads them.
type FileOf struct{ Group, Component, Level, Folder string }

// NewNames knows nothing yet.
func NewNames() *Names {
	return &Names{rules: map[[2]string]hierarchy.Rules{}, files: map[fileKey]string{}}
}

// Rules are those of all rules that concern one component.
func (n *Names) Rules(all hierarchy.Rules, group, component string) hierarchy.Rules {
	if len(all) == 0 {
		return nil
	}
	rules, _ := Remember(&n.mu, n.rules, [2]string{group, component}, func() (hierarchy.Rules, error) {
		return all.For(group, component), nil
	})
	return rules
}

// File is the path of a layout's file inside a level's folder. Most layouts name files after the
// group and the component alone: then it is computed once for all clusters.
func (n *Names) File(t *fleet.FileTemplate, of FileOf, facts func() any) (string, error) {
	if !t.ReadsLevel {
		of.Level = ""
	}
	path := func() (string, error) { return t.Path(facts(), of.Level, of.Folder) }
	if !t.Shared {
		return path()
	}
	return Remember(&n.mu, n.files, fileKey{t, of}, path)
}

// KnownFile is File for a path that is the same for all clusters, empty before the first time. It
// needs no facts.
func (n *Names) KnownFile(t *fleet.FileTemplate, of FileOf) string {
	if !t.ReadsLevel {
		of.Level = ""
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.files[fileKey{t, of}]
}
