package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/problem"
)

// PlanObject is what changes for an object at the end of the pipeline and is no change of the engine's answers: another
// root, another template of a chart in this repository.
type PlanObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Owner is whose engine has it, "hub" or a member's name.
	Owner  string `json:"owner"`
	Action string `json:"action" jsonschema:"enum=create,enum=change,enum=remove"`
	// Left tells, of remove, that nobody makes the object any more and that it stays where it is.
	Left bool `json:"left,omitempty"`
	// Cluster is where it is deployed to.
	Cluster string `json:"cluster,omitempty"`
	// From is what makes it, and Position where that is written.
	From        string           `json:"from,omitempty"`
	Position    *Position        `json:"position,omitempty"`
	Differences []PlanDifference `json:"differences"`
	// More is how many further differences there are: of what a chart makes, the first are listed. Long texts are listed by
	// the first line that differs, what a Secret holds is hidden, and what a chart makes at random is "(random)".
	More int `json:"more,omitempty"`
}

// PlanRollout is the order in which an ApplicationSet syncs what changes.
type PlanRollout struct {
	ApplicationSet string `json:"applicationSet"`
	Owner          string `json:"owner"`
	// Steps are all of them, in order, with the Applications that change in each.
	Steps []PlanStep `json:"steps"`
	// Outside are Applications that no step selects, which are not synced by themselves.
	Outside []string `json:"outside,omitempty"`
}

// PlanStep is a step of a rollout.
type PlanStep struct {
	Selector     string   `json:"selector"`
	Applications []string `json:"applications"`
}

// PlanProblem is something that keeps the plan from being complete.
type PlanProblem struct {
	// Revision is which of the two has it; what is not followed at either is no work of the change.
	Revision string `json:"revision" jsonschema:"enum=base,enum=head,enum=both"`
	Finding
}

// PlanBroken is a member that cannot be computed at one of the revisions.
type PlanBroken struct {
	Hub      string `json:"hub"`
	Cluster  string `json:"cluster"`
	Revision string `json:"revision" jsonschema:"enum=base,enum=head"`
	// Kept tells that it keeps what it had at the base. Otherwise it is not in the plan.
	Kept bool `json:"kept"`
}

const bothRevisions = "both"

func newPlanObjects(objects []plan.Object) []PlanObject {
	var out []PlanObject
	for _, o := range objects {
		out = append(out, PlanObject{
			Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Owner: o.Engine, Action: string(o.Action), Left: o.Left, Cluster: o.Cluster,
			From: o.From, Position: position(o.Pos), Differences: planDifferences(o.Differences), More: o.More,
		})
	}
	return out
}

func newPlanRollouts(rollouts []plan.Rollout) []PlanRollout {
	var out []PlanRollout
	for _, r := range rollouts {
		x := PlanRollout{ApplicationSet: r.ApplicationSet, Owner: r.Engine, Outside: r.Outside, Steps: []PlanStep{}}
		for _, s := range r.Steps {
			x.Steps = append(x.Steps, PlanStep{s.Selector, append([]string{}, s.Applications...)})
		}
		out = append(out, x)
	}
	return out
}

// AddProblems names what is wrong with one of the revisions. Each is listed once.
func (p *Plan) AddProblems(base bool, problems []problem.Problem) {
	revision := "head"
	if base {
		revision = "base"
	}
	for _, x := range generator.OnePerPlace(problem.Sorted(problems)) {
		f := PlanProblem{revision, NewFinding(x)}
		same := func(y PlanProblem) bool {
			return y.Message == f.Message && y.Position.String() == f.Position.String() && y.Cluster == f.Cluster
		}
		switch i := slices.IndexFunc(p.Problems, same); {
		case i < 0:
			p.Problems = append(p.Problems, f)
		case p.Problems[i].Revision != revision:
			p.Problems[i].Revision = bothRevisions
		}
	}
}

// AddBroken says what becomes of members that cannot be computed.
func (p *Plan) AddBroken(broken []plan.Broken) {
	for _, b := range broken {
		revision := "head"
		if b.Base {
			revision = "base"
		}
		p.Broken = append(p.Broken, PlanBroken{b.Hub, b.Name, revision, b.Standing == generator.Kept})
		p.AddProblems(b.Base, b.Problems)
	}
}

// Incomplete reports whether something fails, so that the plan lacks it.
func (p Plan) Incomplete() bool {
	return slices.ContainsFunc(p.Problems, func(x PlanProblem) bool { return x.Severity == string(problem.Error) })
}

// objectLines are a hub's objects as lines, by the cluster that they are shown for.
func objectLines(h PlanHub) (lines []planLine, clusters []string) {
	for _, o := range h.Objects {
		by := cmp.Or(strings.TrimSuffix(o.From, "-"+cmp.Or(o.Cluster, h.Name)), "hand")
		name, cluster := o.Name, cmp.Or(o.Cluster, h.Name)
		if short, ok := strings.CutSuffix(name, "-"+cluster); ok {
			name = short
		}
		l := planLine{action: o.Action, titles: []string{o.Kind + " " + name}, differences: o.Differences, more: o.More}
		switch {
		case o.Left:
			l.about = "left behind: nobody makes it any more, and nothing removes it"
		case o.Action == string(plan.Create):
			l.about = "by " + by
		case o.Action == string(plan.Remove):
			l.about = "was made by " + by
		}
		if o.Action != string(plan.Change) {
			l.position = o.Position.String()
		}
		if o.Owner != ownerHub && o.Owner != cluster {
			l.about = strings.TrimPrefix(l.about+", on "+o.Owner, ", ")
		}
		lines, clusters = append(lines, l), append(clusters, cluster)
	}
	return lines, clusters
}

// texts are the rollouts of a hub, a line each.
func (h PlanHub) rollouts() []string {
	var out []string
	for _, r := range h.Rollouts {
		var steps []string
		for i, s := range r.Steps {
			if len(s.Applications) > 0 {
				steps = append(steps, fmt.Sprintf("step %d (%s): %s", i+1, s.Selector, named(s.Applications)))
			}
		}
		if len(r.Outside) > 0 {
			steps = append(steps, "no step, so not by itself: "+named(r.Outside))
		}
		out = append(out, h.Name+": "+r.ApplicationSet+" syncs in order: "+strings.Join(steps, "; then "))
	}
	return out
}

// loud are the lines that come before all else: what goes, and that something fails, so that the plan lacks it.
func (p Plan) loud() []string {
	var out []string
	if removed := p.removed(); removed != "" {
		out = append(out, removed)
	}
	if !p.Incomplete() {
		return out
	}
	var names []string
	for _, b := range p.Broken {
		if !slices.Contains(names, b.Cluster) {
			names = append(names, b.Cluster)
		}
	}
	if len(names) == 0 {
		return append(out, "INCOMPLETE: there are errors")
	}
	return append(out, fmt.Sprintf("INCOMPLETE: %s cannot be computed: %s", count(len(names), "cluster"), named(names)))
}

// removed are the Applications that go, the lost ones first, and those that go with their cluster by its name; and how many all are.
func (p Plan) removed() string {
	var names []string
	all := 0
	for _, cause := range []plan.Cause{plan.Lost, plan.Disabled, plan.Retired, plan.Moved} {
		for _, h := range p.Hubs {
			for _, c := range h.Clusters {
				n := 0
				for _, a := range c.Applications {
					if a.Cause != string(cause) || a.RenamedTo != "" {
						continue
					}
					n++
					if c.Action != string(plan.Remove) {
						names = append(names, a.Name+" ("+string(cause)+")")
					}
				}
				all += n
				if c.Action == string(plan.Remove) && n > 0 {
					names = append(names, fmt.Sprintf("all %d of cluster %s (%s)", n, c.Name, cause))
				}
			}
		}
	}
	for _, h := range p.Hubs {
		for _, o := range h.Objects {
			if o.Action == string(plan.Remove) && !o.Left && (o.Kind == "Application" || o.Kind == "ApplicationSet") {
				names = append(names, o.Name+" ("+o.Kind+")")
				all++
			}
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("REMOVES %d: %s", all, named(names))
}

// notKnown are the lines that say what the plan lacks: members that keep what they had, what fails, and what is not followed
// any more or not yet, once for all objects alike.
func (p Plan) notKnown() []string {
	out := append(p.broken(), p.errors()...)
	warned := map[string][]string{}
	hints := map[string][]string{}
	var order []string
	for _, x := range p.Problems {
		if x.Severity == string(problem.Error) || x.Revision == bothRevisions {
			continue
		}
		if warned[x.Found] == nil {
			order = append(order, x.Found)
			hints[x.Found] = x.Hints
		}
		warned[x.Found] = append(warned[x.Found], x.Subject)
	}
	for _, found := range order {
		out = append(out, strings.Join(append([]string{"not looked into: " + found + ": " + named(warned[found])}, hints[found]...), "; "))
	}
	return out
}

// broken says what becomes of the members that cannot be computed, once for those of a hub that it is the same of.
func (p Plan) broken() []string {
	clusters := map[PlanBroken][]string{}
	var order []PlanBroken
	for _, b := range p.Broken {
		alike := PlanBroken{Hub: b.Hub, Revision: b.Revision, Kept: b.Kept}
		if clusters[alike] == nil {
			order = append(order, alike)
		}
		clusters[alike] = append(clusters[alike], b.Cluster)
	}
	var out []string
	for _, b := range order {
		names := clusters[b]
		who, what, they := names[0], "is not in this plan", "it"
		if b.Kept {
			what = "keeps what it has until it is mended"
		}
		if n := len(names); n > 1 {
			who, what, they = fmt.Sprintf("%d clusters, %s,", n, named(names)), "are not in this plan", "they"
			if b.Kept {
				what = "keep what they have until they are mended"
			}
		}
		out = append(out, fmt.Sprintf("%s: %s %s: %s cannot be computed at the %s", b.Hub, who, what, they, b.Revision))
	}
	return out
}

// errors are what fails, each once for all that it breaks alike.
func (p Plan) errors() []string {
	subjects := map[string][]string{}
	var order []PlanProblem
	alike := func(x PlanProblem) string {
		return strings.Join([]string{x.Revision, x.Position.String(), strings.TrimPrefix(x.Message, x.Subject)}, "\n")
	}
	for _, x := range p.Problems {
		if x.Severity != string(problem.Error) {
			continue
		}
		key := alike(x)
		if subjects[key] == nil {
			order = append(order, x)
		}
		if !slices.Contains(subjects[key], x.Subject) { // what is shared breaks many clusters
			subjects[key] = append(subjects[key], x.Subject)
		}
	}
	out := make([]string, 0, len(order))
	for _, x := range order {
		of := x.Revision
		if of == bothRevisions {
			of = "base and the head"
		}
		x.Message = named(subjects[alike(x)]) + strings.TrimPrefix(x.Message, x.Subject)
		out = append(out, fmt.Sprintf("error of the %s: %s", of, x.line()))
	}
	return out
}

func (f PlanProblem) line() string {
	out := strings.Join(append([]string{f.Message}, f.Hints...), "; ")
	if at := f.Position.String(); at != "" {
		out = at + ": " + out
	}
	return out
}
