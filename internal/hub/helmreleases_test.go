package hub

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// release is a HelmRelease's metadata, labelled as one of the artifact hub-eu/one; annotations are
// key=value.
func release(name string, labels []string, annotations ...string) metav1.ObjectMeta {
	m := app(name, []string{"finalizers.fluxcd.io"}, append([]string{"hub=hub-eu", "owner=one", "cluster=one"}, labels...)...)
	m.Namespace, m.Annotations = "flux-system", map[string]string{"kustomize.toolkit.fluxcd.io/substitute": "disabled"}
	for _, a := range annotations {
		k, v, _ := strings.Cut(a, "=")
		m.Annotations[k] = v
	}
	return m
}

const (
	protected = "kustomize.toolkit.fluxcd.io/prune=disabled"
	cascades  = "argosy.dev/deletion=cascade"
	orphans   = "argosy.dev/deletion=orphan"
)

// watching runs a Flux on an API server until the test ends.
func watching(t *testing.T, a *api, log *slog.Logger) (*Flux, <-chan FluxState) {
	t.Helper()
	f, err := NewFlux(Options{Config: a.config(), Namespace: "flux-system", Log: log})
	require.NoError(t, err)
	if s := f.State(); s.Synced || s.Known || s.Err != nil {
		t.Errorf("before the first list: %+v", s)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	states := make(chan FluxState, 1000)
	go func() {
		defer close(ran)
		f.Run(ctx, func() { states <- f.State() })
	}()
	t.Cleanup(func() {
		cancel()
		<-ran
	})
	return f, states
}

// becomes waits for a state that is as wanted, and returns how many came before.
func becomes(t *testing.T, states <-chan FluxState, what string, wanted func(FluxState) bool) (s FluxState, before int) {
	t.Helper()
	for end := time.After(deadline); ; before++ {
		select {
		case s := <-states:
			if wanted(s) {
				return s, before
			}
		case <-end:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// releases waits for exactly these HelmReleases.
func releases(want ...facts.Application) func(FluxState) bool {
	return func(s FluxState) bool {
		return s.Synced && s.Known && s.Err == nil && cmp.Equal(append([]facts.Application{}, want...), slices.Concat([]facts.Application{}, s.HelmReleases))
	}
}

// What labels and annotations of HelmReleases say. A mark counts once kustomize-controller
// may delete it, too.
func TestFlux_FactsOfHelmReleases(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	dns := []string{"group=addons", "component=dns", "release=canary"}
	withoutOwner := release("by-hand", nil)
	delete(withoutOwner.Labels, "argosy.dev/hub")
	a.write("helmreleases",
		release("dns-one", dns, protected),
		release("marked-one", nil, cascades),
		release("half-one", nil, cascades, protected),
		release("letgo-one", nil, orphans),
		release("other-one", nil, "argosy.dev/deletion=later"),
		release("foreign", []string{"cluster="}),
		withoutOwner,
	)
	_, states := watching(t, a, nil)
	one := func(name string) facts.Application {
		return facts.Application{Name: name, Cluster: "one", Owner: "hub-eu/one"}
	}
	is := one("dns-one")
	is.Group, is.Component, is.Release = "addons", "dns", "canary"
	marked, letgo := one("marked-one"), one("letgo-one")
	marked.Cascade, letgo.Suspended = true, true
	rest := []facts.Application{one("half-one"), letgo, marked, one("other-one")}
	becomes(t, states, "the first list", releases(append([]facts.Application{is}, rest...)...))

	a.write("helmreleases", release("dns-one", dns, cascades))
	is.Cascade = true
	becomes(t, states, "the mark", releases(append([]facts.Application{is}, rest...)...))
	a.removeFrom("helmreleases", "dns-one")
	becomes(t, states, "what is left", releases(rest...))
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, path := range a.paths {
		asked := strings.TrimSuffix(path, " argosy.dev/owner")
		resource := asked[strings.LastIndex(asked, "/")+1:]
		if of := kinds[resource]; path != "GET /apis/"+of[0]+"/namespaces/flux-system/"+resource+" argosy.dev/owner" {
			t.Errorf("asked %s", path)
		}
	}
}

func onlyMetadata(accept string) bool {
	return strings.HasPrefix(accept, "application/json;as=PartialObjectMetadata") && !strings.Contains(accept, ",")
}

// Kustomizations are facts beside HelmReleases, of the same names even, and say the same
// of their end.
func TestFlux_Kustomizations(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.write("helmreleases", release("dns-one", nil, protected), release("zone-one", nil, protected))
	a.write("kustomizations", release("dns-one", nil, protected), release("quotas-one", nil, cascades), release("kept-one", nil, orphans))
	_, states := watching(t, a, nil)
	of := func(kind, name string) facts.Application {
		return facts.Application{Name: name, Kind: kind, Cluster: "one", Owner: "hub-eu/one"}
	}
	dns, zone, same := of("", "dns-one"), of("", "zone-one"), of(facts.Kustomization, "dns-one")
	goes, kept := of(facts.Kustomization, "quotas-one"), of(facts.Kustomization, "kept-one")
	goes.Cascade, kept.Suspended = true, true
	becomes(t, states, "both kinds", releases(dns, same, kept, goes, zone))
	a.removeFrom("kustomizations", "quotas-one")
	becomes(t, states, "what is left", releases(dns, same, kept, zone))
}

// Half of what there is is not taken for all of it. Where Kustomizations cannot
// be asked for at present, nothing is known; where they may not be, or do not exist, HelmReleases
// are all; once they may, they are known, too.
func TestFlux_KustomizationsUnknown(t *testing.T) {
	t.Parallel()
	x := facts.Application{Name: "x", Cluster: "one", Owner: "hub-eu/one"}
	y := facts.Application{Name: "y", Kind: facts.Kustomization, Cluster: "one", Owner: "hub-eu/one"}
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel() // client-go waits between attempts
			a := newAPI(t)
			a.write("helmreleases", release("x", nil))
			a.write("kustomizations", release("y", nil))
			a.failFor(status, "kustomizations")
			_, states := watching(t, a, nil)
			if status == http.StatusInternalServerError {
				if s, _ := becomes(t, states, "the error", func(s FluxState) bool { return s.Err != nil }); s.Known || s.Synced {
					t.Errorf("%+v", s)
				}
			} else {
				becomes(t, states, "the HelmReleases", releases(x))
			}
			a.failFor(0, "kustomizations")
			becomes(t, states, "all", releases(x, y))
		})
	}
}

// Flux writes a HelmRelease's status all the time; that is not reported.
func TestFlux_StatusIsNotTold(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	a.write("helmreleases", release("x", nil, protected))
	_, states := watching(t, a, nil)
	x, y := facts.Application{Name: "x", Cluster: "one", Owner: "hub-eu/one"}, facts.Application{Name: "y", Cluster: "one", Owner: "hub-eu/one"}
	becomes(t, states, "the first list", releases(x))
	for range 50 {
		a.write("helmreleases", release("x", nil, protected, "reconcile.fluxcd.io/requestedAt=now"))
	}
	a.write("helmreleases", release("y", nil, protected))
	if _, before := becomes(t, states, "the next", releases(x, y)); before > 0 {
		t.Errorf("%d changes were reported of a status", before)
	}
}

// Where HelmReleases may not be asked for, or do not exist, they are unknown, which is no
// failure; once they may, they are known.
func TestFlux_Unknown(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusForbidden: "access denied; allow list and watch on helmreleases.helm.toolkit.fluxcd.io",
		http.StatusNotFound:  "the API server knows no such resource; is Flux installed?",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			a := newAPI(t)
			a.write("helmreleases", release("x", nil))
			a.failFor(status, "helmreleases")
			log := &logs{}
			_, states := watching(t, a, slog.New(slog.NewTextHandler(log, nil)))
			if s, _ := becomes(t, states, "the answer", func(s FluxState) bool { return s.Synced }); s.Known || s.Err != nil {
				t.Errorf("%+v", s)
			}
			a.failFor(0, "helmreleases")
			becomes(t, states, "them", releases(facts.Application{Name: "x", Cluster: "one", Owner: "hub-eu/one"}))
			if n := strings.Count(log.String(), `HelmReleases in namespace \"flux-system\": `+want); n != 1 {
				t.Errorf("logged %d times:\n%s", n, log)
			}
		})
	}
}

// G4: nothing is known before the first list; once known, HelmReleases stay known,
// whatever the API server says later.
func TestHelmReleasesStayKnown(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel() // client-go waits between attempts
			a := newAPI(t)
			a.write("helmreleases", release("x", nil))
			a.failFor(http.StatusInternalServerError, "helmreleases")
			f, states := watching(t, a, nil)
			s, _ := becomes(t, states, "the error", func(s FluxState) bool { return s.Err != nil })
			if want := `HelmReleases in namespace "flux-system": the API server answers 500`; s.Synced || s.Known || s.Err.Error() != want {
				t.Errorf("%+v", s)
			}
			a.failFor(0, "helmreleases")
			x := facts.Application{Name: "x", Cluster: "one", Owner: "hub-eu/one"}
			becomes(t, states, "the first list", releases(x))
			a.failFor(status, "helmreleases")
			a.hangUp(false)
			becomes(t, states, "the error", func(s FluxState) bool { return s.Err != nil })
			if s := f.State(); !s.Synced || !s.Known || len(s.HelmReleases) != 1 || s.HelmReleases[0] != x {
				t.Errorf("%+v", s)
			}
		})
	}
}
