package hub

import (
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// carriedOut is the status of an object that Flux has reconciled as asked for, at generation 1.
func carriedOut(handled, ready, reason string, more map[string]any) map[string]any {
	out := map[string]any{
		"observedGeneration": 1, "lastHandledReconcileAt": handled,
		"conditions": []any{map[string]any{"type": "Ready", "status": ready, "reason": reason}},
	}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// flux writes one of Flux's objects at a digest, which is its source's, too.
func (a *api) flux(resource, name, digest string, spec, status map[string]any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := release(name, nil, facts.DigestAnnotation+"="+digest, facts.RequestedAnnotation+"="+digest, facts.SourceAnnotation+"="+digest)
	m.Generation, m.UID = 1, types.UID(resource+name)
	a.set(resource, thing{m, spec, status})
	a.changed.Broadcast()
}

// TestFluxIsHealthyAtItsDigest: what Flux reports counts once it has carried out the request that
// came with the digest, from what its source has fetched since; and what it has reported stays
// until it fails, of which the moment is a fact. (G8)
func TestFluxIsHealthyAtItsDigest(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	folder := map[string]any{"sourceRef": map[string]any{"kind": "GitRepository", "name": "crds-one"}}
	chart := map[string]any{"chart": map[string]any{"spec": map[string]any{"sourceRef": map[string]any{"kind": "HelmRepository"}}}}
	inGit := map[string]any{"chart": map[string]any{"spec": map[string]any{"sourceRef": map[string]any{"kind": "GitRepository"}}}}
	const before, after = "main@sha1:0123456789abcdef", "main@sha1:fedcba9876543210"
	fetched := func(revision string) map[string]any {
		return map[string]any{"artifact": map[string]any{"revision": revision}}
	}
	_, states := watching(t, a, nil)
	is := func(what, kind, name string, wanted func(facts.Application) bool) {
		t.Helper()
		becomes(t, states, what, func(s FluxState) bool {
			i := slices.IndexFunc(s.HelmReleases, func(r facts.Application) bool { return r.Name == name && r.Kind == kind })
			return i >= 0 && wanted(s.HelmReleases[i])
		})
	}
	at := func(digest string, healthy, degraded bool) func(facts.Application) bool {
		return func(r facts.Application) bool {
			return r.Digest == digest && r.Healthy == healthy && r.Degraded == degraded
		}
	}

	a.flux("helmreleases", "dns-one", "one", chart, carriedOut("one", "True", "", nil))
	is("healthy", "", "dns-one", at("one", true, false))
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("one", "True", "", nil))
	is("green from before", "", "dns-one", at("two", false, false))
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("two", "False", "DependencyNotReady", nil))
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("two", "True", "", nil))
	is("healthy at it", "", "dns-one", func(r facts.Application) bool { return at("two", true, false)(r) && r.Broken > 0 })
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("two", "Unknown", "Progressing", nil)) // the interval is over
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("two", "False", "UpgradeFailed", nil))
	is("degraded", "", "dns-one", at("two", false, true))

	a.flux("gitrepositories", "crds-one", "one", nil, carriedOut("one", "True", "", fetched(before)))
	a.flux("kustomizations", "crds-one", "one", folder, carriedOut("one", "True", "", map[string]any{"lastAppliedRevision": before}))
	is("applied", facts.Kustomization, "crds-one", at("one", true, false))
	a.flux("gitrepositories", "crds-one", "two", nil, carriedOut("one", "True", "", fetched(before)))
	a.flux("kustomizations", "crds-one", "two", folder, carriedOut("two", "True", "", map[string]any{"lastAppliedRevision": before}))
	is("applied from before", facts.Kustomization, "crds-one", at("two", false, false))
	a.flux("gitrepositories", "crds-one", "two", nil, carriedOut("two", "True", "", fetched(after)))
	a.flux("kustomizations", "crds-one", "two", folder, carriedOut("two", "True", "", map[string]any{"lastAppliedRevision": after}))
	is("applied anew", facts.Kustomization, "crds-one", at("two", true, false))

	a.flux("gitrepositories", "app-one", "one", nil, carriedOut("one", "True", "", fetched(after)))
	a.flux("helmreleases", "app-one", "one", inGit, carriedOut("one", "True", "", map[string]any{"lastAttemptedRevision": "1.0.0+0123456789ab"}))
	is("another commit's chart", "", "app-one", at("one", false, false))
	a.flux("helmreleases", "app-one", "one", inGit, carriedOut("one", "True", "", map[string]any{"lastAttemptedRevision": "1.0.0+fedcba987654"}))
	is("this commit's chart", "", "app-one", at("one", true, false))
}

// TestObjectMadeAnewIsNotHealthyYet: a HelmRelease that was deleted and made anew while nobody
// looked has the digest of before, and nothing has been installed for it yet. (G8)
func TestObjectMadeAnewIsNotHealthyYet(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	chart := map[string]any{"chart": map[string]any{"spec": map[string]any{"sourceRef": map[string]any{"kind": "HelmRepository"}}}}
	_, states := watching(t, a, nil)
	first := func(isHealthy bool) func(FluxState) bool {
		return func(s FluxState) bool { return len(s.HelmReleases) == 2 && s.HelmReleases[1].Healthy == isHealthy }
	}
	a.flux("helmreleases", "dns-one", "one", chart, carriedOut("one", "True", "", nil))
	a.flux("helmreleases", "web-one", "one", chart, carriedOut("one", "True", "", nil))
	becomes(t, states, "healthy", first(true))
	a.mu.Lock()
	m := release("web-one", nil, facts.DigestAnnotation+"=one", facts.RequestedAnnotation+"=one", facts.SourceAnnotation+"=one")
	m.Generation, m.UID = 1, "another"
	a.set("helmreleases", thing{m, chart, nil})
	a.changed.Broadcast()
	a.mu.Unlock()
	a.flux("helmreleases", "dns-one", "two", chart, carriedOut("two", "True", "", nil)) // another change
	becomes(t, states, "made anew", func(s FluxState) bool { return first(false)(s) && s.HelmReleases[0].Digest == "two" })
}

// TestFluxIsNotHealthyWhileNobodyCanLook: what was seen last is no evidence while the API server
// does not answer, and is again when it does. (G8)
func TestFluxIsNotHealthyWhileNobodyCanLook(t *testing.T) {
	t.Parallel()
	chart := map[string]any{"chart": map[string]any{"spec": map[string]any{"sourceRef": map[string]any{"kind": "HelmRepository"}}}}
	for _, resource := range []string{"helmreleases", "kustomizations"} {
		a := newAPI(t)
		_, states := watching(t, a, nil)
		is := func(isHealthy, isKnown bool) func(FluxState) bool {
			return func(s FluxState) bool {
				return len(s.HelmReleases) == 1 && s.HelmReleases[0].Healthy == isHealthy && (s.Err == nil) == isKnown
			}
		}
		a.flux("helmreleases", "dns-one", "one", chart, carriedOut("one", "True", "", nil))
		becomes(t, states, "healthy", is(true, true))
		a.failFor(http.StatusInternalServerError, resource)
		a.hangUp(false)
		becomes(t, states, "no evidence", is(false, false))
		a.failFor(0, resource)
		becomes(t, states, "healthy again", is(true, true))
	}
}
