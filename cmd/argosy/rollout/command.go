// Package rollout has the commands of argosy that see and steer rollouts in rings.
package rollout

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/rollout"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

// changer makes commands that change a policy.
type changer struct {
	write func(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error
	flag  func(cmd *cobra.Command, dryRun *bool)
}

// New is the command rollout. Write writes a draft, or prints it in a dry run, and flag adds the
// flag of a dry run.
func New(write func(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error, flag func(cmd *cobra.Command, dryRun *bool)) *cobra.Command {
	c := changer{write, flag}
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "See and steer rollouts in rings",
		Long: `Rollout shows what each ring of a rollout policy has and waits for, and writes what steers it into the
policy's file. Nothing changes before that is committed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStatus(), newPause(c), newResume(c), newPromote(c), newRollback(c))
	return cmd
}

// nameOf is the policy that the arguments name, empty for the only one.
func nameOf(args []string) string { return strings.Join(args, "") }

// command adds what all commands that change a policy have.
func (c changer) command(cmd *cobra.Command, change func(args []string) scaffold.RolloutChange) *cobra.Command {
	var dryRun bool
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return c.write(cmd, dryRun, func(r scaffold.Repository) (*scaffold.Draft, error) {
			return scaffold.ChangeRollout(cmd.Context(), r, change(args))
		})
	}
	c.flag(cmd, &dryRun)
	return cmd
}

func newPause(c changer) *cobra.Command {
	return c.command(&cobra.Command{
		Use: "pause [NAME]", Short: "Stop all rings of a rollout",
		Long:    "Pause writes `paused: true` into the policy. No ring takes another revision until it is resumed.",
		Example: "  argosy rollout pause prod",
	}, func(args []string) scaffold.RolloutChange {
		return scaffold.RolloutChange{Name: nameOf(args), Pause: true}
	})
}

func newResume(c changer) *cobra.Command {
	var ring string
	cmd := c.command(&cobra.Command{
		Use: "resume [NAME]", Short: "Let the rings of a rollout go on",
		Long:    "Resume takes back a pause and a rollback: it removes `paused` and the pins from the policy.",
		Example: "  argosy rollout resume prod\n  argosy rollout resume prod --ring canary",
	}, func(args []string) scaffold.RolloutChange {
		return scaffold.RolloutChange{Name: nameOf(args), Resume: true, Ring: ring}
	})
	cmd.Flags().StringVar(&ring, "ring", "", "remove the pins of this `ring` alone")
	return cmd
}

func newPromote(c changer) *cobra.Command {
	a := rollout.FileApproval{}
	cmd := c.command(&cobra.Command{
		Use: "promote [NAME] --ring RING --revision REVISION --reason TEXT", Short: "Approve a revision for a ring",
		Long: `Promote writes an approval into the policy: the ring may take the revision, if it needs an approval. With
--overtake, the ring takes it at once, without the rings before it, their soak and the windows.`,
		Example: "  argosy rollout promote prod --ring eu --revision 3f2c1ab --reason 'CHG-4711'\n  argosy rollout promote prod --ring eu --revision 3f2c1ab --overtake --reason 'CVE-2026-1234'",
	}, func(args []string) scaffold.RolloutChange {
		return scaffold.RolloutChange{Name: nameOf(args), Approval: &a}
	})
	flags := cmd.Flags()
	flags.StringVar(&a.Ring, "ring", "", "the `ring` that may take it")
	flags.StringVar(&a.Revision, "revision", "", "the `revision`: a commit, or its first 7 characters and more")
	flags.StringVar(&a.Reason, "reason", "", "why, for the readers of the commit")
	flags.StringVar(&a.Expires, "expires", time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly), "the last `day` of the approval")
	cmd.Flag("expires").DefValue = "a week from now"
	flags.BoolVar(&a.Overtake, "overtake", false, "skip the rings before it and the windows")
	require(cmd, "ring", "revision", "reason")
	return cmd
}

func newRollback(c changer) *cobra.Command {
	p := rollout.FilePin{}
	cmd := c.command(&cobra.Command{
		Use: "rollback [NAME] --ring RING --revision REVISION --reason TEXT", Short: "Put a ring back to a revision and keep it there",
		Long: `Rollback writes a pin into the policy: the ring is answered from the revision until the pin is removed
(argosy rollout resume --ring RING).`,
		Example: "  argosy rollout rollback prod --ring eu --revision 8b1e0d2 --reason 'errors since 14:00'",
	}, func(args []string) scaffold.RolloutChange { return scaffold.RolloutChange{Name: nameOf(args), Pin: &p} })
	flags := cmd.Flags()
	flags.StringVar(&p.Ring, "ring", "", "the `ring` to put back")
	flags.StringVar(&p.Revision, "revision", "", "the `revision`, one that argosy rollout status shows")
	flags.StringVar(&p.Reason, "reason", "", "why, for the readers of the commit")
	require(cmd, "ring", "revision", "reason")
	return cmd
}

func require(cmd *cobra.Command, flags ...string) {
	for _, name := range flags {
		_ = cmd.MarkFlagRequired(name)
	}
}
