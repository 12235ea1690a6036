package hub

import (
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// The annotations in which trimFlux keeps the status of one of Flux's objects.
const (
	// fluxReady is the status of its condition Ready, and fluxReason the reason.
	fluxReady, fluxReason = "ready", "reason"
	// fluxHandled says that Flux has carried out the current request, and fluxObserved that the
	// status is about the current generation.
	fluxHandled, fluxObserved = "handled", "observed"
	// fluxRevision is the fetched or deployed revision. fluxSource is the kind of its source.
	fluxRevision, fluxSource = "revision", "source"
)

// trimFlux keeps the metadata of one of Flux's objects that facts need, and its status as
// annotations.
func trimFlux(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil // a tombstone, or trimmed already
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(u.Object, fields...)
		return value
	}
	trimmed, err := trimHelmRelease(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Labels: u.GetLabels(), Annotations: u.GetAnnotations(),
	}})
	m, ok := trimmed.(*metav1.PartialObjectMetadata)
	if !ok {
		return trimmed, err
	}
	if text("status", "lastHandledReconcileAt") == u.GetAnnotations()[facts.RequestedAnnotation] {
		m.Annotations[fluxHandled] = "true"
	}
	if seen, _, _ := unstructured.NestedInt64(u.Object, "status", "observedGeneration"); seen == u.GetGeneration() {
		m.Annotations[fluxObserved] = "true"
	}
	all, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range all {
		if c, is := c.(map[string]any); is && c["type"] == "Ready" {
			m.Annotations[fluxReady], _ = c["status"].(string)
			m.Annotations[fluxReason], _ = c["reason"].(string)
		}
	}
	switch u.GetKind() {
	case "HelmRelease":
		m.Annotations[fluxRevision] = text("status", "lastAttemptedRevision")
		m.Annotations[fluxSource] = text("spec", "chartRef", "kind") + text("spec", "chart", "spec", "sourceRef", "kind")
	case facts.Kustomization:
		m.Annotations[fluxRevision], m.Annotations[fluxSource] = text("status", "lastAppliedRevision"), text("spec", "sourceRef", "kind")
	default:
		m.Annotations[fluxRevision], m.Annotations[fluxSource] = text("status", "artifact", "revision"), u.GetKind()
	}
	return m, err
}

// breaks records when objects were last seen to fail or to recover, in milliseconds since 1970.
// Facts are collected for a moment, and would show only the last state.
type breaks struct {
	mu sync.Mutex
	at map[types.UID]int64
}

// note records a change of an object. It returns false, as followed.same, so that the change
// counts.
func (b *breaks) note(old, updated any) bool {
	was, _ := old.(*metav1.PartialObjectMetadata)
	is, ok := updated.(*metav1.PartialObjectMetadata)
	if ok && was != nil && (was.Annotations[fluxReady] == "False") != (is.Annotations[fluxReady] == "False") {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.at[is.UID] = time.Now().UnixMilli()
	}
	return false
}

// failures are the reasons of a condition Ready that is false because of what is deployed. Others,
// such as a dependency that is not ready yet, pass (helm-controller v1.6.4,
// api/v2/condition_types.go; fluxcd/pkg/apis/meta, conditions.go).
var failures = []string{"InstallFailed", "UpgradeFailed", "TestFailed", "RollbackFailed", "BuildFailed", "HealthCheckFailed", "PruneFailed", "ReconciliationFailed"}

// isDeployed reports whether a HelmRelease or Kustomization has its source's revision: a chart's
// version ends in the first twelve digits of it (helm-controller v1.6.4,
// mutateChartWithSourceRevision; source-controller v1.9.4, helmchart_controller.go).
func isDeployed(revision, source string) bool {
	if revision == source {
		return source != ""
	}
	_, sum, _ := strings.Cut(source, ":")
	_, build, _ := strings.Cut(revision, "+")
	return len(sum) >= 12 && strings.HasPrefix(build, sum[:12])
}

// observed makes facts of all HelmReleases and Kustomizations with their health. An object is
// healthy if Flux has carried out the request that came with its digest, at this generation, from a
// revision fetched since. It stays healthy until Flux reports a failure, also while Flux reconciles
// it again. An object that is created again is another object.
func (f *Flux) observed() []facts.Application {
	fetched := map[string]string{} // revisions, by kind, name and digest
	for _, source := range f.sources {
		for _, o := range source.objects() {
			if m, is := o.(*metav1.PartialObjectMetadata); is && isCarriedOut(m) {
				fetched[m.Annotations[fluxSource]+"/"+m.Name+"/"+m.Annotations[facts.DigestAnnotation]] = m.Annotations[fluxRevision]
			}
		}
	}
	healthy := map[types.UID]string{}
	f.breaks.mu.Lock()
	defer f.breaks.mu.Unlock()
	at := map[types.UID]int64{}
	var out []facts.Application
	for kind, of := range map[string]*follower{"": f.releases, facts.Kustomization: f.kustomizations} {
		for _, o := range of.objects() {
			a := fluxObject(kind, o)
			m, is := o.(*metav1.PartialObjectMetadata)
			if a.Name == "" || !is {
				continue
			}
			if a.Broken = f.breaks.at[m.UID]; a.Broken > 0 {
				at[m.UID] = a.Broken
			}
			was, wasHealthy := f.healthy[m.UID]
			source := m.Annotations[fluxSource]
			isFetched := source == helmRepository || isDeployed(m.Annotations[fluxRevision], fetched[source+"/"+a.Name+"/"+m.Annotations[facts.SourceAnnotation]])
			switch {
			case m.Annotations[fluxReady] == "False":
				a.Degraded = m.Annotations[fluxHandled] != "" && slices.Contains(failures, m.Annotations[fluxReason])
			case wasHealthy && was == a.Digest:
				a.Healthy = true
			default:
				a.Healthy = isCarriedOut(m) && isFetched
			}
			if a.Healthy {
				healthy[m.UID] = a.Digest
			}
			out = append(out, a)
		}
	}
	f.breaks.at, f.healthy = at, healthy
	return out
}

// helmRepository is the kind of a source whose charts a HelmRelease names by version: its
// generation identifies the chart.
const helmRepository = "HelmRepository"

// isCarriedOut reports whether Flux has carried out an object's current request.
func isCarriedOut(m *metav1.PartialObjectMetadata) bool {
	return m.Annotations[fluxReady] == "True" && m.Annotations[fluxHandled] != "" && m.Annotations[fluxObserved] != ""
}
