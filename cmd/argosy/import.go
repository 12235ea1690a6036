package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/planpage"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/migrate/existing"
	"github.com/argosy-hub/argosy/internal/migrate/importer"
)

// existingFlags adds the flags by which a command finds the ApplicationSets of today.
func existingFlags(cmd *cobra.Command, s *existing.Source) {
	flags := cmd.Flags()
	flags.StringVar(&s.From, "from", "", "the repository of the ApplicationSets and their value files: a folder, or a Git `URL`")
	flags.StringVar(&s.Ref, "from-ref", "", "of a Git URL: branch, tag or commit; default: main")
	flags.StringVar(&s.URL, "from-url", "", "the `URL` by which ApplicationSets name the repository of --from; default: the one in them")
	repositoryFlag(cmd, &s.Repositories)
	clustersFlags(cmd, &s.Clusters, &s.Named)
	factsFlag(cmd, &s.Facts)
	flags.StringVar(&s.Context, "context", "", "the kubeconfig's context of a live hub, for its cluster Secrets")
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "with --context: the `file`; default: KUBECONFIG, or ~/.kube/config")
	flags.StringVarP(&s.Namespace, "namespace", "n", "argocd", "with --context: the `namespace` of Argo CD")
}

// repositoryFlag adds --repository.
func repositoryFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "repository", nil, "another repository to read: `URL=DIR`; may be repeated")
}

// clustersFlags adds --clusters and --cluster.
func clustersFlags(cmd *cobra.Command, files, named *[]string) {
	cmd.Flags().StringArrayVar(files, "clusters", nil, "a `file` of cluster Secrets, whose credentials are not read; may be repeated")
	cmd.Flags().StringArrayVar(named, "cluster", nil, "a cluster by its `NAME`, or NAME=LABEL=VALUE for each label; may be repeated")
}

func newImport(o *options) *cobra.Command {
	from := existing.Source{Failed: "nothing was written"}
	options := importer.Options{SetParameters: helm.SetParameters, ChartsVersion: releasedVersion()}
	var out, generated string
	var exported []string
	var live bool
	cmd := &cobra.Command{
		Use:   "import --from DIR --hub HUB --out DIR",
		Short: "Make a fleet of existing ApplicationSets and Applications",
		Long: `Import runs the ApplicationSets of a repository by Argo CD's own code, and writes a fleet that makes the
same Applications. The fleet has members, a catalog, and each value once, at its level. Import changes
nothing that it reads.

Before it writes, it compares the fleet's Applications with the original ones. It reports each difference,
and everything that it cannot express, with the line of the ApplicationSet (docs/reference/import.md).

Exit status 0: all Applications are equal in spec. 1: the fleet is written, and something is reported.
2: nothing is written.`,
		Example: `  argosy import --from . --clusters secrets.yaml --hub hub-eu --out ../fleet
  argosy import --from . --context hub-eu --hub hub-eu --out ../fleet
  argosy import --from . --facts facts.yaml --applicationsets live.yaml --hub hub-eu --out ../fleet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, flag := range [][2]string{{"from", from.From}, {"hub", options.Hub}, {"out", out}} {
				if flag[1] == "" {
					return problem.Usage([]string{"for example argosy import --from . --hub hub-eu --out ../fleet"}, "no --%s given", flag[0])
				}
			}
			if err := disk.CheckEmpty(out); err != nil {
				return problem.Usage([]string{"--out names a new folder", "nothing was written"}, "--out %s: %w", out, err)
			}
			shown := newProgress(cmd.ErrOrStderr())
			defer shown.Done()
			shown.Say("reading the repository and the clusters")
			options.Tools = o.tools()
			var err error
			if options.Repositories, err = from.Open(cmd.Context()); err != nil {
				return err
			}
			if options.Clusters, err = from.ReadClusters(cmd.Context()); err != nil {
				return err
			}
			if options.Generated, err = existing.Generated(generated); err != nil {
				return err
			}
			if options.ApplicationSets, err = from.ReadApplicationSets(cmd.Context(), exported, live); err != nil {
				return err
			}
			shown.Say("running the ApplicationSets, and comparing their Applications")
			result, err := importer.Import(options)
			if err != nil {
				return err
			}
			shown.Done()
			if err := disk.CreateFolder(out, result.Files); err != nil {
				return problem.Usage([]string{"nothing was written"}, "%w", err)
			}
			if err := report.WriteFindings(cmd.ErrOrStderr(), result.Problems, styleOf(cmd.ErrOrStderr())); err != nil {
				return err
			}
			values := fmt.Sprintf("%s of values, which were %d", planpage.Plural(result.LinesAfter, "line"), result.LinesBefore)
			switch {
			case len(result.Kept) > 0:
				values = planpage.Plural(len(result.Kept), "value file") + " in the places that the repository has for them"
			case result.Unkept != "":
				values += "\nvalue files do not keep their places: " + result.Unkept
			}
			for _, note := range result.Notes {
				values += "\n" + note
			}
			_, err = fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "%s: %s, %s, %s\n%d of %d Applications are equal in spec\n%s\n",
				out, planpage.Plural(result.Members, "member"), planpage.Plural(result.Components, "component"), planpage.Plural(len(result.Files), "file"), result.Equal, result.Applications, values)
			if err == nil && len(result.Left) > 0 {
				_, err = fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "these deploy Applications of before, and stay as they are; remove them without what they deploy when the fleet has taken over: %s\n", strings.Join(slices.Compact(result.Left), ", "))
			}
			if err == nil && len(result.Problems) > 0 {
				return &quiet{exitFindings}
			}
			return err
		},
	}
	existingFlags(cmd, &from)
	cmd.Flags().StringVar(&options.Hub, "hub", "", "the `name` of the hub, whose Argo CD runs the ApplicationSets (required)")
	cmd.Flags().StringVar(&options.Group, "group", "addons", "the `name` of the components' group")
	cmd.Flags().StringVar(&out, "out", "", "the new `folder` of the fleet (required)")
	cmd.Flags().StringArrayVar(&options.Roots, "root", nil, "import only what the roots at this `path` make; may be repeated")
	cmd.Flags().StringArrayVar(&exported, "applicationsets", nil, "a `file` of ApplicationSets to read instead of the repository's (kubectl get applicationsets -o yaml); may be repeated")
	cmd.Flags().BoolVar(&options.Factor, "factor", false, "write each value once, at its level, although the repository's value files form a hierarchy")
	cmd.Flags().BoolVar(&live, "live", false, "with --context: read the hub's ApplicationSets instead of the repository's")
	cmd.Flags().StringVar(&generated, "generated", "", "a `file` with the parameter sets of generators that need a service: a map with a list for each ApplicationSet")
	return cmd
}
