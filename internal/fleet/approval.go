package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// ApprovalKind is the kind of a file that approves removals.
const ApprovalKind = "RemovalApproval"

// Any matches every name in an approval or a hold.
const Any = "*"

// Approval is a file below fleet/approvals (layout: guard.approvals). The commit that adds it
// approves removals beyond the removal budget.
type Approval struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind" jsonschema:"enum=RemovalApproval"`
	// LastDay is the last day of the approval, in UTC; at most 30 days ahead.
	LastDay string `json:"expires" jsonschema:"format=date" expect:"the last day of the approval, such as 2026-12-01"`
	// Removals are the approved removals.
	Removals []ApprovedRemoval `json:"removals" jsonschema:"minItems=1" expect:"what may go"`

	Expires time.Time   `json:"-"` // LastDay
	Pos     problem.Pos `json:"-"` // of the file's expires
}

// ApprovedRemoval approves every removal that matches all of its fields. At least one of cluster,
// clusters, tenant and environment is required, and one of component and components.
type ApprovedRemoval struct {
	// Hub restricts it to the members of one hub.
	Hub string `json:"hub,omitempty"`
	// Cluster is a cluster's name, or "*" for any. Once read, Clusters has it.
	Cluster string `json:"cluster,omitempty"`
	// Clusters are names, as of cluster.
	Clusters []string `json:"clusters,omitempty"`
	// Tenant and Environment are the member file's. A deleted file's are unknown.
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Component is group/component, group/*, or "*" for all. Once read, Components has it.
	Component string `json:"component,omitempty"`
	// Components are several components, in the form of Component.
	Components []string `json:"components,omitempty"`
	// Reason is why the removal is right.
	Reason string `json:"reason" jsonschema:"minLength=1" expect:"why this may go"`

	Pos problem.Pos `json:"-" is:"place"`
}

// Removal is one removed parameter set, which an approval may allow.
type Removal struct{ Hub, Cluster, Tenant, Environment, Group, Component string }

// ExpiredAt reports whether the approval's last day is over, in UTC.
func (a Approval) ExpiredAt(now time.Time) bool { return !now.Before(a.Ends()) }

// Ends returns the moment at which the approval expires.
func (a Approval) Ends() time.Time { return a.Expires.AddDate(0, 0, 1) }

// IsPattern reports whether it gives a pattern of members, not their names.
func (a ApprovedRemoval) IsPattern() bool {
	return len(a.Clusters) == 0 || slices.Contains(a.Clusters, Any)
}

// MaxAhead is the longest time before its last day at which an approval counts.
const MaxAhead = 30 * 24 * time.Hour

// CountsAt reports whether the approval has not expired and does not expire too far ahead.
func (a Approval) CountsAt(now time.Time) bool {
	return !a.ExpiredAt(now) && a.Expires.Sub(now) <= MaxAhead
}

// Text returns what an item of the approval approves, and until when.
func (a Approval) Text(item ApprovedRemoval) string {
	return fmt.Sprintf("%s %q", a.LastDay, []any{item.Hub, item.Clusters, item.Tenant, item.Environment, item.Components})
}

// Approves reports whether the approval names a removal, expired or not.
func (a Approval) Approves(r Removal) bool {
	return slices.ContainsFunc(a.Removals, func(item ApprovedRemoval) bool { return item.names(r) })
}

// Names reports whether the approval names a removal's cluster and component, not only Any.
func (a Approval) Names(r Removal) bool {
	return slices.ContainsFunc(a.Removals, func(item ApprovedRemoval) bool {
		return item.names(r) && slices.Contains(item.Clusters, r.Cluster) && slices.Contains(item.Components, r.Group+"/"+r.Component)
	})
}

// NamesMember reports whether the approval names a removal's cluster, not by a pattern.
func (a Approval) NamesMember(r Removal) bool {
	return slices.ContainsFunc(a.Removals, func(item ApprovedRemoval) bool { return item.names(r) && !item.IsPattern() })
}

func (a ApprovedRemoval) names(r Removal) bool {
	return (a.Hub == "" || a.Hub == r.Hub) &&
		(a.Tenant == "" || a.Tenant == r.Tenant) &&
		(a.Environment == "" || a.Environment == r.Environment) &&
		(len(a.Clusters) == 0 || slices.Contains(a.Clusters, Any) || slices.Contains(a.Clusters, r.Cluster)) &&
		matchesComponent(a.Components, r.Group, r.Component)
}

// matchesComponent reports whether one of some patterns is about a component.
func matchesComponent(patterns []string, group, component string) bool {
	return slices.ContainsFunc(patterns, func(c string) bool {
		return c == Any || c == group+"/"+Any || c == group+"/"+component
	})
}

// isComponentPattern reports whether a text is group/component, group/*, or "*".
func isComponentPattern(text string) bool {
	group, component, _ := strings.Cut(text, "/")
	return text == Any || labels.IsName(group) && (component == Any || labels.IsName(component))
}

// loadApprovals reads the approvals. An invalid file approves nothing and is reported; nothing else
// in the repository depends on it.
func (f *Fleet) loadApprovals(s *snapshot.Snapshot, cache *hierarchy.Cache) {
	for _, file := range s.EntriesUnder(f.Layout.Guard.Approvals) {
		doc, err := cache.Doc(file)
		if err != nil {
			f.ApprovalProblems = append(f.ApprovalProblems, problem.From(err, problem.InvalidApproval, problem.Pos{File: file.Path})...)
			continue
		}
		a, problems := readApproval(doc)
		f.ApprovalProblems = append(f.ApprovalProblems, problems...)
		if len(problem.Errors(problems)) == 0 {
			f.ApprovalProblems = append(f.ApprovalProblems, f.strangers(a)...)
			f.Approvals = append(f.Approvals, a)
		}
	}
	f.ApprovalProblems = problem.Sorted(f.ApprovalProblems)
}

func readApproval(doc *yamldoc.Doc) (a Approval, problems []problem.Problem) {
	return a, yamldoc.NewReader(doc).Decode(doc.Root, "the approval", problem.InvalidApproval, &a).Problems()
}

// Check parses the last day.
func (a *Approval) Check(at yamldoc.At) {
	var err error
	a.Pos = at.Pos("expires")
	if a.Expires, err = time.Parse(time.DateOnly, a.LastDay); err != nil && a.LastDay != "" {
		at.Wrong("expires", fmt.Sprintf("%q", a.LastDay), "a day, such as 2026-12-01")
	}
}

// Check checks that the removal names a cluster and a component.
func (a *ApprovedRemoval) Check(at yamldoc.At) {
	merge := func(one string, several []string) []string {
		if one == "" {
			return several
		}
		return append([]string{one}, several...)
	}
	a.Clusters, a.Components = merge(a.Cluster, a.Clusters), merge(a.Component, a.Components)
	if len(a.Clusters) == 0 && a.Tenant == "" && a.Environment == "" {
		at.Wrong("", "names no cluster", `cluster, clusters, tenant or environment; "*" is every cluster`)
	}
	if len(a.Components) == 0 {
		at.Wrong("", "names no component", `component or components: group/component, group/*, or "*" for all`)
	}
	for _, c := range a.Components {
		if !isComponentPattern(c) {
			at.Wrong("", fmt.Sprintf("component %q", c), `group/component, group/*, or "*"`)
		}
	}
}

// strangers reports the hubs, groups, tenants and environments that an approval names and the fleet
// lacks. Clusters and components may be gone: approvals are for their removal.
func (f *Fleet) strangers(a Approval) []problem.Problem {
	tenants, environments := map[string]bool{}, map[string]bool{}
	for _, h := range f.hubs {
		for _, m := range h.members {
			tenants[m.Tenant], environments[m.Environment] = true, true
		}
	}
	var out []problem.Problem
	for _, item := range a.Removals {
		known := func(what, name string, names []string) {
			if name != "" && !slices.Contains(names, name) {
				out = append(out, problem.Problem{
					Reason: problem.InvalidApproval, Severity: problem.Warning, Pos: item.Pos, Subject: fmt.Sprintf("%s %q", what, name),
					Found: "not in this fleet, so that nothing is approved", Hints: problem.Nearest(name, names),
				})
			}
		}
		known("hub", item.Hub, f.Hubs())
		known("tenant", item.Tenant, slices.Sorted(maps.Keys(tenants)))
		known("environment", item.Environment, slices.Sorted(maps.Keys(environments)))
		for _, c := range item.Components {
			if group, _, ok := strings.Cut(c, "/"); ok {
				known("group", group, f.Layout.GroupNames())
			}
		}
	}
	return out
}
