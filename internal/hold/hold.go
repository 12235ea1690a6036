package hold

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Reason is a stable code for why a cell is held.
type Reason string

// The reasons.
const (
	Broken     Reason = fleetstate.Broken
	Draining   Reason = fleetstate.Draining
	Removal    Reason = fleetstate.Removal
	Limits     Reason = fleetstate.Limits
	Ring       Reason = "ring"
	Dependency Reason = "dependency"
	Handover   Reason = "handover"
	Mount      Reason = "mount"
	Manual     Reason = "manual"
)

// Reasons lists all reasons, in the order of the documentation.
var Reasons = []Reason{Broken, Draining, Removal, Limits, Ring, Dependency, Handover, Mount, Manual}

// ends completes the sentence "it is held until ..." for each reason.
var ends = map[Reason]string{
	Broken:     "a commit fixes the file",
	Draining:   "the lifecycle in the member's file changes",
	Removal:    "an approval covers what would go, or a commit wants it again",
	Limits:     "the tenant's files fit its limits again",
	Ring:       "its ring has taken the newest revision",
	Dependency: "what it depends on is healthy at the newest revision, or what depends on it is gone",
	Handover:   "the new owner is there and healthy, and the former one has let go",
	Mount:      "the mounted repository can be read again, or a commit there fixes it",
	Manual:     "its last day ends, or its file goes",
}

// Hold keeps the cells of its scope as they are served. An empty part of the scope stands for all:
// without Component, the hold is about all components of Group.
type Hold struct {
	Reason    Reason `json:"reason" jsonschema:"enum=broken,enum=draining,enum=removal,enum=limits,enum=ring,enum=dependency,enum=handover,enum=mount,enum=manual"`
	Hub       string `json:"hub,omitempty"`
	Tenant    string `json:"tenant,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Since is when the service first saw the hold; absent where that is unknown.
	Since time.Time `json:"since,omitzero"`
	// Detail says what is wrong, and Position where.
	Detail   string      `json:"detail"`
	Position problem.Pos `json:"position,omitzero"`
	// Ends completes the sentence "it is held until ...". Until is the earliest moment, if known.
	Ends  string    `json:"ends"`
	Until time.Time `json:"until,omitzero"`
	// Revision is the revision that is served meanwhile; absent where that is unknown.
	Revision string `json:"revision,omitempty"`
}

// Subject names the group or component that the hold is about; empty for all.
func (h Hold) Subject() string { return strings.Trim(h.Group+"/"+h.Component, "/") }

// Text is the detail with its place.
func (h Hold) Text() string {
	if h.Position.IsZero() {
		return h.Detail
	}
	return h.Position.String() + ": " + h.Detail
}

// compare orders holds by reason, then by scope.
func compare(a, b Hold) int {
	return cmp.Or(cmp.Compare(slices.Index(Reasons, a.Reason), slices.Index(Reasons, b.Reason)), strings.Compare(a.Hub, b.Hub), strings.Compare(a.Group, b.Group),
		strings.Compare(a.Component, b.Component), strings.Compare(a.Detail, b.Detail), a.Position.Compare(b.Position), strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Tenant, b.Tenant))
}

// Sorted returns holds in their order, each once at its oldest, with what ends them.
func Sorted(holds []Hold) []Hold {
	out := slices.Clone(holds)
	for i := range out {
		out[i].Ends = ends[out[i].Reason]
	}
	slices.SortFunc(out, func(a, b Hold) int { return cmp.Or(compare(a, b), a.Since.Compare(b.Since)) })
	return slices.CompactFunc(out, func(a, b Hold) bool { return compare(a, b) == 0 })
}

// Query selects holds. An empty field selects all.
type Query struct {
	Reason                                 Reason
	Hub, Tenant, Cluster, Group, Component string
}

// Of returns the holds that are about any cell of the query.
func (q Query) Of(holds []Hold) []Hold {
	meet := func(asked, held string) bool { return asked == "" || held == "" || asked == held }
	return slices.DeleteFunc(slices.Clone(holds), func(h Hold) bool {
		return q.Reason != "" && q.Reason != h.Reason || !meet(q.Hub, h.Hub) || !meet(q.Tenant, h.Tenant) ||
			!meet(q.Cluster, h.Cluster) || !meet(q.Group, h.Group) || !meet(q.Component, h.Component)
	})
}
