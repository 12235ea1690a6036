package controlplane

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/argosy-hub/argosy/test/e2e/internal/component"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// A cluster makes Deployments ready, lets namespaces go, gives service accounts tokens, and is the
// same one after its API server was away.
func TestCluster(t *testing.T) {
	c := startCluster(t)
	kube, err := kubernetes.NewForConfig(c.Config())
	require.NoError(t, err)
	ctx := t.Context()

	version, err := kube.Discovery().ServerVersion()
	if err != nil || version.GitVersion == "" || version.Major != "1" {
		t.Errorf("the API server's version is %v, %v", version, err)
	}
	deploy(ctx, t, kube, "first")

	account := filepath.Join(t.TempDir(), "account.kubeconfig")
	require.NoError(t, c.ServiceAccountKubeconfig(ctx, "first", "default", account))
	for _, path := range []string{account, c.Kubeconfig} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", account)
	require.NoError(t, err)
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Secrets("first").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a service account without rights reads secrets: %v", err)
	}

	require.NoError(t, c.RestartAPIServer(ctx))
	deploy(ctx, t, kube, "second")

	require.NoError(t, kube.CoreV1().Namespaces().Delete(ctx, "first", metav1.DeleteOptions{}))
	eventually(ctx, t, "namespace first is gone", func() (bool, error) {
		_, err := kube.CoreV1().Namespaces().Get(ctx, "first", metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}

// Argo CD reads `config` of a cluster's Secret as ClusterConfig
// (pkg/apis/application/v1alpha1/types.go).
func TestArgoConfig(t *testing.T) {
	t.Parallel()
	c := Cluster{AdminToken: "t", CAData: []byte("certificate")}
	var got any
	require.NoError(t, json.Unmarshal([]byte(c.ArgoConfig()), &got))
	if c.ArgoConfig() != `{"bearerToken":"t","tlsClientConfig":{"caData":"Y2VydGlmaWNhdGU="}}` {
		t.Error(c.ArgoConfig())
	}
}

func startCluster(t *testing.T) *Cluster {
	t.Helper()
	binaries, err := component.Build(t.Context(), component.Options{
		Root: filepath.Join("..", "..", "components"), Progress: func(line string) { t.Log(line) },
	}, "etcd", "kubernetes", "kwok")
	require.NoError(t, err)
	dir := t.TempDir()
	o := Options{Binaries: binaries, Group: process.NewGroup(filepath.Join(dir, "log")), Dir: dir}
	t.Cleanup(func() {
		if err := o.Group.Stop(); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	etcd, err := StartEtcd(t.Context(), o)
	require.NoError(t, err)
	c, err := Start(t.Context(), o, etcd, "one")
	require.NoError(t, err)
	t.Logf("etcd and a cluster started in %s", time.Since(began).Round(100*time.Millisecond))
	return c
}

// deploy creates a namespace with a Deployment and waits until that is available.
func deploy(ctx context.Context, t *testing.T, kube kubernetes.Interface, namespace string) {
	t.Helper()
	began := time.Now()
	labels, replicas, atOnce := map[string]string{"app": "pause"}, int32(2), int64(0)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "pause"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					// A namespace that is deleted comes back to its pods after half of their
					// longest period.
					TerminationGracePeriodSeconds: &atOnce,
					Containers:                    []corev1.Container{{Name: "pause", Image: "registry.k8s.io/pause:3.10"}},
				},
			},
		},
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := kube.AppsV1().Deployments(namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, "deployment "+namespace+"/pause is available", func() (bool, error) {
		d, err := kube.AppsV1().Deployments(namespace).Get(ctx, "pause", metav1.GetOptions{})
		return err == nil && d.Status.AvailableReplicas == replicas, err
	})
	t.Logf("deployment %s/pause available in %s", namespace, time.Since(began).Round(100*time.Millisecond))
}

func eventually(ctx context.Context, t *testing.T, what string, done func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s (%v)", what, err)
		}
	}
}
