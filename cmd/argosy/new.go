package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/cmd/argosy/apps"
	"github.com/argosy-hub/argosy/internal/failure"
	"github.com/argosy-hub/argosy/internal/planner"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/scaffold"
)

func newNew(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write new files of the repository",
		Example: `  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1
  argosy new cluster --class eks-kro --version 1.33 --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod --label region=eu-west-1
  argosy new tenant --hub hub-eu --name logistics
  argosy new team --name checkout --tenant payments --owner payments-checkout --repository https://git.example.com/checkout/app
  argosy new app storefront-web --team storefront --repo-url https://git.example.com/storefront/web --path chart --version main
  argosy new component --name podinfo --repo-url https://stefanprodan.github.io/podinfo --version 6.9.0`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHub(o), newMember(o), newCluster(o), newTenant(o), newTeam(o), apps.New(o.write, o.completeFleet), newComponent(o))
	return cmd
}

// write makes a draft in the folder of --repo and writes it, or with dryRun prints it.
func (o *options) write(cmd *cobra.Command, dryRun bool, draft func(scaffold.Repository) (*scaffold.Draft, error)) error {
	if ref, err := o.repo.Revision(); err != nil {
		return err
	} else if ref != "" {
		return failure.Usage([]string{"--repo takes the folder of a clone"}, "%q has no folder to write a file to", o.repo.Location)
	}
	d, err := draft(scaffold.Repository{Folder: o.repo.Location, Findings: o.findings, Tools: o.tools(), Layout: o.repo.LayoutFile})
	if err != nil {
		return planner.ReadError(err)
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
