package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/report"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
)

func newMember(o *options) *cobra.Command {
	var m member
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "member --hub HUB --name NAME --tenant TENANT --environment ENVIRONMENT",
		Short: "Write the file that registers a cluster",
		Long: `New member writes the file that registers a cluster, at the place where the repository's layout
wants it. The file is tried first: it is written only if the fleet with it has no error that it does
not have without it. An existing file is never overwritten.

Afterwards it names the components that the cluster would get.`,
		Example: `  argosy new member --hub hub-eu --name retail-prod-eu-3 --tenant retail --environment prod \
      --secret hub-eu/retail-prod-eu-3 --label region=eu-west-1
  argosy new member --hub hub-eu --name payments-prod-eu-2 --tenant payments --environment prod \
      --secret hub-eu/payments-prod-eu-2 --agent argocd --enable-remote addons,resources
  argosy new member --hub hub-ap --name hub-ap --tenant platform --environment prod --hub-cluster
  argosy new member --hub hub-eu --name try --tenant retail --environment dev --label region=eu-west-1 --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(); err != nil {
				return err
			}
			d, err := o.draft(cmd.Context(), m)
			if err != nil {
				return err
			}
			_ = report.WriteFindings(cmd.ErrOrStderr(), d.warnings, styleOf(cmd.ErrOrStderr()))
			if dryRun {
				_, err := io.WriteString(cmd.OutOrStdout(), d.text)
				return err
			}
			if err := writeNew(o.repo, d.path, []byte(d.text)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\n%s", d.path, d.summary)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&m.hub, "hub", "", "the hub that manages the cluster")
	flags.StringVar(&m.name, "name", "", "the cluster's name, also the file's")
	flags.StringVar(&m.tenant, "tenant", "", "whose cluster it is")
	flags.StringVar(&m.environment, "environment", "", "its environment, for example dev, staging or prod")
	flags.BoolVar(&m.hubCluster, "hub-cluster", false, "the file describes the hub itself")
	flags.StringVar(&m.secret, "secret", "", "`name` or ARN of its credential in the secret store")
	flags.StringVar(&m.agent, "agent", "", "the cluster has an engine of its own: argocd or flux")
	flags.StringSliceVar(&m.enableRemote, "enable-remote", nil, "with --agent: the `groups` that the cluster's engine owns")
	flags.StringArrayVar(&m.labels, "label", nil, "a label of the cluster, `key=value`; may be repeated")
	flags.StringArrayVar(&m.annotations, "annotation", nil, "an annotation of the cluster, `key=value`; may be repeated")
	flags.StringVar(&m.githubSecret, "github-secret", "", "`name` of the repository credentials in the secret store")
	flags.BoolVar(&dryRun, "dry-run", false, "print the file instead of writing it")
	for _, name := range []string{"hub", "name", "tenant", "environment"} {
		_ = cmd.MarkFlagRequired(name)
	}
	complete(cmd, "agent", func() []string { return engines })
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "enable-remote", groups)
	o.completeFleet(cmd, "tenant", func(st *generator.State) []string {
		return identities(st, func(m *fleet.Member) string { return m.Tenant })
	})
	o.completeFleet(cmd, "environment", func(st *generator.State) []string {
		return identities(st, func(m *fleet.Member) string { return m.Environment })
	})
	return cmd
}

func identities(st *generator.State, of func(*fleet.Member) string) []string {
	var out []string
	for _, h := range hubs(st) {
		for _, m := range st.Fleet.Members(h) {
			out = append(out, of(m))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// draft is a member file that has been tried.
type draft struct {
	path, text string
	// warnings are findings that the fleet does not have without the file.
	warnings []problem.Problem
	summary  string
}

// draft makes the file and builds the fleet with it. The error holds the findings that keep it from being written.
func (o *options) draft(ctx context.Context, m member) (draft, error) {
	if ref, err := o.revision(); err != nil {
		return draft{}, err
	} else if ref != "" {
		return draft{}, usageError([]string{"--repo takes the folder of a clone"}, "%q has no folder to write a file to", o.repo)
	}
	src, err := dir.New(o.repo, source.Limits{})
	if err != nil {
		return draft{}, readError(err)
	}
	before, err := src.Snapshot(ctx)
	switch {
	case errors.Is(err, source.Empty): // the fleet's first file
		before = snapshot.FromMap(nil)
	case err != nil:
		return draft{}, readError(err)
	}
	layout, err := layoutOf(before)
	if err != nil {
		return draft{}, &failure{status: exitFindings, err: err, problems: problem.From(err, problem.InvalidLayout, problem.Pos{File: fleet.LayoutFile})}
	}
	if err := m.checkGroups(layout); err != nil {
		return draft{}, err
	}
	d := draft{text: m.text()}
	if d.path, err = m.path(layout); err != nil {
		return draft{}, err
	}
	if before.File(d.path) != nil {
		return draft{}, existsError(d.path)
	}
	known, _ := try(before)
	after, st := try(with(before, d.path, d.text))
	fresh := slices.DeleteFunc(after, func(p problem.Problem) bool {
		return slices.ContainsFunc(known, func(q problem.Problem) bool { return problem.Compare(p, q) == 0 })
	})
	if errs := problem.Errors(fresh); len(errs) > 0 {
		return draft{}, &failure{
			status: exitFindings, err: problem.List(errs), problems: errs, hints: []string{"nothing was written: mend these, then try again"},
		}
	}
	if st == nil {
		return draft{}, &failure{
			status: exitFindings, err: problem.List(after), problems: problem.Errors(after),
			hints: []string{"nothing was written: the repository has these problems without the new file"},
		}
	}
	d.warnings, d.summary = fresh, summary(st, m)
	return d, nil
}

func existsError(path string) error {
	return usageError([]string{"edit the file, or choose another --name"}, "%s is there already; nothing was written", path)
}

func layoutOf(s *snapshot.Snapshot) (*fleet.Layout, error) {
	file := s.File(fleet.LayoutFile)
	if file == nil {
		return fleet.DefaultLayout(), nil
	}
	doc, err := hierarchy.NewCache().Doc(file)
	if err != nil {
		return nil, err
	}
	return fleet.ParseLayout(doc)
}

// with is a snapshot with one more file.
func with(s *snapshot.Snapshot, path, text string) *snapshot.Snapshot {
	files := []*snapshot.File{snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)}
	for _, f := range s.FilesUnder("") {
		if f.Path != path {
			files = append(files, f)
		}
	}
	return snapshot.Of(files)
}

// try is all findings about a snapshot, and its state if it has one.
func try(s *snapshot.Snapshot) ([]problem.Problem, *generator.State) {
	st, err := generator.Build(nil, s, facts.Set{})
	if err != nil {
		return problem.From(err, problem.InvalidLayout, problem.Pos{}), nil
	}
	return findings(st), st
}

// summary names the components that the cluster would get.
func summary(st *generator.State, m member) string {
	var b strings.Builder
	for _, group := range groups(st) {
		var names []string
		for _, component := range st.ComponentsOf(m.hub, m.name, group) {
			if e, err := st.Explain(m.hub, m.name, group, component); err == nil && e.Enabled && e.Selected {
				names = append(names, component)
			}
		}
		if len(names) == 0 {
			continue
		}
		owner := "the hub"
		if member := st.Fleet.Member(m.hub, m.name); member.Owner(group) != fleet.OwnerHub {
			owner = "its own engine"
		}
		fmt.Fprintf(&b, "%s (from %s): %s\n", group, owner, strings.Join(names, ", "))
	}
	if b.Len() == 0 {
		return "it would get no component yet: the hierarchy enables none for it\n"
	}
	return b.String()
}
