package hub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// api speaks as much of the Kubernetes API as a list and watch of Secrets needs: selectors, resource versions, bookmarks
// left out, metadata or whole objects by the Accept header as the real one does. It holds credentials in its Secrets, so
// that a request for more than metadata would get them. (The real API server is part of the end-to-end tests.)
type api struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	changed  *sync.Cond
	version  int
	secrets  map[string]metav1.ObjectMeta
	events   []event
	accepts  []string // Accept headers seen
	paths    []string
	status   int // answer with this instead
	watchers int
	stopped  bool
}

type event struct {
	version int
	kind    string
	meta    metav1.ObjectMeta
}

const password = "bearerToken-of-the-cluster"

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, version: 1, secrets: map[string]metav1.ObjectMeta{}}
	a.changed = sync.NewCond(&a.mu)
	a.server = httptest.NewServer(a)
	t.Cleanup(func() {
		a.hangUp(true)
		a.server.Close()
	})
	return a
}

// hangUp ends all watches.
func (a *api) hangUp(forGood bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers++
	a.stopped = a.stopped || forGood
	a.changed.Broadcast()
}

func (a *api) config() *rest.Config { return &rest.Config{Host: a.server.URL} }

// secret is a cluster Secret's metadata.
func secret(name string, annotations map[string]string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Name: name, Namespace: "argocd", UID: "uid-1", Annotations: annotations,
		Labels:            map[string]string{"argocd.argoproj.io/secret-type": "cluster"},
		CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		m.Labels[k] = v
	}
	return m
}

func (a *api) put(metas ...metav1.ObjectMeta) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range metas {
		a.version++
		kind := "ADDED"
		if _, ok := a.secrets[m.Name]; ok {
			kind = "MODIFIED"
		}
		m.ResourceVersion = strconv.Itoa(a.version)
		a.secrets[m.Name] = m
		a.events = append(a.events, event{a.version, kind, m})
	}
	a.changed.Broadcast()
}

func (a *api) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	m := a.secrets[name]
	m.ResourceVersion = strconv.Itoa(a.version)
	delete(a.secrets, name)
	a.events = append(a.events, event{a.version, "DELETED", m})
	a.changed.Broadcast()
}

func (a *api) fail(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = status
}

// object is a Secret as the Accept header asks for it.
func object(m metav1.ObjectMeta, accept string) map[string]any {
	if strings.Contains(accept, "as=PartialObjectMetadata") {
		return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": m}
	}
	return map[string]any{"kind": "Secret", "apiVersion": "v1", "metadata": m, "data": map[string]string{"config": password}}
}

func (a *api) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	accept := q.Header.Get("Accept")
	a.mu.Lock()
	a.accepts = append(a.accepts, accept)
	a.paths = append(a.paths, q.Method+" "+q.URL.Path+" "+q.URL.Query().Get("labelSelector"))
	status := a.status
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status != 0 {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(status),
			Reason:  map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 401: metav1.StatusReasonUnauthorized, 410: metav1.StatusReasonExpired}[status],
			Message: fmt.Sprintf("no, at %s", time.Now()),
		})
		return
	}
	if q.URL.Query().Get("watch") != "" {
		a.watch(w, q, accept)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	items := []any{}
	for _, m := range a.secrets {
		items = append(items, object(m, accept))
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
		"metadata": map[string]string{"resourceVersion": strconv.Itoa(a.version)}, "items": items,
	})
}

func (a *api) watch(w http.ResponseWriter, q *http.Request, accept string) {
	from, err := strconv.Atoi(q.URL.Query().Get("resourceVersion"))
	if err != nil {
		a.t.Errorf("watch from resource version %q", q.URL.Query().Get("resourceVersion"))
	}
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	a.mu.Lock()
	defer a.mu.Unlock()
	generation := a.watchers
	go func() { // wakes the loop below when the client goes
		<-q.Context().Done()
		a.changed.Broadcast()
	}()
	for {
		for _, e := range a.events {
			if e.version <= from {
				continue
			}
			from = e.version
			if err := json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": object(e.meta, accept)}); err != nil {
				return
			}
		}
		w.(http.Flusher).Flush()
		if a.stopped || a.watchers != generation || q.Context().Err() != nil {
			return
		}
		a.changed.Wait()
	}
}
