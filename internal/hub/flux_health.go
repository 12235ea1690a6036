package hub

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// fluxReport is what Flux reports about one of its objects.
type fluxReport struct {
	name, digest, sourceDigest string
	uid                        types.UID
	isFailed                   bool   // its condition Ready is false
	reason                     string // of the condition Ready
	isHandled                  bool   // Flux has carried out the current request
	isCarriedOut               bool   // and successfully, at the current generation
	revision                   string // fetched or deployed
	source                     string // the kind of its source
}

// reduceFlux returns what is stored of one of Flux's objects (helm-controller v1.4,
// api/v2/helmrelease_types.go, and kustomize-controller's and source-controller's alike).
func reduceFlux(kind string, o *object, was *live, at time.Time) live {
	ready := o.condition("Ready")
	r := &fluxReport{
		name: o.Name, uid: o.UID, digest: o.Annotations[facts.DigestAnnotation], sourceDigest: o.Annotations[facts.SourceAnnotation],
		isFailed: ready.Status == "False", reason: ready.Reason,
		isHandled: o.Status.LastHandledReconcileAt == o.Annotations[facts.RequestedAnnotation],
	}
	r.isCarriedOut = r.isHandled && ready.Status == "True" && o.Status.ObservedGeneration == o.Generation
	status := Status{Sync: "OutOfSync", Health: "Progressing"}
	switch ready.Status {
	case "True":
		status = Status{Sync: "Synced", Health: "Healthy"}
	case "False":
		status.Health = "Degraded"
	}
	switch kind {
	case helmReleases.kind:
		r.revision, r.source = o.Status.LastAttemptedRevision, o.Spec.ChartRef.Kind+o.Spec.Chart.Spec.SourceRef.Kind
		for word := range strings.FieldsSeq(ready.Message) { // it ends in CHART@VERSION
			if _, version, ok := strings.Cut(word, "@"); ok {
				status.Version = version
			}
		}
	case kustomizations.kind:
		r.revision, r.source = o.Status.LastAppliedRevision, o.Spec.SourceRef.Kind
	default:
		r.revision, r.source = o.Status.Artifact.Revision, kind
	}
	out := newLive(fluxFact(kind, o), status, r.isFailed, was, at)
	out.flux = r
	return out
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

// observed makes facts of all HelmReleases and Kustomizations with their health, sorted by name. An
// object is healthy if Flux has carried out the request that came with its digest, at this
// generation, from a revision fetched since. It stays healthy until Flux reports a failure, also
// while Flux reconciles it again. An object that is created again is another object.
func (f *Flux) observed() []facts.Application {
	fetched := map[string]string{} // revisions, by kind, name and digest
	for _, source := range f.sources {
		for o := range source.objects() {
			if o.flux.isCarriedOut {
				fetched[o.flux.source+"/"+o.flux.name+"/"+o.flux.digest] = o.flux.revision
			}
		}
	}
	healthy := map[types.UID]string{}
	var all []live
	for _, of := range []*follower[live]{f.releases, f.kustomizations} {
		for o := range of.objects() {
			r := o.flux
			was, wasHealthy := f.healthy[r.uid]
			isFetched := r.source == helmRepository || isDeployed(r.revision, fetched[r.source+"/"+r.name+"/"+r.sourceDigest])
			switch {
			case r.isFailed:
				o.fact.Degraded = r.isHandled && slices.Contains(failures, r.reason)
			case wasHealthy && was == r.digest:
				o.fact.Healthy = true
			default:
				o.fact.Healthy = r.isCarriedOut && isFetched
			}
			if o.fact.Healthy {
				healthy[r.uid] = r.digest
			}
			o.fact.Broken = o.broken
			all = append(all, o)
		}
	}
	f.healthy = healthy
	return readFlux(slices.Values(all))
}

// readFlux makes facts of all objects of our artifacts, sorted by name.
func readFlux(objects iter.Seq[live]) []facts.Application {
	var out []facts.Application
	for o := range objects {
		if o.fact.Name != "" {
			out = append(out, o.fact)
		}
	}
	slices.SortFunc(out, func(a, b facts.Application) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	return out
}

// helmRepository is the kind of a source whose charts a HelmRelease names by version: its
// generation identifies the chart.
const helmRepository = "HelmRepository"
