package main

import (
	"bufio"
	"context"
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
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/migrate/adopt"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/verify"
)

// adoption holds the flags of argosy adopt, and the hub that they name.
type adoption struct {
	from                existing.Source
	set, hubName, names string
	apply, yes, undo    bool
	timeout             time.Duration

	live *adopt.Live
}

func newAdopt(o *options) *cobra.Command {
	a := &adoption{from: existing.Source{Failed: "nothing was changed"}}
	cmd := &cobra.Command{
		Use:   "adopt --applicationset NAME --context HUB",
		Short: "Hand the Applications of an ApplicationSet over to the fleet",
		Long: `Adopt hands the Applications of one plain ApplicationSet on a live hub over to the fleet's ApplicationSet
that makes the same. It deletes and changes no deployed object, except the tracking ids of Applications with
another name. The Applications must first be equal, as verify compares them.

It prints the steps. With --apply it asks, and carries them out. Each step waits for its conditions. The
same command resumes an interrupted run: the hub has the state, with a record in the ConfigMap
argosy-adopt-NAME. With --undo it gives the Applications back, from any state.

Exit status 0: done, or the steps printed. 1: the ApplicationSet cannot be handed over, and nothing was
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
	cmd.Flags().BoolVar(&a.apply, "apply", false, "carry out the steps")
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
		return problem.Usage([]string{"--apply carries out the steps"}, "--yes without --apply")
	case a.apply && !a.yes && !asks(cmd.InOrStdin()):
		return problem.Usage([]string{"--yes carries out the steps without a question"}, "--apply asks before it changes the hub, and the standard input is no terminal")
	}
	ctx, shown := cmd.Context(), newProgress(cmd.ErrOrStderr())
	defer shown.Done()
	r, err := a.record(cmd, o, shown)
	if err != nil || r == nil {
		return err
	}
	w := report.PrintableWriter{W: cmd.OutOrStdout()}
	if err := r.WriteText(w); err != nil {
		return err
	}
	if !a.apply {
		_, err := fmt.Fprintln(w, "\nNothing was changed; --apply carries out the steps.")
		return err
	}
	if !a.yes {
		if ok, err := confirmed(cmd, fmt.Sprintf("\nCarry out the steps on %s? [y/N] ", a.from.Context)); err != nil || !ok {
			return errors.Join(err, problem.Usage(nil, "nothing was changed"))
		}
	}
	return a.carryOut(ctx, cmd, w, r)
}

// record returns the handover to carry out: an unfinished one, or a new one. It returns nil if
// there is nothing to do.
func (a *adoption) record(cmd *cobra.Command, o *options, shown *report.Progress) (*adopt.Record, error) {
	config, err := hub.LoadContext(a.from.Kubeconfig, a.from.Context)
	if err != nil {
		return nil, problem.Usage(nil, "%w", err)
	}
	if a.live, err = adopt.NewLive(config, a.from.Namespace); err != nil {
		return nil, problem.Usage(nil, "%w", err)
	}
	shown.Say("reading the hub")
	r, refusals, err := adopt.Open(cmd.Context(), a.live, adopt.Request{
		Name: a.set, Undo: a.undo, Apply: a.apply, Normalize: o.tools().ApplicationSets.Normalize,
		Begin: func(live adopt.Observed) (*adopt.Record, []adopt.Refusal, error) { return a.begin(cmd, o, shown, live) },
	})
	shown.Done()
	switch {
	case err != nil:
		return nil, err
	case len(refusals) > 0:
		return nil, refused(cmd, refusals)
	case r == nil:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "ApplicationSet %s has its Applications: there is nothing to give back.\n", a.set)
		return nil, err
	case r.Done:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "The Applications of ApplicationSet %s have been handed over. --undo gives them back.\n", a.set)
		return nil, err
	}
	return r, nil
}

// begin makes a new handover of Applications that are equal on both sides.
func (a *adoption) begin(cmd *cobra.Command, o *options, shown *report.Progress, live adopt.Observed) (*adopt.Record, []adopt.Refusal, error) {
	var all []verify.Live
	for _, app := range live.Applications {
		all = append(all, verify.Live{Tree: app})
	}
	q, err := o.question(cmd.Context(), &a.from, shown, a.hubName, a.names, all)
	if err != nil {
		return nil, nil, err
	}
	set := live.Sets[a.set]
	for _, l := range all {
		name := manifest.Text(l.Tree, "metadata", "name")
		made := slices.ContainsFunc(q.Argosy, func(o *object.Object) bool { return o.Name() == name })
		if set != nil && adopt.IsOwner(set, l.Tree) || made {
			q.Live = append(q.Live, l)
		}
	}
	shown.Say("comparing %d Applications", len(q.Live))
	v, err := verify.Verify(q)
	if err != nil {
		return nil, nil, problem.Usage(nil, "%w", err)
	}
	v.OnlyArgosy = nil // they are of other ApplicationSets
	if !v.IsEqual() {
		if err := v.WriteText(report.PrintableWriter{W: cmd.OutOrStdout()}); err != nil {
			return nil, nil, err
		}
		return nil, nil, &problem.Failure{Findings: true, Err: fmt.Errorf("the Applications of ApplicationSet %q differ from the fleet's: nothing was changed", a.set), Hints: []string{"argosy verify compares them; the fleet has to make the same"}}
	}
	names := map[string]string{}
	for _, p := range v.Renamed {
		names[p.Live] = p.Argosy
	}
	r, refusals := adopt.Prepare(adopt.Proposal{Name: a.set, Live: live, Argosy: q.Argosy, Names: names, Normalize: q.Reader.Normalize})
	return r, refusals, nil
}

// refused writes refusals.
func refused(cmd *cobra.Command, all []adopt.Refusal) error {
	w := cmd.ErrOrStderr()
	for _, r := range all {
		fmt.Fprintf(w, "argosy: %s\n", r.Text)
		if r.Hint != "" {
			fmt.Fprintf(w, "    hint: %s\n", r.Hint)
		}
	}
	fmt.Fprintln(w, "    hint: nothing was changed")
	return errFindings
}

// carryOut runs a handover to its end.
func (a *adoption) carryOut(ctx context.Context, cmd *cobra.Command, w io.Writer, r *adopt.Record) error {
	if err := a.live.Write(ctx, r); err != nil {
		return problem.Usage([]string{"nothing was changed"}, "%w", err)
	}
	shown := newProgress(cmd.ErrOrStderr())
	defer shown.Done()
	run := adopt.Run{
		Cluster: a.live, Record: r, Timeout: a.timeout, Poll: 500 * time.Millisecond,
		Begin:   func(step string) { shown.Clear(); fmt.Fprintln(w, step) },
		Waiting: func(step string, waits []string) { shown.Say("%s: %s", step, waits[0]) },
	}
	if err := run.Do(ctx); err != nil {
		return problem.Usage([]string{"the same command resumes here", "--undo gives the Applications back"}, "%w", err)
	}
	text := "%d Applications have been handed over. --undo gives them back.\n"
	if r.Undo {
		text = "%d Applications have been given back.\n"
	}
	_, err := fmt.Fprintf(w, text, len(r.Applications))
	return err
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
