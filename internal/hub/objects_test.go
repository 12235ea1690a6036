package hub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// Objects lists all pages, of the resource that it is asked for, by GET alone. What the
// API server refuses is an error that names the permission.
func TestObjects(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch at := r.URL.Path; {
		case r.Method != http.MethodGet:
			t.Errorf("%s request", r.Method)
		case at == "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications" && r.URL.Query().Get("continue") == "":
			_, _ = w.Write([]byte(`{"metadata":{"continue":"more"},"items":[{"kind":"Application","metadata":{"name":"a"}}]}`))
		case at == "/apis/argoproj.io/v1alpha1/namespaces/argocd/applications":
			_, _ = w.Write([]byte(`{"metadata":{},"items":[{"kind":"Application","metadata":{"name":"b"}}]}`))
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`))
		}
	}))
	t.Cleanup(s.Close)
	o := Options{Config: &rest.Config{Host: s.URL}}
	got, err := Objects(context.Background(), o, ApplicationsOf)
	if err != nil || len(got) != 2 || !strings.Contains(string(got[1]), `"b"`) {
		t.Errorf("%s, %v", got, err)
	}
	_, err = Objects(context.Background(), o, ApplicationSetsOf)
	if want := `applicationsets in namespace "argocd": access denied; allow list on applicationsets.argoproj.io`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
