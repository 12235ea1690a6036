// Package arch proves, in tests alone, which way imports go in this module.
//
//  1. Packages are layers; one imports only packages of lower layers, never of its own or a higher
//     one.
//  2. The engine (everything up to the generator) is a pure function of a snapshot and facts: it
//     imports neither the network nor the operating system, and nothing that it imports reaches a
//     Kubernetes client.
//  3. One package alone imports Kubernetes' client, one alone a YAML parser.
//  4. Argo CD, Helm and the External Secrets Operator are what tests compare with. The service does
//     not link them, so that it builds in about a minute; the command line links Argo CD and Helm
//     by internal/expand/argocd, internal/expand/helm and internal/expand/fetch alone, which
//     nothing but cmd/argosy imports.
//
// The linter's depguard rules (.golangci.yml) say the same while one writes; these tests hold
// without it.
package arch
