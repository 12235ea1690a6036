// Package draft makes the commands that write files of the repository.
package draft

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/change/scaffold"
)

// Write makes a draft and writes it, or prints it in a dry run.
type Write func(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error

// Command completes a command that makes a draft from its flags and writes it. It adds --dry-run.
// Unless Args is set, the command takes no arguments.
func Command[T any](
	write Write, cmd *cobra.Command, of *T, draft func(context.Context, scaffold.Repository, T) (*scaffold.Draft, error), required ...string,
) *cobra.Command {
	var dryRun bool
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the files instead of writing them")
	for _, name := range required {
		_ = cmd.MarkFlagRequired(name)
	}
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return write(cmd, dryRun, func(r scaffold.Repository) (*scaffold.Draft, error) { return draft(cmd.Context(), r, *of) })
	}
	return cmd
}
