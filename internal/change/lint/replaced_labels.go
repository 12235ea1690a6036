package lint

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/labels"
)

// replaced reports the labels and annotations of the live cluster Secret, as the facts have it,
// that Git or the member's identity replaces.
func (l *linter) replaced(c *fleetstate.Cluster) {
	for _, r := range inventory.Replaced(c) {
		pos := c.Labels.Origins[r.Key]
		if r.Kind == labels.Annotation {
			pos = c.Annotations.Origins[r.Key]
		}
		if pos.IsZero() { // the member's identity
			pos = c.Member.KeyPos(r.Key)
		}
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.ReplacedLabel, Severity: problem.Note, Pos: pos, Subject: fmt.Sprintf("%s %q", r.Kind, r.Key), Found: r.String(),
			Hub: c.Member.Hub, Cluster: c.Member.Name,
		})
	}
}
