package main

//go:generate go test . -run TestCLIDocIsUpToDate -update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/sandbox"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/pipeline"

	"github.com/argosy-hub/argosy/internal/base/report"
)

// The exit statuses.
const (
	exitGood     = 0
	exitFindings = 1
	exitUsage    = 2 // also for input and output that fails
	// Statuses of plan --detailed-exit-code.
	exitChanges  = 3
	exitRemovals = 4 // beyond the removal budget
)

// quiet ends a command with a status that its output has explained.
type quiet struct{ status int }

func (q *quiet) Error() string { return fmt.Sprintf("exit status %d", q.status) }

// run executes the command line and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	charts := sandbox.New(renderer)
	defer charts.Close()
	return runWith(ctx, charts, args, stdin, stdout, stderr)
}

// runWith runs a command with charts rendered by processes that outlive the command.
func runWith(ctx context.Context, charts source.Charts, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, end := context.WithCancel(ctx)
	defer end()
	root := newRoot(charts)
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &standardOutput{Writer: stdout}
	root.SetOut(out)
	root.SetErr(report.PrintableWriter{W: stderr})
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	return explainFailure(command, err)
}

// standardOutput keeps the first error of writing, which cobra drops for its own help and version.
type standardOutput struct {
	io.Writer
	err error
}

func (o *standardOutput) Write(data []byte) (int, error) {
	n, err := o.Writer.Write(data)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// explainFailure writes an error to stderr and returns its exit status.
func explainFailure(command *cobra.Command, err error) int {
	var q *quiet
	switch {
	case err == nil:
		return exitGood
	case errors.As(err, &q):
		return q.status
	case command.Context().Err() != nil:
		fmt.Fprintln(command.ErrOrStderr(), "argosy: interrupted")
		return exitInterrupted
	}
	return writeError(command.ErrOrStderr(), err)
}

// writeError writes an error and returns its exit status.
func writeError(w io.Writer, err error) int {
	var f *problem.Failure
	var g *problem.QueryError
	switch {
	case errors.As(err, &f):
	case errors.As(err, &g):
		f = &problem.Failure{Err: g}
		if g.Kind == problem.KindUnavailable {
			f.Findings, f.Problems = true, g.Problems
		}
	default:
		f = &problem.Failure{Err: err}
	}
	if len(f.Problems) > 0 {
		_ = report.WriteFindings(w, problem.OnePerPlace(problem.Sorted(f.Problems)), styleOf(w))
	} else {
		fmt.Fprintf(w, "argosy: %v\n", f.Err)
	}
	for _, hint := range f.Hints {
		fmt.Fprintf(w, "    hint: %s\n", hint)
	}
	if f.Findings {
		return exitFindings
	}
	return exitUsage
}

func newRoot(charts source.Charts) *cobra.Command {
	o := &options{charts: charts}
	root := parent(&cobra.Command{
		Use:   "argosy",
		Short: "See, review and safely roll out what runs on every cluster, from one Git repository",
		Long: `See, review and safely roll out what runs on every cluster, from one Git repository. Only adopt --apply
changes a cluster, and asks first.

Exit status: 0 good, 1 findings, 2 wrong usage or failing input or output, 130 ended by a signal.`,
		Example: `  argosy lint
  argosy explain retail-prod-eu-1 addons/external-dns
  argosy plan --base origin/main
  argosy params --hub hub-eu --view components --group addons`,
		Version:       programVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}, newLint(o), newParams(o), newExplain(o), newPlan(o), newReview(o), newRender(o), newInit(o), newImport(o), newVerify(o), newAdopt(o), newNew(o), newMove(o), newHold(o), newRollout(o), newStatus(), newFacts(), newVersion())
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "\n\nGlobal Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}",
		"\n      --layout, --mount, --ref, --repo   see argosy --help", 1))
	root.PersistentFlags().StringVar(&o.repo.Location, "repo", ".", "the fleet repository: a folder, or a Git `URL`; default: the one around the working directory")
	o.repo.Location = pipeline.Root(".")
	root.SetVersionTemplate("argosy {{.Version}}\n")
	root.PersistentFlags().StringVar(&o.repo.Ref, "ref", "", "of a Git URL or a bare repository: branch, tag or whole commit id, in full (refs/tags/v1) if the name is a tag and a branch; default: main, or HEAD of a bare repository")
	o.completeRevisions(root, "ref")
	root.PersistentFlags().StringVar(&o.repo.Layout, "layout", "", "a `file` to read instead of fleet/layout.yaml of any revision; to try a layout before a commit")
	root.PersistentFlags().StringArrayVar(&o.repo.Mounts, "mount", nil, "read a mount of the layout from a folder: `PATH=DIR`, or PATH=git for its own branch; may be repeated")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		o.repo.Warn = notices(cmd.ErrOrStderr())
		words := strings.Fields(cmd.CommandPath())
		for _, flag := range []string{"layout", "mount", "ref"} {
			if cmd.Flags().Changed(flag) && len(words) > 1 && slices.Contains([]string{"facts", "import", "init", "status", "version"}, words[1]) {
				var hints []string
				if flag == "ref" && cmd.Flags().Lookup("from-ref") != nil {
					hints = []string{"--from-ref is the revision of --from"}
				}
				return problem.Usage(hints, "--%s is for commands that read a fleet, which %s does not", flag, cmd.CommandPath())
			}
		}
		var err error
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if choices := f.Annotations[choicesOf]; choices != nil && err == nil {
				err = problem.CheckChoice(f.Name, f.Value.String(), choices...)
			}
		})
		return err
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return problem.Usage([]string{fmt.Sprintf("see %s --help", cmd.CommandPath())}, "%w", err)
	})
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			parent(c)
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil { // only of the root command
					return noCommand(root, args)
				}
				if found.HasSubCommands() {
					return noCommand(found, rest)
				}
				return nil
			}
		}
	}
	return root
}

// parent completes a command that only has other commands.
func parent(cmd *cobra.Command, all ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = noCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(all...)
	return cmd
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
	return problem.Usage(append(hints, fmt.Sprintf("see %s --help", cmd.CommandPath())), "unknown command %q for %q", args[0], cmd.CommandPath())
}

// notices returns a function that writes each problem once.
func notices(w io.Writer) func(problem.Problem) {
	said := map[string]bool{}
	return func(p problem.Problem) {
		if text := p.Error(); !said[text] {
			said[text] = true
			fmt.Fprintf(w, "argosy: note: %s\n", text)
		}
	}
}

// choiceFlag adds a flag with its choices, the default first. The root command checks the value.
func choiceFlag(cmd *cobra.Command, to *string, name, short, usage string, choices ...string) {
	cmd.Flags().StringVarP(to, name, short, choices[0], usage+strings.Join(choices, ", "))
	_ = cmd.Flags().SetAnnotation(name, choicesOf, choices)
	complete(cmd, name, choices)
}

// choicesOf is the annotation of a flag with its choices.
const choicesOf = "choices"

// outputFlag adds -o with its choices.
func outputFlag(cmd *cobra.Command, to *string, choices ...string) {
	choiceFlag(cmd, to, "output", "o", "the output's form: ", choices...)
}

// styleOf returns a style with colours for terminals, unless NO_COLOR is set (no-color.org) or the
// terminal is dumb.
func styleOf(w io.Writer) report.Style {
	return report.Style{Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := unwrapped(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// unwrapped returns the writer that the command has wrapped.
func unwrapped(w io.Writer) io.Writer {
	switch w := w.(type) {
	case report.PrintableWriter:
		return unwrapped(w.W)
	case *standardOutput:
		return w.Writer
	}
	return w
}
