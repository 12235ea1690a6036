package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/guard"
	"github.com/argosy-hub/argosy/internal/plan"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
)

func newPlan(o *options) *cobra.Command {
	var q planQuestion
	var output string
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "plan --base REV",
		Short: "Show what changes between two revisions, per cluster and Application",
		Long: `Plan compares two revisions of the repository and shows, for each cluster, which Applications are
created, changed, moved to another release or owner, or removed, and why; and for each changed value
the old and the new one and the places that set them. Changes that are the same on several clusters
are shown once. What stays the same is only counted.

A revision is whatever Git takes for a commit: a branch, a tag, HEAD~1, origin/main. It is read from
Git's objects; the working tree is not touched. Without --head, the base is compared with the folder
as it is, uncommitted changes included.

Where the change would remove more than the removal budget allows (layout: guard.maxRemovals), plan
says which answers the service would refuse, and prints a file that approves them; -o approval prints
that file alone.

A revision with errors has no plan: they are printed as lint would, and the exit status is 1. It is 0
otherwise, whether there are changes or not; with --exit-code it is 1 if there are any.

A release's new version is one change of the release. What the catalog of that version holds is not
looked up.`,
		Example: `  argosy plan --base origin/main                    # before a commit
  argosy plan --base origin/main --head HEAD -o markdown > comment.md
  argosy plan --base v1.4.0 --head v1.5.0 --hub hub-eu
  argosy plan --base origin/main -o approval > fleet/approvals/cleanup.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkChoice("output", output, "text", "json", "markdown", "approval"); err != nil {
				return err
			}
			if q.base == "" {
				return usageError([]string{"for example --base origin/main"}, "no --base given: the revision to compare with")
			}
			p, err := o.plan(cmd.Context(), q)
			if err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			switch output {
			case "json":
				err = report.WriteJSON(w, p)
			case "markdown":
				err = report.WritePlanMarkdown(w, p, report.MaxMarkdown)
			case "approval":
				if p.Guard.Approval == nil {
					return &failure{status: exitFindings, err: errors.New("nothing to approve: what is removed is within the removal budget")}
				}
				err = report.WriteApproval(w, p.Guard.Approval)
			default:
				err = report.WritePlan(w, p, styleOf(w))
			}
			if err == nil && exitCode && p.Changes() {
				return errFindings
			}
			return err
		},
	}
	cmd.Flags().StringVar(&q.base, "base", "", "the `revision` to compare with (required)")
	cmd.Flags().StringVar(&q.head, "head", "", "the `revision` to compare; the default is the folder as it is")
	cmd.Flags().StringVar(&q.hub, "hub", "", "show this hub alone")
	cmd.Flags().StringVar(&q.facts, "facts", "", "what is known of the clusters: a `file` of kind Facts, for both revisions")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with status 1 if there are changes")
	outputFlag(cmd, &output, "text", "json", "markdown", "approval")
	o.completeFleet(cmd, "hub", hubs)
	return cmd
}

// planQuestion is what plan is asked.
type planQuestion struct{ base, head, hub, facts string }

func (o *options) plan(ctx context.Context, q planQuestion) (report.Plan, error) {
	f, err := readFacts(q.facts)
	if err != nil {
		return report.Plan{}, err
	}
	before, err := source.Revision(ctx, o.repo, q.base, source.Limits{})
	if err != nil {
		return report.Plan{}, revisionError("--base", err)
	}
	var after *snapshot.Snapshot
	if q.head == "" {
		after, err = o.snapshot(ctx)
	} else if after, err = source.Revision(ctx, o.repo, q.head, source.Limits{}); err != nil {
		err = revisionError("--head", err)
	}
	if err != nil {
		return report.Plan{}, err
	}
	base := report.PlanRevision{Name: q.base, Revision: before.Revision}
	head := report.PlanRevision{Name: q.head, Revision: after.Revision}
	found, foreseen, err := comparePlan(before, after, f, time.Now())
	if err != nil {
		return report.Plan{}, planError(err, base, head)
	}
	if q.hub != "" {
		var names []string
		for _, h := range found.Hubs {
			names = append(names, h.Name)
		}
		if !slices.Contains(names, q.hub) {
			return report.Plan{}, usageError(problem.Nearest(q.hub, names), "hub %q has no member files in either revision", q.hub)
		}
		found.Hubs = slices.DeleteFunc(found.Hubs, func(h plan.Hub) bool { return h.Name != q.hub })
		foreseen.all = slices.DeleteFunc(foreseen.all, func(f guard.Foreseen) bool { return f.Hub != q.hub })
	}
	out := report.NewPlan(base, head, found)
	expires := time.Now().UTC().AddDate(0, 0, approvalDays).Format(time.DateOnly)
	out.Guard = report.NewPlanGuard(foreseen.all, guard.Approval(foreseen.all, foreseen.after), expires)
	return out, nil
}

// approvalDays is how long an approval is good for that plan writes.
const approvalDays = 7

// foreseen is what the guard would do.
type foreseen struct {
	all   []guard.Foreseen
	after *fleet.Fleet
}

// comparePlan builds both states, the second from the first.
func comparePlan(before, after *snapshot.Snapshot, f facts.Set, now time.Time) (*plan.Plan, foreseen, error) {
	base, err := generator.Build(nil, before, f)
	if err != nil {
		return nil, foreseen{}, &plan.StateError{Base: true, Err: err}
	}
	head, err := generator.Build(base, after, f)
	if err != nil {
		return nil, foreseen{}, &plan.StateError{Err: err}
	}
	p, err := plan.Compare(base, head)
	if err != nil {
		return nil, foreseen{}, err
	}
	return p, foreseen{guard.Foresee(base, head, now), head.Fleet}, nil
}

// planError is the failure of a revision with errors: its problems, and whose they are.
func planError(err error, base, head report.PlanRevision) error {
	out := &failure{status: exitFindings, err: err, hints: []string{fmt.Sprintf("there is no plan until these errors of the head, %s, are mended", head)}}
	var state *plan.StateError
	if errors.As(err, &state) && state.Base {
		out.hints = []string{fmt.Sprintf("these are errors of the base, %s: choose a base without", base)}
	}
	var unavailable *generator.Error
	if errors.As(err, &unavailable) {
		out.problems = unavailable.Problems
	} else {
		out.problems = problem.From(state.Err, problem.InvalidLayout, problem.Pos{})
	}
	return out
}

func revisionError(flag string, err error) error {
	var e *source.Error
	if !errors.As(err, &e) {
		return usageError(nil, "%s: %w", flag, err)
	}
	var hints []string
	if e.Hint != "" {
		hints = []string{e.Hint}
	}
	if e.Reason == source.NotFound || e.Reason == source.InvalidOptions {
		hints = []string{"--repo takes the root folder of a clone; revisions are read from its Git repository"}
	}
	return usageError(hints, "%s: %s: %s", flag, e.Source, e.Detail)
}
