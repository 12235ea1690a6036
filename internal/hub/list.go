package hub

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Also selects what List requests besides clusters.
type Also struct {
	Applications  bool   // Argo CD's
	FluxNamespace string // Flux's HelmReleases and Kustomizations of this namespace; empty for none
}

// page is the size of one list request, and maxListed the limit of objects of one kind.
const (
	page      = 500
	maxListed = 200_000
)

// List requests once what a Hub and a Flux watch, only as metadata, and makes the same facts of it,
// without the health of Applications. It returns an error for whatever it cannot get.
func List(ctx context.Context, o Options, also Also) (facts.Set, []problem.Problem, error) {
	if err := o.defaults(); err != nil {
		return facts.Set{}, nil, err
	}
	client, err := metadataClient(o.Config)
	if err != nil {
		return facts.Set{}, nil, err
	}
	l := lister{client: client}
	clusters, problems := read(l.list(ctx, secrets, followed{
		what: "cluster secrets", permission: "list on secrets", namespace: o.Namespace, selector: clusterSecrets, trim: trim,
	}))
	all := make([]facts.Cluster, 0, len(clusters))
	for _, c := range clusters {
		all = append(all, c)
	}
	set := facts.NewSet(true, all...)
	if also.Applications {
		set = set.WithApplications(readApplications(l.list(ctx, applications, followed{
			what: "applications", permission: "list on applications.argoproj.io", namespace: o.Namespace, selector: clusterLabel, trim: trimApplication,
		}), noStatus, facts.Set{})...)
	}
	if also.FluxNamespace != "" {
		flux := func(what string, r schema.GroupVersionResource, kind string) []facts.Application {
			return readFlux(kind, l.list(ctx, r, followed{
				what: what, permission: "list on " + r.GroupResource().String(), of: "Flux", namespace: also.FluxNamespace, selector: facts.OwnerLabel, trim: trimHelmRelease,
			}))
		}
		set = set.WithHelmReleases(append(flux("HelmReleases", helmReleases, ""), flux("Kustomizations", kustomizations, facts.Kustomization)...)...)
	}
	if l.err != nil {
		return facts.Set{}, nil, l.err
	}
	return set, problems, nil
}

// lister lists resources until a request fails.
type lister struct {
	client metadata.Interface
	err    error
}

func (l *lister) list(ctx context.Context, r schema.GroupVersionResource, f followed) []any {
	var out []any
	o := metav1.ListOptions{LabelSelector: f.selector, Limit: page}
	for l.err == nil {
		list, err := l.client.Resource(r).Namespace(f.namespace).List(ctx, o)
		if err != nil {
			asking := follower{followed: f}
			short := asking.short(err, f.permission)
			if isExpired(err) { // the list has changed too much meanwhile
				short = fmt.Errorf("%s in namespace %q: the list ended half-way", f.what, f.namespace)
			}
			l.err = &listError{short, err}
			return nil
		}
		for i := range list.Items {
			trimmed, err := f.trim(&list.Items[i])
			if err != nil {
				l.err = err
				return nil
			}
			out = append(out, trimmed)
		}
		if len(out) > maxListed {
			l.err = fmt.Errorf("%s in namespace %q: %d and more; the limit is %d", f.what, f.namespace, len(out), maxListed)
		}
		if o.Continue = list.Continue; o.Continue == "" {
			return out
		}
	}
	return nil
}

// listError is a short error that wraps the API server's error.
type listError struct{ short, full error }

func (e *listError) Error() string { return e.short.Error() }
func (e *listError) Unwrap() error { return errors.Join(e.short, e.full) }
