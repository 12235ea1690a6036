// Package draft makes the commands that write files of the repository.
package draft

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/change/scaffold"
)

// Write makes a draft and writes it, or prints it in a dry run.
type Write func(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error

// Command completes a command, which has all of its flags but --dry-run: it makes a draft of what
// the flags say, and writes it. Without other Args, the command has none.
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
