package hub

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestHealthCheckOfGrants: the check is there with the text that charts/agent-grant has;
// what cannot be read is not taken for there; and nothing else is ever asked for.
func TestHealthCheckOfGrants(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../charts/agent-grant/health.lua")
	require.NoError(t, err)
	var status atomic.Int32
	var data atomic.Value
	status.Store(http.StatusForbidden)
	data.Store(map[string]string{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodGet || q.URL.Path != "/api/v1/namespaces/argocd/configmaps/argocd-cm" {
			t.Errorf("asked %s %s", q.Method, q.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		if status := int(status.Load()); status != http.StatusOK {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Code: int32(status), Reason: metav1.StatusReasonForbidden})
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "data": data.Load()})
	}))
	t.Cleanup(server.Close)
	h, err := NewHealthCheck(Options{Config: &rest.Config{Host: server.URL}, Namespace: "argocd"})
	require.NoError(t, err)
	says := func(want string) {
		t.Helper()
		h.looked = h.looked.Add(-2 * healthInterval)
		if got := h.Missing(t.Context()); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q; expected %q", got, want)
		}
	}
	says("access denied")
	status.Store(http.StatusOK)
	says("has no health check of ownership grants")
	data.Store(map[string]string{healthOfConfigMaps: string(text)})
	says("")
	status.Store(http.StatusForbidden) // it was there
	says("")
}
