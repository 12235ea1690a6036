package hub

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// has waits for exactly these Applications.
func has(want ...facts.Application) func(State) bool {
	return func(s State) bool {
		got, known := s.Facts.Applications()
		return s.Synced && s.Err == nil && known && cmp.Equal(append([]facts.Application{}, want...), append([]facts.Application{}, got...))
	}
}

// What the labels and finalizers of Applications say. They are not sticky.
func TestHub_FactsOfApplications(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	dns := []string{"cluster=one", "group=addons", "component=dns", "release=canary"}
	a.write("applications",
		app("dns-one", nil, dns...),
		app("fleet-secret-one", []string{"other", "resources-finalizer.argocd.argoproj.io"}, "hub=hub-eu", "cluster=one"),
		app("agent-two", []string{"resources-finalizer.argocd.argoproj.io/background"}, "cluster=two"),
		app("dns-two", []string{"resources-finalizer.argocd.argoproj.io/foreground", "post-delete-finalizer.argocd.argoproj.io"}, "cluster=two"),
		app("other", []string{"resources-finalizer.argocd.argoproj.io.example"}, "cluster=two"),
		app("addons-default", nil, "hub=hub-eu", "group=addons"), // no cluster's
		app("foreign", nil),
	)
	_, states := running(t, a)
	one := facts.Application{Name: "dns-one", Cluster: "one", Group: "addons", Component: "dns", Release: "canary"}
	registration := facts.Application{Name: "fleet-secret-one", Cluster: "one", Cascade: true}
	rest := []facts.Application{
		{Name: "agent-two", Cluster: "two", Cascade: true}, {Name: "dns-two", Cluster: "two", Cascade: true}, {Name: "other", Cluster: "two"},
	}
	await(t, states, "the first list", has(append([]facts.Application{one, registration}, rest...)...))

	// The finalizer shows; being deleted, it is there still; then it is gone.
	deleting := app("dns-one", []string{"resources-finalizer.argocd.argoproj.io"}, dns...)
	a.write("applications", deleting)
	one.Cascade = true
	await(t, states, "the finalizer", has(append([]facts.Application{one, registration}, rest...)...))
	now := metav1.Now()
	deleting.DeletionTimestamp = &now
	a.write("applications", deleting)
	a.removeFrom("applications", "fleet-secret-one") // comes after it
	await(t, states, "the one that is being deleted", has(append([]facts.Application{one}, rest...)...))
	a.removeFrom("applications", "dns-one")
	await(t, states, "what is left", has(rest...))
}

// Who controls an Application is a fact, and so is that no one does any more.
func TestHub_ControllersOfApplications(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	const group, kind = "argoproj.io/v1alpha1", "ApplicationSet"
	a.write("applications",
		controlledBy(app("a", nil, "cluster=one"), group, kind, "addons-default-a"),
		controlledBy(app("b", nil, "cluster=one"), "argoproj.io/v2", kind, "addons-default-b"),
		controlledBy(app("c", nil, "cluster=one"), "example.com/v1", kind, "theirs"),
		controlledBy(app("d", nil, "cluster=one"), group, "Application", "app-of-apps"),
		app("e", nil, "cluster=one"),
	)
	_, states := running(t, a)
	is := func(name, controller string) facts.Application {
		return facts.Application{Name: name, Cluster: "one", Controller: controller}
	}
	b, c, d, e := is("b", "addons-default-b"), is("c", ""), is("d", ""), is("e", "")
	await(t, states, "the first list", has(is("a", "addons-default-a"), b, c, d, e))
	a.write("applications", controlledBy(app("a", nil, "cluster=one"), group, kind, "addons-canary-a"))
	await(t, states, "another controller", has(is("a", "addons-canary-a"), b, c, d, e))
	a.write("applications", app("a", nil, "cluster=one")) // what deleting an ApplicationSet with --cascade=orphan leaves
	await(t, states, "no controller", has(is("a", ""), b, c, d, e))
}

// Argo CD writes an Application's status all the time; that is not reported.
func TestHub_StatusOfApplicationsIsNotTold(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.write("applications", app("x", nil, "cluster=one"))
	h, states := running(t, a)
	await(t, states, "the first list", has(facts.Application{Name: "x", Cluster: "one"}))
	before := h.State()
	for range 50 {
		a.write("applications", app("x", nil, "cluster=one", "hub=other"))
	}
	a.write("applications", app("y", nil, "cluster=one"))
	calls := 0
	await(t, states, "the next", func(s State) bool {
		calls++
		return len(s.Facts.ApplicationsOf("one")) == 2
	})
	if calls > 1 || before.Facts.Equal(h.State().Facts) {
		t.Errorf("%d calls", calls)
	}
}

// logs is a log that may be read while it is written.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *logs) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

// Where Applications may not be asked for, or do not exist, they are unknown, and the facts
// of Secrets go on. It is logged once, and tried again.
func TestHub_ApplicationsUnknown(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusForbidden: "access denied; allow list and watch on applications.argoproj.io",
		http.StatusNotFound:  "the API server knows no such resource; is Argo CD installed?",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.put(secret("one", nil))
			a.write("applications", app("dns-one", nil, "cluster=one"))
			a.failFor(status, "applications")
			log := &logs{}
			h, err := New(Options{Config: a.config(), Log: slog.New(slog.NewTextHandler(log, nil))})
			require.NoError(t, err)
			states := start(t, h)
			s := await(t, states, "the Secrets", func(s State) bool { return knows("one")(s) && s.Err == nil })
			if _, known := s.Facts.Applications(); known {
				t.Error("Applications are known")
			}
			a.put(secret("two", nil))
			await(t, states, "a Secret", knows("one", "two"))
			a.failFor(0, "applications")
			await(t, states, "the Applications", has(facts.Application{Name: "dns-one", Cluster: "one"}))
			if n := strings.Count(log.String(), `applications in namespace \"argocd\": `+want); n != 1 {
				t.Errorf("logged %d times:\n%s", n, log)
			}
		})
	}
}

// G4: once known, Applications stay known, whatever the API server says later.
func TestApplicationsStayKnown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel() // client-go waits between attempts
			a := newAPI(t)
			a.write("applications", app("dns-one", nil, "cluster=one"))
			_, states := running(t, a)
			dns := facts.Application{Name: "dns-one", Cluster: "one"}
			await(t, states, "the first list", has(dns))
			a.failFor(status, "applications")
			a.hangUp(false)
			s := await(t, states, "the error", func(s State) bool { return s.Err != nil })
			if got, known := s.Facts.Application("dns-one"); !known || got != dns || !strings.HasPrefix(s.Err.Error(), `applications in namespace "argocd": `) {
				t.Errorf("%+v, %v", got, s.Err)
			}
			a.failFor(0, "applications")
			await(t, states, "recovery", has(dns))
		})
	}
}

// Nothing is known before the Applications are, if they can be.
func TestHub_SyncedWithApplications(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put(secret("one", nil))
	a.failFor(http.StatusInternalServerError, "applications")
	h, states := running(t, a)
	s := await(t, states, "the error", func(s State) bool { return s.Err != nil && h.secrets.synced() })
	if want := `applications in namespace "argocd": the API server answers 500`; s.Synced || s.Err.Error() != want {
		t.Errorf("synced %v, %v", s.Synced, s.Err)
	}
	a.failFor(0, "applications")
	await(t, states, "both", func(s State) bool { return knows("one")(s) && has()(s) })
}
