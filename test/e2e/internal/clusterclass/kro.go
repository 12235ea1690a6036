package clusterclass

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	kro       = "kro"
	localhost = "127.0.0.1:"
)

// ACK are the definitions of ACK's kinds (rule 3).
//
//go:embed ack.yaml
var ACK []byte

// Options say what to run and where. All are required.
type Options struct {
	Binaries component.Binaries // with kro
	Group    *process.Group
	Cluster  *controlplane.Cluster
}

// StartKro installs kro on the cluster and starts it.
func StartKro(ctx context.Context, o Options) (*process.Process, error) {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("kro: %w", err)
	}
	if err := client.Define(ctx, filepath.Join(o.Binaries.Files(kro), "crds")); err != nil {
		return nil, fmt.Errorf("install kro on %s: %w", o.Cluster.Name, err)
	}
	path, err := o.Binaries.Find("kro")
	if err != nil {
		return nil, err
	}
	metrics, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	probes, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	return o.Group.Start(ctx, process.Spec{
		Name: kro, Path: path, Env: []string{"KUBECONFIG=" + o.Cluster.Kubeconfig},
		Args: []string{
			"--metrics-bind-address", localhost + strconv.Itoa(metrics), "--health-probe-bind-address", localhost + strconv.Itoa(probes),
			"--dynamic-controller-rate-limiter-max-delay", "2s", "--instance-requeue-interval", "1s", "--rgd-progress-requeue-delay", "1s",
		},
		Ports: []int{metrics, probes},
		Ready: process.WaitHTTP("http://"+localhost+strconv.Itoa(probes)+"/readyz", nil),
	})
}
