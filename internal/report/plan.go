package report

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/plan"
)

// Plan is what changes between two revisions of a fleet's repository.
type Plan struct {
	APIVersion string       `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string       `json:"kind" jsonschema:"enum=Plan"`
	Base       PlanRevision `json:"base"`
	Head       PlanRevision `json:"head"`
	Summary    PlanSummary  `json:"summary"`
	// Hubs are all hubs compared, by name, also those without changes.
	Hubs []PlanHub `json:"hubs"`
	// Guard is what the removal budget would do.
	Guard PlanGuard `json:"guard"`
	// Problems are what keeps the plan from being complete: with severity error, what fails; with warning, what is not
	// followed. Absent if there are none.
	Problems []PlanProblem `json:"problems,omitempty"`
	// Broken are members that cannot be computed, and what becomes of them; absent if there are none.
	Broken []PlanBroken `json:"broken,omitempty"`
}

// PlanRevision is one of the two revisions.
type PlanRevision struct {
	// Name is what was asked for; absent for the folder as it is, uncommitted changes included.
	Name string `json:"name,omitempty"`
	// Revision is the Git commit, or for a folder a digest of its files.
	Revision string `json:"revision"`
}

// PlanSummary counts.
type PlanSummary struct {
	Clusters     PlanCounts `json:"clusters"`
	Applications PlanCounts `json:"applications"`
	// Removals are the removed Applications by cause.
	Removals PlanRemovals `json:"removals"`
	// Objects is how many else change at the end of the pipeline, that are no Applications of the above; absent if none does.
	Objects int `json:"objects,omitempty"`
}

// PlanCounts are numbers of clusters or Applications. A cluster counts as changed when it changes itself; clusters do
// not move.
type PlanCounts struct {
	Create    int `json:"create"`
	Change    int `json:"change"`
	Move      int `json:"move"`
	Remove    int `json:"remove"`
	Unchanged int `json:"unchanged"`
}

// PlanRemovals are numbers of removed Applications by cause.
type PlanRemovals struct {
	Moved    int `json:"moved"`
	Disabled int `json:"disabled"`
	Retired  int `json:"retired"`
	Lost     int `json:"lost"`
}

// PlanGuard is what the service would do with the answers that remove something.
type PlanGuard struct {
	// Refused are the answers that would not be given, by hub and question.
	Refused []PlanRefusal `json:"refused"`
	// Approval is a file that would let those pass that are beyond the removal budget; absent if there are none.
	Approval *RemovalApproval `json:"approval,omitempty"`
	// NotForeseen is what nobody can tell without the clusters; absent if there is none.
	NotForeseen []string `json:"notForeseen,omitempty"`
}

// PlanRefusal is an answer that the service would not give.
type PlanRefusal struct {
	Hub       string `json:"hub"`
	Owner     string `json:"owner"`
	View      string `json:"view" jsonschema:"enum=members,enum=releases,enum=components,enum=agents,enum=grants"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	Release   string `json:"release,omitempty"`
	// Reason is why: it removes too much until a commit approves (removal-budget), keeps what moves until whoever takes it has an
	// answer (handover), or is made of something that cannot be computed until that is mended (broken).
	Reason string `json:"reason" jsonschema:"enum=removal-budget,enum=handover,enum=broken"`
	// Message says in a few words what would be lost, who is waited for, or what is broken.
	Message string `json:"message"`
	// Members are those that have something, Losing those that would lose something without approval, Allowed how many may.
	Members int `json:"members"`
	Losing  int `json:"losing"`
	Allowed int `json:"allowed"`
}

// PlanHub is what changes for the members of one hub.
type PlanHub struct {
	Name string `json:"name"`
	// Clusters are those that change themselves or whose Applications do, by name.
	Clusters []PlanCluster `json:"clusters"`
	// Objects are what else changes at the end of the pipeline, by kind and name; absent if there are none.
	Objects []PlanObject `json:"objects,omitempty"`
	// Rollouts are the orders in which ApplicationSets with steps sync what changes; absent if there are none.
	Rollouts []PlanRollout `json:"rollouts,omitempty"`
	// Waiting are draining members for which something would change, by name; absent if there are none.
	Waiting []PlanWaiting `json:"waiting,omitempty"`
}

// PlanCluster is what changes for one cluster.
type PlanCluster struct {
	Name        string `json:"name"`
	Tenant      string `json:"tenant,omitempty"`
	Environment string `json:"environment,omitempty"`
	// Action is absent when only Applications change.
	Action string `json:"action,omitempty" jsonschema:"enum=create,enum=change,enum=remove"`
	// Cause is why the cluster is removed, and Position where that stands: the line that retires it, the file that is gone, or
	// the one that it has moved to.
	Cause    string    `json:"cause,omitempty" jsonschema:"enum=moved,enum=retired,enum=lost"`
	Position *Position `json:"position,omitempty"`
	// Member is the member file.
	Member *Position `json:"member,omitempty"`
	// Differences are those of a changed cluster: settings of its member file, labels and annotations.
	Differences  []PlanDifference  `json:"differences"`
	Applications []PlanApplication `json:"applications"`
}

// PlanApplication is what becomes of one Application.
type PlanApplication struct {
	Name   string `json:"name"`
	Action string `json:"action" jsonschema:"enum=create,enum=change,enum=move,enum=remove"`
	// Cause is why the Application is removed.
	Cause string `json:"cause,omitempty" jsonschema:"enum=moved,enum=disabled,enum=retired,enum=lost"`
	// Deletion is what becomes of what runs when the Application is removed: it goes with it (cascade) or stays (orphan).
	Deletion string `json:"deletion,omitempty" jsonschema:"enum=cascade,enum=orphan"`
	// Detail says more about the cause, and Position where it stands.
	Detail   string    `json:"detail,omitempty"`
	Position *Position `json:"position,omitempty"`
	// View is the view that answers with the Application.
	View      string `json:"view" jsonschema:"enum=members,enum=releases,enum=components,enum=agents"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Owner is whose engine owns the Application, "hub" or a member's name; of a removed one, whose did.
	Owner   string `json:"owner"`
	Engine  string `json:"engine" jsonschema:"enum=argocd,enum=flux"`
	Release string `json:"release,omitempty"`
	// Chart is the component's chart and its version, or for Git the path and revision.
	Chart   string `json:"chart,omitempty"`
	Version string `json:"version,omitempty"`
	// Clusters are those on the release, for view releases.
	Clusters []string `json:"clusters,omitempty"`
	// RenamedFrom and RenamedTo name the other Application of a rename: the same chart of the same group.
	RenamedFrom string `json:"renamedFrom,omitempty"`
	RenamedTo   string `json:"renamedTo,omitempty"`
	// Differences are those of a changed or moved Application. What registers a cluster has none of its own where the cluster's
	// labels and annotations are all that it has otherwise: those are the cluster's.
	Differences []PlanDifference `json:"differences"`
}

// PlanDifference is one thing that is not as it was.
type PlanDifference struct {
	Kind string `json:"kind" jsonschema:"enum=setting,enum=label,enum=annotation,enum=value,enum=field"`
	// Name is the setting's, label's or annotation's name, or the path of the value.
	Name string `json:"name"`
	// Old and New are absent where there is nothing; null is a value.
	Old *PlanSide `json:"old,omitempty"`
	New *PlanSide `json:"new,omitempty"`
}

// PlanSide is a value and the place that sets it.
type PlanSide struct {
	Value    any       `json:"value"`
	Position *Position `json:"position,omitempty"`
}

// NewPlan is the envelope of a plan; without foreseen refusals.
func NewPlan(base, head PlanRevision, p *plan.Plan) Plan {
	out := Plan{APIVersion: APIVersion, Kind: KindPlan, Base: base, Head: head, Hubs: []PlanHub{}, Guard: PlanGuard{Refused: []PlanRefusal{}}}
	s := &out.Summary
	for _, hub := range p.Hubs {
		h := PlanHub{Name: hub.Name, Clusters: []PlanCluster{}, Objects: newPlanObjects(hub.Objects), Rollouts: newPlanRollouts(hub.Rollouts), Waiting: newPlanWaiting(hub.Waiting)}
		for _, o := range hub.Objects {
			if o.Counted && o.Action == plan.Change {
				s.Applications.Change++
				s.Applications.Unchanged--
			} else {
				s.Objects++
			}
		}
		s.Clusters.Unchanged += hub.UnchangedClusters
		s.Applications.Unchanged += hub.UnchangedApplications
		for _, cluster := range hub.Clusters {
			if cluster.Action == "" {
				s.Clusters.Unchanged++
			}
			s.Clusters.count(cluster.Action)
			for _, a := range cluster.Applications {
				s.Applications.count(a.Action)
				s.Removals.count(a.Cause)
			}
			h.Clusters = append(h.Clusters, newPlanCluster(cluster))
		}
		out.Hubs = append(out.Hubs, h)
	}
	return out
}

// NewPlanGuard is what is foreseen of the guard's. What would have to be approved is wanted, until the day given.
func NewPlanGuard(p *plan.Plan, all []guard.Foreseen, wanted []guard.Wanted, expires string) PlanGuard {
	out := PlanGuard{Refused: []PlanRefusal{}, NotForeseen: notForeseen(p)}
	for _, f := range all {
		r := PlanRefusal{
			Hub: f.Hub, Owner: f.Owner, View: string(f.View), Group: f.Group, Component: f.Component, Release: f.Release,
			Reason: string(f.Verdict), Message: f.Sum, Members: f.Members, Losing: f.Losing, Allowed: f.Allowed,
		}
		switch f.Verdict {
		case "":
		case guard.Unknown:
			out.NotForeseen = append(out.NotForeseen, r.question()+": "+r.Message)
		default:
			out.Refused = append(out.Refused, r)
		}
	}
	if out.Over() {
		out.Approval = NewRemovalApproval(wanted, expires)
	}
	return out
}

// Over reports whether anything is beyond the removal budget.
func (g PlanGuard) Over() bool { return len(g.because(guard.OverBudget)) > 0 }

// because are the refusals for a reason.
func (g PlanGuard) because(v guard.Verdict) []PlanRefusal {
	return slices.DeleteFunc(slices.Clone(g.Refused), func(r PlanRefusal) bool { return r.Reason != string(v) })
}

// notForeseen are groups that change hands between engines: when, is for grants to say, which only clusters know (rule M3).
func notForeseen(p *plan.Plan) []string {
	var out []string
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				text := fmt.Sprintf("%s: when %s of %s changes hands: no cluster is asked", h.Name, a.Group, c.Name)
				handed := slices.ContainsFunc(a.Differences, func(d plan.Difference) bool { return d.Kind == plan.Setting && d.Name == "owner" })
				if a.Action == plan.Move && handed && !slices.Contains(out, text) {
					out = append(out, text)
				}
			}
		}
	}
	return out
}

// Changes reports whether anything changes.
func (p Plan) Changes() bool {
	for _, h := range p.Hubs {
		if len(h.Clusters) > 0 || len(h.Objects) > 0 {
			return true
		}
	}
	return false
}

func (c *PlanCounts) count(a plan.Action) {
	switch a {
	case plan.Create:
		c.Create++
	case plan.Change:
		c.Change++
	case plan.Move:
		c.Move++
	case plan.Remove:
		c.Remove++
	}
}

func (r *PlanRemovals) count(c plan.Cause) {
	switch c {
	case plan.Moved:
		r.Moved++
	case plan.Disabled:
		r.Disabled++
	case plan.Retired:
		r.Retired++
	case plan.Lost:
		r.Lost++
	}
}

func newPlanCluster(c plan.Cluster) PlanCluster {
	out := PlanCluster{
		Name: c.Name, Action: string(c.Action), Cause: string(c.Cause), Position: position(c.Pos), Differences: planDifferences(c.Differences), Applications: []PlanApplication{},
	}
	if m := c.Member; m != nil {
		out.Tenant, out.Environment, out.Member = m.Tenant, m.Environment, position(m.Pos)
	}
	for _, a := range c.Applications {
		out.Applications = append(out.Applications, PlanApplication{
			Name: a.Name, Action: string(a.Action), Cause: string(a.Cause), Deletion: a.Deletion, Detail: a.Detail, Position: position(a.Pos),
			View: string(a.View), Group: a.Group, Component: a.Component, Owner: a.Owner, Engine: a.Engine, Release: a.Release,
			Chart: chartName(a.Application), Version: a.Chart.Version, Clusters: a.Clusters, Differences: planDifferences(a.Differences), RenamedFrom: a.RenamedFrom, RenamedTo: a.RenamedTo,
		})
	}
	return out
}

func chartName(a generator.Application) string {
	if a.Chart.Name != "" {
		return a.Chart.Name
	}
	return a.Chart.Path
}

func planDifferences(ds []plan.Difference) []PlanDifference {
	out := []PlanDifference{}
	side := func(s *plan.Side) *PlanSide {
		if s == nil {
			return nil
		}
		return &PlanSide{Value: s.Value, Position: position(s.Pos)}
	}
	for _, d := range ds {
		out = append(out, PlanDifference{Kind: string(d.Kind), Name: d.Name, Old: side(d.Old), New: side(d.New)})
	}
	return out
}

const ownerHub = fleet.OwnerHub

// ownedByHub reports whether the hub's engine owns an Application.
func (a PlanApplication) ownedByHub() bool { return a.Owner == fleet.OwnerHub }
