package planreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/guard"
)

// reasonToGive is the placeholder for the author's reason.
const reasonToGive = "TODO: why this may go"

// newApproval approves the wanted removals until a day.
func newApproval(wanted []guard.NeededApproval, expires string) *fleet.Approval {
	a := &fleet.Approval{APIVersion: report.APIVersion, Kind: fleet.ApprovalKind, LastDay: expires}
	for _, w := range wanted {
		a.Removals = append(a.Removals, fleet.ApprovedRemoval{
			Hub: w.Hub, Clusters: w.Clusters, Components: w.Components, Reason: reasonToGive,
		})
	}
	return a
}

// WriteApproval writes an approval as the file to commit.
func WriteApproval(w io.Writer, a *fleet.Approval) error {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nexpires: %s\nremovals:\n", a.APIVersion, a.Kind, a.LastDay)
	list := func(key string, names []string) {
		fmt.Fprintf(&b, "    %s:\n", key)
		for _, n := range names {
			fmt.Fprintf(&b, "      - %s\n", report.Value(n)) // JSON, which is YAML whatever the name
		}
	}
	for _, r := range a.Removals {
		fmt.Fprintf(&b, "  - hub: %s\n", report.Value(r.Hub))
		list("clusters", r.Clusters)
		list("components", r.Components)
		fmt.Fprintf(&b, "    reason: %s\n", report.Value(r.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
