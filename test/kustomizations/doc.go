// Package kustomizations has Flux's own library build what internal/change/expand/kustomize builds,
// of the same files, and compares.
package kustomizations
