package fleet

import (
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/tmpl"
)

// FileTemplate is the path of a file inside a level's folder.
type FileTemplate struct {
	t   *tmpl.Template
	pos problem.Pos
	// Shared reports whether the path depends on the group and the component alone, so that it is
	// the same for all clusters.
	Shared bool
}

// String is the path with the names of facts in their places.
func (f *FileTemplate) String() string {
	out, _ := try(f.t) //nolint:errcheck // tried when the layout was loaded
	return out
}

// Path is the path for the facts, cleaned as a level's folder is. Errors are problem.Problem.
func (f *FileTemplate) Path(facts any) (string, error) {
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
