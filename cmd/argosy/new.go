package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

func newNew(o *options) *cobra.Command {
	return parent(&cobra.Command{
		Use:   "new",
		Short: "Write new files of the repository",
		Example: `  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1
  argosy new cluster --class eks-kro --version 1.33 --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1
  argosy new tenant --hub hub-eu --name logistics
  argosy new team --name checkout --tenant payments --owner payments-checkout --repository https://git.example.com/checkout/app
  argosy new app storefront-web --team storefront --repo-url https://git.example.com/storefront/web --path chart --version main
  argosy new component --name podinfo --repo-url https://stefanprodan.github.io/podinfo --version 6.9.0`,
	}, newHub(o), newMember(o), newCluster(o), newTenant(o), newTeam(o), newApp(o), newComponent(o))
}

// write makes a draft in the folder of --repo and writes it, or with dryRun prints it.
func (o *options) write(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error {
	if ref, err := o.repo.Revision(); err != nil {
		return err
	} else if ref != "" {
		return problem.Usage([]string{"--repo takes the folder of a clone"}, "%q has no folder to write a file to", o.repo.Location)
	}
	d, err := draft(scaffold.Repository{Folder: o.repo.Location, Findings: o.findings, Tools: o.tools(), Layout: o.repo.LayoutFile})
	if err != nil {
		return pipeline.ReadError(err)
	}
	_ = report.WriteFindings(cmd.ErrOrStderr(), d.Warnings, styleOf(cmd.ErrOrStderr()))
	if dryRun {
		return d.Print(cmd.OutOrStdout())
	}
	if err := d.Write(); err != nil {
		return err
	}
	_, err = io.WriteString(report.PrintableWriter{W: cmd.OutOrStdout()}, d.Report())
	return err
}

// draftCommand completes a command that makes a draft from its flags and writes it. It adds
// --dry-run. Unless Args is set, the command takes no arguments.
func draftCommand[T any](
	o *options, cmd *cobra.Command, of *T, draft func(context.Context, scaffold.Repository, T) (*scaffold.Draft, error), required ...string,
) *cobra.Command {
	var dryRun bool
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the files instead of writing them")
	for _, name := range required {
		_ = cmd.MarkFlagRequired(name)
	}
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.write(cmd, dryRun, func(r scaffold.Repository) (*scaffold.Draft, error) { return draft(cmd.Context(), r, *of) })
	}
	return cmd
}

func newHub(o *options) *cobra.Command {
	var h scaffold.Installation
	cmd := &cobra.Command{
		Use:   "hub --name NAME",
		Short: "Write a further hub: its member file and its installation",
		Long: `New hub writes the member file of a hub and the Application by which the hub installs itself, in
fleet/bootstrap/NAME. A fleet without releases gets its ApplicationSets there, too. It builds the fleet with
the files first, and writes them only if the fleet has no further error. It never overwrites a file.`,
		Example: `  argosy new hub --name hub-us
  argosy new hub --name hub-us --repo-url https://git.example.com/platform/fleet.git --hub-environment staging`,
	}
	hubFlags(cmd, &h, "name", "")
	cmd.Flags().Lookup("repo-url").Usage += " (default another hub's)"
	cmd.Flags().Lookup("revision").Usage += " (default another hub's)"
	return draftCommand(o, cmd, &h, scaffold.NewHub, "name")
}

func newMember(o *options) *cobra.Command {
	var m scaffold.Member
	cmd := &cobra.Command{
		Use:   "member --hub HUB --name NAME --tenant TENANT",
		Short: "Write the file that registers a cluster",
		Long: `New member writes the file that registers a cluster, at the path of the repository's layout. It builds the
fleet with the file first, and writes it only if the fleet has no further error. It never overwrites a file.

Afterwards it names the components that the cluster would get.`,
		Example: `  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod \
      --secret hub-eu/retail-prod-eu-3 --label region=eu-west-1
  argosy new member --hub hub-eu --name payments-prod-eu-2 --tenant payments --environment prod \
      --secret hub-eu/payments-prod-eu-2 --label region=eu-west-1 --agent argocd --enable-remote addons,resources
  argosy new member --hub hub-ap --name hub-ap --tenant platform --environment prod --label region=ap-south-1 --hub-cluster
  argosy new member --hub hub-eu --name try --tenant retail --environment dev --label region=eu-west-1 --dry-run`,
	}
	o.memberFlags(cmd, &m)
	flags := cmd.Flags()
	flags.BoolVar(&m.HubCluster, "hub-cluster", false, "the file describes the hub itself")
	flags.StringVar(&m.Secret, "secret", "", "`name` or ARN of its credential in the secret store")
	flags.StringVar(&m.GitHubSecret, "github-secret", "", "`name` of the repository credentials in the secret store")
	return draftCommand(o, cmd, &m, scaffold.NewMember, "hub", "name", "tenant")
}

// memberFlags adds the flags that each member file needs, with their completions.
func (o *options) memberFlags(cmd *cobra.Command, m *scaffold.Member) {
	flags := cmd.Flags()
	flags.StringVar(&m.Hub, "hub", "", "the hub that manages the cluster")
	flags.StringVar(&m.Name, "name", "", "the cluster's name, also the file's")
	flags.StringVar(&m.Tenant, "tenant", "", "whose cluster it is")
	flags.StringVar(&m.Environment, "environment", "", "its environment, for example dev, staging or prod; without one, no level and no label of it")
	flags.StringVar(&m.Agent, "agent", "", "the cluster's own engine: argocd or flux")
	flags.StringSliceVar(&m.EnableRemote, "enable-remote", nil, "with --agent: the `groups` that the cluster's engine owns")
	flags.StringArrayVar(&m.Labels, "label", nil, "a label of the cluster, `key=value`; may be repeated")
	flags.StringArrayVar(&m.Annotations, "annotation", nil, "an annotation of the cluster, `key=value`; may be repeated")
	complete(cmd, "agent", scaffold.Engines)
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "enable-remote", groups)
	o.completeFleet(cmd, "tenant", tenants)
	o.completeFleet(cmd, "environment", environments)
}

func newCluster(o *options) *cobra.Command {
	var m scaffold.Member
	cmd := &cobra.Command{
		Use:   "cluster --class CLASS --version VERSION --hub HUB --name NAME --tenant TENANT",
		Short: "Write the file of a cluster that the hub makes",
		Long: `New cluster writes the member file of a cluster that the hub provisions: one file describes the cluster,
registers it and places it in the hierarchy. It builds the fleet with the file first. It refuses a class or
version that is not offered, and a second cluster of a name.

After the merge the hub makes the cluster, registers it by the class's kubeconfig, and deploys the
components that the command names.`,
		Example: `  argosy new cluster --class eks-kro --version 1.33 --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1 \
      --account 111122223333 --region eu-west-1 --input nodeCount=3`,
	}
	o.memberFlags(cmd, &m)
	flags := cmd.Flags()
	flags.StringVar(&m.Class, "class", "", "the class of the cluster, a component of the group provisioning")
	flags.StringVar(&m.Version, "version", "", "Kubernetes' `version` of the control plane")
	flags.StringVar(&m.NodesVersion, "nodes-version", "", "Kubernetes' version of the nodes (default the control plane's)")
	flags.StringVar(&m.Account, "account", "", "the cloud account (default the class's)")
	flags.StringVar(&m.Region, "region", "", "the cloud region (default the class's)")
	flags.StringArrayVar(&m.Inputs, "input", nil, "an input of the class, `key=value`; may be repeated")
	o.completeFleet(cmd, "class", func(st *fleetstate.State) []string {
		return slices.DeleteFunc(catalog.Layers(st.Resolver().Catalogs[provision.Group]).Components(), provision.IsForNodes)
	})
	return draftCommand(o, cmd, &m, scaffold.NewMember, "hub", "name", "tenant", "class", "version")
}

func newTenant(o *options) *cobra.Command {
	var t scaffold.Tenant
	cmd := &cobra.Command{
		Use:   "tenant --name NAME",
		Short: "Write a tenant's project in Argo CD",
		Long: `New tenant writes the Argo CD project of a tenant, in fleet/bootstrap/HUB. The tenant's Applications reach
only the project's clusters. It refuses an existing tenant, and clusters of another tenant.`,
		Example: `  argosy new tenant --name logistics
  argosy new tenant --hub hub-eu --name logistics --cluster legacy-7 --cluster 'logistics-*'`,
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Tenant, "name", "", "the tenant's name")
	flags.StringVar(&t.Hub, "hub", "", "the hub; may be left out if the fleet has one")
	flags.StringArrayVar(&t.ClusterPatterns, "cluster", nil, "a cluster's `name`, with * for any text; may be repeated (default NAME-*)")
	o.completeFleet(cmd, "hub", hubs)
	return draftCommand(o, cmd, &t, scaffold.NewTenant, "name")
}

func newTeam(o *options) *cobra.Command {
	var t scaffold.Team
	cmd := &cobra.Command{
		Use:   "team --name NAME --tenant TENANT --owner GROUP --repository URL",
		Short: "Write the file of a team",
		Long: `New team writes the file of a team, fleet/teams/NAME.yaml: its owners, clusters, namespaces and
repositories. It builds the fleet with the file first, and refuses another team's namespace.`,
		Example: `  argosy new team --name checkout --tenant payments --owner payments-checkout --repository https://git.example.com/checkout/app
  argosy new team --name checkout --tenant payments --owner payments-checkout --viewer payments --clusters environment=dev \
      --namespace checkout --namespace checkout-cards=isolated --repository 'https://git.example.com/checkout/*'`,
	}
	flags := cmd.Flags()
	flags.StringVar(&t.Name, "name", "", "the team's name, also the file's")
	flags.StringVar(&t.Tenant, "tenant", "", "whose team it is")
	flags.StringArrayVar(&t.Owners, "owner", nil, "a `group` of the identity provider that owns the team; may be repeated")
	flags.StringArrayVar(&t.Viewers, "viewer", nil, "a `group` that may look; may be repeated")
	flags.StringVar(&t.Selector, "clusters", "", "the tenant's clusters by `labels` of their files, as for kubectl (default all)")
	flags.StringArrayVar(&t.Namespaces, "namespace", nil, "a namespace, `NAME or NAME=PRESET`; may be repeated (default the team's name)")
	flags.StringVar(&t.Preset, "preset", "small", "the preset of namespaces without one")
	flags.StringArrayVar(&t.Repositories, "repository", nil, "a repository's `URL`, with * for any text after the host; may be repeated")
	o.completeFleet(cmd, "tenant", tenants)
	return draftCommand(o, cmd, &t, scaffold.NewTeam, "name", "tenant", "owner", "repository")
}

func newApp(o *options) *cobra.Command {
	var a scaffold.App
	cmd := &cobra.Command{
		Use:   "app NAME --team TEAM --repo-url URL --version VERSION",
		Short: "Add a team's application to the catalog of the group workloads",
		Long: `New app adds an application to the catalog of the group workloads. It is a chart, a folder with a chart
(--path), or a folder of manifests or a kustomization (--path with --manifests). The path is a template over
the cluster's facts: overlays/{{ .environment }} is a folder for each environment.

The application is on all clusters of its team, or with --cluster on some of them. A chart also gets a file
with its values for the team's tenant. The command builds the fleet with the files first. It refuses an
existing application, and a cluster or namespace that is not the team's.`,
		Example: `  argosy new app storefront-web --team storefront --repo-url https://git.example.com/storefront/web --path chart --version main
  argosy new app checkout-api --team checkout --namespace checkout --cluster payments-dev-eu-1 \
      --repo-url https://git.example.com/checkout/api --path 'overlays/{{ .environment }}' --manifests --version main`,
		Args:   cobra.ExactArgs(1),
		PreRun: func(_ *cobra.Command, args []string) { a.Name = args[0] },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.Team, "team", "", "whose application it is")
	flags.StringVar(&a.RepoURL, "repo-url", "", "`URL` of the Git repository, the Helm repository or the OCI registry; one of the team's")
	flags.StringVar(&a.Chart, "chart", "", "the chart's `name` there (default: the application's)")
	flags.StringVar(&a.Path, "path", "", "instead of a chart: a `folder` in Git")
	flags.StringVar(&a.Version, "version", "", "the chart's version; of a folder in Git the revision")
	flags.StringVar(&a.Namespace, "namespace", "", "one of the team's (default: its only one, or the one with the application's name)")
	flags.BoolVar(&a.Manifests, "manifests", false, "the folder has manifests or a kustomization, not a chart")
	flags.StringArrayVar(&a.Clusters, "cluster", nil, "a `cluster` of the team that gets it; may be repeated (default all)")
	o.completeFleet(cmd, "team", teams)
	o.completeFleet(cmd, "cluster", allClusters)
	return draftCommand(o, cmd, &a, scaffold.NewApp, "team", "repo-url", "version")
}

// teams returns the names of all teams.
func teams(st *fleetstate.State) []string { return st.Resolver().Teams().Names() }

func newComponent(o *options) *cobra.Command {
	var c scaffold.Component
	cmd := &cobra.Command{
		Use:   "component --name NAME --repo-url URL --version VERSION",
		Short: "Add a component to a group's catalog",
		Long: `New component adds an enabled entry to the last catalog that the layout names for the group, or without one
to the catalog of the first level. It builds the fleet with the entry first, refuses a component that a
catalog has, and names the clusters that get it. It changes nothing else in the file.`,
		Example: `  argosy new component --name podinfo --repo-url https://stefanprodan.github.io/podinfo --version 6.9.0
  argosy new component --name quotas --repo-url https://git.example.com/platform/quotas.git --path base --manifests --version v1.2.0`,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.Name, "name", "", "the component's name")
	flags.StringVar(&c.Group, "group", "addons", "its group")
	flags.StringVar(&c.RepoURL, "repo-url", "", "`URL` of the Helm repository, the OCI registry or the Git repository")
	flags.StringVar(&c.Chart, "chart", "", "the chart's `name` there (default: the component's)")
	flags.StringVar(&c.Path, "path", "", "instead of a chart: a `folder` in Git")
	flags.StringVar(&c.Version, "version", "", "the chart's version; of a folder in Git the revision")
	flags.StringVar(&c.Namespace, "namespace", "", "where it is deployed (default: the component's name)")
	flags.BoolVar(&c.Manifests, "manifests", false, "the folder has manifests or a kustomization, not a chart")
	o.completeFleet(cmd, "group", groups)
	return draftCommand(o, cmd, &c, scaffold.NewComponent, "name", "repo-url", "version")
}
