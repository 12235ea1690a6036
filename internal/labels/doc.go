// Package labels computes the labels and annotations of a cluster's Argo CD Secret, and selects
// clusters by them.
//
//  1. Sources rank, low to high: the live cluster Secret (what Terraform wrote), what the hierarchy
//     declares (`externalSecret.labels` of fleet/fleet-secret), the member file (its flags and its
//     own labels), and the reserved ones (rule L1). Git beats Terraform for what Git declares.
//  2. Declaring a reserved key in Git with another value is a problem. What Git and the member's
//     identity make of the live Secret's values is in Set.Replaced (L1).
//  3. Every value is a valid Kubernetes label value or a problem (L2).
//  4. Each declared flag of the member file gives exactly the label of its own name (L3); the
//     caller passes them.
//  5. Selectors are Kubernetes' own.
package labels
