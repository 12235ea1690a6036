package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/rings"
)

// statusTimeout bounds the request to the service, and maxStatus its response.
const (
	statusTimeout = 30 * time.Second
	maxStatus     = 16 << 20
)

func newRolloutStatus() *cobra.Command {
	var service, tokenFile, output string
	cmd := &cobra.Command{
		Use: "status [NAME] --service URL --token-file FILE", Short: "Show what each ring has and waits for",
		Long:    "Status queries a hub's service: which revision each ring has, what it waits for, since when and until when.",
		Example: "  argosy rollout status --service http://127.0.0.1:4355 --token-file token",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, body, err := askRollouts(cmd.Context(), service, tokenFile)
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
	flags := cmd.Flags()
	flags.StringVar(&service, "service", "", "the `URL` of the service")
	flags.StringVar(&tokenFile, "token-file", "", "the `file` with the service's bearer token")
	outputFlag(cmd, &output, "text", "json")
	for _, name := range []string{"service", "token-file"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

// askRollouts reads the state of all rollouts from the service.
func askRollouts(ctx context.Context, service, tokenFile string) (rings.Report, []byte, error) {
	var out rings.Report
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return out, nil, problem.Usage(nil, "--token-file: %v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(service, "/")+"/api/v1/rollouts", nil)
	if err != nil {
		return out, nil, problem.Usage([]string{"such as http://127.0.0.1:4355"}, "--service: %v", err)
	}
	q.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return out, nil, problem.Usage(nil, "the service cannot be asked: %v", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxStatus))
	if err != nil {
		return out, nil, problem.Usage(nil, "the service cannot be asked: %v", err)
	}
	if r.StatusCode != http.StatusOK {
		return out, nil, problem.Usage(nil, "the service responds %s: %s", r.Status, strings.TrimSpace(string(body)))
	}
	if err := json.Unmarshal(body, &out); err != nil || out.Kind != rings.Kind {
		return out, nil, problem.Usage([]string{"is --service the address of generator-plugin?"}, "the response is not %s", rings.Kind)
	}
	return out, body, nil
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

// brief shortens a Git commit to 10 characters.
func brief(revision string) string {
	if len(revision) == 40 {
		return revision[:10]
	}
	return revision
}
