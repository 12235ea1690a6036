package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
)

func newParams(o *options) *cobra.Command {
	var r query.Query
	var view, selector, base, output string
	var factsFrom []string
	cmd := &cobra.Command{
		Use:   "params --hub HUB --view VIEW",
		Short: "Print the generator plugin's response, byte for byte",
		Long: `Params prints the response of the generator plugin to the same query, byte for byte. On a terminal it
shows the sets as a table.

Views: members (one set for each spoke of the hub), releases (one for each used release of a group),
components (one for each cluster and enabled component) and agents (one for each member with its own
engine).

If the fleet cannot be computed, nothing is printed: the problems go to stderr and the exit status
is 1. An invalid query (an unknown hub, a missing group) gives 2.`,
		Example: `  argosy params --hub hub-eu --view members
  argosy params --hub hub-eu --view components --group addons --component external-dns
  argosy params --hub hub-eu --view components --group addons --selector environment=prod,region=eu-west-1
  argosy params --hub hub-eu --view components --group addons --component external-dns --base entry.yaml
  argosy params --hub hub-eu --view components --group addons --owner payments-prod-eu-1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.View = query.View(view)
			var err error
			if r.Selector, err = parseSelector(selector); err != nil {
				return err
			}
			if r.Base, err = readBase(cmd.InOrStdin(), base); err != nil {
				return err
			}
			st, err := o.state(cmd.Context(), factsFrom)
			if err != nil {
				return err
			}
			if r.Hub == "" {
				if r.Hub, err = pipeline.OnlyHub(st); err != nil {
					return err
				}
			}
			data, err := response.Bytes(st, r)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("output") && isTerminal(cmd.OutOrStdout()) {
				output = "table"
			}
			return writeParams(cmd, data, output)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Hub, "hub", "", "the requester's hub; may be left out if the fleet has one")
	flags.StringVar(&view, "view", "", "the view: "+strings.Join(query.Views, ", "))
	flags.StringVar(&r.Group, "group", "", "the group, for the views releases and components")
	flags.StringVar(&r.Component, "component", "", "only one component of the group")
	flags.StringVar(&r.Release, "release", "", "only clusters on this release of the group")
	flags.StringVar(&r.Owner, "owner", "", "the requester's engine: hub, or a member's name (default hub)")
	flags.StringVar(&selector, "selector", "", "only clusters with these labels, as for kubectl: `k=v,...`")
	flags.StringVar(&base, "base", "", "a catalog entry for the component, a YAML or JSON `file`; - is stdin")
	factsFlag(cmd, &factsFrom)
	outputFlag(cmd, &output, "json", "yaml", "table")
	form := cmd.Flags().Lookup("output")
	form.Usage, form.DefValue = form.Usage+"; default: json, or table on a terminal", ""
	_ = cmd.MarkFlagRequired("view")
	complete(cmd, "view", query.Views)
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "group", groups)
	o.completeFleet(cmd, "owner", func(st *fleetstate.State) []string { return append([]string{"hub"}, clusters(st, r.Hub)...) })
	o.completeFleet(cmd, "release", func(st *fleetstate.State) []string {
		var out []string
		for _, rel := range st.Fleet.Versions.Of(r.Group).Releases {
			out = append(out, rel.Type)
		}
		return out
	})
	o.completeFleet(cmd, "component", func(st *fleetstate.State) []string {
		var out []string
		for _, cluster := range clusters(st, r.Hub) {
			out = append(out, st.ComponentsOf(r.Hub, cluster, r.Group)...)
		}
		return out
	})
	return cmd
}

// parseSelector converts kubectl's form of a selector to the form of the plugin's input.
func parseSelector(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	requirements, err := k8slabels.ParseToRequirements(text)
	if err != nil {
		return nil, problem.Usage([]string{selectorHint}, "--selector: %w", err)
	}
	var expressions []any
	for _, r := range requirements {
		operator := map[selection.Operator]string{
			selection.Equals: "In", selection.DoubleEquals: "In", selection.In: "In", selection.NotEquals: "NotIn", selection.NotIn: "NotIn",
			selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
		}[r.Operator()]
		if operator == "" {
			return nil, problem.Usage([]string{selectorHint}, "--selector: operator %q is not an operator of a label selector", r.Operator())
		}
		e := map[string]any{"key": r.Key(), "operator": operator}
		if values := r.ValuesUnsorted(); len(values) > 0 {
			slices.Sort(values)
			e["values"] = values
		}
		expressions = append(expressions, e)
	}
	return map[string]any{"matchExpressions": expressions}, nil
}

const selectorHint = "write it as for kubectl: environment=prod,region in (eu-west-1,eu-central-1),tier!=gold,!trial"

// maxBase is the limit of a catalog entry, in bytes.
const maxBase = 1 << 20

// readBase reads a catalog entry; it returns nil without a file.
func readBase(stdin io.Reader, file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, problem.Usage(nil, "--base: %w", err)
		}
		defer f.Close()
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxBase+1))
	switch {
	case err != nil:
		return nil, problem.Usage(nil, "--base: %w", err)
	case len(data) > maxBase:
		return nil, problem.Usage(nil, "--base: more than the limit of %d bytes", maxBase)
	}
	doc, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil, &problem.Failure{Err: fmt.Errorf("--base: %w", err), Problems: problem.From(err, problem.InvalidYAML, problem.Pos{File: file})}
	}
	entry, ok := doc.Root.Any().(map[string]any)
	if !ok {
		return nil, problem.Usage(nil, "--base: %s holds a %s; expected a map, one component's catalog entry", file, doc.Root.Kind)
	}
	return entry, nil
}
