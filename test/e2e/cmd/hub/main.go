// Command hub starts a whole hub from real components on this machine and leaves it running (make
// hub): it prints what there is to try, shows what happens, and on Ctrl-C ends everything it
// started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/test/e2e/internal/argocd"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

func main() {
	process.Init()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "hub: %v\n", err)
		os.Exit(2)
	}
}

// run starts the hub, shows it until the context ends, and ends it. An interrupt while it starts is
// no error.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("hub", flag.ContinueOnError)
	checkout := flags.String("checkout", ".", "the repository's checkout, with bin/generator-plugin built")
	argoCD := flags.String("argocd", argocd.Newest, "which Argo CD: "+strings.Join(argocd.Versions(), ", "))
	clusters := flags.Bool("clusters", false, "the hub makes clusters, by kro and a stand-in for AWS")
	build := flags.Bool("build", false, "build what the hub and the tests need and the cache lacks, and leave")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case !slices.Contains(argocd.Versions(), *argoCD):
		return fmt.Errorf("--argocd %q; expected one of %s", *argoCD, strings.Join(argocd.Versions(), ", "))
	}
	root, err := filepath.Abs(*checkout)
	if err != nil {
		return err
	}
	began := time.Now()
	progress := func(line string) { fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), line) }
	if *build {
		_, err := hub.Build(ctx, root, progress, slices.Concat(hub.Components(*argoCD), flux.Components(), []string{"flux-operator", "kro", "kyverno", "sealed-secrets"})...)
		return err
	}
	dir, err := os.MkdirTemp("", "argosy-hub-")
	if err != nil {
		return err
	}
	h, err := hub.Start(ctx, hub.Options{Checkout: root, Dir: dir, ArgoCD: *argoCD, Progress: progress})
	if err != nil {
		logs := filepath.Join(dir, "log")
		if _, none := os.Stat(logs); ctx.Err() == nil && none == nil {
			return fmt.Errorf("%w\nthe logs are in %s", err, logs)
		}
		gone := os.RemoveAll(dir)
		if ctx.Err() != nil { // somebody wanted it to end
			return gone
		}
		return errors.Join(err, gone)
	}
	defer func() {
		fmt.Fprintln(out, "\nending everything")
		if stopErr := h.Stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := h.Mount(ctx); err != nil {
		return err
	}
	if err := h.Bootstrap(ctx); err != nil {
		return err
	}
	if *clusters {
		if err := h.MakeClusters(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%6.1fs  running; Git fills the hub now\n", time.Since(began).Seconds())
	if err := introduce(out, h); err != nil {
		return err
	}
	return show(ctx, out, h)
}

// introduce says where everything is and what to try first.
func introduce(out io.Writer, h *hub.Hub) error {
	path, text, err := h.Fleet.MemberFile(hub.Spare)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `
The hub, and its spokes (%s is no member yet):
  KUBECONFIG=%s kubectl -n argocd get applications
`, hub.Spare, h.Control.Kubeconfig)
	for _, name := range slices.Sorted(maps.Keys(h.Spokes)) {
		fmt.Fprintf(out, "  KUBECONFIG=%s kubectl get deployments -A\n", h.Spokes[name].Kubeconfig)
	}
	fmt.Fprintf(out, `The fleet's repository; what is pushed to main is on its way at once:
  git clone %[1]s fleet && cd fleet

Try there:
  Add a member. Its API server runs, and its secret is in the store.
    cat >%[2]s <<'END'
%[3]sEND
    git add . && git commit -qm 'Add %[4]s' && git push -q

  Set a value for the clusters of one tenant.
    d=addons/tenants/retail/defaults/addons/metrics-server; mkdir -p $d; echo 'podLabels: {tried: "true"}' >$d/values.yaml
    git add . && git commit -qm 'A label for the pods of metrics-server' && git push -q

  Bump a release: a newer chart, on the clusters that try the release.
    git switch -qc next; sed -i '/name: ingress-nginx/{n;s/version: .*/version: 4.14.3/}' charts/application-sets/catalogs/addons.yaml
    git commit -qam 'ingress-nginx 4.14.3' && git push -q origin next; git switch -q main
    sed -i '0,/Revision: release-next/s//Revision: next/' versions/applicationSets.yaml
    git commit -qam 'Bump the canary release of addons' && git push -q

  Break something. Nothing happens, and the service says why.
    echo 'tenannt: retail' >>fleet/fleet-members/%[5]s/retail-prod-eu-1.yaml; git commit -qam 'A typo' && git push -q
    curl -s %[6]s/readyz -H "Authorization: Bearer $(cat %[11]s)"

  Roll out in rings, with a canary that fails and goes back (docs/how-to/roll-out-in-rings.md).
    export FLEET=%[1]s SERVICE=%[6]s TOKEN=%[11]s
    argosy rollout status --service $SERVICE --token-file $TOKEN

  A team of its own: its namespaces, quotas and project (docs/how-to/onboard-a-team.md).
    argosy new team --name ledger --tenant payments --owner ledger-owners --clusters cluster=payments-dev-eu-1 --repository %[1]s
    git add . && git commit -qm 'Add the team ledger' && git push -q

  Have the hub make a cluster, upgrade it and remove it (docs/how-to/provision-a-cluster.md; make hub HUBFLAGS=-clusters).
    argosy new cluster --hub %[5]s --class eks-kro --version 1.33 --name %[12]s --tenant retail --environment staging --label region=eu-west-1 --label aws_region=eu-west-1
    git add . && git commit -qm 'Add %[12]s' && git push -q

The fleet mounts three repositories of others (mounts in fleet/layout.yaml; docs/how-to/split-the-repository.md). The last
two ask for credentials, which the service has from Secrets. Governance says which applications of checkout are where:
  git clone %[7]s orders
  git clone %[9]s storefront
  git clone %[8]s governance && cd governance

  Take checkout-orders away from payments-dev-eu-1. Nothing else changes.
    f=tenants/payments/clusters/payments-dev-eu-1/application-sets/workloads.yaml
    sed -i 's/true/false/' $f && git commit -qam 'No orders there' && git push -q

  Leave the bounds: the commit is refused, with its place, and the mount stays as it was.
    echo '{checkout-orders: {enabled: true, namespace: kube-system}}' >$f; git commit -qam 'Elsewhere' && git push -q
    curl -s %[6]s/readyz -H "Authorization: Bearer $(cat %[11]s)"

Logs: %[10]s
Ctrl-C ends everything.

`, h.Git.URL(hub.Repository), path, text, hub.Spare, hub.Name, h.Plugin.URL,
		h.Teams["checkout/orders"].Clone, h.Teams["governance/workloads"].Clone, h.Teams["storefront/web"].Clone, h.Logs(), h.Plugin.TokenFile(), hub.Made)
	return nil
}
