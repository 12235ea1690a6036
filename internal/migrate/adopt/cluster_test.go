package adopt

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// hubAPI answers each request with an error, and returns the requests.
func hubAPI(t *testing.T, status int, reason string) (*Live, *[]string) {
	t.Helper()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": reason, "message": "no"})
	}))
	t.Cleanup(s.Close)
	live, err := NewLive(&rest.Config{Host: s.URL}, "argocd")
	require.NoError(t, err)
	return live, &seen
}

// Writes and deletions name the version that they were decided on; a conflict is an error of its
// own. A deletion leaves dependents.
func TestWritesNameTheirVersion(t *testing.T) {
	t.Parallel()
	app := &Object{Object: map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": kindApplication, "metadata": map[string]any{"name": "a", "namespace": "argocd", "uid": "u", "resourceVersion": "7"}}}
	live, seen := hubAPI(t, http.StatusConflict, "Conflict")
	for _, verb := range []string{verbUpdate, verbDelete, verbCreate} {
		if err := live.Do(t.Context(), Action{verb, app}); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	for i, want := range []string{`"resourceVersion":"7"`, `"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Orphan"`} {
		if !strings.Contains((*seen)[i], want) {
			t.Errorf("%s; expected %s in it", (*seen)[i], want)
		}
	}
	live, _ = hubAPI(t, http.StatusForbidden, "Forbidden")
	if err := live.Do(t.Context(), Action{verbUpdate, app}); err == nil || errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), `update Application "a"`) {
		t.Error(err)
	}
	if _, err := live.Observe(t.Context()); err == nil || !strings.Contains(err.Error(), `list applicationsets in namespace "argocd"`) {
		t.Error(err)
	}
}
