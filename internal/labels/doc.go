// Package labels computes the labels and annotations of a cluster's Argo CD Secret, and selects
// clusters by them.
//
//	the live Secret has                 region=eu, stage=old, owner=infra
//	fleet/fleet-secret declares         stage=dev
//	the member file declares            owner=payments
//	selectors and templates see         region=eu, stage=dev, owner=payments
//
// Callers may rely on the following:
//
//  1. Sources rank, low to high (L1): the live cluster Secret (what Terraform wrote), the hierarchy
//     (`externalSecret.labels` of fleet/fleet-secret), the member file (its flags and its own
//     labels), and the reserved labels. Git beats Terraform for what Git declares.
//  2. Declaring a reserved key in Git with another value is a problem. Set.Replaced has the live
//     Secret's values that Git or the member's identity replaces (L1).
//  3. Every value is a valid Kubernetes label value or a problem (L2).
//  4. Each declared flag of the member file gives exactly the label of its own name (L3); the
//     caller passes them.
//  5. Selectors are Kubernetes' own.
package labels
