package main

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/expand"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// The forms of what render writes.
const (
	formApplications = "applications"
	formLists        = "applicationsets"
	formPipeline     = "pipeline"
)

var forms = []string{formApplications, formLists, formPipeline}

func newRender(o *options) *cobra.Command {
	var q renderQuestion
	cmd := &cobra.Command{
		Use:   "render --hub HUB --out DIR",
		Short: "Write what a hub's pipeline comes to as static files",
		Long: `Render follows the pipeline of a hub to its end, as plan does, and writes what comes out: the
Applications, and what stands beside the roots (projects). It is for an Argo CD that has no plugins,
as Amazon EKS's managed one, and for reviews in a branch of rendered files. They equal what the
plugin makes; ApplicationSets, and the Applications that only bring those, are left out. For an engine
that is Flux, a member's or the hub's own, they are the objects that its artifact holds.

With --form applicationsets, Applications are written as ApplicationSets with a list for a generator,
one for each that makes them otherwise: with its policy, and its steps of a rollout.

With --form pipeline nothing is left out: the roots, and all ApplicationSets and Applications that they
come to, each as the API server gets it and Applications in folders by what makes them. That is for
comparing, with a hub or with another revision; whoever applied it would have two owners for each
Application.

The folder is written as a whole or not at all: with errors, or a chart of this repository that cannot
be read, nothing is written and the exit status is 1. A folder that render has written before is
replaced; any other that is not empty is refused. It is made beside it, in a folder .argosy-new-*; what
a render that was killed has left of it, the next one to the same folder removes.`,
		Example: `  argosy render --hub hub-eu --out rendered/hub-eu
  argosy render --hub hub-eu --out rendered/hub-eu --form applicationsets --revision release-next=origin/release-next`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkChoice("form", q.form, forms...); err != nil {
				return err
			}
			if q.out == "" {
				return usageError([]string{"for example --out rendered"}, "no --out given: the folder to write")
			}
			files, err := o.render(cmd, q)
			if err != nil {
				return err
			}
			if err := writeFolder(q.out, files); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d files\n", q.out, len(files))
			return nil
		},
	}
	cmd.Flags().StringVar(&q.hub, "hub", "", "the hub; the default is the fleet's only one")
	cmd.Flags().StringVar(&q.owner, "owner", fleet.OwnerHub, "whose engine it is for: hub, or a member's name")
	cmd.Flags().StringVar(&q.out, "out", "", "the `folder` to write (required)")
	cmd.Flags().StringVar(&q.form, "form", formApplications, "what to write: "+strings.Join(forms, ", "))
	factsFlag(cmd, &q.facts)
	revisionFlag(cmd, &q.instead, "charts")
	complete(cmd, "form", func() []string { return forms })
	o.completeFleet(cmd, "hub", hubs)
	o.completeFleet(cmd, "owner", func(st *generator.State) []string { return append([]string{"hub"}, clusters(st, q.hub)...) })
	return cmd
}

// renderQuestion is what render is asked.
type renderQuestion struct {
	hub, owner, out, form string
	facts, instead        []string
}

// render is the files to write, by path.
func (o *options) render(cmd *cobra.Command, q renderQuestion) (map[string][]byte, error) {
	f, err := readFacts(q.facts)
	if err != nil {
		return nil, err
	}
	x, err := o.newExpansion(cmd.Context(), q.instead, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	st, h, err := o.expansionOf(cmd, q, f, x)
	if err != nil {
		return nil, err
	}
	if q.owner != fleet.OwnerHub && st.Fleet.Member(h.Name(), q.owner) == nil {
		return nil, usageError(problem.Nearest(q.owner, clusters(st, h.Name())), "--owner: hub %q has no member %q", h.Name(), q.owner)
	}
	objects := map[string]func(string) []*expand.Object{formApplications: h.Static, formLists: h.Lists, formPipeline: h.Pipeline}
	found := objects[q.form](q.owner)
	if problems := h.Problems(); len(problems) > 0 {
		return nil, &failure{status: exitFindings, err: problems[0], problems: problems, hints: []string{"nothing was written"}}
	}
	return manifests(found, q.form == formPipeline)
}

// expansionOf reads the folder as it is. A fleet with errors has no files.
func (o *options) expansionOf(cmd *cobra.Command, q renderQuestion, f facts.Set, x expansion) (*generator.State, *expand.Hub, error) {
	snap, err := o.snapshotOf(cmd.Context(), charts)
	if err != nil {
		return nil, nil, err
	}
	st, err := generator.Build(nil, snap, f)
	if err == nil && len(st.Problems) > 0 {
		err = problem.List(st.Problems)
	}
	if err != nil {
		return nil, nil, &failure{status: exitFindings, err: err, problems: problem.From(err, problem.InvalidLayout, problem.Pos{}), hints: []string{"nothing was written"}}
	}
	if q.hub == "" {
		if q.hub, err = onlyHub(st); err != nil {
			return nil, nil, err
		}
	}
	if !slices.Contains(st.Fleet.Hubs(), q.hub) {
		return nil, nil, usageError(problem.Nearest(q.hub, st.Fleet.Hubs()), "--hub: no member files of hub %q", q.hub)
	}
	return st, x.hub(st, snap, q.hub, &expand.Memo{}), nil
}

// manifests are a file for each object, called by kind and name; byMaker puts the Applications of each ApplicationSet into a
// folder of its name.
func manifests(objects []*expand.Object, byMaker bool) (map[string][]byte, error) {
	out := make(map[string][]byte, len(objects))
	for _, o := range objects {
		data, err := yamldoc.FromAny(nil, o.Tree).YAML()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Key(), err)
		}
		folder := plural(strings.ToLower(o.Kind()))
		if byMaker && o.Application() && o.Parent.IsSet() {
			folder = path.Join(folder, o.Parent.Name())
		}
		name := path.Join(folder, o.Name()+".yaml")
		if ns := o.Key().Namespace; out[name] != nil {
			name = path.Join(folder, ns, o.Name()+".yaml")
		}
		if strings.ContainsAny(o.Name(), "/\\") || o.Name() == "" || bytes.Equal(out[name], data) {
			return nil, usageError(nil, "%s: no name for a file", o.Key())
		}
		out[name] = data
	}
	return out, nil
}

// plural is how Kubernetes makes the name of a resource of that of its kind, for the kinds there are.
func plural(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return stem + "ies"
	}
	return kind + "s"
}
