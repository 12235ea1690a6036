// Package source finds where the objects of an Application come from: a chart, a folder of
// manifests or a kustomization, in the fleet repository or in a remote one.
//
//	for _, s := range source.Of(application) {
//		kind, err := s.Kind(folders.Folder(snap, s.Path)) // Helm: charts/dns has a Chart.yaml
//	}
//
// A Source is one of an Application's sources, a Folder holds the files of a folder, and Remote
// fetches remote charts, folders and value files. Charts and Kustomizations are Helm and kustomize,
// which this package does not link.
package source
