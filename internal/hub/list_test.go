package hub

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// List says what a Hub would, and no more is asked for than metadata.
func TestList_SaysWhatAHubKnows(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	applied := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": password, "aws_region": "eu-west-1"}
	a.put(secret("one", applied, "team=a"), secret("uno", map[string]string{"cluster_name": "one"}), secret("two", nil))
	a.write("applications", app("dns-one", []string{"resources-finalizer.argocd.argoproj.io"}, "cluster=one", "group=addons", "component=dns"))
	a.write("helmreleases", release("dns-one", nil))
	a.write("kustomizations", release("quotas-one", nil))
	h, err := New(Options{Config: a.config()})
	require.NoError(t, err)
	states := start(t, h)
	var live State
	for !live.Synced {
		live = <-states
	}
	a.mu.Lock()
	asked := len(a.accepts)
	a.mu.Unlock()
	got, problems, err := List(t.Context(), Options{Config: a.config()}, Also{Applications: true})
	if err != nil || !got.WithHealth().Equal(live.Facts) || len(problems) != 1 || len(live.Problems) != 1 || problems[0].Error() != live.Problems[0].Error() {
		t.Errorf("%v %v\n%+v\n%+v", err, problems, got, live.Facts)
	}
	if clusters, _, err := List(t.Context(), Options{Config: a.config()}, Also{}); err != nil || !clusters.EqualClusters(live.Facts) {
		t.Errorf("%v", err)
	} else if _, known := clusters.Applications(); known {
		t.Error("Applications are known, and were not asked for")
	}
	flux, _, err := List(t.Context(), Options{Config: a.config()}, Also{FluxNamespace: "flux-system"})
	if releases, known := flux.HelmReleases(); err != nil || !known || len(releases) != 2 {
		t.Errorf("%v %v", releases, err)
	}
	text, err := got.File()
	if err != nil || bytes.Contains(text, []byte(password)) || !bytes.Contains(text, []byte("aws_region")) {
		t.Errorf("%v\n%s", err, text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, accept := range a.accepts {
		if !onlyMetadata(accept) && i >= asked {
			t.Errorf("asked %s, accepting %s", a.paths[i], accept)
		}
	}
}

// What is asked for and cannot be had is an error, which says what would mend it.
func TestList_Fails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		resource string
		status   int
		want     string
	}{
		"secrets":        {"secrets", http.StatusForbidden, `cluster secrets in namespace "argocd": access denied; allow list on secrets`},
		"applications":   {"applications", http.StatusNotFound, `applications in namespace "argocd": the API server knows no such resource; is Argo CD installed?`},
		"kustomizations": {"kustomizations", http.StatusForbidden, `Kustomizations in namespace "flux-system": access denied; allow list on kustomizations.kustomize.toolkit.fluxcd.io`},
		"expired":        {"secrets", http.StatusGone, `cluster secrets in namespace "argocd": the list ended half-way`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.put(secret("one", nil))
			a.failFor(c.status, c.resource)
			set, _, err := List(t.Context(), Options{Config: a.config()}, Also{Applications: true, FluxNamespace: "flux-system"})
			if err == nil || err.Error() != c.want || len(set.Names()) > 0 {
				t.Errorf("%v, %v", err, set.Names())
			}
		})
	}
	_, _, err := List(t.Context(), Options{}, Also{})
	if err == nil || !strings.Contains(err.Error(), "no configuration") {
		t.Error(err)
	}
}

// A long list comes in pages, all of which count.
func TestList_Pages(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	var all []metav1.ObjectMeta
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, secret(name, nil))
	}
	a.put(all...)
	a.mu.Lock()
	a.page = 2
	a.mu.Unlock()
	set, _, err := List(t.Context(), Options{Config: a.config()}, Also{})
	if got := strings.Join(set.Names(), ""); err != nil || got != "abcde" {
		t.Errorf("%q, %v", got, err)
	}

	// A watch lists the same pages, of the newest version. It begins again if it expires.
	a.mu.Lock()
	a.expire, a.queries = 1, nil
	a.mu.Unlock()
	_, states := running(t, a)
	await(t, states, "all", func(s State) bool {
		if s.Err != nil {
			t.Errorf("an expired list is an error: %v", s.Err)
		}
		return knows("a", "b", "c", "d", "e")(s)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.expire > 0 {
		t.Error("no list has expired")
	}
	for _, q := range a.queries {
		if q.Get("watch") == "" && (q.Get("limit") != "500" || q.Get("resourceVersion") != "") {
			t.Errorf("asked %v", q)
		}
	}
}

// Objects lists all pages, of the resource that it is asked for, by GET alone. What the
// API server refuses is an error that names the permission.
func TestObjects(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
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
	got, err := Objects(t.Context(), o, ApplicationsOf)
	if err != nil || len(got) != 2 || !strings.Contains(string(got[1]), `"b"`) {
		t.Errorf("%s, %v", got, err)
	}
	_, err = Objects(t.Context(), o, ApplicationSetsOf)
	if want := `applicationsets in namespace "argocd": access denied; allow list on applicationsets.argoproj.io`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
