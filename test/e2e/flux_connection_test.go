package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// fluxHubConnection registers a cluster by the kubeconfig that what makes clusters would write:
// External Secrets reads that one Secret with a ServiceAccount of its own, makes Argo CD's cluster
// Secret and Flux's kubeconfig of it, follows a new token, and keeps what is there when the
// kubeconfig has a command in it.
func fluxHubConnection(t *testing.T, m *fluxEngine) {
	const clusters, registered, name = "clusters", "registered", "made"
	spoke := m.others[0]
	text, err := os.ReadFile(spoke.Kubeconfig)
	must(t, err)
	must(t, m.Client.Namespace(t.Context(), clusters))
	write := func(kubeconfig string) {
		must(t, m.Client.ApplyObject(t.Context(), clusters, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name + "-kubeconfig", "namespace": clusters},
			"stringData": map[string]any{"value": kubeconfig},
		}}))
	}
	began := time.Now()
	m.template(t, m.Cluster, "fleet-secret", registered, map[string]any{
		"clusterName": name, "externalSecret": map[string]any{"source": "connectionSecret", "refreshInterval": "2s"},
		"connectionSecret": map[string]any{"namespace": clusters, "server": map[string]any{"url": m.URL, "caBundle": m.CAData}},
		"kubeconfig":       map[string]any{"enabled": true},
	})
	m.eventually(t, "that there is no connection yet", func() string { return withReason(t, m, registered, name, "kubeconfig") })
	write(string(text))
	token := func() string {
		o, err := m.Client.Get(t.Context(), kube.Secrets, registered, name)
		must(t, err)
		config, err := base64.StdEncoding.DecodeString(fluxText(o, "data", "config"))
		must(t, err)
		var c struct{ BearerToken string }
		if o == nil || json.Unmarshal(config, &c) != nil {
			return ""
		}
		return c.BearerToken
	}
	m.eventually(t, "the cluster Secret", func() string {
		if token() != spoke.AdminToken {
			return "it does not log in as the kubeconfig does"
		}
		return ""
	})
	m.timed("connection Secret, to the cluster Secret", began)
	m.eventually(t, "Flux's kubeconfig", func() string {
		o, err := m.Client.Get(t.Context(), kube.Secrets, registered, name+"-kubeconfig")
		must(t, err)
		if fluxText(o, "data", "value") != base64.StdEncoding.EncodeToString(text) {
			return "it is not that of the connection Secret"
		}
		return ""
	})

	write(strings.ReplaceAll(string(text), spoke.AdminToken, "renewed"))
	m.eventually(t, "the renewed token", func() string {
		if token() != "renewed" {
			return "the old one is still there"
		}
		return ""
	})
	write(`{"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "clusters": [{"name": "a", "cluster": {"server": "https://evil.example"}}],` +
		` "users": [{"name": "a", "user": {"exec": {"command": "sh", "apiVersion": "client.authentication.k8s.io/v1"}}}]}`)
	m.eventually(t, "that a command is refused", func() string { return withReason(t, m, registered, name, "exec, a command") })
	if token() != "renewed" {
		t.Error("a kubeconfig with a command changed the cluster Secret")
	}
}

// withReason reports why an ExternalSecret is not refused with a reason that an event of it names.
func withReason(t *testing.T, m *fluxEngine, namespace, name, reason string) string {
	t.Helper()
	events, err := m.Client.List(t.Context(), schema.GroupVersionResource{Version: "v1", Resource: "events"}, namespace, "")
	must(t, err)
	var said []string
	for _, e := range events {
		if fluxText(e, "involvedObject", "name") == name && fluxText(e, "type") == "Warning" {
			said = append(said, fluxText(e, "message"))
		}
	}
	if slices.ContainsFunc(said, func(message string) bool { return strings.Contains(message, reason) }) {
		return ""
	}
	return fmt.Sprintf("its events say %q", said)
}
