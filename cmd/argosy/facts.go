package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/hub"
)

func newFacts() *cobra.Command {
	return parent(&cobra.Command{Use: "facts", Short: "Facts of clusters, where the hub cannot be reached"}, newFactsExport())
}

// factsExport holds the flags of argosy facts export.
type factsExport struct {
	kubeconfig, context, namespace, out string
	also                                hub.Also
	timeout                             time.Duration
}

func newFactsExport() *cobra.Command {
	var f factsExport
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the facts of a live hub to a file",
		Long: `Export queries a hub's API server once for the facts of its clusters, and writes them as a file of kind
Facts. Other commands and the service read it with --facts where the hub cannot be reached: on a laptop, in
a pipeline, in a review.

It reads only metadata: labels and annotations of Argo CD's cluster Secrets. Their data, the credentials,
never leaves the API server. Export leaves out annotations that repeat an object's content and, with a
warning, values that look like secrets by their key or format.

With such a file, only clusters with a Secret count as registered, as on the hub (closed: true). The same
facts give the same bytes. The file is written completely or not at all.`,
		Example: `  argosy facts export --context hub-eu > facts.yaml
  argosy facts export --context hub-eu --out facts/hub-eu.yaml
  argosy facts export --applications --flux-namespace flux-system --out facts.yaml
  argosy plan --base origin/main --facts facts.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return problem.Usage([]string{"--out says where to"}, "facts export takes no arguments; there is %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the hub's configuration; default: KUBECONFIG, or ~/.kube/config")
	cmd.Flags().StringVar(&f.context, "context", "", "`name` of the context in it; default: the current one")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "argocd", "`namespace` of Argo CD")
	cmd.Flags().BoolVar(&f.also.Applications, "applications", false, "also the facts of Argo CD's Applications, with which responses mark removals")
	cmd.Flags().StringVar(&f.also.FluxNamespace, "flux-namespace", "", "also the facts of Flux's HelmReleases and Kustomizations in this `namespace`")
	cmd.Flags().StringVar(&f.out, "out", "", "`file` to write; default: standard output")
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "how long the API server may take in all")
	return cmd
}

func (f factsExport) run(cmd *cobra.Command) error {
	config, err := hub.LoadContext(f.kubeconfig, f.context)
	if err != nil {
		return problem.Usage(nil, "%w", err)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	known, problems, err := hub.List(ctx, hub.Options{Config: config, Namespace: f.namespace}, f.also)
	if err != nil {
		hints := []string{"--context and --namespace say where Argo CD is"}
		if full := errors.Unwrap(err); f.out != "" && full != nil {
			hints = append(hints, "nothing was written")
		}
		return problem.Usage(hints, "%w", err)
	}
	for _, p := range problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "argosy: warning: %s\n", p.Error())
	}
	known, removed := factsfile.WithoutSecrets(known)
	for _, text := range removed {
		fmt.Fprintf(cmd.ErrOrStderr(), "argosy: warning: %s\n", text)
	}
	data, err := known.File()
	if err != nil {
		return problem.Usage(nil, "%w", err)
	}
	if f.out == "" {
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	if err := disk.Export(f.out, data); err != nil {
		return problem.Usage([]string{"the previous file is unchanged"}, "%w", err)
	}
	return nil
}
