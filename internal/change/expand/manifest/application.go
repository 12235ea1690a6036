package manifest

import (
	"maps"
	"slices"
)

// MetadataOf returns an Application's labels and annotations.
func MetadataOf(app Tree) Tree {
	out := Tree{}
	for _, key := range []string{"labels", "annotations"} {
		if v, ok := At(app, "metadata", key).(Tree); ok && len(v) > 0 {
			out[key] = v
		}
	}
	return out
}

// WithoutTracking returns an Application without the annotations that kubectl and Argo CD write.
func WithoutTracking(app Tree) Tree {
	annotations := Copy(At(app, "metadata", "annotations"))
	maps.DeleteFunc(annotations, func(key string, _ any) bool {
		return slices.Contains([]string{"kubectl.kubernetes.io/last-applied-configuration", "argocd.argoproj.io/tracking-id", "argocd.argoproj.io/refresh", "notified.notifications.argoproj.io"}, key)
	})
	out, metadata := maps.Clone(app), Copy(app["metadata"])
	out["metadata"], metadata["annotations"] = metadata, annotations
	return out
}
