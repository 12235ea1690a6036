package hub

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

var (
	helmReleases    = fluxResource("helm.toolkit.fluxcd.io", "v2", "helmreleases", "HelmRelease", "HelmReleases")
	kustomizations  = fluxResource("kustomize.toolkit.fluxcd.io", "v1", "kustomizations", facts.Kustomization, "Kustomizations")
	gitRepositories = fluxResource("source.toolkit.fluxcd.io", "v1", "gitrepositories", "GitRepository", "GitRepositories")
	ociRepositories = fluxResource("source.toolkit.fluxcd.io", "v1", "ocirepositories", "OCIRepository", "OCIRepositories")
)

func fluxResource(group, version, plural, kind, what string) resource {
	return resource{GroupVersion: schema.GroupVersion{Group: group, Version: version}, plural: plural, kind: kind, what: what, of: "Flux"}
}

// FluxState is a snapshot of Flux's objects at one time.
type FluxState struct {
	// HelmReleases are the HelmReleases and Kustomizations of our artifacts, sorted by name, with
	// their health. Known reports that the list is complete, except for Kustomizations without the
	// permission for them.
	HelmReleases []facts.Application
	Known        bool
	// Synced reports that the first lists are complete or forbidden. Callers must not act before.
	Synced bool
	// Err is why the API server does not answer now, nil if it does.
	Err error
}

// Flux watches the HelmReleases and Kustomizations of one namespace.
type Flux struct {
	releases, kustomizations *follower[live]
	sources                  []*follower[live] // of charts and folders: only health depends on them
	dirty                    run.Trigger
	state                    atomic.Pointer[FluxState]
	healthy                  map[types.UID]string // digests of healthy objects; belongs to Run
}

// NewFlux watches the namespace of Flux's objects, which is required. It sends no request before
// Run.
func NewFlux(o Options) (*Flux, error) {
	f := &Flux{dirty: run.NewTrigger()}
	f.state.Store(&FluxState{})
	var all [4]*follower[live]
	for i, r := range []resource{helmReleases, kustomizations, gitRepositories, ociRepositories} {
		var err error
		if all[i], err = followFlux(r)(o); err != nil {
			return nil, err
		}
		all[i].changed = f.dirty.Fire
	}
	f.releases, f.kustomizations, f.sources = all[0], all[1], all[2:]
	return f, nil
}

// Statuses returns the statuses of the HelmReleases and Kustomizations. Run keeps them up to date.
func (f *Flux) Statuses() *Statuses {
	return &Statuses{[]*follower[live]{f.releases, f.kustomizations}}
}

// followFlux returns a function that watches the objects of our artifacts of one kind.
func followFlux(r resource) func(Options) (*follower[live], error) {
	return func(o Options) (*follower[live], error) {
		return follow(o, r, facts.OwnerLabel, func(o *object, was *live, at time.Time) live {
			return reduceFlux(r.kind, o, was, at)
		})
	}
}

// State returns the current state; its contents must not be changed.
func (f *Flux) State() FluxState { return *f.state.Load() }

// Run watches until the context ends, and calls changed, which must not block, after each change of
// State. It may be called once.
func (f *Flux) Run(ctx context.Context, changed func()) {
	watches := []func(context.Context){f.releases.run, f.kustomizations.run}
	for _, source := range f.sources {
		watches = append(watches, source.run)
	}
	update(ctx, f.dirty, f.update, changed, watches...)
}

// update makes the new state and reports whether it differs.
func (f *Flux) update() bool {
	old := f.state.Load()
	denied, err := f.releases.failure()
	without, failed := f.kustomizations.failure()
	without = without && !f.kustomizations.synced()
	next := &FluxState{HelmReleases: old.HelmReleases}
	// A part must not count as complete: a pending removal would look like a completed one.
	next.Known = f.releases.synced() && (old.Known || f.kustomizations.synced() || without)
	if f.releases.synced() || !denied { // a permission that was never granted is not a failure
		next.Err = err
	}
	if next.Err == nil && !without {
		next.Err = failed
	}
	next.Synced = old.Synced || next.Known || denied && !f.releases.synced()
	if next.Known {
		next.HelmReleases = f.observed()
		for i := range next.HelmReleases { // the last seen health does not count while the API server is silent
			next.HelmReleases[i].Healthy = next.HelmReleases[i].Healthy && next.Err == nil
		}
	}
	if next.Known == old.Known && next.Synced == old.Synced && textOf(next.Err) == textOf(old.Err) && slices.Equal(next.HelmReleases, old.HelmReleases) {
		return false
	}
	f.state.Store(next)
	return true
}

// fluxFact makes a fact of a HelmRelease or Kustomization, without a name if it comes from no
// artifact. Its deletion annotation counts only if kustomize-controller may delete it: both must
// come from the artifact with the annotation.
func fluxFact(kind string, o *object) facts.Application {
	if o.Labels[clusterLabel] == "" || o.Labels[facts.HubLabel] == "" || o.Labels[facts.OwnerLabel] == "" {
		return facts.Application{}
	}
	if kind == helmReleases.kind {
		kind = ""
	}
	prunable, deletion := o.Annotations[facts.PruneAnnotation] != facts.PruneDisabled, o.Annotations[facts.DeletionAnnotation]
	return facts.Application{
		Name: o.Name, Kind: kind, Cluster: o.Labels[clusterLabel], Group: o.Labels[groupLabel], Component: o.Labels[componentLabel],
		Release: o.Labels[releaseLabel], Owner: facts.OwnerOf(o.Labels[facts.HubLabel], o.Labels[facts.OwnerLabel]),
		Cascade: prunable && deletion == fleet.Cascade, Suspended: prunable && deletion == fleet.Orphan, Digest: o.Annotations[facts.DigestAnnotation],
	}
}
