// Package approval writes removal approvals: the files by which people approve removals beyond the
// removal budget.
package approval

import (
	"fmt"
	"io"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/report"
)

// RemovalApproval is a file below fleet/approvals (layout: guard.approvals). The commit that adds
// it approves removals beyond the removal budget.
type RemovalApproval struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=RemovalApproval"`
	// Expires is the last day of the approval, in UTC; at most some 30 days ahead.
	Expires string `json:"expires" jsonschema:"format=date"`
	// Removals are the approved removals.
	Removals []ApprovedRemoval `json:"removals" jsonschema:"minItems=1"`
}

// ApprovedRemoval approves every removal that matches all of its fields. At least one of cluster,
// clusters, tenant and environment is required, and one of component and components.
type ApprovedRemoval struct {
	// Hub restricts it to the members of one hub.
	Hub string `json:"hub,omitempty"`
	// Cluster is a cluster's name, or "*" for any.
	Cluster string `json:"cluster,omitempty"`
	// Clusters are names, as of cluster.
	Clusters []string `json:"clusters,omitempty"`
	// Tenant and Environment are those of the member file: those of a deleted file are unknown.
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Component is group/component, group/*, or "*" for all.
	Component string `json:"component,omitempty"`
	// Components are several, as of component.
	Components []string `json:"components,omitempty"`
	// Reason is why the removal is right.
	Reason string `json:"reason" jsonschema:"minLength=1"`
}

// reasonToGive is the placeholder for the author's reason.
const reasonToGive = "TODO: why this may go"

// New approves the wanted removals until a day.
func New(wanted []guard.NeededApproval, expires string) *RemovalApproval {
	a := &RemovalApproval{APIVersion: report.APIVersion, Kind: fleet.ApprovalKind, Expires: expires}
	for _, w := range wanted {
		a.Removals = append(a.Removals, ApprovedRemoval{
			Hub: w.Hub, Clusters: w.Clusters, Components: w.Components, Reason: reasonToGive,
		})
	}
	return a
}

// Write writes an approval as the file to commit.
func Write(w io.Writer, a *RemovalApproval) error {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nexpires: %s\nremovals:\n", a.APIVersion, a.Kind, a.Expires)
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
