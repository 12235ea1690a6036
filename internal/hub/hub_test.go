package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// deadline bounds what a test waits for.
const deadline = time.Minute

// running is a Hub that runs for the time of the test, and its states as they come.
func running(t *testing.T, a *api) (*Hub, <-chan State) {
	t.Helper()
	h, err := New(Options{Config: a.config()})
	require.NoError(t, err)
	return h, start(t, h)
}

func start(t *testing.T, h *Hub) <-chan State {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	states := make(chan State, 1000)
	go func() {
		defer close(ran)
		h.Run(ctx, func() { states <- h.State() })
	}()
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return states
}

// await waits for a state that is as wanted.
func await(t *testing.T, states <-chan State, what string, wanted func(State) bool) State {
	t.Helper()
	end := time.After(deadline)
	for {
		select {
		case s := <-states:
			if wanted(s) {
				return s
			}
		case <-end:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestMain shortens the pauses between attempts. Tests compute little, and wait beside each other.
func TestMain(m *testing.M) {
	pauses.Duration, pauses.Cap = 20*time.Millisecond, 200*time.Millisecond
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	CaptureLogs(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

func synced(s State) bool { return s.Synced && s.Err == nil }

func knows(names ...string) func(State) bool {
	return func(s State) bool { return s.Synced && cmp.Equal(names, s.Facts.Names()) }
}

func TestHub_FactsOfClusterSecrets(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put(
		secret("cluster-1.example.com-123", map[string]string{"cluster_name": "prod-eu-1", "account": "123456789012"}, "addonsRelease=canary", "cluster_name=other"),
		secret("cluster-2", nil, "cluster_name=prod-eu-2"),
		secret("prod-eu-3", map[string]string{"cluster_name": ""}),
	)
	_, states := running(t, a)
	s := await(t, states, "the first list", synced)
	if d := cmp.Diff([]string{"prod-eu-1", "prod-eu-2", "prod-eu-3"}, s.Facts.Names()); d != "" || len(s.Problems) > 0 {
		t.Errorf("%s %v", d, s.Problems)
	}
	want := facts.Cluster{
		Name:        "prod-eu-1",
		Labels:      map[string]string{"argocd.argoproj.io/secret-type": "cluster", "addonsRelease": "canary", "cluster_name": "other"},
		Annotations: map[string]string{"cluster_name": "prod-eu-1", "account": "123456789012"},
		Secret:      "uid-1",
	}
	if c, ok := s.Facts.Of("prod-eu-1"); !ok || !c.Equal(want) {
		t.Errorf("got %+v", c)
	}
	if _, ok := s.Facts.Of("prod-eu-4"); ok || !s.Facts.Closed {
		t.Error("a cluster without a Secret is registered")
	}

	// A change and a new Secret arrive.
	a.put(secret("cluster-2", nil, "cluster_name=prod-eu-2", "tier=gold"))
	await(t, states, "the label", func(s State) bool {
		c, _ := s.Facts.Of("prod-eu-2")
		return c.Labels["tier"] == "gold"
	})
	a.put(secret("prod-eu-4", nil))
	await(t, states, "the new Secret", knows("prod-eu-1", "prod-eu-2", "prod-eu-3", "prod-eu-4"))
}

// Only metadata is asked for: no request accepts anything else, and nothing of the Secrets' data or
// of annotations that repeat it is kept.
func TestHub_MetadataOnly(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	applied := fmt.Sprintf(`{"kind":"Secret","data":{"config":%q}}`, password)
	a.put(secret("prod-eu-1", map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": applied, "banzaicloud.com/last-applied": applied,
		"objectset.rio.cattle.io/applied": applied, "last-applied": applied, "kept": "yes",
		"reconcile.external-secrets.io/data-hash": "changes with the credentials",
	}))
	h, states := running(t, a)
	await(t, states, "the first list", synced)
	updated := secret("prod-eu-1", map[string]string{"kubectl.kubernetes.io/last-applied-configuration": applied, "reconcile.external-secrets.io/data-hash": "again", "kept": "still", "argosy.dev/server": "https://a.example.com"})
	updated.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	a.put(updated)
	s := await(t, states, "the change", func(s State) bool {
		c, _ := s.Facts.Of("prod-eu-1")
		return c.Annotations["kept"] == "still"
	})
	if c, _ := s.Facts.Of("prod-eu-1"); len(c.Annotations) != 1 || c.Address != "https://a.example.com" || c.Server != "" {
		t.Errorf("annotations %v, address %q, server %q: responses have annotations and the server, and not the address", c.Annotations, c.Address, c.Server)
	}
	if stored := fmt.Sprint(slices.Collect(h.secrets.objects())); strings.Contains(stored, password) || !strings.Contains(stored, "still") {
		t.Errorf("stored: %s", stored)
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.accepts) < 2 {
		t.Fatalf("%d requests", len(a.accepts))
	}
	for i, accept := range a.accepts {
		if !onlyMetadata(accept) && !strings.Contains(a.paths[i], "/applications ") {
			t.Errorf("request %q accepts %q", a.paths[i], accept)
		}
		if p := a.paths[i]; p != "GET /api/v1/namespaces/argocd/secrets argocd.argoproj.io/secret-type=cluster" &&
			p != "GET /apis/argoproj.io/v1alpha1/namespaces/argocd/applications argosy.dev/cluster" {
			t.Errorf("request %q", p)
		}
	}
}

// G4: a deleted Secret loses nothing; a Secret made anew counts again.
func TestFactsOfADeletedSecretStay(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put(secret("one", nil, "tier=gold"), secret("two", nil))
	h, states := running(t, a)
	await(t, states, "the first list", synced)
	a.remove("one")
	a.put(secret("three", nil)) // comes after the removal
	s := await(t, states, "the third", knows("one", "three", "two"))
	if c, ok := s.Facts.Of("one"); !ok || c.Labels["tier"] != "gold" || c.Secret != "" {
		t.Errorf("got %+v, %v", c, ok)
	}
	if n := len(slices.Collect(h.secrets.objects())); n != 2 {
		t.Errorf("the cache holds %d: the removal has not been seen", n)
	}
	a.put(secret("one", nil, "tier=silver"))
	await(t, states, "the new one", func(s State) bool {
		c, _ := s.Facts.Of("one")
		return c.Labels["tier"] == "silver"
	})
}

// G4, G5: a failing API server changes no facts; the error is short, the same each time, and goes
// when it answers again.
func TestFailingAPIServerChangesNoFacts(t *testing.T) {
	t.Parallel() // client-go waits between attempts
	a := newAPI(t)
	a.put(secret("one", nil))
	a.fail(http.StatusForbidden)
	h, states := running(t, a)
	s := await(t, states, "the error", func(s State) bool { return s.Err != nil })
	if want := `cluster secrets in namespace "argocd": access denied; allow list and watch on secrets`; s.Err.Error() != want || s.Synced {
		t.Errorf("got %v, synced %v, want %s", s.Err, s.Synced, want)
	}
	a.fail(0)
	await(t, states, "the first list", synced)
	a.failFor(http.StatusInternalServerError, "secrets")
	a.hangUp(false)
	s = await(t, states, "the error", func(s State) bool { return s.Err != nil })
	if want := `cluster secrets in namespace "argocd": the API server answers 500`; s.Err.Error() != want || !knows("one")(s) {
		t.Errorf("got %v, %v, want %s", s.Err, s.Facts.Names(), want)
	}
	a.fail(0)
	await(t, states, "recovery", synced)
	// Changes made meanwhile are not missed.
	a.put(secret("two", nil))
	await(t, states, "the second", knows("one", "two"))
	if s := h.State(); s.Err != nil || !s.Synced {
		t.Errorf("%+v", s)
	}
}

// G5: texts do not vary with what varies in the causes.
func TestErrorTextsDoNotVary(t *testing.T) {
	t.Parallel()
	f := &follower[clusterSecret]{client: &client{resource: secrets, namespace: "argocd"}, verbs: "list and watch"}
	gr := schema.GroupResource{Resource: "secrets"}
	for want, err := range map[string]error{
		"access denied; allow list and watch on secrets":               apierrors.NewForbidden(gr, "", errors.New("at 12:00")),
		"the API server knows no such resource; is Argo CD installed?": apierrors.NewNotFound(gr, "at 12:00"),
		"the API server does not accept the credentials":               apierrors.NewUnauthorized("at 12:00"),
		"the API server's host is not found":                           &url.Error{Op: "Get", URL: "https://x", Err: &net.DNSError{Name: "x", Server: "10.0.0.1:53"}},
		"the API server's certificate is not trusted":                  &url.Error{Op: "Get", URL: "https://x", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
		"the API server does not answer in time":                       &url.Error{Op: "Get", URL: "https://x", Err: context.DeadlineExceeded},
		"the API server cannot be reached":                             &url.Error{Op: "Get", URL: "https://x", Err: &net.OpError{Op: "read", Err: errors.New("reset 127.0.0.1:51234")}},
		"the API server answers 429":                                   apierrors.NewTooManyRequests("at 12:00", 3),
		"the API server's answer cannot be used":                       errors.New("unexpected EOF at 1234"),
		"the API server cannot answer with metadata only":              &apierrors.StatusError{ErrStatus: metav1.Status{Code: 406, Reason: metav1.StatusReasonNotAcceptable}},
	} {
		if got := f.short(err, "list and watch on secrets"); got == nil || got.Error() != `cluster secrets in namespace "argocd": `+want {
			t.Errorf("%v: %v", err, got)
		}
	}
	f.changed = func() {}
	f.report(apierrors.NewResourceExpired("old"))
	if _, err := f.failure(); err != nil {
		t.Errorf("an expired resource version is an error: %v", err)
	}
}

// G5
func TestUnreachableAPIServerHasOneText(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.server.Close()
	_, states := running(t, a)
	s := await(t, states, "the error", func(s State) bool { return s.Err != nil })
	if want := `cluster secrets in namespace "argocd": the API server cannot be reached`; s.Err.Error() != want {
		t.Errorf("got %v, want %s", s.Err, want)
	}
}

// Of several Secrets for one cluster the oldest counts, whatever the order they come in; and there
// is a problem.
func TestHub_SeveralSecretsForOneCluster(t *testing.T) {
	t.Parallel()
	old := secret("z-old", map[string]string{"cluster_name": "prod"}, "which=old")
	old.CreationTimestamp = metav1.NewTime(old.CreationTimestamp.Add(-time.Hour))
	a := newAPI(t)
	a.put(secret("b", map[string]string{"cluster_name": "prod"}, "which=b"), secret("a", map[string]string{"cluster_name": "prod"}, "which=a"), secret("other", nil))
	_, states := running(t, a)
	which := func(want string) func(State) bool {
		return func(s State) bool {
			c, _ := s.Facts.Of("prod")
			return c.Labels["which"] == want
		}
	}
	s := await(t, states, "the first by name", which("a"))
	if len(s.Problems) != 1 || s.Problems[0].Error() != `cluster "prod": secret "b" claims it, as the older "a" does, which counts; expected one cluster Secret; delete one, or give it another cluster_name annotation` {
		t.Errorf("problems: %v", s.Problems)
	}
	a.put(old)
	if s := await(t, states, "the oldest", which("old")); len(s.Problems) != 2 || s.Problems[0].Reason != problem.DuplicateSecret {
		t.Errorf("problems: %v", s.Problems)
	}
	a.remove("z-old")
	a.remove("b")
	await(t, states, "what is left", func(s State) bool { return which("a")(s) && len(s.Problems) == 0 })
}

// Many changes at once are reported as few; what changes nothing is not reported.
func TestHub_ChangesAreCollected(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put(secret("one", nil))
	_, states := running(t, a)
	await(t, states, "the first list", synced)
	var all []metav1.ObjectMeta
	for i := range 500 {
		all = append(all, secret(fmt.Sprintf("c%d", i), nil))
	}
	a.put(all...)
	a.put(secret("one", nil)) // the same again
	calls := 0
	await(t, states, "all", func(s State) bool {
		calls++
		return len(s.Facts.Names()) == 501
	})
	if calls > 20 {
		t.Errorf("%d calls for 500 Secrets", calls)
	}
}

// No Secrets at all are known to be none.
func TestHub_NoSecrets(t *testing.T) {
	t.Parallel()
	_, states := running(t, newAPI(t))
	if s := await(t, states, "the first list", synced); len(s.Facts.Names()) > 0 || !s.Facts.Closed {
		t.Errorf("%v", s.Facts.Names())
	}
}

// The client libraries' word on each attempt is for debugging; their errors are errors.
func TestCaptureLogs_Quieter(t *testing.T) {
	log := &logs{}
	CaptureLogs(slog.New(slog.NewTextHandler(log, nil)))
	defer CaptureLogs(slog.New(slog.DiscardHandler))
	klog.Info("attempt")
	klog.Warning("attempt")
	klog.InfoS("attempt")
	klog.ErrorS(errors.New("b"), "failure", "a", 1)
	if got := log.String(); strings.Contains(got, "attempt") || !strings.Contains(got, `level=ERROR msg=failure err=b a=1`) {
		t.Errorf("logged %s", got)
	}
}

func TestLoadConfig(t *testing.T) {
	for _, name := range []string{"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "config")
	config := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],
		clusters: [{name: a, cluster: {server: "https://hub.example.com"}}], users: [{name: a, user: {token: t}}]}`
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	if c, err := LoadConfig(file); err != nil || c.Host != "https://hub.example.com" {
		t.Errorf("by file: %v, %v", c, err)
	}
	t.Setenv("KUBECONFIG", "")
	if _, err := LoadConfig(""); err == nil || err.Error() != "no kubernetes configuration: run in a pod, set KUBECONFIG, or use --facts none or a file" {
		t.Errorf("none: %v", err)
	}
	t.Setenv("KUBECONFIG", file)
	if c, err := LoadConfig(""); err != nil || c.BearerToken != "t" {
		t.Errorf("by variable: %v", err)
	}
	if _, err := LoadConfig(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there is taken")
	}
}

// TestFactsOfAFormerMemberGo: a cluster whose Secret and member file have gone is not known any
// more: another one of its name must not have its labels. (L1)
func TestFactsOfAFormerMemberGo(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.put(secret("one", nil, "tier=gold"), secret("two", nil))
	h, err := New(Options{Config: a.config()})
	require.NoError(t, err)
	states := start(t, h)
	await(t, states, "the first list", synced)
	a.remove("one")
	a.put(secret("three", nil))
	await(t, states, "the third", knows("one", "three", "two"))
	h.Forget(func(name string) bool { return name == "two" })
	s := await(t, states, "what is forgotten", knows("three", "two"))
	if c, registered := s.Facts.Of("one"); registered || c.Labels["tier"] != "" {
		t.Errorf("a cluster of that name would begin with %+v", c)
	}
}
