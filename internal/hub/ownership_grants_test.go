package hub

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// finalize is a merge patch of a ConfigMap's finalizers or annotations: refused where the object is
// another or has changed, and the end of one that is being deleted and has no finalizer left. The
// caller holds the lock.
func (a *api) finalize(w http.ResponseWriter, q *http.Request, name string) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Finalizers      []string
			Annotations     map[string]string
		}
	}
	dec := json.NewDecoder(q.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&patch); err != nil || (patch.Metadata.Finalizers == nil) == (patch.Metadata.Annotations == nil) || q.Header.Get("Content-Type") != "application/merge-patch+json" {
		a.t.Errorf("patch of %s: %v, %+v, %s", name, err, patch, q.Header.Get("Content-Type"))
	}
	if a.refusePatches > 0 {
		a.refusePatches--
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	a.patches = append(a.patches, strings.TrimSpace(name+" "+strings.Join(patch.Metadata.Finalizers, ",")+patch.Metadata.Annotations[facts.RingsHealthAnnotation]))
	o, ok := a.objects["configmaps"][name]
	if code := http.StatusNotFound; !ok || o.UID != patch.Metadata.UID || o.ResourceVersion != patch.Metadata.ResourceVersion {
		reason := metav1.StatusReasonNotFound
		if ok {
			code, reason = http.StatusConflict, metav1.StatusReasonConflict
		}
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reason})
		return
	}
	if patch.Metadata.Finalizers != nil {
		o.Finalizers = patch.Metadata.Finalizers
	} else {
		o.Annotations = maps.Clone(o.Annotations)
		maps.Copy(o.Annotations, patch.Metadata.Annotations)
	}
	a.set("configmaps", o)
	if o.DeletionTimestamp != nil && len(o.Finalizers) == 0 {
		a.version++
		delete(a.objects["configmaps"], name)
		a.events = append(a.events, event{a.version, "configmaps", "DELETED", o})
	}
	a.changed.Broadcast()
	_ = json.NewEncoder(w).Encode(asked("configmaps", o, q.Header.Get("Accept")))
}

// patched are the patches so far.
func (a *api) patched() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.patches)
}

// there reports whether a ConfigMap is.
func (a *api) there(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, is := a.objects["configmaps"][name]
	return is
}

// arrivedGrant is the metadata of a group's grant to member one.
func arrivedGrant(group, uid string, finalizers ...string) metav1.ObjectMeta {
	m := app("argosy-grant-"+group, finalizers, "cluster=one", "grant="+group)
	m.UID = types.UID(uid)
	return m
}

// going is one that is being deleted.
func going(m metav1.ObjectMeta) metav1.ObjectMeta {
	now := metav1.NewTime(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	m.DeletionTimestamp = &now
	return m
}

// holding runs OwnershipGrants on an API server until the test ends.
func holding(t *testing.T, a *api, log io.Writer) (*OwnershipGrants, <-chan OwnershipGrantsState) {
	t.Helper()
	g, err := NewOwnershipGrants(Options{Config: a.config(), Namespace: "argocd", Log: slog.New(slog.NewTextHandler(log, nil))}, "one")
	require.NoError(t, err)
	if s := g.State(); s.Synced || s.Grants != nil || s.Err != nil || g.Member() != "one" {
		t.Errorf("before the first list: %+v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	states := make(chan OwnershipGrantsState, 1000)
	go func() {
		defer close(ran)
		g.Run(ctx, func() { states <- g.State() })
	}()
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return g, states
}

// grantsAre waits for exactly these grants.
func grantsAre(t *testing.T, states <-chan OwnershipGrantsState, want ...facts.OwnershipGrant) OwnershipGrantsState {
	t.Helper()
	var last OwnershipGrantsState
	for end := time.After(deadline); ; {
		select {
		case last = <-states:
			if last.Synced && last.Err == nil && cmp.Equal(append([]facts.OwnershipGrant{}, want...), append([]facts.OwnershipGrant{}, last.Grants...)) {
				return last
			}
		case <-end:
			t.Fatalf("waited in vain for %+v; the last was %+v", want, last)
		}
	}
}

// TestGrantIsHeldUntilItIsReleased: each grant of the member gets the finalizer as it
// comes, and loses it when it is being deleted and has been released, and not before. The
// finalizers of others stay. (M3)
func TestGrantIsHeldUntilItIsReleased(t *testing.T) {
	t.Parallel()
	const ours = facts.GrantFinalizer
	a := newAPI(t)
	a.write("configmaps", arrivedGrant("addons", "a"), arrivedGrant("resources", "r", "other/one"))
	g, states := holding(t, a, io.Discard)
	addons, resources := facts.OwnershipGrant{Group: "addons", UID: "a", Held: true}, facts.OwnershipGrant{Group: "resources", UID: "r", Held: true}
	grantsAre(t, states, addons, resources)
	assert.Equal(t, []string{"argosy-grant-addons " + ours, "argosy-grant-resources other/one," + ours}, sortedCopy(a.patched()), "patches")

	a.write("configmaps", going(arrivedGrant("addons", "a", ours)), going(arrivedGrant("resources", "r", "other/one", ours)))
	addons.IsDeleted, resources.IsDeleted = true, true
	grantsAre(t, states, addons, resources)
	g.Release([]facts.OwnershipGrant{{Group: "addons", UID: "another"}, resources}) // another of the name has been released
	resources.Held = false
	grantsAre(t, states, addons, resources)
	if !a.there("argosy-grant-addons") {
		t.Fatal("a grant has gone that nobody has released")
	}
	g.Release([]facts.OwnershipGrant{addons})
	grantsAre(t, states, resources)
	if a.there("argosy-grant-addons") {
		t.Error("a released grant is there still")
	}
	a.write("configmaps", arrivedGrant("addons", "b"))
	grantsAre(t, states, facts.OwnershipGrant{Group: "addons", UID: "b", Held: true}, resources)

	a.mu.Lock()
	defer a.mu.Unlock()
	for i, path := range a.paths {
		method, rest, _ := strings.Cut(path, " ")
		at, selector, _ := strings.Cut(rest, " ")
		if !onlyMetadata(a.accepts[i]) ||
			method == http.MethodGet && (at != "/api/v1/namespaces/argocd/configmaps" || selector != "argosy.dev/grant,argosy.dev/cluster=one") {
			t.Errorf("%s asks for %s", path, a.accepts[i])
		}
	}
}

// TestGrantSaysHowHealthyItsGroupIs: a held grant brings the revisions of its rings, and
// gets what the service says of the group once, until it says something else; one that is being
// deleted gets nothing.
func TestGrantSaysHowHealthyItsGroupIs(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	inRings := func(group, uid string) metav1.ObjectMeta {
		m := arrivedGrant(group, uid, facts.GrantFinalizer)
		m.Annotations = map[string]string{facts.RingsAnnotation: "prod=1"}
		return m
	}
	a.write("configmaps", inRings("addons", "a"), going(inRings("resources", "r")))
	g, states := holding(t, a, io.Discard)
	addons := facts.OwnershipGrant{Group: "addons", UID: "a", Held: true, Rings: "prod=1"}
	resources := facts.OwnershipGrant{Group: "resources", UID: "r", Held: true, IsDeleted: true, Rings: "prod=1"}
	grantsAre(t, states, addons, resources)
	for _, said := range []string{"Progressing prod=1", "Healthy prod=1", "Healthy prod=1", "Degraded prod=1"} {
		g.Report(map[string]facts.GroupReport{"addons": {Rings: said}, "resources": {Rings: said}})
		a.until("says "+said, func() bool {
			return a.objects["configmaps"]["argosy-grant-addons"].Annotations[facts.RingsHealthAnnotation] == said
		})
	}
	a.write("configmaps", arrivedGrant("other", "o"))
	grantsAre(t, states, addons, facts.OwnershipGrant{Group: "other", UID: "o", Held: true}, resources)
	want := []string{"argosy-grant-addons Progressing prod=1", "argosy-grant-addons Healthy prod=1", "argosy-grant-addons Degraded prod=1", "argosy-grant-other " + facts.GrantFinalizer}
	assert.Equal(t, want, a.patched(), "patches")
}

// until waits for something that a patch changes.
func (a *api) until(what string, ok func() bool) {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	stop := time.AfterFunc(30*time.Second, a.changed.Broadcast)
	defer stop.Stop()
	for began := time.Now(); !ok(); a.changed.Wait() {
		if time.Since(began) > 30*time.Second {
			a.t.Fatalf("never %s", what)
		}
	}
}

func sortedCopy(texts []string) []string {
	out := slices.Clone(texts)
	slices.Sort(out)
	return out
}

// TestGrantsStayWhileTheAPIServerIsAway: what was known stays; what cannot be written is logged
// once and tried again. (G4)
func TestGrantsStayWhileTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	log := &logs{}
	_, states := holding(t, a, log)
	grantsAre(t, states)
	a.fail(500)
	a.hangUp(false)
	for s := (OwnershipGrantsState{}); s.Err == nil; {
		select {
		case s = <-states:
		case <-time.After(deadline):
			t.Fatal("nobody says that the API server is away")
		}
		if !s.Synced {
			t.Errorf("not synced any more: %+v", s)
		}
	}
	a.mu.Lock()
	a.set("configmaps", thing{ObjectMeta: arrivedGrant("addons", "a")})
	a.mu.Unlock()
	a.fail(0)
	grantsAre(t, states, facts.OwnershipGrant{Group: "addons", UID: "a", Held: true})
}

// Without the permission nothing is known, and that is said: the service does not serve. (M3)
func TestForbiddenGrantsStopTheService(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.fail(403)
	_, states := holding(t, a, io.Discard)
	select {
	case s := <-states:
		const want = `grants in namespace "argocd": access denied; allow list, watch and patch on configmaps`
		if s.Synced || textOf(s.Err) != want {
			t.Errorf("%+v", s)
		}
	case <-time.After(deadline):
		t.Fatal("nothing is said")
	}
}

// A patch that fails is logged once, and tried again until it goes through. (M3)
func TestFailedHoldIsTriedAgain(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	log := &logs{}
	_, states := holding(t, a, log)
	grantsAre(t, states)
	a.mu.Lock()
	a.refusePatches = 1
	a.set("configmaps", thing{ObjectMeta: arrivedGrant("addons", "a")})
	a.changed.Broadcast()
	a.mu.Unlock()
	grantsAre(t, states, facts.OwnershipGrant{Group: "addons", UID: "a", Held: true})
	if got := log.String(); strings.Count(got, "a grant cannot be held or released") != 1 {
		t.Errorf("the log says\n%s", got)
	}
}
