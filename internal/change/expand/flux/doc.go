// Package flux finds what Flux's HelmReleases and Kustomizations deploy.
//
// They are to Flux what Applications are to Argo CD, but name their source by the name of another
// object, which is delivered with them, or with the object that makes them. A Linker looks it up
// and sets Object.Flux.
package flux
