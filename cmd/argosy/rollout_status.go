package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/rings"
)

func newRolloutStatus() *cobra.Command {
	var service serviceFlags
	var output string
	cmd := &cobra.Command{
		Use: "status [NAME] --service URL --token-file FILE", Short: "Show what each ring has and waits for",
		Long:    "Status queries a hub's service: which revision each ring has, what it waits for, since when and until when.",
		Example: "  argosy rollout status --service http://127.0.0.1:4355 --token-file token",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var found rings.Report
			body, err := service.ask(cmd.Context(), "/api/v1/rollouts", rings.Kind, &found)
			if err != nil {
				return err
			}
			if name := policyOf(args); name != "" {
				if body, err = onlyRollout(&found, name); err != nil {
					return err
				}
			}
			w := report.PrintableWriter{W: cmd.OutOrStdout()}
			if output == "json" {
				_, err := w.Write(body)
				return err
			}
			return printRollouts(w, found)
		},
	}
	service.add(cmd)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// onlyRollout removes all other rollouts from a response, and returns the response as JSON.
func onlyRollout(r *rings.Report, name string) ([]byte, error) {
	var names []string
	for _, x := range r.Rollouts {
		names = append(names, x.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return nil, problem.Usage(problem.Nearest(name, names), "the service has no rollout %q", name)
	}
	r.Rollouts = r.Rollouts[i : i+1]
	body, err := json.Marshal(r)
	return append(body, '\n'), err
}

// printRollouts prints all rings.
func printRollouts(w io.Writer, r rings.Report) error {
	fmt.Fprintf(w, "hub %s, newest revision %s\n", r.Hub, brief(r.Revision))
	for _, x := range r.Rollouts {
		paused := ""
		if x.Paused {
			paused = " (paused)"
		}
		fmt.Fprintf(w, "\nrollout %s%s\n", x.Name, paused)
		if x.InForce != nil {
			fmt.Fprintf(w, "  %s\n", x.InForce.Text)
		}
		if x.Problem != "" {
			fmt.Fprintf(w, "  problem: %s\n", x.Problem)
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, ring := range x.Rings {
			state := "done"
			if !ring.IsNewest || ring.Text != "" {
				state = ring.Text
			}
			fmt.Fprintf(t, "  %s\t%d members\t%s\t%s\n", ring.Name, ring.Members, brief(ring.Revision), state)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// brief shortens a Git commit to 10 characters, and a digest to 8.
func brief(revision string) string {
	if kind, digest, is := strings.Cut(revision, ":"); is {
		return kind + ":" + digest[:min(8, len(digest))]
	}
	if len(revision) == 40 {
		return revision[:10]
	}
	return revision
}
