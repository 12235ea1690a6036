package main

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/charts"
	"github.com/argosy-hub/argosy/internal/change/scaffold"
)

func newInit(o *options) *cobra.Command {
	var f scaffold.Fleet
	cmd := &cobra.Command{
		Use:   "init --hub NAME --repo-url URL",
		Short: "Write a fleet to begin with into an empty repository",
		Long: `Init writes a working fleet into an empty folder or Git repository: the layout, a hub, one tenant with one
cluster, the hub's own installation, and one component. Every URL is your own. It pins Argosy's charts to
the version of this program.

With --minimal it writes the shortest fleet: one catalog, one ApplicationSet, and existing clusters of Argo
CD. It needs neither External Secrets nor releases.

Init builds and lints the fleet first. It writes all files or none, and says what to do next.`,
		Example: `  argosy init --hub hub --repo-url https://git.example.com/platform/fleet.git
  argosy init --hub hub --repo-url https://git.example.com/platform/fleet.git --minimal
  argosy init --hub hub-eu --repo-url git@git.example.com:platform/fleet.git --tenant retail --member retail-prod-eu-1 --environment prod`,
		PreRun: func(cmd *cobra.Command, _ []string) {
			if !cmd.Flags().Changed("repo") { // ignore a fleet in a parent folder
				o.repo.Location = "."
			}
			f.Member = cmp.Or(f.Member, f.Tenant+"-"+f.Environment+"-1")
		},
	}
	hubFlags(cmd, &f.Installation, "hub", "main")
	cmd.Flags().StringVar(&f.Like, "like", "", "the `repository` whose folders the fleet has: "+strings.Join(scaffold.Shapes, ", "))
	cmd.Flags().BoolVar(&f.Minimal, "minimal", false, "the shortest fleet, for clusters that Argo CD has already")
	cmd.Flags().StringVar(&f.Tenant, "tenant", "shop", "whose cluster the first one is")
	cmd.Flags().StringVar(&f.Member, "member", "", "the first cluster's `name` (default TENANT-ENVIRONMENT-1)")
	cmd.Flags().StringVar(&f.Environment, "environment", "dev", "the first cluster's environment")
	return draftCommand(o, cmd, &f, scaffold.NewFleet, "hub", "repo-url")
}

// hubFlags adds the flags that describe a hub and its repository.
func hubFlags(cmd *cobra.Command, h *scaffold.Installation, name, revision string) {
	flags := cmd.Flags()
	flags.StringVar(&h.Hub, name, "", "the hub's name")
	flags.StringVar(&h.RepoURL, "repo-url", "", "`URL` at which Argo CD and the service read this repository")
	flags.StringVar(&h.Revision, "revision", revision, "branch, tag or commit of it")
	flags.StringVar(&h.Platform, "platform", scaffold.Platform, "the hub's own tenant")
	flags.StringVar(&h.HubEnvironment, "hub-environment", "prod", "the hub's environment")
	flags.StringVar(&h.Charts, "charts", scaffold.Charts, "registry or Helm `repository` of Argosy's charts")
	flags.StringVar(&h.Version, "charts-version", releasedVersion(), "their version")
}

// release matches the version of a release, but not of a commit.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+\.\d+)?$`)

// releasedVersion returns the version of the charts that belong to this program: its own version,
// or if it is built from a commit, the version of the charts in the same repository.
func releasedVersion() string {
	if v := programVersion(); release.MatchString(v) {
		return strings.TrimPrefix(v, "v")
	}
	return charts.Version()
}
