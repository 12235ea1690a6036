package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/report/explainreport"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

func newExplain(o *options) *cobra.Command {
	var hub, output, app string
	var factsFrom, instead []string
	cmd := &cobra.Command{
		Use:   "explain {CLUSTER GROUP/COMPONENT | --app NAME} [PATH]",
		Short: "Show where each value of a component on a cluster comes from",
		Long: `Explain shows for one component on one cluster whether it runs there, who enabled it, who owns it, its chart
and the files of its values. For each value it shows the level, file, line and column that set it, and the
values it overrode.

The release names the revision of the component's catalog. Explain reads a catalog of this repository at
another revision from the clone. Its places are COMMIT:FILE, as git show takes them; --revision NAME=REV
takes another revision for it. If the clone lacks a catalog, explain names it and shows this revision's.

With --app, explain finds the component by the name of its Application, HelmRelease or Kustomization.

With PATH, it shows only the value there and those below it. Dots separate the parts of a path; put a
key with dots into brackets and quotes: controller.annotations["example.com/key"].

The registration of a cluster is the component fleet/fleet-secret.`,
		Example: `  argosy explain retail-prod-eu-1 addons/external-dns
  argosy explain retail-prod-eu-1 addons/ingress-nginx controller.config
  argosy explain retail-prod-eu-1 addons/ingress-nginx 'controller.config["proxy-body-size"]'
  argosy explain --app external-dns-retail-prod-eu-1 policy
  argosy explain --facts examples/facts.yaml retail-prod-eu-1 addons/karpenter -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if app != "" {
				if len(args) > 1 {
					return problem.Usage([]string{"usage: argosy explain --app NAME [PATH]"}, "with --app explain takes a path at most; there are %d arguments", len(args))
				}
				return nil
			}
			if len(args) < 2 || len(args) > 3 {
				return problem.Usage([]string{"usage: argosy explain CLUSTER GROUP/COMPONENT [PATH]"}, "explain takes a cluster, a component and perhaps a path; there are %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about := explain.Target{Hub: hub}
			if app == "" {
				var ok bool
				about.Cluster = args[0]
				if about.Group, about.Component, ok = strings.Cut(args[1], "/"); !ok || about.Group == "" || about.Component == "" {
					return problem.Usage([]string{"for example addons/external-dns"}, "%q is not GROUP/COMPONENT", args[1])
				}
				args = args[2:]
			}
			var path []string
			if len(args) == 1 {
				var err error
				if path, err = hierarchy.ParsePath(args[0]); err != nil {
					return problem.Usage(nil, "%w", err)
				}
			}
			st, pipelines, err := o.released(cmd.Context(), factsFrom, instead)
			if err != nil {
				return err
			}
			if app != "" {
				if about, err = explain.FindApplication(st, hub, app); err != nil {
					return err
				}
			}
			e, err := pipelines.Explain(st, about, path)
			var missing *explain.PathError
			switch {
			case errors.As(err, &missing):
				return problem.Usage(missing.Hints, "%w", err)
			case err != nil:
				return err
			}
			if output != "text" {
				return writeData(cmd.OutOrStdout(), output, e)
			}
			return paged(cmd, func(w io.Writer, s report.Style) error { return explainreport.Write(w, e, s) })
		},
	}
	cmd.Flags().StringVar(&hub, "hub", "", "the cluster's hub; only needed when several hubs have a member of that name")
	cmd.Flags().StringVar(&app, "app", "", "`name` of the Application, instead of its cluster and component")
	factsFlag(cmd, &factsFrom)
	revisionFlag(cmd, &instead, "catalogs")
	outputFlag(cmd, &output, "text", "json", "yaml")
	o.completeFleet(cmd, "hub", hubs)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		st, _, err := o.released(cmd.Context(), factsFrom, instead)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if app != "" {
			about, err := explain.FindApplication(st, hub, app)
			if err != nil || len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			hub, args = about.Hub, []string{about.Cluster, about.Group + "/" + about.Component}
		}
		return completeExplain(st, hub, args, prefix), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// completeExplain completes the next argument: a cluster, a component, a path.
func completeExplain(st *fleetstate.State, hub string, args []string, prefix string) []string {
	switch len(args) {
	case 0:
		return startingWith(prefix, clusters(st, hub))
	case 1:
		return startingWith(prefix, targets(st, hub, args[0]))
	case 2:
		group, component, _ := strings.Cut(args[1], "/")
		e, err := explain.Component(st, explain.Target{Hub: hub, Cluster: args[0], Group: group, Component: component}, nil)
		if err != nil {
			return nil
		}
		var paths []string
		for _, v := range e.Values {
			paths = append(paths, v.Path)
		}
		return startingWith(prefix, paths)
	}
	return nil
}
