package adopt

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// hubAPI answers as an API server: status is that of all requests but those for permissions.
func hubAPI(t *testing.T, status int) (*Live, *[]string) {
	t.Helper()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "selfsubjectaccessreviews") {
			var review map[string]any
			_ = json.Unmarshal(body, &review)
			spec, _ := review["spec"].(map[string]any)
			attributes, _ := spec["resourceAttributes"].(map[string]any)
			review["status"] = Tree{"allowed": attributes["verb"] != "delete"}
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
			return
		}
		w.WriteHeader(status)
		if status != http.StatusOK {
			_ = json.NewEncoder(w).Encode(Tree{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "reason": map[int]string{403: "Forbidden", 409: "Conflict"}[status], "message": "no"})
			return
		}
		_ = json.NewEncoder(w).Encode(Tree{"kind": "ApplicationList", "apiVersion": apiVersion, "metadata": Tree{}, "items": []any{}})
	}))
	t.Cleanup(s.Close)
	live, err := NewLive(&rest.Config{Host: s.URL}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	return live, &seen
}

// Writes and deletions name the version that they were decided on; a conflict is an error
// of its own. A deletion leaves dependents.
func TestWritesNameTheirVersion(t *testing.T) {
	t.Parallel()
	app := Tree{"apiVersion": apiVersion, "kind": kindApplication, "metadata": Tree{"name": "a", "namespace": "argocd", "uid": "u", "resourceVersion": "7"}}
	live, seen := hubAPI(t, http.StatusConflict)
	for _, verb := range []string{verbUpdate, verbDelete, verbCreate} {
		if err := live.Do(t.Context(), nil, Action{verb, kindApplication, app}); !errors.Is(err, ErrConflict) {
			t.Errorf("%s: %v", verb, err)
		}
	}
	for i, want := range []string{`"resourceVersion":"7"`, `"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Orphan"`} {
		if !strings.Contains((*seen)[i], want) {
			t.Errorf("%s; expected %s in it", (*seen)[i], want)
		}
	}
	live, _ = hubAPI(t, http.StatusForbidden)
	if err := live.Do(t.Context(), nil, Action{verbUpdate, kindApplication, app}); err == nil || errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), `update Application "a"`) {
		t.Error(err)
	}
	if _, err := live.Observe(t.Context()); err == nil || !strings.Contains(err.Error(), `list applicationsets in namespace "argocd"`) {
		t.Error(err)
	}
}

// Permissions are asked for before anything is changed.
func TestDenied(t *testing.T) {
	t.Parallel()
	live, seen := hubAPI(t, http.StatusOK)
	denied, err := live.Denied(t.Context())
	if want := []string{"delete applications.argoproj.io", "delete applicationsets.argoproj.io", "delete configmaps"}; err != nil || !slices.Equal(denied, want) {
		t.Errorf("%v, %v; expected %v", denied, err, want)
	}
	for _, request := range *seen {
		if !strings.HasPrefix(request, "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews ") {
			t.Errorf("asked %s", request)
		}
	}
}
