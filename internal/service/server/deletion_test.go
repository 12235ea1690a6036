package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// changingFacts are facts that a test changes.
type changingFacts struct {
	mu      sync.Mutex
	set     facts.Set
	changed func()
	running chan struct{}
}

func (f *changingFacts) Current() (facts.Set, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set, true
}
func (f *changingFacts) Err() error { return nil }
func (f *changingFacts) Refresh()   {}
func (f *changingFacts) Run(ctx context.Context, changed func()) {
	f.changed = changed
	close(f.running)
	<-ctx.Done()
}

func (f *changingFacts) tell(s facts.Set) {
	<-f.running
	f.mu.Lock()
	f.set = s
	f.mu.Unlock()
	f.changed()
}

// deletionOfA is what an ApplicationSet that asks for a release of component dns is answered for
// cluster a.
func (s *service) deletionOfA(applicationSet, release string) string {
	s.Helper()
	r := s.do(s.request("POST", getparams, `{"applicationSetName":"`+applicationSet+
		`","input":{"parameters":{"view":"components","group":"addons","component":"dns","release":"`+release+`"}}}`))
	if r.code != http.StatusOK {
		s.Fatalf("%d %s", r.code, r.body)
	}
	var answer struct {
		Output struct {
			Parameters []struct{ Name, Deletion string }
		}
	}
	require.NoError(s, json.Unmarshal([]byte(r.body), &answer))
	for _, set := range answer.Output.Parameters {
		if set.Name == "a" {
			return set.Deletion
		}
	}
	return "left out"
}

// TestMovedComponentWaitsForItsOldRelease: a component that has moved is not answered to its new
// release's ApplicationSet before the old one's has let go; the ApplicationSet that controls it is
// answered with it whatever release it asks for. (D4)
func TestMovedComponentWaitsForItsOldRelease(t *testing.T) {
	dns := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "gone", Controller: "addons-gone-dns"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dns)}
	s := serving(t, func(o *server.Options) { o.Facts = known })
	for applicationSet, want := range map[string]string{"addons-default-dns": "left out", "addons-gone-dns": "orphan"} {
		assert.Equal(t, want, s.deletionOfA(applicationSet, "default"), "%s", applicationSet)
	}
	assert.Equal(t, "left out", s.deletionOfA("addons-gone-dns", "gone"), "a release that no versions file names")
	known.tell(facts.NewSet(false).WithApplications())
	s.until("it has been let go", func(refresh.Status) bool { return s.deletionOfA("addons-default-dns", "default") == "orphan" })
}

// TestDisabledComponentIsAnsweredWithCascadeFirst: a component that is switched off is answered
// with cascade until its Application has the finalizer, and then left out; nothing else tells the
// service but the facts of that Application. (D3)
func TestDisabledComponentIsAnsweredWithCascadeFirst(t *testing.T) {
	dns := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dns)}
	s := serving(t, func(o *server.Options) { o.Facts = known })
	deletion := func() string { t.Helper(); return s.deletionOfA("try", "default") }
	require.Equal(t, "orphan", deletion(), "what is to run")
	s.say(repository(map[string]string{"addons/tenants/retail/clusters/a/application-sets/addons.yaml": "dns: {enabled: false}\n"}))
	require.Equal(t, "cascade", deletion(), "switched off")
	dns.Cascade = true
	known.tell(facts.NewSet(false).WithApplications(dns))
	s.until("the finalizer has been seen", func(refresh.Status) bool { return deletion() == "left out" })
	known.tell(facts.NewSet(false).WithApplications())
	s.say(repository(nil))
	require.Equal(t, "orphan", deletion(), "switched on again")
}

// ofF is how a HelmRelease of member f is in its artifact: with which annotations and whether
// suspended; "left out".
func (s *service) ofF(component string) string {
	s.Helper()
	files, _ := s.pulled("flux/hub-1/f", "latest")
	text, is := files["components/"+component+"-f.yaml"]
	if !is {
		return "left out"
	}
	var out []string
	for _, word := range []string{"prune: disabled", "deletion: cascade", "deletion: orphan", "suspend: true"} {
		if strings.Contains(text, word) {
			out = append(out, word)
		}
	}
	return strings.Join(out, ", ")
}

// TestDisabledHelmReleaseStaysUntilItIsMarked: a component that is switched off stays in the
// artifact, to be removed, until its HelmRelease says so; nothing else tells the service but the
// facts of that HelmRelease. What there is not is not made. (D3)
func TestDisabledHelmReleaseStaysUntilItIsMarked(t *testing.T) {
	dns := facts.Application{Name: "dns-f", Cluster: "f", Group: "addons", Component: "dns", Owner: "hub-1/f"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithHelmReleases(dns)}
	s := start(t, func(o *server.Options) { o.Facts = known })
	s.say(fluxFleet(nil))
	require.Equal(t, "prune: disabled", s.ofF("dns"), "what is to run")
	off := fluxFleet(map[string]string{"addons/tenants/retail/clusters/f/application-sets/addons.yaml": "dns: {enabled: false}\n"})
	s.say(off)
	require.Equal(t, "deletion: cascade", s.ofF("dns"), "switched off")
	dns.Cascade = true
	known.tell(facts.NewSet(false).WithHelmReleases(dns))
	s.until("the mark has been seen", func(refresh.Status) bool { return s.ofF("dns") == "left out" })
	_, before := s.pulled("flux/hub-1/f", "latest")
	known.tell(facts.NewSet(false).WithHelmReleases())
	s.say(fluxFleet(map[string]string{
		"addons/tenants/retail/clusters/f/application-sets/addons.yaml": "dns: {enabled: false}\n", "README.md": "x",
	}))
	if files, after := s.pulled("flux/hub-1/f", "latest"); after != before {
		t.Errorf("that it is gone makes another artifact: %v", files)
	}
	s.say(fluxFleet(nil))
	require.Equal(t, "prune: disabled", s.ofF("dns"), "switched on again")
}

// TestMovedHelmReleaseIsSuspendedFirst: what the hub takes over is suspended until its HelmRelease
// says so, and then left out; when the member has no Flux any more, too. After that there is no
// artifact, and Flux keeps the last one. (D4)
func TestMovedHelmReleaseIsSuspendedFirst(t *testing.T) {
	for name, keys := range map[string]string{
		"the group":  "use_remote_argo: true\nremote_engine: flux\n",
		"the engine": "use_remote_argo: true\nenable_remote_addons: true\n",
		"the model":  "",
	} {
		t.Run(name, func(t *testing.T) {
			dns := facts.Application{Name: "dns-f", Cluster: "f", Group: "addons", Component: "dns", Owner: "hub-1/f"}
			known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithHelmReleases(dns)}
			s := start(t, func(o *server.Options) { o.Facts = known })
			s.say(fluxFleet(map[string]string{fileF: "clusterName: f\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: hub-1/f\n" + keys}))
			require.Equal(t, "deletion: orphan, suspend: true", s.ofF("dns"), "moved")
			dns.Suspended = true
			known.tell(facts.NewSet(false).WithHelmReleases(dns))
			s.until("the mark has been seen", func(refresh.Status) bool { return s.ofF("dns") == "left out" })
			known.tell(facts.NewSet(false).WithHelmReleases())
			s.until("the state without it", func(refresh.Status) bool {
				had, _ := flux.OwnedBy(s.Refresher().State(), "hub-1", "f")
				return len(had.Components) == 0 && (name == "the group") == (had.Owner == "f")
			})
			code := s.get("/v2/flux/hub-1/f/manifests/latest").code
			if want := map[bool]int{true: 200, false: 404}[name == "the group"]; code != want {
				t.Errorf("status %d, want %d", code, want)
			}
		})
	}
}
