package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// hub is as much of a hub's API server as the service reads: the metadata of cluster Secrets, and
// Applications.
type hub struct {
	server   *httptest.Server
	clusters []string

	mu           sync.Mutex
	version      int
	applications map[string]application
	changed      chan struct{} // closed at the next change
	events       []object      // the changes of Applications so far
}

// application is what the engine reports of one.
type application struct{ cluster, version, sync, health string }

// newHub serves clusters and Applications.
func newHub(t *testing.T, clusters []string, applications map[string]application) *hub {
	t.Helper()
	h := &hub{clusters: clusters, applications: applications, version: 1, changed: make(chan struct{})}
	h.server = httptest.NewServer(h)
	t.Cleanup(func() {
		h.server.CloseClientConnections()
		h.server.Close()
	})
	return h
}

// kubeconfig is a file to reach the hub with.
func (h *hub) kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","clusters":[{"name":"hub","cluster":{"server":%q}}],"contexts":[{"name":"hub","context":{"cluster":"hub","user":"hub"}}],"current-context":"hub","users":[{"name":"hub","user":{}}]}`, h.server.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// set changes what the engine reports of an Application.
func (h *hub) set(name string, a application) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version++
	h.applications[name] = a
	h.events = append(h.events, h.object(name))
	close(h.changed)
	h.changed = make(chan struct{})
}

type object = map[string]any

func metadata(name, version string, labels map[string]string) object {
	return object{"name": name, "namespace": "argocd", "uid": name, "resourceVersion": version, "labels": labels}
}

// objects are those of a resource; Secrets are metadata alone.
func (h *hub) objects(resource string) []object {
	out := []object{}
	switch resource {
	case "secrets":
		for _, c := range h.clusters {
			out = append(out, object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata(c, "1", map[string]string{"argocd.argoproj.io/secret-type": "cluster"})})
		}
	case "applications":
		for name := range h.applications {
			out = append(out, h.object(name))
		}
	}
	return out
}

// object is an Application.
func (h *hub) object(name string) object {
	a := h.applications[name]
	return object{
		"kind": "Application", "apiVersion": "argoproj.io/v1alpha1", "metadata": metadata(name, strconv.Itoa(h.version), map[string]string{"argosy.dev/cluster": a.cluster}),
		"status": object{"sync": object{"status": a.sync, "revision": a.version}, "health": object{"status": a.health}},
	}
}

// ServeHTTP answers lists and watches.
func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, resource, _ := strings.Cut(r.URL.Path, "/namespaces/argocd/")
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		h.watch(w, r, resource == "applications")
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = json.NewEncoder(w).Encode(object{"kind": "List", "apiVersion": "v1", "metadata": object{"resourceVersion": strconv.Itoa(h.version)}, "items": h.objects(resource)})
}

func (h *hub) watch(w http.ResponseWriter, r *http.Request, ofApplications bool) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for next := max(0, from-1); ; { // the version after the first event is 2
		h.mu.Lock()
		changed, events := h.changed, h.events[min(next, len(h.events)):]
		next = len(h.events)
		h.mu.Unlock()
		for _, e := range events {
			if ofApplications {
				_ = json.NewEncoder(w).Encode(object{"type": "MODIFIED", "object": e})
			}
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
