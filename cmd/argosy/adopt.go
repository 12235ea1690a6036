package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/migrate/adopt"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// adoption holds the flags of argosy adopt.
type adoption struct {
	from                existing.Source
	set, hubName, names string
	apply, yes, undo    bool
	timeout             time.Duration
}

func newAdopt(o *options) *cobra.Command {
	a := &adoption{from: existing.Source{Failed: "nothing was changed"}}
	cmd := &cobra.Command{
		Use:   "adopt --applicationset NAME --context HUB",
		Short: "Hand the Applications of an ApplicationSet over to the fleet",
		Long: `Adopt hands the Applications of one plain ApplicationSet on a live hub over to the fleet's ApplicationSet
that makes the same. It deletes and changes no deployed object, except the tracking ids of Applications with
another name. The Applications must first be equal, as verify compares them.

It prints the Applications. With --apply it asks, and hands them over in steps. The same command resumes an
interrupted run: the hub has the state, with a record in the ConfigMap argosy-adopt-NAME. With --undo it gives
the Applications back, from any state.

Exit status 0: done, or the Applications printed. 1: the ApplicationSet cannot be handed over, and nothing was
changed. 2: wrong usage, or a step that failed or took too long.`,
		Example: `  argosy adopt --context hub-eu --applicationset shop --from ../old-repository --clusters secrets.yaml
  argosy adopt --context hub-eu --applicationset shop --from ../old-repository --clusters secrets.yaml --apply
  argosy adopt --context hub-eu --applicationset shop --undo --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd, o) },
	}
	existingFlags(cmd, &a.from)
	cmd.Flags().StringVar(&a.set, "applicationset", "", "the `name` of the ApplicationSet on the hub (required)")
	cmd.Flags().StringVar(&a.hubName, "hub", "", "the hub's name in the fleet; the default is the fleet's only one")
	cmd.Flags().StringVar(&a.names, "names", "", "a `file` that maps names of live Applications to Argosy's names")
	cmd.Flags().BoolVar(&a.apply, "apply", false, "hand them over")
	cmd.Flags().BoolVar(&a.yes, "yes", false, "with --apply: do not ask")
	cmd.Flags().BoolVar(&a.undo, "undo", false, "give the Applications back")
	cmd.Flags().DurationVar(&a.timeout, "timeout", 5*time.Minute, "how long a step may take without progress")
	return cmd
}

func (a *adoption) run(cmd *cobra.Command, o *options) error {
	switch {
	case a.set == "":
		return problem.Usage([]string{"kubectl get applicationsets -n argocd lists them"}, "no --applicationset given")
	case a.from.Context == "":
		return problem.Usage([]string{"kubectl config get-contexts lists them"}, "no --context given: the hub in the kubeconfig")
	case a.yes && !a.apply:
		return problem.Usage([]string{"--apply hands them over"}, "--yes without --apply")
	case a.apply && !a.yes && !asks(cmd.InOrStdin()):
		return problem.Usage([]string{"--yes does not ask"}, "--apply asks before it changes the hub, and standard input is not a terminal")
	}
	config, err := hub.LoadContext(a.from.Kubeconfig, a.from.Context)
	if err != nil {
		return problem.Usage(nil, "%w", err)
	}
	live, err := adopt.NewLive(config, a.from.Namespace)
	if err != nil {
		return problem.Usage(nil, "%w", err)
	}
	shown, w := newProgress(cmd.ErrOrStderr()), report.PrintableWriter{W: cmd.OutOrStdout()}
	r, err := a.record(cmd, o, shown, live)
	if shown.Done(); err != nil {
		return err
	}
	if r == nil || r.Done {
		text := "The Applications of ApplicationSet %s have been handed over. --undo gives them back.\n"
		if r == nil {
			text = "ApplicationSet %s has its Applications: there is nothing to give back.\n"
		}
		_, err := fmt.Fprintf(w, text, a.set)
		return err
	}
	if err := r.WriteText(w); err != nil {
		return err
	}
	if !a.apply {
		_, err := fmt.Fprintln(w, "\nNothing was changed; --apply hands them over.")
		return err
	}
	if !a.yes {
		if ok, err := confirmed(cmd, fmt.Sprintf("\nHand them over on %s? [y/N] ", a.from.Context)); err != nil || !ok {
			return errors.Join(err, problem.Usage(nil, "nothing was changed"))
		}
	}
	shown = newProgress(cmd.ErrOrStderr())
	defer shown.Done()
	err = r.Run(cmd.Context(), live, a.timeout, 500*time.Millisecond, func(step, wait string) {
		if wait != "" {
			shown.Say("%s: %s", step, wait)
			return
		}
		shown.Clear()
		fmt.Fprintln(w, step)
	})
	if err != nil {
		return problem.Usage([]string{"the same command resumes here", "--undo gives the Applications back"}, "%w", err)
	}
	text := "%d Applications have been handed over. --undo gives them back.\n"
	if r.Undo {
		text = "%d Applications have been given back.\n"
	}
	_, err = fmt.Fprintf(w, text, len(r.Applications))
	return err
}

// record returns the handover to carry out: an unfinished one, or a new one. It returns nil if
// there is nothing to give back.
func (a *adoption) record(cmd *cobra.Command, o *options, shown *report.Progress, hub *adopt.Live) (*adopt.Record, error) {
	shown.Say("reading the hub")
	records, err := hub.Records(cmd.Context())
	if err != nil {
		return nil, problem.Usage([]string{"--context and --namespace say where Argo CD is", "nothing was changed"}, "%w", err)
	}
	for name, other := range records { // two would not know each other's names in an ApplicationSet of the fleet
		if name != a.set && !other.Done {
			return nil, problem.Usage([]string{"argosy adopt --applicationset " + name + " ends it; with --undo, it goes back"}, "the handover of ApplicationSet %q is under way: one at a time", name)
		}
	}
	live, err := hub.Observe(cmd.Context())
	if err != nil {
		return nil, problem.Usage([]string{"--context and --namespace say where Argo CD is", "nothing was changed"}, "%w", err)
	}
	r := records[a.set]
	switch {
	case r != nil:
		return r, r.Turn(a.undo, live)
	case a.undo && live.Sets[a.set] != nil:
		return nil, nil // an undo that was killed after its last step also ends here
	case a.undo:
		return nil, problem.Usage([]string{"its record would be ConfigMap " + adopt.RecordName(a.set)}, "ApplicationSet %q has not been handed over", a.set)
	}
	var all []verify.Live
	for _, app := range live.Applications {
		all = append(all, verify.Live{Tree: app.Object})
	}
	q, err := o.question(cmd.Context(), &a.from, shown, a.hubName, a.names, all)
	if err != nil {
		return nil, err
	}
	for name, app := range live.Applications {
		isMade := slices.ContainsFunc(q.Argosy, func(o *object.Object) bool { return o.Name() == name })
		if isMade || adopt.IsOwner(live.Sets[a.set], app) {
			q.Live = append(q.Live, verify.Live{Tree: app.Object})
		}
	}
	shown.Say("comparing %d Applications", len(q.Live))
	v, err := verify.Verify(q)
	if err != nil {
		return nil, problem.Usage(nil, "%w", err)
	}
	v.OnlyArgosy = nil // they are of other ApplicationSets
	if shown.Clear(); !v.IsEqual() {
		return nil, errors.Join(v.WriteText(report.PrintableWriter{W: cmd.OutOrStdout()}),
			&problem.Failure{Findings: true, Err: fmt.Errorf("the Applications of ApplicationSet %q differ from the fleet's: nothing was changed", a.set), Hints: []string{"argosy verify compares them; the fleet has to make the same"}})
	}
	names := map[string]string{}
	for _, p := range v.Renamed {
		names[p.Live] = p.Argosy
	}
	return adopt.Prepare(a.set, live, q.Argosy, names)
}

// asks reports whether a user can answer a question: the input is a terminal.
func asks(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// confirmed asks a question on the terminal.
func confirmed(cmd *cobra.Command, question string) (bool, error) {
	if _, err := fmt.Fprint(cmd.OutOrStdout(), question); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes"), nil
}
