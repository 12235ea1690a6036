package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/lint"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/flux"

	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/report/lintreport"
	"github.com/argosy-hub/argosy/internal/source"
)

func newLint(o *options) *cobra.Command {
	var output, records string
	var factsFrom []string
	var isStrict bool
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Report every problem of the repository",
		Long: `Lint reads the whole repository as the service would and reports every problem. An error keeps a cluster or
the whole fleet from being computed. A warning is most likely a mistake. A note reports what a reader may
not expect. It is not a problem.

Every finding has a place, a stable reason code in brackets (docs/reference/problems.md), and where possible
a hint. With an error the exit status is 1, with --strict also with a warning.`,
		Example: `  argosy lint
  argosy lint --repo ../fleet -o json
  argosy lint -o sarif > argosy.sarif      # for code scanning
  argosy lint --strict                     # warnings count as well
  argosy lint --records records            # also what Terraform is about to write into the secret manager`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := o.lint(cmd.Context(), factsFrom, records)
			if err != nil {
				return err
			}
			if err := writeLint(cmd, r, output); err != nil {
				return err
			}
			if r.Summary.Fails(isStrict) {
				return &quiet{exitFindings}
			}
			return nil
		},
	}
	outputFlag(cmd, &output, "text", "json", "yaml", "sarif")
	factsFlag(cmd, &factsFrom)
	cmd.Flags().StringVar(&records, "records", "", "`folder` with the members' records, FOLDER/SECRET.json by the names of their secrets, which are checked as well")
	cmd.Flags().BoolVar(&isStrict, "strict", false, "end with status 1 for warnings, too")
	return cmd
}

// lint reads the folder as it is, and returns its findings; records may be empty.
func (o *options) lint(ctx context.Context, factsFrom []string, records string) (out lintreport.Report, _ error) {
	f, err := factsfile.Read(factsFrom)
	if err != nil {
		return out, err
	}
	s, err := o.repo.Snapshot(ctx, source.Limits{})
	var ofMounts *problem.Failure
	if err != nil && (s == nil || !errors.As(err, &ofMounts)) {
		return out, err
	}
	var problems []problem.Problem
	hubCount, clusterCount := 0, 0
	st, err := fleetstate.Build(nil, s, f)
	if err != nil {
		problems = problem.From(err, problem.InvalidLayout, problem.Pos{})
	} else {
		problems = problem.Relocate(o.findings(st), s.Locate)
		hubCount, clusterCount = len(st.Fleet.Hubs()), len(inventory.Summaries(st))
	}
	if records != "" {
		ofRecords, err := factsfile.CheckRecords(records, membersOf(st))
		if err != nil {
			return out, err
		}
		problems = problem.Sorted(slices.Concat(problems, ofRecords))
	}
	if ofMounts != nil {
		problems = problem.Sorted(slices.Concat(problems, ofMounts.Problems))
	}
	return lintreport.New(s.Revision, problems, hubCount, clusterCount), nil
}

// membersOf returns the members of all hubs; none if the repository cannot be read.
func membersOf(st *fleetstate.State) (out []*fleet.Member) {
	if st == nil {
		return nil
	}
	for _, hub := range st.Fleet.Hubs() {
		out = append(out, st.Fleet.Members(hub)...)
	}
	return out
}

func writeLint(cmd *cobra.Command, r lintreport.Report, output string) error {
	switch w := cmd.OutOrStdout(); output {
	case "json", "yaml":
		return writeData(w, output, r)
	case "sarif":
		return report.WriteJSON(w, lintreport.NewSARIF(r, programVersion()))
	}
	return paged(cmd, func(w io.Writer, s report.Style) error { return lintreport.Write(w, r, s) })
}

// findings returns all problems of a state, also those that only a member's engine has.
func (o *options) findings(st *fleetstate.State) []problem.Problem {
	all := slices.Concat(lint.Run(st, o.tools()), flux.Lint(st), lint.Removals(st, time.Now()), lint.Holds(st, time.Now()))
	return problem.OnePerPlace(problem.Sorted(lint.Ignore(st, all)))
}
