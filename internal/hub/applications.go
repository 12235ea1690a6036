package hub

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/argosy-hub/argosy/internal/facts"
)

// Labels that our ApplicationSets put on their Applications.
const (
	clusterLabel   = "argosy.dev/cluster"
	groupLabel     = "argosy.dev/group"
	componentLabel = "argosy.dev/component"
	releaseLabel   = "argosy.dev/release"
)

// cascading is the finalizer with which Argo CD deletes what an Application has deployed; a path
// says in which way (argo-cd v2.14, pkg/apis/application/v1alpha1/application_defaults.go).
const cascading = "resources-finalizer.argocd.argoproj.io"

// applicationSetKind is the kind of the controllers of Applications.
const applicationSetKind = "ApplicationSet"

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

// trimApplication keeps the metadata of an Application that facts need.
func trimApplication(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil // a tombstone
	}
	out := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: only(m.Labels, clusterLabel, groupLabel, componentLabel, releaseLabel, facts.GrantLabel),
	}
	if slices.ContainsFunc(m.Finalizers, isCascading) {
		out.Finalizers = []string{cascading}
	}
	if name := controller(m); name != "" {
		controls := true
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: applicationSets.GroupVersion().String(), Kind: applicationSetKind, Name: name, Controller: &controls}}
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: out}, nil
}

// controller is the name of the ApplicationSet that controls an Application, "" when none does.
// Argo CD itself goes by group, kind and name, whatever the UID (controller-runtime v0.19.3,
// pkg/controller/controllerutil, SetControllerReference).
func controller(m *metav1.PartialObjectMetadata) string {
	o := metav1.GetControllerOfNoCopy(m)
	if o == nil || o.Kind != applicationSetKind || strings.Split(o.APIVersion, "/")[0] != applicationSets.Group {
		return ""
	}
	return o.Name
}

func isCascading(finalizer string) bool {
	return finalizer == cascading || strings.HasPrefix(finalizer, cascading+"/")
}

// application makes a fact of an Application.
func application(o any) (facts.Application, bool) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok || m.Labels[clusterLabel] == "" {
		return facts.Application{}, false
	}
	return facts.Application{
		Name: m.Name, Cluster: m.Labels[clusterLabel], Group: m.Labels[groupLabel], Component: m.Labels[componentLabel],
		Release: m.Labels[releaseLabel], Cascade: slices.ContainsFunc(m.Finalizers, isCascading), Controller: controller(m),
		Grant: m.Labels[facts.GrantLabel] != "",
	}, true
}

// sameApplication reports whether two versions of an Application are the same fact: Argo CD writes
// its status all the time.
func sameApplication(old, updated any) bool {
	a, _ := application(old)
	b, _ := application(updated)
	return a == b
}

// readApplications makes facts of all Applications.
func readApplications(objects []any) []facts.Application {
	out := make([]facts.Application, 0, len(objects))
	for _, o := range objects {
		if a, ok := application(o); ok {
			out = append(out, a)
		}
	}
	return out
}
