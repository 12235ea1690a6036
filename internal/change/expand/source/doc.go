// Package source says where the objects of an Application come from: a chart, a folder of manifests
// or a kustomization, in the fleet repository or in a remote one.
//
// A Source is one of an Application's sources, a Folder the files of a folder, and Remote fetches
// remote charts, folders and value files. Charts and Kustomizations are Helm and kustomize, which
// this package does not link.
package source
