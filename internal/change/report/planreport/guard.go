package planreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/guard"
)

// Guard holds the guard's decisions on responses that remove something.
type Guard struct {
	// Commits lists why removals of the change would be held, by hub; absent if none would.
	Commits []CommitRefusal `json:"commits,omitempty"`
	// Refused lists the refused responses, by hub and query.
	Refused []Refusal `json:"refused"`
	// Approval is a file that would approve what is beyond the removal budget; absent if nothing
	// is.
	Approval *fleet.Approval `json:"approval,omitempty"`
	// Moved lists the members whose tenant or environment changes, and what is created again for
	// them; absent if there are none. A move needs no approval; what it removes counts as any
	// removal.
	Moved []string `json:"moved,omitempty"`
	// Undecided lists decisions that depend on the clusters, which a plan does not read; absent if
	// there are none.
	Undecided []string `json:"undecided,omitempty"`
}

// CommitRefusal is a reason for which a hub's service holds what a commit removes, of all members,
// of one tenant, or of the hub itself, whichever ApplicationSet queries. All else goes on.
type CommitRefusal struct {
	Hub string `json:"hub"`
	// Tenant is set if its members keep their last known good snapshots while other tenants are
	// updated; then the numbers are about its members.
	Tenant string `json:"tenant,omitempty"`
	// Message says in a few words what would be removed, and why that needs an approval.
	Message string `json:"message"`
	// Members is how many members of the hub have something. Losing is how many would lose
	// something without approval, and Allowed how many may.
	Members int `json:"members"`
	Losing  int `json:"losing"`
	Allowed int `json:"allowed"`
}

// Refusal is a response that the service would refuse.
type Refusal struct {
	Hub       string `json:"hub"`
	Owner     string `json:"owner"`
	View      string `json:"view" jsonschema:"enum=members,enum=releases,enum=components,enum=agents,enum=grants"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	Release   string `json:"release,omitempty"`
	// Reason is why: the response removes too much until a commit approves it (removal-budget); or
	// it keeps what moves until the new owner can answer it (handover); or it needs something
	// broken that cannot be computed until it is fixed (broken).
	Reason string `json:"reason" jsonschema:"enum=removal-budget,enum=handover,enum=broken"`
	// Message says in a few words what would be removed, which owner is waited for, or what is
	// broken.
	Message string `json:"message"`
	// Members is how many members have something. Losing is how many would lose something without
	// approval, and Allowed how many may.
	Members int `json:"members"`
	Losing  int `json:"losing"`
	Allowed int `json:"allowed"`
}

// NewGuard reports what the guard would decide. The approval is for the wanted removals, until a
// day.
func NewGuard(p *plan.Plan, all []guard.Decision, wanted []guard.NeededApproval, expires string) Guard {
	out := Guard{Refused: []Refusal{}, Moved: movedMembers(p), Undecided: handOvers(p)}
	for _, f := range all {
		if f.IsOfCommit() {
			out.Commits = append(out.Commits, CommitRefusal{f.Hub, f.Tenant, f.Message, f.Members, f.Losing, f.Allowed})
			continue
		}
		r := Refusal{
			Hub: f.Hub, Owner: f.Owner, View: string(f.View), Group: f.Group, Component: f.Component, Release: f.Release,
			Reason: string(f.Verdict), Message: f.Message, Members: f.Members, Losing: f.Losing, Allowed: f.Allowed,
		}
		switch f.Verdict {
		case "":
		case guard.Unknown:
			out.Undecided = append(out.Undecided, r.text())
		default:
			out.Refused = append(out.Refused, r)
		}
	}
	if out.Over() {
		out.Approval = newApproval(wanted, expires)
	}
	return out
}

// Over reports whether anything is beyond the removal budget.
func (g Guard) Over() bool { return len(g.Commits)+len(g.refused(guard.OverBudget)) > 0 }

// refused returns the refusals for a reason.
func (g Guard) refused(v guard.Verdict) []Refusal {
	return slices.DeleteFunc(slices.Clone(g.Refused), func(r Refusal) bool { return r.Reason != string(v) })
}

// movedMembers returns the members whose tenant or environment changes.
func movedMembers(p *plan.Plan) []string {
	var out []string
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			var from []string
			for _, d := range c.Differences {
				if d.Kind == plan.Setting && (d.Name == "tenant" || d.Name == "environment") && d.Old != nil && d.New != nil {
					from = append(from, fmt.Sprintf("from %s %v to %v", d.Name, d.Old.Value, d.New.Value))
				}
			}
			if len(from) == 0 {
				continue
			}
			n := map[plan.Action]int{}
			for _, a := range c.Applications {
				n[a.Action]++
			}
			out = append(out, fmt.Sprintf("%s: %s moves %s: recreated by other ApplicationSets %d, created %d, removed %d; workloads of what is recreated stay",
				h.Name, c.Name, strings.Join(from, " and "), n[plan.Move], n[plan.Create], n[plan.Remove]))
		}
	}
	return out
}

// handOvers returns the groups that another engine takes over. Ownership grants in the clusters
// decide when.
func handOvers(p *plan.Plan) []string {
	var out []string
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				text := fmt.Sprintf("%s: when another engine takes over %s of %s, because a plan reads no cluster", h.Name, a.Group, c.Name)
				handed := slices.ContainsFunc(a.Differences, func(d plan.Difference) bool { return d.Kind == plan.Setting && d.Name == "owner" })
				if a.Action == plan.Move && handed && !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// text formats a refusal in one line: whose response it is, and why.
func (r Refusal) text() string {
	out := r.Hub + " " + r.View
	if r.Component != "" {
		out = fmt.Sprintf("%s %s/%s, release %s", r.Hub, r.Group, r.Component, r.Release)
	}
	if r.Owner != fleet.OwnerHub {
		out += ", by " + r.Owner
	}
	return out + ": " + r.Message
}

// firstOf returns the first lines, and how many more there are.
func firstOf(most int, lines []string) []string {
	if len(lines) <= most+1 {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}

// lifted says for each reason when a refusal ends. What an approval lifts comes last, just before
// the proposed approval.
var lifted = []struct {
	reason guard.Verdict
	text   string
}{
	{guard.Broken, "broken: the service would refuse %s, and nothing of it changes, until that is fixed"},
	{guard.Pending, "hand-over: the service would refuse %s, and nothing of it is removed, until the new owner can answer"},
	{guard.OverBudget, "removal budget: the service would refuse %s, and nothing of it is removed, until a commit approves"},
}

// refusals returns what the service would hold or refuse, with at most so many lines of a kind: the
// tenants that it holds, each counted once whatever the number of its hubs, other removals that it
// holds, and then responses by reason.
func (g Guard) refusals(most int) (out []planpage.Refused) {
	add := func(headline string, lines []string) {
		if len(lines) > 0 {
			out = append(out, planpage.Refused{Headline: headline, Lines: printable("", firstOf(most, lines))})
		}
	}
	tenants := map[string]bool{}
	var held, whole []string
	for _, c := range g.Commits {
		if line := c.Hub + ": " + c.Message; c.Tenant != "" {
			tenants[c.Tenant], held = true, append(held, line)
		} else {
			whole = append(whole, line)
		}
	}
	add(fmt.Sprintf("removal budget: the service would hold %s on the last known good snapshot, and go on with all others, until a commit approves", report.Count(len(tenants), "tenant")), held)
	add("removal budget: the service would hold what would be removed as it is, and go on with all else, until a commit approves", whole)
	for _, l := range lifted {
		var lines []string
		all := g.refused(l.reason)
		for _, r := range all {
			lines = append(lines, r.text())
		}
		add(fmt.Sprintf(l.text, report.Count(len(all), "response")), lines)
	}
	return out
}
