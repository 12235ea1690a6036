package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// ApprovalKind is the kind of a file that approves removals.
const ApprovalKind = "RemovalApproval"

// Any matches every name in an approval.
const Any = "*"

// Approval is a file that approves removals (G3). Somebody reviews it as a commit.
type Approval struct {
	// Expires is the last day on which the file approves anything, in UTC.
	Expires  time.Time
	Removals []ApprovedRemoval
	Pos      problem.Pos // of the file's expires
}

// ApprovedRemoval names removals that are allowed. A removal must match all of its fields.
type ApprovedRemoval struct {
	// Hub, Tenant and Environment match everything when they are empty. Tenant and Environment are
	// those of the member file; a member whose file is gone has none.
	Hub, Tenant, Environment string
	// Clusters are names, or Any; empty when Tenant or Environment select the clusters.
	Clusters []string
	// Components are group/component, group/* or Any.
	Components []string
	Reason     string
	Pos        problem.Pos
}

// Removal is one removed parameter set, which an approval may allow.
type Removal struct{ Hub, Cluster, Tenant, Environment, Group, Component string }

// ExpiredAt reports whether the approval's last day is over, in UTC.
func (a Approval) ExpiredAt(now time.Time) bool { return !now.Before(a.Ends()) }

// Ends is the moment at which the approval expires.
func (a Approval) Ends() time.Time { return a.Expires.AddDate(0, 0, 1) }

// Approves reports whether the approval names a removal, expired or not.
func (a Approval) Approves(r Removal) bool {
	return slices.ContainsFunc(a.Removals, func(item ApprovedRemoval) bool { return item.names(r) })
}

// Names reports whether the approval names a removal's cluster and component themselves, not by
// Any.
func (a Approval) Names(r Removal) bool {
	return slices.ContainsFunc(a.Removals, func(item ApprovedRemoval) bool {
		return item.names(r) && slices.Contains(item.Clusters, r.Cluster) && slices.Contains(item.Components, r.Group+"/"+r.Component)
	})
}

func (a ApprovedRemoval) names(r Removal) bool {
	return (a.Hub == "" || a.Hub == r.Hub) &&
		(a.Tenant == "" || a.Tenant == r.Tenant) &&
		(a.Environment == "" || a.Environment == r.Environment) &&
		(len(a.Clusters) == 0 || slices.Contains(a.Clusters, Any) || slices.Contains(a.Clusters, r.Cluster)) &&
		slices.ContainsFunc(a.Components, func(c string) bool {
			return c == Any || c == r.Group+"/"+Any || c == r.Group+"/"+r.Component
		})
}

// loadApprovals reads the approvals. An invalid one approves nothing and is a finding; nothing else
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

func readApproval(doc *yamldoc.Doc) (Approval, []problem.Problem) {
	r := yamldoc.NewReader(doc)
	root := r.Map(doc.Root, "the approval")
	root.Known("apiVersion", "kind", "expires", "removals")
	root.Const("apiVersion", APIVersion)
	if root.Const("kind", ApprovalKind); !root.Has("kind") {
		r.AddAt(problem.InvalidApproval, root.KeyPos("kind"), `key "kind"`, "missing or empty", fmt.Sprintf("%q", ApprovalKind))
	}
	a := Approval{Pos: root.KeyPos("expires")}
	var err error
	if text := root.String("expires"); text == "" {
		r.AddAt(problem.InvalidApproval, a.Pos, `key "expires"`, "missing or empty", "the last day of the approval, such as 2026-12-01")
	} else if a.Expires, err = time.Parse(time.DateOnly, text); err != nil {
		r.Add(problem.InvalidApproval, root.Node().Get("expires"), `key "expires"`, fmt.Sprintf("%q", text), "a day, such as 2026-12-01")
	}
	items := root.List("removals")
	if len(items) == 0 {
		r.AddAt(problem.InvalidApproval, root.KeyPos("removals"), `key "removals"`, "names nothing", "what may go")
	}
	for i, item := range items {
		a.Removals = append(a.Removals, readRemoval(r, item, fmt.Sprintf("removal %d", i+1)))
	}
	return a, r.Problems()
}

func readRemoval(r *yamldoc.Reader, item *yamldoc.Node, what string) ApprovedRemoval {
	m := r.Map(item, what)
	m.Known("hub", "cluster", "clusters", "tenant", "environment", "component", "components", "reason")
	out := ApprovedRemoval{
		Hub: m.String("hub"), Tenant: m.String("tenant"), Environment: m.String("environment"),
		Clusters: names(r, m, "cluster", "clusters"), Components: names(r, m, "component", "components"),
		Reason: strings.TrimSpace(m.String("reason")), Pos: item.Pos(),
	}
	if len(out.Clusters) == 0 && out.Tenant == "" && out.Environment == "" {
		r.Add(problem.InvalidApproval, item, what, "names no cluster", `cluster, clusters, tenant or environment; "*" is every cluster`)
	}
	if len(out.Components) == 0 {
		r.Add(problem.InvalidApproval, item, what, "names no component", `component or components: group/component, group/*, or "*" for all`)
	}
	for _, c := range out.Components {
		group, component, _ := strings.Cut(c, "/")
		if c != Any && (!labels.IsName(group) || component != Any && !labels.IsName(component)) {
			r.Add(problem.InvalidApproval, item, what, fmt.Sprintf("component %q", c), `group/component, group/*, or "*"`)
		}
	}
	if out.Reason == "" {
		r.Add(problem.InvalidApproval, item, what, "gives no reason", "reason: why this may go")
	}
	return out
}

// names are the names under a key of one name and under a key of several.
func names(r *yamldoc.Reader, m *yamldoc.MapReader, one, several string) []string {
	var out []string
	if name := m.String(one); name != "" {
		out = append(out, name)
	}
	for i, n := range m.List(several) {
		if n.Kind == yamldoc.Map || n.Kind == yamldoc.List || n.IsNull() || n.Text() == "" {
			r.Add(problem.InvalidApproval, n, fmt.Sprintf("key %q", several), fmt.Sprintf("element %d is no name", i+1), "names")
			continue
		}
		out = append(out, n.Text())
	}
	return out
}

// strangers are hubs, groups, tenants and environments that an approval names and the fleet does
// not have. Clusters and components may be gone already: approvals are for their removal.
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
