package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Also selects what List requests besides clusters.
type Also struct {
	Applications  bool   // Argo CD's
	FluxNamespace string // Flux's HelmReleases and Kustomizations of this namespace; empty for none
}

// List requests once what a Hub and a Flux watch, only as metadata, and makes the same facts of it,
// without health. It returns an error for whatever it cannot get.
func List(ctx context.Context, o Options, also Also) (facts.Set, []problem.Problem, error) {
	found, err := once(ctx, o, followSecrets)
	if err != nil {
		return facts.Set{}, nil, err
	}
	clusters, problems := read(found)
	set := facts.NewSet(true, slices.Collect(maps.Values(clusters))...)
	if also.Applications {
		found, err := once(ctx, o, followApplications)
		if err != nil {
			return facts.Set{}, nil, err
		}
		all, _ := readApplications(found, false, time.Now())
		set = set.WithApplications(all...)
	}
	if o.Namespace = also.FluxNamespace; o.Namespace != "" {
		var all []facts.Application
		for _, r := range []resource{helmReleases, kustomizations} {
			found, err := once(ctx, o, followFlux(r))
			if err != nil {
				return facts.Set{}, nil, err
			}
			all = append(all, readFlux(found)...)
		}
		set = set.WithHelmReleases(all...)
	}
	return set, problems, nil
}

// once requests the metadata of what a follower watches.
func once[T any](ctx context.Context, o Options, of func(Options) (*follower[T], error)) (iter.Seq[T], error) {
	f, err := of(o)
	if err != nil {
		return nil, err
	}
	f.isMetadata = true
	if f.all, _, err = f.list(ctx); isExpired(err) { // too much has changed meanwhile
		return nil, fmt.Errorf("%s in namespace %q: the list ended half-way", f.what, f.namespace)
	}
	return f.objects(), f.short(err, f.permission("list"))
}

// The kinds of Argo CD's objects that Objects lists.
const (
	ApplicationsOf    = "applications"
	ApplicationSetsOf = "applicationsets"
)

// Objects returns the live Applications or ApplicationSets as JSON. They hold no credentials; no
// other resource is ever listed as a whole.
func Objects(ctx context.Context, o Options, plural string) (out []json.RawMessage, _ error) {
	r := applications
	r.plural, r.what = plural, plural
	c, err := newClient(o, r)
	if err != nil {
		return nil, err
	}
	_, err = list(ctx, c, "", func(o *json.RawMessage) { out = append(out, *o) })
	return out, c.short(err, r.permission("list"))
}
