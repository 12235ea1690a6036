package hub

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// Labels that our ApplicationSets put on their Applications.
const (
	clusterLabel   = "argosy.dev/cluster"
	groupLabel     = "argosy.dev/group"
	componentLabel = "argosy.dev/component"
	releaseLabel   = "argosy.dev/release"
)

// cascading is the finalizer with which Argo CD deletes an Application's resources. A path after it
// says how (argo-cd v2.14, pkg/apis/application/v1alpha1/application_defaults.go).
const cascading = "resources-finalizer.argocd.argoproj.io"

// applicationSetKind is the kind of the controllers of Applications.
const applicationSetKind = "ApplicationSet"

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

// trimApplication keeps the metadata of an Application that facts need.
func trimApplication(o any) (any, error) { return new(digestWrites).trim(o) }

// trim keeps the metadata of an Application that facts need.
func (w *digestWrites) trim(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil // a tombstone
	}
	out := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Labels: only(m.Labels, clusterLabel, groupLabel, componentLabel, releaseLabel, facts.GrantLabel),
	}
	isLookedAt := w.isLookedAt(m)
	if digest := m.Annotations[facts.DigestAnnotation]; digest != "" || isLookedAt {
		out.Annotations = map[string]string{facts.DigestAnnotation: digest}
		if isLookedAt {
			out.Annotations[lookedAt] = "true"
		}
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

// comparedAt is the field of an Application that Argo CD writes with each comparison. operation is
// the field that exists while a sync is pending or running.
const (
	comparedAt = `"f:reconciledAt"`
	operation  = `"f:operation"`
)

// lookedAt marks the metadata of an Application whose status Argo CD has written after its digest.
const lookedAt = "looked-at"

// digestWrites remembers when digests were written, for Applications that were seen with a new
// digest and an older status. The zero value is ready.
type digestWrites struct {
	mu   sync.Mutex
	seen map[types.UID]time.Time
}

// maxDigestWrites bounds the memory of Applications that have been deleted since.
const maxDigestWrites = 100_000

// isLookedAt reports whether Argo CD has written an Application's status after the ApplicationSet
// controller wrote its digest. Until then the status is about the previous version. The API server
// records in seconds when a manager changed its fields. A status of the same second as the digest
// counts if the Application was seen before with the digest and an older status.
func (w *digestWrites) isLookedAt(m *metav1.PartialObjectMetadata) bool {
	status, digest, isSyncing := times(m)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch written, isSeen := w.seen[m.UID]; {
	case digest.IsZero() || status.After(digest):
		delete(w.seen, m.UID)
		return !isSyncing
	case status.Before(digest):
		if w.seen == nil || len(w.seen) >= maxDigestWrites {
			w.seen = map[types.UID]time.Time{}
		}
		w.seen[m.UID] = digest
		return false
	default:
		return !isSyncing && isSeen && written.Equal(digest)
	}
}

// times returns when an Application's status and digest were written, and whether a sync is pending
// or running. If the API server does not say, or one manager has written both, the digest's time is
// zero: the status counts.
//
// The ApplicationSet controller owns the empty parts of the status, since it has created the
// Application. So the time of the status is the time of a field that only a comparison writes
// (argo-cd v2.14 and v3.2, controller/appcontroller.go, ReconciledAt). The application controller
// first writes the operation of an automated sync, and then the status with its reason. While there
// is an operation, the time of its fields says nothing about the status.
func times(m *metav1.PartialObjectMetadata) (status, digest time.Time, isSyncing bool) {
	for _, f := range m.ManagedFields {
		if f.FieldsV1 == nil || f.Time == nil {
			continue
		}
		isSyncing = isSyncing || hasOperation(f.FieldsV1.Raw)
		hasStatus, hasDigest := bytes.Contains(f.FieldsV1.Raw, []byte(comparedAt)), bytes.Contains(f.FieldsV1.Raw, []byte(`"f:`+facts.DigestAnnotation+`"`))
		if hasStatus && hasDigest {
			return f.Time.Time, time.Time{}, isSyncing
		}
		if hasStatus && f.Time.After(status) {
			status = f.Time.Time
		}
		if hasDigest && f.Time.After(digest) {
			digest = f.Time.Time
		}
	}
	return status, digest, isSyncing
}

// hasOperation reports whether a manager's fields include an Application's own operation. The
// status has the last operation under the same name.
func hasOperation(fields []byte) bool {
	if !bytes.Contains(fields, []byte(operation)) {
		return false
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(fields, &top) != nil {
		return false
	}
	_, is := top["f:operation"]
	return is
}

// controller returns the name of the ApplicationSet that controls an Application, "" when none
// does. Argo CD itself compares group, kind and name, not the UID (controller-runtime v0.19.3,
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

// application makes a fact of an Application; false for other objects. Healthy says only that its
// status counts: readApplications adds the health.
func application(o any) (facts.Application, bool) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok || m.Labels[clusterLabel] == "" {
		return facts.Application{}, false
	}
	return facts.Application{
		Name: m.Name, Cluster: m.Labels[clusterLabel], Group: m.Labels[groupLabel], Component: m.Labels[componentLabel],
		Release: m.Labels[releaseLabel], Cascade: slices.ContainsFunc(m.Finalizers, isCascading), Controller: controller(m),
		Grant: m.Labels[facts.GrantLabel] != "", Digest: m.Annotations[facts.DigestAnnotation], Healthy: m.Annotations[lookedAt] != "",
	}, true
}

// sameApplication reports whether two versions of an Application are the same fact. Argo CD writes
// the status all the time.
func sameApplication(old, updated any) bool {
	a, _ := application(old)
	b, _ := application(updated)
	return a == b
}

// readApplications makes facts of all Applications and their statuses. If the status is older than
// the metadata, an Application with the same digest keeps its health. Argo CD writes it all the
// time, and no failure is known.
func readApplications(objects []any, at func(name, version string) (health, bool), before facts.Set) []facts.Application {
	out := make([]facts.Application, 0, len(objects))
	for _, o := range objects {
		a, ok := application(o)
		if !ok {
			continue
		}
		if m, is := o.(*metav1.PartialObjectMetadata); is && a.Healthy {
			now, isCurrent := at(a.Name, m.ResourceVersion)
			if was, there := before.Application(a.Name); !isCurrent && there && was.Digest == a.Digest {
				now.isHealthy, now.isDegraded = was.Healthy, was.Degraded
			}
			a.Healthy, a.Degraded, a.Broken = now.isHealthy, now.isDegraded, now.broken
		}
		out = append(out, a)
	}
	return out
}

// noStatus returns no health for any Application.
func noStatus(string, string) (health, bool) { return health{}, true }
