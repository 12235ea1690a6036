// Package planreport writes the changes between two revisions of a repository: as JSON, text,
// Markdown and HTML. The latter three are templates of one view (planpage.Plan).
//
//	report := planreport.New(base, head, plan)
//	err := planreport.WriteMarkdown(os.Stdout, report, planreport.MaxMarkdown)
package planreport

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/plan"
)

// Plan holds the changes between two revisions of a fleet repository.
type Plan struct {
	APIVersion string   `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string   `json:"kind" jsonschema:"enum=Plan"`
	Base       Revision `json:"base"`
	Head       Revision `json:"head"`
	Summary    Summary  `json:"summary"`
	// Hubs are all hubs compared, by name, also those without changes.
	Hubs []plan.Hub `json:"hubs"`
	// Guard is what the guard would do.
	Guard Guard `json:"guard"`
	// Problems are what keeps the plan from being complete: with severity error, what fails; with
	// warning, what is not followed. Absent if there are none.
	Problems []Problem `json:"problems,omitempty"`
	// Broken are members that cannot be computed; absent if there are none.
	Broken []plan.Broken `json:"broken,omitempty"`
	// Bounds compares the plan with the bounds that were given; absent without any.
	Bounds *Bounds `json:"bounds,omitempty"`
}

// Bounds is what a change may do, to be approved without a reviewer, and what is beyond that.
type Bounds struct {
	// Team is the only team whose applications may change; absent for all.
	Team string `json:"team,omitempty"`
	// Classes are the classes of which the change may only create one new cluster; absent for any
	// change.
	Classes []string `json:"classes,omitempty"`
	// MaxChanges is how many changes there may be; absent for any number.
	MaxChanges *int `json:"maxChanges,omitempty"`
	// Changes are the clusters, Applications and objects that change, and the components that a
	// hold covers which the change adds, changes or removes.
	Changes int `json:"changes"`
	// Beyond says what is beyond the bounds; absent if nothing is.
	Beyond []string `json:"beyond,omitempty"`
}

// Kind is the kind of a Plan.
const Kind = "Plan"

// Revision is one of the two revisions.
type Revision struct {
	// Name is what the user asked for; absent for the folder as it is, uncommitted changes
	// included.
	Name string `json:"name,omitempty"`
	// Revision is the Git commit, or for a folder a digest of its files.
	Revision string `json:"revision"`
}

// String names a revision for people.
func (r Revision) String() string {
	if r.Name == "" {
		return "the folder as it is"
	}
	if strings.HasPrefix(r.Revision, r.Name) {
		return fmt.Sprintf("%.7s", r.Name)
	}
	return fmt.Sprintf("%s (%.7s)", r.Name, r.Revision)
}

// Problem is something that keeps the plan from being complete.
type Problem struct {
	// Revision is which of the two has it. What is not followed at either revision is not caused by
	// the change.
	Revision string `json:"revision" jsonschema:"enum=base,enum=head,enum=both"`
	problem.Finding
}

// bothRevisions is the Revision of a Problem that both have.
const bothRevisions = "both"

// New returns the report of a plan, without what the guard would decide.
func New(base, head Revision, p *plan.Plan) Plan {
	out := Plan{
		APIVersion: report.APIVersion, Kind: Kind, Base: base, Head: head, Summary: summaryOf(p.Hubs),
		Hubs: append([]plan.Hub{}, p.Hubs...), Guard: Guard{Refused: []Refusal{}}, Broken: p.Broken,
	}
	for _, b := range p.Broken {
		out.AddProblems(b.Revision, b.Problems)
	}
	return out
}

// AddProblems adds the problems of one of the revisions, plan.Base or plan.Head. Each problem is
// listed once.
func (p *Plan) AddProblems(revision string, problems []problem.Problem) {
	for _, x := range problem.OnePerPlace(problem.Sorted(problems)) {
		f := Problem{revision, problem.NewFinding(x)}
		same := func(y Problem) bool {
			return y.Message == f.Message && y.Pos == f.Pos && y.Cluster == f.Cluster
		}
		switch i := slices.IndexFunc(p.Problems, same); {
		case i < 0:
			p.Problems = append(p.Problems, f)
			if f.Reason == problem.NotExpanded {
				p.Summary.NotFollowed++
			}
		case p.Problems[i].Revision != revision:
			p.Problems[i].Revision = bothRevisions
		}
	}
}

// Changes reports whether anything changes.
func (p Plan) Changes() bool {
	return slices.ContainsFunc(p.Hubs, func(h plan.Hub) bool { return len(h.Clusters) > 0 || len(h.Objects) > 0 })
}

// Incomplete reports whether something fails, so that it is missing in the plan.
func (p Plan) Incomplete() bool {
	return slices.ContainsFunc(p.Problems, func(x Problem) bool { return x.Severity == problem.Error })
}
