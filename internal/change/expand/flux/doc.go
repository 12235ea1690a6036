// Package flux finds what Flux's HelmReleases and Kustomizations deploy.
//
// They are to Flux what Applications are to Argo CD, but they name their source by the name of
// another object. That object is delivered with them, or with the object that makes them:
//
//	HelmRelease dns, chartRef OCIRepository dns -> oci://ghcr.io/acme/dns 1.2.0
//
// A Linker looks up the named object and sets Object.Flux.
package flux
