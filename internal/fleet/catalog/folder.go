package catalog

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// KeyFolder is the key of an entry, only in the layout's catalogs, that names the folder of the
// component's value files.
const KeyFolder = "folder"

// Folders returns the folders of components' value files, by component, where the layout's catalogs
// of a group name another folder than the component's name. Levels cannot name them.
func Folders(catalogs []hierarchy.Layer) (map[string]string, []problem.Problem) {
	out := map[string]string{}
	var problems []problem.Problem
	for _, l := range catalogs {
		for _, f := range Entries(l.Root).Fields() {
			n := f.Value.Get(KeyFolder)
			switch {
			case n.IsNull():
			case n.Kind != yamldoc.String || n.Text() == "" || n.Text() == "." || n.Text() == ".." || strings.ContainsAny(n.Text(), `/\{`):
				problems = append(problems, problem.Problem{
					Reason: problem.InvalidValue, Severity: problem.Error, Pos: n.Pos(), Subject: fmt.Sprintf("folder of component %q", f.Key),
					Found: fmt.Sprintf("%q", n.Text()), Expected: "the name of one folder",
				})
			default:
				out[f.Key] = n.Text()
			}
		}
	}
	return out, problems
}
