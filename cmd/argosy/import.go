package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/atomicfile"
	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/expand/helm"
	"github.com/argosy-hub/argosy/internal/expand/manifest"
	"github.com/argosy-hub/argosy/internal/factsfile"
	"github.com/argosy-hub/argosy/internal/failure"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/importer"
	"github.com/argosy-hub/argosy/internal/planner"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/scaffold"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/verify"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// importFlags are those by which import and verify find what is imported.
type importFlags struct {
	from, ref, url                string
	repositories, applicationSets []string
	clusters, facts               []string
	context, kubeconfig, argocd   string
	// failed says what the command has not done where it fails.
	failed string
}

func (f *importFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "the repository of the ApplicationSets and their value files: a folder, or a Git `URL`")
	flags.StringVar(&f.ref, "from-ref", "", "of a Git URL: branch, tag or commit; default: main")
	flags.StringVar(&f.url, "from-url", "", "the `URL` by which ApplicationSets name the repository of --from; default: the one that they name")
	flags.StringArrayVar(&f.repositories, "repository", nil, "another repository that is read: `URL=DIR`; may be repeated")
	flags.StringArrayVar(&f.clusters, "clusters", nil, "a `file` of cluster Secrets (kubectl get secrets -o yaml), of which the credentials are not read; may be repeated")
	factsFlag(cmd, &f.facts)
	flags.StringVar(&f.context, "context", "", "the kubeconfig's context of a live hub, for its cluster Secrets")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "with --context: the `file`; default: KUBECONFIG, or ~/.kube/config")
	flags.StringVarP(&f.argocd, "namespace", "n", "argocd", "with --context: the `namespace` of Argo CD")
}

func newImport(o *options) *cobra.Command {
	f := importFlags{failed: "nothing was written"}
	var hubName, group, out, generated string
	var live, factored bool
	cmd := &cobra.Command{
		Use:   "import --from DIR --hub HUB --out DIR",
		Short: "Make a fleet of what runs on ApplicationSets",
		Long: `Import runs the ApplicationSets of a repository by Argo CD's own code, and writes a fleet that makes the
same Applications: members, a catalog, and values that stand once at the level that they hold for. It
changes nothing that it reads.

Before it writes, it compares the fleet's Applications with the original ones. It reports each
difference, and what cannot be expressed, with the line of the ApplicationSet (docs/reference/import.md).

Exit status 0: all Applications are equal in spec. 1: the fleet is written, and something is reported.
2: nothing is written.`,
		Example: `  argosy import --from . --clusters secrets.yaml --hub hub-eu --out ../fleet
  argosy import --from . --context hub-eu --hub hub-eu --out ../fleet
  argosy import --from . --facts facts.yaml --applicationsets live.yaml --hub hub-eu --out ../fleet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for flag, value := range map[string]string{"from": f.from, "hub": hubName, "out": out} {
				if value == "" {
					return failure.Usage([]string{"for example argosy import --from . --hub hub-eu --out ../fleet"}, "no --%s given", flag)
				}
			}
			if err := atomicfile.CheckEmpty(out); err != nil {
				return failure.Usage([]string{"--out names a new folder", "nothing was written"}, "--out %s: %w", out, err)
			}
			shown := newProgress(cmd.ErrOrStderr())
			defer shown.Done()
			shown.Say("reading the repository and the clusters")
			options, err := f.options(cmd.Context(), o)
			if err != nil {
				return err
			}
			options.Hub, options.Group, options.Factor = hubName, group, factored
			if options.Generated, err = readGenerated(generated); err != nil {
				return err
			}
			if options.ApplicationSets, err = f.readApplicationSets(cmd.Context(), live); err != nil {
				return err
			}
			shown.Say("running the ApplicationSets, and comparing their Applications")
			result, err := importer.Import(options)
			if err != nil {
				return err
			}
			shown.Done()
			if err := atomicfile.CreateFolder(out, result.Files); err != nil {
				return failure.Usage([]string{"nothing was written"}, "%w", err)
			}
			if err := report.WriteFindings(cmd.ErrOrStderr(), result.Problems, styleOf(cmd.ErrOrStderr())); err != nil {
				return err
			}
			values := fmt.Sprintf("%d lines of values, which were %d", result.LinesAfter, result.LinesBefore)
			switch {
			case len(result.Kept) > 0:
				values = counted(len(result.Kept), "value file") + " in the places that the repository has for them"
			case result.Unkept != "":
				values += "\nvalue files do not keep their places: " + result.Unkept
			}
			_, err = fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "%s: %s, %s, %s\n%d of %d Applications are equal in spec\n%s\n",
				out, counted(result.Members, "member"), counted(result.Components, "component"), counted(len(result.Files), "file"), result.Equal, result.Applications, values)
			if err == nil && len(result.Left) > 0 {
				_, err = fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "no ApplicationSet makes these, which stay as they are: %s\n", strings.Join(result.Left, ", "))
			}
			if err == nil && len(result.Problems) > 0 {
				return &quiet{exitFindings}
			}
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&hubName, "hub", "", "the `name` of the hub, whose Argo CD runs the ApplicationSets (required)")
	cmd.Flags().StringVar(&group, "group", "addons", "the `name` of the group that the components are in")
	cmd.Flags().StringVar(&out, "out", "", "the new `folder` of the fleet (required)")
	cmd.Flags().StringArrayVar(&f.applicationSets, "applicationsets", nil, "a `file` of ApplicationSets to read instead of those in the repository (kubectl get applicationsets -o yaml); may be repeated")
	cmd.Flags().BoolVar(&factored, "factor", false, "write each value once at the level that it holds for, although the repository's value files form a hierarchy")
	cmd.Flags().BoolVar(&live, "live", false, "with --context: read the hub's ApplicationSets instead of those in the repository")
	cmd.Flags().StringVar(&generated, "generated", "", "a `file` with the parameter sets of generators that need a service: a map with a list for each ApplicationSet")
	return cmd
}

// options reads what is imported, but for what import alone has.
func (f *importFlags) options(ctx context.Context, o *options) (importer.Options, error) {
	out := importer.Options{Tools: o.tools(), SetParameters: helm.SetParameters, Charts: scaffold.Charts, ChartsVersion: releasedVersion()}
	var err error
	if out.Repositories, err = f.openRepositories(ctx); err != nil {
		return out, err
	}
	out.Clusters, err = f.readClusters(ctx)
	return out, err
}

// openRepositories reads the repositories that flags name.
func (f *importFlags) openRepositories(ctx context.Context) (*verify.Repositories, error) {
	out := &verify.Repositories{}
	var err error
	if f.from != "" {
		from := planner.Repository{Location: f.from, Ref: f.ref}
		if out.Own, err = from.Snapshot(ctx, importLimits); err != nil {
			return nil, err
		}
		switch {
		case f.url != "":
			out.URLs = []string{f.url}
		case git.IsURL(f.from):
			out.URLs = []string{f.from}
		}
		if _, err := os.Stat(filepath.Join(f.from, ".git")); err == nil {
			out.At = f.revisions(ctx)
		}
	}
	for _, pair := range f.repositories {
		url, dir, ok := strings.Cut(pair, "=")
		if !ok || url == "" || dir == "" {
			return nil, failure.Usage([]string{"for example --repository https://git.example.com/apps.git=../apps"}, "--repository %q: expected URL=DIR", pair)
		}
		s, err := planner.Repository{Location: dir}.Snapshot(ctx, importLimits)
		if err != nil {
			return nil, err
		}
		out.Others = append(out.Others, verify.Repository{URL: url, Snapshot: s})
	}
	return out, nil
}

// revisions reads revisions of a clone: the branch that is checked out is the folder as it is.
func (f *importFlags) revisions(ctx context.Context) func(string) (*snapshot.Snapshot, error) {
	known := map[string]*snapshot.Snapshot{}
	return func(revision string) (*snapshot.Snapshot, error) {
		if s := known[revision]; s != nil {
			return s, nil
		}
		s, err := git.Revision(ctx, f.from, "origin/"+revision, importLimits)
		if err != nil {
			s, err = git.Revision(ctx, f.from, revision, importLimits)
		}
		if err != nil {
			return nil, &verify.Away{Text: fmt.Sprintf("revision %s of the repository cannot be read: %v", revision, err), Hint: "git fetch origin " + revision}
		}
		known[revision] = s
		return s, nil
	}
}

// readClusters are those of files of Secrets, of facts, or of a live hub; nil if none are given.
func (f *importFlags) readClusters(ctx context.Context) ([]expand.Cluster, error) {
	files, err := readFiles("clusters", f.clusters)
	if err != nil {
		return nil, err
	}
	var out []expand.Cluster
	for _, file := range files {
		found, err := importer.Secrets(file)
		if err != nil {
			return nil, failure.Usage(nil, "--clusters: %w", err)
		}
		if len(found) == 0 {
			return nil, failure.Usage([]string{"kubectl get secrets -n argocd -l argocd.argoproj.io/secret-type=cluster -o yaml"}, "--clusters %s: no cluster Secret in it", file.Path)
		}
		out = append(out, found...)
	}
	if len(f.facts) > 0 {
		known, err := factsfile.Read(f.facts)
		if err != nil {
			return nil, err
		}
		out = append(out, importer.FromFacts(known)...)
	}
	if f.context == "" {
		return out, nil
	}
	config, err := hub.LoadContext(f.kubeconfig, f.context)
	if err != nil {
		return nil, failure.Usage([]string{f.failed}, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	known, _, err := hub.List(ctx, hub.Options{Config: config, Namespace: f.argocd}, hub.Also{})
	if err != nil {
		return nil, f.hubFailure(err, config.Host)
	}
	for _, c := range importer.FromFacts(known) {
		if !slices.ContainsFunc(out, func(given expand.Cluster) bool { return given.Name == c.Name }) {
			out = append(out, c) // a file says more of a cluster than the hub's metadata
		}
	}
	return out, nil
}

// hubFailure is an error of the live hub at an address.
func (f *importFlags) hubFailure(err error, address string) error {
	return failure.Usage([]string{fmt.Sprintf("the context %s is %s", f.context, address), "--context and --namespace say where Argo CD is", f.failed}, "%w", err)
}

// readApplicationSets reads those of files, and of the live hub; none for those in the repository.
func (f *importFlags) readApplicationSets(ctx context.Context, live bool) ([]*snapshot.File, error) {
	out, err := readFiles("applicationsets", f.applicationSets)
	switch {
	case err != nil || !live:
		return out, err
	case f.context == "":
		return nil, failure.Usage([]string{"--context names the hub"}, "--live without --context")
	}
	objects, err := f.liveObjects(ctx, hub.ApplicationSetsOf)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		name := f.context + "/" + manifest.Text(o.Tree, "metadata", "name") + ".json"
		out = append(out, snapshot.NewFile(name, manifest.Canonical(o.Tree), snapshot.MaxFileSize))
	}
	return out, nil
}

// readFiles reads files that a flag names.
func readFiles(flag string, names []string) ([]*snapshot.File, error) {
	var out []*snapshot.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, failure.Usage(nil, "--%s: %w", flag, err)
		}
		out = append(out, snapshot.NewFile(filepath.ToSlash(name), data, 64<<20))
	}
	return out, nil
}

// readGenerated reads parameter sets by ApplicationSet.
func readGenerated(name string) (map[string][]any, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, failure.Usage(nil, "--generated: %w", err)
	}
	doc, err := yamldoc.Parse(name, data)
	if err != nil {
		return nil, failure.Usage(nil, "--generated: %w", err)
	}
	sets, ok := doc.Root.Any().(map[string]any)
	out := map[string][]any{}
	for set, elements := range sets {
		list, isList := elements.([]any)
		ok = ok && isList
		out[set] = list
	}
	if !ok {
		return nil, failure.Usage([]string{"my-applicationset: [{organization: acme, repository: shop, url: ...}]"}, "--generated %s: expected a list of parameter sets for each ApplicationSet", name)
	}
	return out, nil
}

// importLimits are those of repositories that are imported: of any file, because a generator may
// read it, and of large ones, because ApplicationSets with long lists are.
var importLimits = source.Limits{Charts: true, AnyName: true, FileSize: 16 << 20}

// counted is a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
