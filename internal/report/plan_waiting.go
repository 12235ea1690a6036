package report

import (
	"fmt"
	"strings"

	"github.com/argosy-hub/argosy/internal/plan"
)

// PlanWaiting is a draining member for which something would change, and does not before it is active again.
type PlanWaiting struct {
	Name string `json:"name"`
	// Applications are how many of its Applications would change; Itself tells that its labels, annotations or settings would.
	Applications int  `json:"applications"`
	Itself       bool `json:"itself"`
	// Position is where it says that it is draining.
	Position *Position `json:"position,omitempty"`
}

func newPlanWaiting(ws []plan.Waiting) []PlanWaiting {
	var out []PlanWaiting
	for _, w := range ws {
		out = append(out, PlanWaiting{w.Member.Name, w.Applications, w.Itself, position(w.Member.KeyPos("lifecycle"))})
	}
	return out
}

// text is a waiting member in one line.
func (w PlanWaiting) text(hub string) string {
	var what []string
	if w.Itself {
		what = append(what, "the cluster itself")
	}
	if w.Applications > 0 {
		what = append(what, count(w.Applications, "Application"))
	}
	out := fmt.Sprintf("%s: %s is draining and takes no changes; %s would change", hub, w.Name, strings.Join(what, " and "))
	if w.Position != nil {
		out += fmt.Sprintf(" (%s:%d)", w.Position.File, w.Position.Line)
	}
	return out
}

// waiting are the lines of all draining members for which something would change.
func (p Plan) waiting() []string {
	var out []string
	for _, h := range p.Hubs {
		for _, w := range h.Waiting {
			out = append(out, w.text(h.Name))
		}
	}
	return out
}
