package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// TestFactsExport proves, on an API server, that what a hub knows of its clusters can be written to
// a file without what is in their Secrets.
func TestFactsExport(t *testing.T) {
	hubs.beside(t, 5)
	cluster := testcluster.Start(t)
	must(t, cluster.Client.Apply(t.Context(), "argocd", []byte(`
apiVersion: v1
kind: Namespace
metadata: {name: argocd}
---
apiVersion: v1
kind: Secret
metadata:
  name: one
  namespace: argocd
  labels: {argocd.argoproj.io/secret-type: cluster, aws_region: eu-west-1}
  annotations:
    aws_account_id: "012345678901"
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"config":"hunter2"}}'
stringData: {name: one, server: "https://one.example", config: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: other, namespace: argocd}
stringData: {config: hunter2}
`)))
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	out := filepath.Join(t.TempDir(), "facts.yaml")
	command := exec.CommandContext(t.Context(), filepath.Join(checkout, "bin", "argosy"), "facts", "export", "--kubeconfig", cluster.Kubeconfig, "--out", out)
	if text, err := command.CombinedOutput(); err != nil || len(text) > 0 {
		t.Fatalf("%v: %s", err, text)
	}
	got, err := os.ReadFile(out)
	must(t, err)
	_, got, _ = bytes.Cut(got, []byte("apiVersion"))
	const want = `: argosy.dev/v1alpha1
closed: true
clusters:
- annotations:
    aws_account_id: "012345678901"
  labels:
    argocd.argoproj.io/secret-type: cluster
    aws_region: eu-west-1
  name: one
kind: Facts
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// What is not there cannot be reported.
	text, err := exec.CommandContext(t.Context(), command.Path, "facts", "export", "--kubeconfig", cluster.Kubeconfig, "--applications", "--out", out).CombinedOutput()
	if err == nil || !strings.Contains(string(text), "applications in namespace \"argocd\": the API server knows no such resource; is Argo CD installed?") {
		t.Errorf("%v: %s", err, text)
	}
	if after, _ := os.ReadFile(out); !bytes.HasSuffix(after, got) {
		t.Errorf("the file is now\n%s", after)
	}
}
