package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// What TestAgents looks at on the member that runs Flux.

// fluxAllReady waits until the HelmReleases of all components that the Flux member owns are ready. One whose chart needs
// another's definitions fails until those are there, and is tried again after two minutes: this has it tried again as soon
// as the others are ready.
func (a *agents) fluxAllReady(t *testing.T) {
	t.Helper()
	_, own := a.parts(t, fluxMember)
	asked := false
	a.within(t, 4*patience, "all HelmReleases of "+fluxMember+" ready", func() string {
		var pending, failed []string
		for _, name := range slices.Sorted(maps.Keys(own)) {
			o := a.ledger.get(fluxMember, "HelmRelease", name)
			state := "there is none"
			if o != nil {
				state = fluxReady(o)
			}
			if state == "" {
				continue
			}
			pending = append(pending, name+": "+state)
			if strings.HasPrefix(state, "InstallFailed") {
				failed = append(failed, name)
			}
		}
		if !asked && len(failed) > 0 && len(failed) == len(pending) {
			asked = true
			t.Logf("tried again: %v", pending)
			for _, name := range failed {
				must(t, a.flux.Flux.Reconcile(t.Context(), flux.HelmReleases, flux.Namespace, name))
			}
		}
		return strings.Join(pending, "\n")
	})
}

// fluxTimings notes when the Flux member's components became ready, as their HelmReleases say, to the second.
func (a *agents) fluxTimings(t *testing.T, began time.Time) {
	t.Helper()
	_, own := a.parts(t, fluxMember)
	var first, last time.Time
	for name := range own {
		since, _ := fluxCondition(a.ledger.get(fluxMember, "HelmRelease", name), "Ready")["lastTransitionTime"].(string)
		at, err := time.Parse(time.RFC3339, since)
		must(t, err)
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	a.timings = append(a.timings,
		timing{"agents", fluxMember + ": push to its first HelmRelease ready", first.Sub(began)},
		timing{"agents", fmt.Sprintf("%s: push to all %d HelmReleases ready", fluxMember, len(own)), last.Sub(began)})
}

// fluxOwned fails where a component of the Flux member has not exactly one owner, the hub's Argo CD or the member's Flux,
// where it does not run with the values that were computed, or where the member's service computes otherwise than the
// hub's (M1).
func (a *agents) fluxOwned(t *testing.T) {
	t.Helper()
	a.fluxAllReady(t)
	hubs, own := a.parts(t, fluxMember)
	if len(hubs) == 0 || len(own) == 0 {
		t.Errorf("%s: %d components of the hub and %d of its own; expected some of each", fluxMember, len(hubs), len(own))
	}
	if differ := different(hub.Name, hubs, a.of(hub.Name, fluxMember)); differ != "" {
		t.Error(differ)
	}
	releases := a.ledger.all(fluxMember, "HelmRelease")
	delete(releases, fluxService) // charts/agent-flux
	if differ := different(fluxMember, own, releases); differ != "" {
		t.Error(differ)
	}
	for _, components := range []map[string]set{hubs, own} {
		for _, s := range components {
			a.runsWell(t, s)
		}
	}
	if there, here := a.artifact(t, a.flux.Plugin), a.artifact(t, a.Plugin); there != here {
		t.Errorf("the member's service offers the artifact %s; the hub's computes %s of the same commit", there, here)
	}
}

// artifact is the digest of the Flux member's artifact as a service offers it, of the last commit.
func (a *agents) artifact(t *testing.T, p *plugin.Plugin) string {
	t.Helper()
	head, err := a.Fleet.Head(t.Context())
	must(t, err)
	digest := ""
	a.eventually(t, "the artifact of the last commit", func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, fmt.Sprintf("%s/v2/flux/%s/%s/manifests/latest", p.URL, hub.Name, fluxMember), http.NoBody)
		must(t, err)
		token, err := p.Token()
		must(t, err)
		request.SetBasicAuth("flux", token)
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		must(t, response.Body.Close())
		digest = response.Header.Get("Docker-Content-Digest")
		if revision := response.Header.Get("X-Argosy-Revision"); response.StatusCode != http.StatusOK || revision != head {
			return fmt.Sprintf("%s of %s", response.Status, revision)
		}
		return ""
	})
	return digest
}

// fluxCredentials: of each Git repository that the Flux member reads, its Flux and its service alike, there is a credential on
// the member.
func (a *agents) fluxCredentials(t *testing.T) {
	sources, err := a.flux.Kube.List(t.Context(), flux.GitRepositories, flux.Namespace, "")
	must(t, err)
	if len(sources) < 2 {
		t.Errorf("the member reads %d Git repositories; expected that of charts/generator-plugin and those of charts in Git", len(sources))
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		secret, _, _ := unstructured.NestedString(sources[name].Object, "spec", "secretRef", "name")
		t.Logf("GitRepository %s: Secret %q", name, secret)
	}
}
