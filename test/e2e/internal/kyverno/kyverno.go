// Package kyverno runs Kyverno's admission controller for a cluster, as Kyverno's developers run it
// outside of one (https://github.com/kyverno/kyverno/blob/main/DEVELOPMENT.md): the API server asks
// it by address and not through a Service. It makes its certificates and registers its webhooks
// itself. Its other controllers, for reports, cleanup and what policies generate, are not run.
package kyverno

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	name      = "kyverno"
	namespace = "kyverno"
	localhost = "127.0.0.1"
)

// configuration is Kyverno's own: no filter comes before the policies.
const configuration = `
apiVersion: v1
kind: ConfigMap
metadata: {name: kyverno, namespace: kyverno}
data: {}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kyverno-metrics, namespace: kyverno}
data: {}
`

// Options say what to run and where.
type Options struct {
	Binaries component.Binaries // with kyverno
	Group    *process.Group
	Cluster  *controlplane.Cluster
}

// Start installs Kyverno on the cluster and starts it. It takes policies from then on; that they
// are in force is for the caller to see, as Kyverno registers for what policies match a moment
// after they are there.
func Start(ctx context.Context, o Options) error {
	client, err := kube.New(o.Cluster.Config())
	if err != nil {
		return fmt.Errorf("kyverno: %w", err)
	}
	if err := install(ctx, client, filepath.Join(o.Binaries.Files(name), "crds")); err != nil {
		return fmt.Errorf("install kyverno on %s: %w", o.Cluster.Name, err)
	}
	spec, err := specification(o)
	if err != nil {
		return fmt.Errorf("kyverno: %w", err)
	}
	_, err = o.Group.Start(ctx, spec)
	return err
}

func install(ctx context.Context, client *kube.Client, crds string) error {
	if err := client.Define(ctx, crds); err != nil {
		return err
	}
	if err := client.Namespace(ctx, namespace); err != nil {
		return err
	}
	return client.Apply(ctx, namespace, []byte(configuration))
}

func specification(o Options) (process.Spec, error) {
	path, err := o.Binaries.Find(name)
	if err != nil {
		return process.Spec{}, err
	}
	port, err := process.FreePort()
	if err != nil {
		return process.Spec{}, err
	}
	service := name + "-svc." + namespace + ".svc."
	address := localhost + ":" + strconv.Itoa(port)
	// Its certificate is made at its start, and is kept by itself. Without it no webhook may be
	// called, as those for Secrets would then keep it from writing it.
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
	}}
	return process.Spec{
		Name: name, Path: path, Env: []string{
			"KYVERNO_NAMESPACE=" + namespace, "KYVERNO_SERVICEACCOUNT_NAME=" + name, "KYVERNO_DEPLOYMENT=" + name, "KYVERNO_POD_NAME=" + name,
			"INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
		},
		Args: []string{
			"--kubeconfig", o.Cluster.Kubeconfig,
			"--serverIP", address, "--webhookServerHost", localhost, "--webhookServerPort", strconv.Itoa(port),
			"--caSecretName", service + "kyverno-tls-ca", "--tlsSecretName", service + "kyverno-tls-pair",
			"--backgroundServiceAccountName", "system:serviceaccount:" + namespace + ":kyverno-background-controller",
			"--reportsServiceAccountName", "system:serviceaccount:" + namespace + ":kyverno-reports-controller",
			"--disableMetrics", "--controllerRuntimeMetricsAddress", "0", "--admissionReports=false", "--enableReporting=",
			"--autoMemLimitEnabled=false", "--disableLogColor",
		},
		Ports: []int{port},
		Ready: process.WaitHTTP("https://"+address+"/health/readiness", client),
	}, nil
}
