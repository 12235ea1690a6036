package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// mapsAPI serves ConfigMaps as the API server does: resource versions, conflicts and the limit of
// 1 MiB.
type mapsAPI struct {
	mu      sync.Mutex
	maps    map[string]map[string]any
	version int
	status  int
	seen    []string
}

func (a *mapsAPI) refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason})
}

func (a *mapsAPI) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, q.Method+" "+q.URL.Path)
	w.Header().Set("Content-Type", "application/json")
	name := path.Base(q.URL.Path)
	body, _ := io.ReadAll(q.Body)
	var given map[string]any
	_ = json.Unmarshal(body, &given)
	meta, _ := given["metadata"].(map[string]any)
	old, is := a.maps[name]
	switch {
	case a.status != 0:
		a.refuse(w, a.status, metav1.StatusReasonForbidden)
		return
	case len(body) > 1_500_000:
		a.refuse(w, 413, metav1.StatusReasonRequestEntityTooLarge)
		return
	case q.Method == http.MethodPost:
		name, _ = meta["name"].(string)
		if _, is := a.maps[name]; is {
			a.refuse(w, 409, metav1.StatusReasonAlreadyExists)
			return
		}
	case name == "configmaps":
		items := []any{}
		for _, m := range a.maps {
			items = append(items, map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": m["metadata"]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{}, "items": items})
		return
	case !is:
		a.refuse(w, 404, metav1.StatusReasonNotFound)
		return
	case q.Method == http.MethodGet:
		_ = json.NewEncoder(w).Encode(old)
		return
	case q.Method == http.MethodDelete:
		delete(a.maps, name)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})
		return
	case meta["resourceVersion"] != old["metadata"].(map[string]any)["resourceVersion"]:
		a.refuse(w, 409, metav1.StatusReasonConflict)
		return
	}
	a.version++
	meta["resourceVersion"] = strconv.Itoa(a.version)
	a.maps[name] = given
	_ = json.NewEncoder(w).Encode(given)
}

// State that is larger than an object goes into ConfigMaps and comes out of them as it
// was; replicas that write at once get a conflict; what is not needed is removed, and nothing else
// is asked for.
func TestStateInConfigMaps(t *testing.T) {
	t.Parallel()
	api := &mapsAPI{maps: map[string]map[string]any{"argocd-cm": {"metadata": map[string]any{"name": "argocd-cm"}}}}
	server := httptest.NewServer(api)
	defer server.Close()
	open := func() *store.Store {
		objects, err := NewStateObjects(&rest.Config{Host: server.URL}, "argosy", "argosy-state-x")
		require.NoError(t, err)
		return store.New(objects)
	}
	first, second := open(), open()
	large := make([]byte, 3<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range large {
		large[i] = byte(r.Uint32())
	}
	if _, _, err := first.Read(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	version, err := first.Write(t.Context(), "a", large, "")
	require.NoError(t, err)
	data, read, err := second.Read(t.Context(), "a")
	if err != nil || !bytes.Equal(data, large) || read != version {
		t.Fatalf("%d bytes of version %s, %v", len(data), read, err)
	}
	if len(api.maps) != 1+1+5 {
		t.Errorf("%d ConfigMaps", len(api.maps))
	}
	if _, err := second.Write(t.Context(), "a", []byte("small"), read); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write(t.Context(), "a", []byte("late"), version); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%v", err)
	}
	if names, err := first.Names(t.Context()); err != nil || fmt.Sprint(names) != "[a]" || len(api.maps) != 2 {
		t.Errorf("%v %v, %d ConfigMaps", names, err, len(api.maps))
	}
	if err := first.Remove(t.Context(), "a"); err != nil || len(api.maps) != 1 {
		t.Errorf("%v, %d ConfigMaps", err, len(api.maps))
	}
	for _, line := range api.seen {
		if _, name, _ := strings.Cut(line, "/api/v1/namespaces/argosy/configmaps"); name != "" && !strings.HasPrefix(name, "/argosy-state-x-") {
			t.Errorf("asked: %s", line)
		}
	}
	api.status = 403
	if _, _, err := first.Read(t.Context(), "a"); err == nil || err.Error() != `state in namespace "argosy": access denied; allow get on configmaps` {
		t.Errorf("%v", err)
	}
}

// A 410 is no success of a request for state: what cannot be read is neither damaged nor missing,
// and what cannot be written is not written.
func TestStateThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonExpired, metav1.StatusReasonGone} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			new(mapsAPI).refuse(w, http.StatusGone, reason)
		}))
		t.Cleanup(server.Close)
		objects, err := NewStateObjects(&rest.Config{Host: server.URL}, "argosy", "argosy-state-x")
		require.NoError(t, err)
		kept := store.New(objects)
		if _, _, err := kept.Read(t.Context(), "a"); err == nil || store.IsDamaged(err) {
			t.Errorf("%s, read: %v", reason, err)
		}
		if names, err := kept.Names(t.Context()); err == nil {
			t.Errorf("%s, list: %q without an error", reason, names)
		}
		if err := objects.Delete(t.Context(), "a"); err == nil {
			t.Errorf("%s: deleted", reason)
		}
		if _, err := objects.Put(t.Context(), "a", []byte("x"), ""); err == nil {
			t.Errorf("%s: written", reason)
		}
	}
}
