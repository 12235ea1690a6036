package server_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/service/server"
)

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
	if got := s.ofF("dns"); got != "prune: disabled" {
		t.Fatalf("what is to run: %s", got)
	}
	off := fluxFleet(map[string]string{"addons/tenants/retail/clusters/f/application-sets/addons.yaml": "dns: {enabled: false}\n"})
	s.say(off)
	if got := s.ofF("dns"); got != "deletion: cascade" {
		t.Fatalf("switched off: %s", got)
	}
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
	if got := s.ofF("dns"); got != "prune: disabled" {
		t.Fatalf("switched on again: %s", got)
	}
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
			if got := s.ofF("dns"); got != "deletion: orphan, suspend: true" {
				t.Fatalf("moved: %s", got)
			}
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
