package flux_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

// greeting is a ConfigMap with a text, and its namespace.
func greeting(namespace, text string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting, namespace: %[1]s}
data: {text: %q}
`, namespace, text)
}

func apps(text string) string {
	return greeting("apps", text) + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pause, namespace: apps}
spec:
  replicas: 2
  selector: {matchLabels: {app: pause}}
  template:
    metadata: {labels: {app: pause}}
    spec: {containers: [{name: pause, image: "registry.k8s.io/pause:3.10"}]}
`
}

func release(text string) string {
	return `---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  interval: 1h
  releaseName: web
  targetNamespace: web
  install: {createNamespace: true}
  chart: {spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}}
  values: {replicas: 3, greeting: "` + text + `"}
`
}

// repository is one on a server, with a clone to push from.
type repository struct{ url, clone string }

func newRepository(t *testing.T) *repository {
	t.Helper()
	server, err := gitserver.Start(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	if _, err := server.Create("fleet"); err != nil {
		t.Fatal(err)
	}
	r := &repository{url: server.URL("fleet"), clone: t.TempDir()}
	r.run(t, "init", "--quiet", "--initial-branch=main")
	return r
}

func (r *repository) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := gitcmd.Run(t.Context(), r.clone, args...)
	require.NoError(t, err)
	return strings.TrimSpace(out)
}

// push returns the commit's id.
func (r *repository) push(t *testing.T, files map[string]string) string {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(r.clone, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	r.run(t, "add", "--all")
	r.run(t, "-c", "user.name=e2e", "-c", "user.email=e2e@example.org", "commit", "--quiet", "--message", "change")
	r.run(t, "push", "--quiet", r.url, "main")
	return r.run(t, "rev-parse", "HEAD")
}

// registry serves one artifact, as `flux push artifact` makes it, over plain HTTP, in any
// repository and under any tag. It returns the registry's address.
func registry(t *testing.T, files map[string]string) string {
	t.Helper()
	blobs := map[string][]byte{}
	descriptor := func(mediaType string, data []byte) map[string]any {
		sum := sha256.Sum256(data)
		digest := "sha256:" + hex.EncodeToString(sum[:])
		blobs[digest] = data
		return map[string]any{"mediaType": mediaType, "digest": digest, "size": len(data)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2,
		"mediaType":     manifestType,
		"config":        descriptor("application/vnd.cncf.flux.config.v1+json", []byte("{}")),
		"layers":        []any{descriptor("application/vnd.cncf.flux.content.v1.tar+gzip", pack(t, files))},
	})
	require.NoError(t, err)
	manifestDigest := descriptor(manifestType, manifest)["digest"]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch data, name := blobs[path.Base(r.URL.Path)], path.Base(path.Dir(r.URL.Path)); {
		case r.URL.Path == "/v2/":
		case name == "manifests":
			w.Header().Set("Content-Type", manifestType)
			w.Header().Set("Docker-Content-Digest", fmt.Sprint(manifestDigest))
			_, _ = w.Write(manifest)
		case name == "blobs" && data != nil:
			_, _ = w.Write(data)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, text := range files {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}
		require.NoError(t, archive.WriteHeader(header))
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

// apply applies manifests, in Flux's namespace.
func (e *environment) apply(t *testing.T, manifests string) {
	t.Helper()
	require.NoError(t, e.client.Apply(t.Context(), flux.Namespace, []byte(manifests)))
}

func (e *environment) reconcile(t *testing.T, r schema.GroupVersionResource, name string) {
	t.Helper()
	require.NoError(t, e.flux.Reconcile(t.Context(), r, flux.Namespace, name))
}

// ready waits until an object of Flux is.
func (e *environment) ready(t *testing.T, r schema.GroupVersionResource, name string) {
	t.Helper()
	e.becomes(t, r, flux.Namespace, name, "is ready", func(o *unstructured.Unstructured) bool {
		generation, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		return generation == o.GetGeneration() && condition(o)["status"] == "True"
	})
}

// available waits until so many of a Deployment's pods are.
func (e *environment) available(t *testing.T, namespace, name string, replicas int64) {
	t.Helper()
	e.becomes(t, kube.Deployments, namespace, name, "is available", func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		return n == replicas
	})
}

// greets waits until a ConfigMap has a text.
func (e *environment) greets(t *testing.T, namespace, name, key, want string) {
	t.Helper()
	e.becomes(t, kube.ConfigMaps, namespace, name, fmt.Sprintf("has %q", want), func(o *unstructured.Unstructured) bool {
		return text(o, "data", key) == want
	})
}

func (e *environment) becomes(t *testing.T, r schema.GroupVersionResource, namespace, name, what string, is func(*unstructured.Unstructured) bool) {
	t.Helper()
	e.waits(t, fmt.Sprintf("%s %s/%s %s", r.Resource, namespace, name, what), func(ctx context.Context) (bool, any, error) {
		o, err := e.client.Get(ctx, r, namespace, name)
		return err == nil && o != nil && is(o), o, err
	})
}

// waits asks until something is done, and logs how long that took.
func (e *environment) waits(t *testing.T, what string, done func(context.Context) (bool, any, error)) {
	t.Helper()
	began := time.Now()
	deadline, tick := time.After(limit), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for {
		ok, last, err := done(t.Context())
		if ok {
			t.Logf("%s after %s", what, since(began))
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			for _, p := range e.flux.Processes() {
				said, _ := os.ReadFile(p.Log())
				t.Logf("%s:\n%s", p.Log(), said[max(0, len(said)-4000):])
			}
			t.Fatalf("waited %s in vain: %s\nlast: %v %v", limit, what, last, err)
		}
	}
}

func condition(o *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return c
		}
	}
	return nil
}

func reason(o *unstructured.Unstructured) string {
	reason, _ := condition(o)["reason"].(string)
	return reason
}

func text(o *unstructured.Unstructured, fields ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, fields...)
	return text
}

func kill(t *testing.T, p *process.Process) {
	t.Helper()
	require.NoError(t, p.Kill())
}

func restart(t *testing.T, p *process.Process) {
	t.Helper()
	began := time.Now()
	require.NoError(t, p.Restart(t.Context()))
	t.Logf("%s restarted in %s", p.Name(), since(began))
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
