package main

//go:generate go test . -run TestCLIDocIsUpToDate -update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/report"
)

// The exit statuses.
const (
	exitGood     = 0
	exitFindings = 1
	exitUsage    = 2 // also for input and output that fails
	// What plan --detailed-exit-code tells.
	exitChanges  = 3
	exitRemovals = 4 // beyond the removal budget
)

// quiet ends a command with a status that its output has explained.
type quiet struct{ status int }

func (q *quiet) Error() string { return fmt.Sprintf("exit status %d", q.status) }

// failure is an error with its exit status and hints.
type failure struct {
	status int
	err    error
	hints  []string
	// problems, if there are any, are printed instead of err.
	problems []problem.Problem
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// errFindings ends a command that has reported its findings itself.
var errFindings = errors.New("findings")

func usageError(hints []string, format string, args ...any) error {
	return &failure{status: exitUsage, err: fmt.Errorf(format, args...), hints: hints}
}

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	return explainFailure(command, err)
}

// explainFailure writes an error to stderr and returns its exit status.
func explainFailure(command *cobra.Command, err error) int {
	w := command.ErrOrStderr()
	var f *failure
	var g *generator.Error
	var q *quiet
	switch {
	case err == nil:
		return exitGood
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.As(err, &q):
		return q.status
	case command.Context().Err() != nil:
		f = &failure{status: exitInterrupted, err: errors.New("interrupted")}
	case errors.As(err, &f):
	case errors.As(err, &g):
		f = &failure{status: exitUsage, err: g}
		if g.Kind == generator.Unavailable {
			f.status = exitFindings
			f.problems = g.Problems
		}
	default:
		f = &failure{status: exitUsage, err: err}
	}
	if len(f.problems) > 0 {
		_ = report.WriteFindings(w, generator.OnePerPlace(problem.Sorted(f.problems)), styleOf(w))
	} else {
		fmt.Fprintf(w, "argosy: %v\n", f.err)
	}
	for _, hint := range f.hints {
		fmt.Fprintf(w, "    hint: %s\n", hint)
	}
	return f.status
}

func newRoot() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "argosy",
		Short: "What every cluster of a fleet should run, computed from one Git repository",
		Long: `Argosy computes, from one Git repository, what every cluster of a fleet should run. This
command answers questions about such a repository; it changes no cluster, and only facts export asks one.

Exit status: 0 good, 1 findings, 2 wrong usage or failing input or output, 130 ended by a signal.`,
		Example: `  argosy lint
  argosy explain retail-prod-eu-1 addons/external-dns
  argosy plan --base origin/main
  argosy params --hub hub-eu --view components --group addons`,
		Args:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().StringVar(&o.repo, "repo", ".", "the fleet's repository: a folder, or a Git `URL`")
	root.PersistentFlags().StringVar(&o.ref, "ref", "", "of a Git URL or a bare repository: the branch, tag or commit; default: main, and of a bare repository its HEAD")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError([]string{fmt.Sprintf("see %s --help", cmd.CommandPath())}, "%w", err)
	})
	root.AddCommand(newLint(o), newParams(o), newExplain(o), newPlan(o), newRender(o), newNew(o), newFacts(), newVersion())
	return root
}

// noCommand refuses unknown commands, with a suggestion.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	hints := problem.Nearest(args[0], names)
	return usageError(append(hints, fmt.Sprintf("see %s --help", cmd.CommandPath())), "unknown command %q for %q", args[0], cmd.CommandPath())
}

// outputFlag adds -o with its choices.
func outputFlag(cmd *cobra.Command, to *string, choices ...string) {
	usage := "the output's form: "
	for i, c := range choices {
		if i > 0 {
			usage += ", "
		}
		usage += c
	}
	cmd.Flags().StringVarP(to, "output", "o", choices[0], usage)
	complete(cmd, "output", func() []string { return choices })
}

// checkChoice refuses a flag's value that is not among the choices.
func checkChoice(flag, value string, choices ...string) error {
	for _, c := range choices {
		if c == value {
			return nil
		}
	}
	hints := problem.Nearest(value, choices)
	if len(hints) == 0 {
		hints = []string{fmt.Sprintf("expected one of %v", choices)}
	}
	return usageError(hints, "--%s: unknown value %q", flag, value)
}

// styleOf has colours for terminals, unless NO_COLOR is set (no-color.org) or the terminal is a dumb one.
func styleOf(w io.Writer) report.Style {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return report.Style{}
	}
	return report.Style{Color: term.IsTerminal(int(f.Fd()))}
}
