package e2e

import (
	"encoding/base64"
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
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/plugin"
)

// What TestAgents looks at on the member that runs Flux.

// fluxAllReady waits until the HelmReleases of all components that the Flux member owns are ready.
// One whose chart needs another's definitions fails until those are there, and is tried again after
// half a minute.
func (a *agents) fluxAllReady(t *testing.T, own map[string]set) {
	t.Helper()
	a.within(t, 4*patience, "all HelmReleases of "+fluxMember+" ready", func() string {
		var pending []string
		for _, name := range slices.Sorted(maps.Keys(own)) {
			o := a.ledger.get(fluxMember, "HelmRelease", name)
			if o == nil {
				pending = append(pending, name+": there is none")
			} else if state := fluxReady(o); state != "" {
				pending = append(pending, name+": "+state)
			}
		}
		return strings.Join(pending, "\n")
	})
}

// fluxTimings notes when the Flux member's components became ready, as their HelmReleases say, to
// the second.
func (a *agents) fluxTimings(t *testing.T, own map[string]set, began time.Time) {
	t.Helper()
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

// fluxOwned fails where a component of the Flux member has not exactly one owner, the hub's Argo CD
// or the member's Flux, where it does not run with the values that were computed, or where the
// member's service computes otherwise than the hub's (M1).
func (a *agents) fluxOwned(t *testing.T) {
	t.Helper()
	hubs, own := a.parts(t, fluxMember)
	a.fluxAllReady(t, own)
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

// fluxCredentials: of each Git repository that the Flux member reads there is a credential on the
// member, which its hub has pushed there: it has no External Secrets.
func (a *agents) fluxCredentials(t *testing.T) {
	sources, err := a.flux.Kube.List(t.Context(), flux.GitRepositories, flux.Namespace, "")
	must(t, err)
	if len(sources) < 2 {
		t.Errorf("the member reads %d Git repositories; expected that of charts/generator-plugin and those of charts in Git", len(sources))
	}
	secrets, err := a.flux.Kube.List(t.Context(), kube.Secrets, flux.Namespace, "")
	must(t, err)
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		secret, _, _ := unstructured.NestedString(sources[name].Object, "spec", "secretRef", "name")
		a.reads(t, "GitRepository "+name, secret, secrets[secret])
	}
	volumes, _, err := unstructured.NestedSlice(a.ledger.get(fluxMember, "Deployment", fluxService).Object, "spec", "template", "spec", "volumes")
	must(t, err)
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if secret, _, _ := unstructured.NestedString(volume, "secret", "secretName"); volume["name"] == "git" {
			a.reads(t, "the service", secret, secrets[secret])
			return
		}
	}
	t.Error("the member's service has no credential of the fleet's repository")
}

// reads fails where a reader's Secret is not what the hub's store holds of the fleet's repository.
func (a *agents) reads(t *testing.T, reader, name string, secret *unstructured.Unstructured) {
	t.Helper()
	if secret == nil {
		t.Errorf("%s reads with the Secret %q, which is not there", reader, name)
		return
	}
	for key, want := range map[string]string{"url": a.Git.URL(hub.Repository), "username": "reader", "password": "pushed by the hub"} {
		encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
		if got, err := base64.StdEncoding.DecodeString(encoded); err != nil || string(got) != want {
			t.Errorf("%s reads with the Secret %s: %s is %q (%v); expected %q", reader, name, key, got, err, want)
		}
	}
}
