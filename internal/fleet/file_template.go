package fleet

import (
	"maps"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
)

// FileTemplate is the path of a file inside a level's folder.
type FileTemplate struct {
	t   *tmpl.Template
	pos problem.Pos
	// Shared reports whether the path depends only on the group, the component and the level, so
	// that all clusters have the same.
	Shared bool
	// ReadsFolder and ReadsLevel report whether the path depends on the component's folder and on
	// the level.
	ReadsFolder, ReadsLevel bool
}

// String returns the path with the names of facts in their places.
func (f *FileTemplate) String() string {
	out, _ := try(f.t, factFolder, factLevel) // tried when the layout was loaded
	return out
}

// Path returns the path for the facts, cleaned as a level's folder is. Only file paths have the
// facts level and folder. Errors are problem.Problem.
func (f *FileTemplate) Path(facts any, level, folder string) (string, error) {
	if known, ok := facts.(map[string]any); ok && (f.ReadsLevel || f.ReadsFolder) {
		known = maps.Clone(known)
		known[factLevel], known[factFolder] = level, folder
		facts = known
	}
	text, err := f.t.Execute(facts)
	if err != nil {
		return "", err
	}
	p, err := snapshot.CleanPath(text)
	if err != nil {
		return "", problem.Problem{
			Reason: problem.OutsideRepository, Severity: problem.Error, Pos: f.pos,
			Subject: "path of a file", Found: err.Error(), Expected: "a path inside the level's folder",
		}
	}
	return p, nil
}
