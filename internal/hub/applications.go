package hub

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

var applications = resource{
	GroupVersion: schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}, plural: "applications", kind: "Application",
	what: "applications",
}

// followApplications watches the Applications of our ApplicationSets.
func followApplications(o Options) (*follower[live], error) {
	return follow(o, applications, clusterLabel, reduceApplication)
}

// reduceApplication returns what is stored of an Application (argo-cd v2.14,
// pkg/apis/application/v1alpha1/types.go). Its health counts once Argo CD has written the status
// after the digest.
func reduceApplication(o *object, was *live, at time.Time) live {
	fact := facts.Application{
		Name: o.Name, Cluster: o.Labels[clusterLabel], Group: o.Labels[groupLabel], Component: o.Labels[componentLabel],
		Release: o.Labels[releaseLabel], Cascade: slices.ContainsFunc(o.Finalizers, isCascading), Controller: controller(o),
		Grant: o.Labels[facts.GrantLabel] != "", Digest: o.Annotations[facts.DigestAnnotation],
	}
	status := Status{Version: o.Status.Sync.Revision, Sync: o.Status.Sync.Status, Health: o.Status.Health.Status}
	isHealthy := status.Sync == "Synced" && status.Health == "Healthy"
	out := newLive(fact, status, !isHealthy, was, at)
	var counts bool
	if counts, out.digestAt = isLookedAt(o, was); counts {
		out.fact.Healthy, out.fact.Degraded, out.fact.Broken = isHealthy, status.Health == "Degraded", out.broken
	}
	if fact.Grant {
		out.takeReport(o.Status.Summary.ExternalURLs)
	}
	return out
}

// takeReport notes what the member's service reports by a grant.
func (l *live) takeReport(links []string) {
	for _, link := range links {
		report, at, isReport, err := facts.OpenReport(link)
		switch {
		case err != nil:
			l.fact.Unheard = err.Error()
			return
		case isReport:
			l.fact.Report, l.reportAt = report, at.Unix()
			return
		}
	}
}

// reportInterval is how often a member's service writes an unchanged report, and reportLimit how
// old a report may be.
const (
	reportInterval = 20 * time.Minute
	reportLimit    = time.Hour
)

// unheard returns why a report does not count, and else how long it counts without another one.
func (l live) unheard(answers bool, now time.Time) (why string, left time.Duration) {
	at := time.Unix(l.reportAt, 0).UTC()
	age := now.Sub(at)
	switch {
	case l.reportAt == 0:
		return l.fact.Unheard, 0
	case !answers:
		return "the hub's API server does not respond", 0
	case age <= -reportLimit:
		return "its clock is wrong: its report is of " + at.Format(time.DateTime) + " UTC", 0
	case age >= reportLimit:
		return "its service has reported nothing since " + at.Format(time.DateTime) + " UTC", 0
	}
	return "", reportLimit - age
}

// isLookedAt reports whether Argo CD has written an Application's status after the ApplicationSet
// controller wrote its digest. Until then the status is about the previous version. The API server
// records in seconds when a manager changed its fields. A status of the same second as the digest
// counts if the Application was seen before with the digest and an older status, of which digestAt
// is the digest's time.
func isLookedAt(o *object, was *live) (isLookedAt bool, digestAt int64) {
	isSyncing := o.Operation != nil
	status, digest := times(o)
	switch {
	case digest.IsZero() || status.After(digest):
		return !isSyncing, 0
	case status.Before(digest):
		return false, digest.Unix()
	case was == nil || was.digestAt != digest.Unix():
		return false, 0
	}
	return !isSyncing, was.digestAt
}

// times returns when an Application's status and digest were written. If the API server does not
// say, or one manager has written both, the digest's time is zero: the status counts.
//
// The ApplicationSet controller owns the empty parts of the status, since it has created the
// Application. So the time of the status is the time of a field that only a comparison writes
// (argo-cd v2.14 and v3.2, controller/appcontroller.go, ReconciledAt). The application controller
// first writes the operation of an automated sync, and then the status with its reason. While there
// is an operation, the time of its fields says nothing about the status.
func times(o *object) (status, digest time.Time) {
	for _, f := range o.ManagedFields {
		if f.FieldsV1 == nil || f.Time == nil {
			continue
		}
		hasStatus, hasDigest := bytes.Contains(f.FieldsV1.Raw, []byte(`"f:reconciledAt"`)), bytes.Contains(f.FieldsV1.Raw, []byte(`"f:`+facts.DigestAnnotation+`"`))
		if hasStatus && hasDigest {
			return f.Time.Time, time.Time{}
		}
		if hasStatus && f.Time.After(status) {
			status = f.Time.Time
		}
		if hasDigest && f.Time.After(digest) {
			digest = f.Time.Time
		}
	}
	return status, digest
}

// controller returns the name of the ApplicationSet that controls an Application, "" when none
// does. Argo CD itself compares group, kind and name, not the UID (controller-runtime v0.19.3,
// pkg/controller/controllerutil, SetControllerReference).
func controller(o *object) string {
	by := metav1.GetControllerOfNoCopy(o)
	if by == nil || by.Kind != applicationSets.kind || strings.Split(by.APIVersion, "/")[0] != applicationSets.Group {
		return ""
	}
	return by.Name
}

func isCascading(finalizer string) bool {
	return finalizer == cascading || strings.HasPrefix(finalizer, cascading+"/")
}

// readApplications makes facts of all Applications. While the API server is silent, no health and
// no report counts. The facts stay the same until next has passed, 0 for ever.
func readApplications(objects iter.Seq[live], answers bool, now time.Time) (out []facts.Application, next time.Duration) {
	for o := range objects {
		if o.fact.Cluster == "" {
			continue
		}
		o.fact.Healthy, o.fact.Degraded = o.fact.Healthy && answers, o.fact.Degraded && answers
		var left time.Duration
		if o.fact.Unheard, left = o.unheard(answers, now); left > 0 && (next == 0 || left < next) {
			next = left
		}
		out = append(out, o.fact)
	}
	return out, next
}
