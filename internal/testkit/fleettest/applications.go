package fleettest

import "github.com/argosy-hub/argosy/internal/fleet/facts"

// Application returns an Application of group addons as charts/application-sets labels it.
func Application(component, cluster, release string) facts.Application {
	return facts.Application{
		Name: component + "-" + cluster, Cluster: cluster,
		Group: Group, Component: component, Release: release,
	}
}

// Registration returns the Application that registers a member. Its only label is the cluster's.
func Registration(cluster string) facts.Application {
	return facts.Application{Name: "fleet-secret-" + cluster, Cluster: cluster}
}

// GrantOfOne is the Application that delivers the ownership grant of addons to member one.
var GrantOfOne = facts.Application{
	Name: "grant-addons-one", Cluster: "one", Group: Group,
	Grant: true, Cascade: true, Controller: "grants",
}

// HelmRelease returns a HelmRelease of group addons as internal/resolve/flux labels it.
func HelmRelease(component, cluster, owner string) facts.Application {
	r := Application(component, cluster, "default")
	r.Owner = "hub/" + owner
	return r
}

// WithFinalizer returns the Application with the cascading finalizer, or the HelmRelease marked so
// that its workloads are removed.
func WithFinalizer(a facts.Application) facts.Application { a.Cascade = true; return a }

// Suspended returns the HelmRelease marked so that its workloads stay.
func Suspended(r facts.Application) facts.Application { r.Suspended = true; return r }

// Controlled returns the Application with an ApplicationSet that controls it.
func Controlled(a facts.Application, applicationSet string) facts.Application {
	a.Controller = applicationSet
	return a
}
