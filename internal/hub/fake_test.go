package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// api speaks as much of the Kubernetes API as a list and watch needs: resource versions, metadata
// or whole objects by the Accept header as the real one does; selectors and bookmarks left out. It
// holds credentials in its Secrets, so that a request for more than metadata would get them. (The
// real API server is part of the end-to-end tests.)
type api struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	changed  *sync.Cond
	version  int
	objects  map[string]map[string]thing // by resource and name
	events   []event
	accepts  []string // Accept headers seen
	paths    []string
	status   map[string]int // by resource: answer with this instead
	patches  []string
	watchers int
	stopped  bool
	page     int // objects in one list at most; 0 is what the request says
	expire   int // how many further pages are answered with 410
	queries  []url.Values
	// refusePatches is how many patches are answered with 500.
	refusePatches int
}

// thing is an object. Secrets have data of their own.
type thing struct {
	metav1.ObjectMeta
	spec, status any
}

type event struct {
	version  int
	resource string
	kind     string
	thing    thing
}

// resources are those that the server knows.
var resources = []string{"secrets", "applications", "applicationsets", "helmreleases", "kustomizations", "gitrepositories", "ocirepositories", "configmaps"}

// kinds are the kinds of the resources.
var kinds = map[string][2]string{
	"applications": {"argoproj.io/v1alpha1", "Application"}, "applicationsets": {"argoproj.io/v1alpha1", "ApplicationSet"}, "configmaps": {"v1", "ConfigMap"},
	"helmreleases": {"helm.toolkit.fluxcd.io/v2", "HelmRelease"}, "kustomizations": {"kustomize.toolkit.fluxcd.io/v1", "Kustomization"},
	"gitrepositories": {"source.toolkit.fluxcd.io/v1", "GitRepository"}, "ocirepositories": {"source.toolkit.fluxcd.io/v1", "OCIRepository"},
}

const password = "bearerToken-of-the-cluster"

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, version: 1, objects: map[string]map[string]thing{}, status: map[string]int{}}
	for _, r := range resources {
		a.objects[r] = map[string]thing{}
	}
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

// app is an Application's metadata.
func app(name string, finalizers []string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: "argocd", UID: "uid-2", Finalizers: finalizers, Labels: map[string]string{}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		m.Labels["argosy.dev/"+k] = v
	}
	return m
}

// controlledBy is the Application with a controller, after an owner that is none.
func controlledBy(m metav1.ObjectMeta, apiVersion, kind, name string) metav1.ObjectMeta {
	controls := true
	m.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "argoproj.io/v1alpha1", Kind: "ApplicationSet", Name: "no-controller", UID: "uid-3"},
		{APIVersion: apiVersion, Kind: kind, Name: name, UID: "uid-4", Controller: &controls},
	}
	return m
}

// put writes Secrets.
func (a *api) put(metas ...metav1.ObjectMeta) { a.write("secrets", metas...) }

// write writes objects that are metadata alone.
func (a *api) write(resource string, metas ...metav1.ObjectMeta) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range metas {
		a.set(resource, thing{ObjectMeta: m})
	}
	a.changed.Broadcast()
}

// ask writes an ApplicationSet with generators, in JSON.
func (a *api) ask(name, generators string) {
	a.t.Helper()
	var list any
	require.NoError(a.t, json.Unmarshal([]byte(generators), &list))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set("applicationsets", thing{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "argocd", UID: "uid-3"}, spec: map[string]any{"generators": list}})
	a.changed.Broadcast()
}

// set writes an object. The caller holds the lock.
func (a *api) set(resource string, o thing) {
	a.version++
	kind := "ADDED"
	if _, ok := a.objects[resource][o.Name]; ok {
		kind = "MODIFIED"
	}
	o.ResourceVersion = strconv.Itoa(a.version)
	a.objects[resource][o.Name] = o
	a.events = append(a.events, event{a.version, resource, kind, o})
}

// remove deletes a Secret.
func (a *api) remove(name string) { a.removeFrom("secrets", name) }

func (a *api) removeFrom(resource, name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	o := a.objects[resource][name]
	o.ResourceVersion = strconv.Itoa(a.version)
	delete(a.objects[resource], name)
	a.events = append(a.events, event{a.version, resource, "DELETED", o})
	a.changed.Broadcast()
}

// fail answers everything with a status; 0 ends that.
func (a *api) fail(status int) { a.failFor(status, resources...) }

func (a *api) failFor(status int, of ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range of {
		a.status[r] = status
	}
}

// asked is an object as the Accept header asks for it.
func asked(resource string, o thing, accept string) map[string]any {
	switch {
	case strings.Contains(accept, "as=PartialObjectMetadata"):
		return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.ObjectMeta}
	case resource == "secrets":
		return map[string]any{"kind": "Secret", "apiVersion": "v1", "metadata": o.ObjectMeta, "data": map[string]string{"config": password}}
	}
	return map[string]any{"kind": kinds[resource][1], "apiVersion": kinds[resource][0], "metadata": o.ObjectMeta, "spec": o.spec, "status": o.status}
}

func (a *api) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	accept := q.Header.Get("Accept")
	_, rest, _ := strings.Cut(q.URL.Path, "/namespaces/")
	_, rest, _ = strings.Cut(rest, "/")
	resource, name, _ := strings.Cut(rest, "/")
	a.mu.Lock()
	a.accepts = append(a.accepts, accept)
	a.paths = append(a.paths, strings.TrimSpace(q.Method+" "+q.URL.Path+" "+q.URL.Query().Get("labelSelector")))
	a.queries = append(a.queries, q.URL.Query())
	status := a.status[resource]
	if q.URL.Query().Get("continue") != "" && a.expire > 0 {
		a.expire--
		status = http.StatusGone
	}
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if status != 0 {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(status),
			Reason: map[int]metav1.StatusReason{
				403: metav1.StatusReasonForbidden, 401: metav1.StatusReasonUnauthorized, 404: metav1.StatusReasonNotFound, 410: metav1.StatusReasonExpired,
			}[status],
			Message: fmt.Sprintf("no, at %s", time.Now()),
		})
		return
	}
	if q.URL.Query().Get("watch") != "" {
		a.watch(w, q, resource, accept)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case q.Method == http.MethodPatch && resource == "configmaps":
		a.finalize(w, q, name)
		return
	case q.Method == http.MethodPatch:
		a.patch(w, q, name)
		return
	}
	items := []any{}
	next := ""
	for _, name := range slices.Sorted(maps.Keys(a.objects[resource])) {
		if name <= q.URL.Query().Get("continue") {
			continue
		}
		if limit, _ := strconv.Atoi(q.URL.Query().Get("limit")); len(items) == cmp.Or(a.page, limit, math.MaxInt) {
			next = items[len(items)-1].(map[string]any)["metadata"].(metav1.ObjectMeta).Name
			break
		}
		items = append(items, asked(resource, a.objects[resource][name], accept))
	}
	kind, version := "PartialObjectMetadataList", "meta.k8s.io/v1"
	if !strings.Contains(accept, "as=PartialObjectMetadata") {
		kind, version = kinds[resource][1]+"List", kinds[resource][0]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": kind, "apiVersion": version,
		"metadata": map[string]string{"resourceVersion": strconv.Itoa(a.version), "continue": next}, "items": items,
	})
}

// patch is a merge patch of an ApplicationSet's annotations. The caller holds the lock.
func (a *api) patch(w http.ResponseWriter, q *http.Request, name string) {
	var patch struct {
		Metadata struct{ Annotations map[string]string }
	}
	dec := json.NewDecoder(q.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&patch); err != nil || q.Header.Get("Content-Type") != "application/merge-patch+json" {
		a.t.Errorf("patch of %s: %v, %s", name, err, q.Header.Get("Content-Type"))
	}
	o, ok := a.objects["applicationsets"][name]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound})
		return
	}
	a.patches = append(a.patches, name)
	o.Annotations = patch.Metadata.Annotations
	a.set("applicationsets", o)
	a.changed.Broadcast()
	_ = json.NewEncoder(w).Encode(asked("applicationsets", o, ""))
}

func (a *api) watch(w http.ResponseWriter, q *http.Request, resource, accept string) {
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
			if e.resource != resource {
				continue
			}
			if err := json.NewEncoder(w).Encode(map[string]any{"type": e.kind, "object": asked(resource, e.thing, accept)}); err != nil {
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

// receive gives a follower an object, as its reflector does; the first is its first list.
func receive[T any](f *follower[T], o object) {
	if f.all == nil {
		relist(f, o)
		return
	}
	_ = (&sink[T]{follower: f}).Add(&o)
}

// relist gives a follower a list of one object.
func relist[T any](f *follower[T], o object) {
	_ = (&sink[T]{follower: f, listed: map[string]stored[T]{o.Name: f.stored(&o)}}).Replace(nil, "")
}
