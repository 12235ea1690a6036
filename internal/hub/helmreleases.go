package hub

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

var (
	helmReleases    = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	ociRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}
)

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
	releases, kustomizations *follower
	sources                  []*follower // of charts and folders: only health depends on them
	dirty                    run.Trigger
	state                    atomic.Pointer[FluxState]
	breaks                   breaks
	healthy                  map[types.UID]string // digests of healthy objects; belongs to Run
}

// NewFlux watches the namespace of Flux's objects, which is required. It sends no request before
// Run.
func NewFlux(o Options) (*Flux, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	f := &Flux{dirty: run.NewTrigger(), breaks: breaks{at: map[types.UID]int64{}}}
	f.state.Store(&FluxState{})
	follow := func(what string, which schema.GroupVersionResource) (*follower, error) {
		return newFollower(client.Resource(which).Namespace(o.Namespace), followed{
			what: what, permission: "list and watch on " + which.GroupResource().String(), of: "Flux",
			namespace: o.Namespace, log: o.Log, selector: facts.OwnerLabel,
			expected: &unstructured.Unstructured{},
			trim:     trimFlux,
			same:     f.breaks.note,
			changed:  f.dirty.Fire,
		})
	}
	var all error
	for _, one := range []struct {
		what string
		of   schema.GroupVersionResource
		to   **follower
	}{{"HelmReleases", helmReleases, &f.releases}, {"Kustomizations", kustomizations, &f.kustomizations}} {
		*one.to, err = follow(one.what, one.of)
		all = errors.Join(all, err)
	}
	for what, of := range map[string]schema.GroupVersionResource{"GitRepositories": gitRepositories, "OCIRepositories": ociRepositories} {
		source, err := follow(what, of)
		f.sources, all = append(f.sources, source), errors.Join(all, err)
	}
	return f, all
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
		slices.SortFunc(next.HelmReleases, func(a, b facts.Application) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
		})
	}
	if next.Known == old.Known && next.Synced == old.Synced && textOf(next.Err) == textOf(old.Err) && slices.Equal(next.HelmReleases, old.HelmReleases) {
		return false
	}
	f.state.Store(next)
	return true
}

// trimHelmRelease keeps the metadata of a HelmRelease that facts need.
func trimHelmRelease(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil // a tombstone
	}
	out := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels:      only(m.Labels, clusterLabel, groupLabel, componentLabel, releaseLabel, facts.HubLabel, facts.OwnerLabel),
		Annotations: only(m.Annotations, facts.DeletionAnnotation, facts.PruneAnnotation, facts.DigestAnnotation, facts.SourceAnnotation),
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: out}, nil
}

// only returns the entries of these keys.
func only(of map[string]string, keys ...string) map[string]string {
	out := make(map[string]string, len(keys))
	for _, key := range keys {
		if v, ok := of[key]; ok {
			out[key] = v
		}
	}
	return out
}

// fluxObject makes a fact of a HelmRelease or Kustomization; the zero value if it comes from no
// artifact. Its deletion annotation counts only if kustomize-controller may delete it: both must
// come from the artifact with the annotation.
func fluxObject(kind string, o any) facts.Application {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok || m.Labels[clusterLabel] == "" || m.Labels[facts.HubLabel] == "" || m.Labels[facts.OwnerLabel] == "" {
		return facts.Application{}
	}
	prunable := m.Annotations[facts.PruneAnnotation] != facts.PruneDisabled
	said := m.Annotations[facts.DeletionAnnotation]
	return facts.Application{
		Name: m.Name, Kind: kind, Cluster: m.Labels[clusterLabel], Group: m.Labels[groupLabel], Component: m.Labels[componentLabel],
		Release: m.Labels[releaseLabel], Owner: facts.OwnerOf(m.Labels[facts.HubLabel], m.Labels[facts.OwnerLabel]),
		Cascade: prunable && said == fleet.Cascade, Suspended: prunable && said == fleet.Orphan, Digest: m.Annotations[facts.DigestAnnotation],
	}
}

// readFlux makes facts of all objects of a kind, sorted by name.
func readFlux(kind string, objects []any) []facts.Application {
	out := make([]facts.Application, 0, len(objects))
	for _, o := range objects {
		if r := fluxObject(kind, o); r.Name != "" {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b facts.Application) int { return strings.Compare(a.Name, b.Name) })
	return out
}
