package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

func newRollout(o *options) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "rollout",
		Short: "See and steer rollouts in rings",
		Long: `Rollout shows the revision of each ring of a rollout policy and what it waits for. It steers by writing the
policy's file. Nothing changes before a commit.`,
	}, newRolloutStatus(), newPause(o), newResume(o), newPromote(o), newRollback(o))
}

// policyOf returns the policy that the arguments name, empty for the only one.
func policyOf(args []string) string { return strings.Join(args, "") }

// rolloutCommand completes a command that changes a policy.
func rolloutCommand(o *options, cmd *cobra.Command, change *scaffold.RolloutChange, required ...string) *cobra.Command {
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.PreRun = func(_ *cobra.Command, args []string) { change.Name = policyOf(args) }
	return draftCommand(o, cmd, change, scaffold.ChangeRollout, required...)
}

func newPause(o *options) *cobra.Command {
	return rolloutCommand(o, &cobra.Command{
		Use: "pause [NAME]", Short: "Stop all rings of a rollout",
		Long:    "Pause writes `paused: true` into the policy. No ring takes another revision until argosy rollout resume.",
		Example: "  argosy rollout pause prod",
	}, &scaffold.RolloutChange{Pause: true})
}

func newResume(o *options) *cobra.Command {
	change := &scaffold.RolloutChange{Resume: true}
	cmd := &cobra.Command{
		Use: "resume [NAME]", Short: "Let the rings of a rollout go on",
		Long:    "Resume ends a pause and a rollback: it sets `paused: false` and removes the pins.\nWith --ring it removes only that ring's pins.",
		Example: "  argosy rollout resume prod\n  argosy rollout resume prod --ring canary",
	}
	cmd.Flags().StringVar(&change.Ring, "ring", "", "remove only the pins of this `ring`")
	return rolloutCommand(o, cmd, change)
}

func newPromote(o *options) *cobra.Command {
	a := &rollout.Approval{}
	change := &scaffold.RolloutChange{Approval: a}
	cmd := &cobra.Command{
		Use: "promote [NAME] --ring RING --revision REVISION --reason TEXT", Short: "Approve a revision for a ring",
		Long: `Promote writes an approval into the policy: the ring may take the revision, if it needs an approval. With
--overtake, the ring takes it at once, without the rings before it, their soak and the windows.`,
		Example: "  argosy rollout promote prod --ring eu --revision 3f2c1ab --reason 'CHG-4711'\n  argosy rollout promote prod --ring eu --revision 3f2c1ab --overtake --reason 'CVE-2026-1234'",
	}
	flags := cmd.Flags()
	flags.StringVar(&a.Ring, "ring", "", "the `ring` that may take it")
	flags.StringVar(&a.Revision, "revision", "", "the `revision`: a commit, or its first 7 characters and more")
	flags.StringVar(&a.Reason, "reason", "", "why, for the readers of the commit")
	flags.StringVar(&change.Expires, "expires", time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly), "the last `day` of the approval")
	cmd.Flag("expires").DefValue = "a week from now"
	flags.BoolVar(&a.Overtakes, "overtake", false, "skip the rings before it and the windows")
	cmd = rolloutCommand(o, cmd, change, "ring", "revision", "reason")
	named := cmd.PreRun
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		named(cmd, args)
		if last, err := time.Parse(time.DateOnly, change.Expires); err == nil && !time.Now().Before(last.AddDate(0, 0, 1)) {
			return problem.Usage([]string{"nothing was written"}, "--expires: %s is past; expected the last day of the approval, today or later", change.Expires)
		}
		return nil
	}
	return cmd
}

func newRollback(o *options) *cobra.Command {
	p := &rollout.Pin{}
	cmd := &cobra.Command{
		Use: "rollback [NAME] --ring RING --revision REVISION --reason TEXT", Short: "Put a ring back to a revision and keep it there",
		Long: `Rollback writes a pin into the policy: the ring stays on the revision until the pin is removed
(argosy rollout resume --ring RING).`,
		Example: "  argosy rollout rollback prod --ring eu --revision 8b1e0d2 --reason 'errors since 14:00'",
	}
	flags := cmd.Flags()
	flags.StringVar(&p.Ring, "ring", "", "the `ring` to put back")
	flags.StringVar(&p.Revision, "revision", "", "the `revision`, one that argosy rollout status shows")
	flags.StringVar(&p.Reason, "reason", "", "why, for the readers of the commit")
	return rolloutCommand(o, cmd, &scaffold.RolloutChange{Pin: p}, "ring", "revision", "reason")
}
