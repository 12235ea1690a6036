// Package arch proves, in tests only, which way imports go in this module, and how heavy it is.
//
//  1. internal/ has rooms (docs/architecture.md). The table rooms says which room may import which.
//  2. What computes an answer is a pure function of a snapshot and facts: it imports neither the
//     network nor the operating system.
//  3. Kubernetes' client, the YAML parser, Argo CD, Helm and the External Secrets Operator are each
//     imported in one place. The service links none of the last three, so that it builds in about a
//     minute; the command line links them to render what a plan shows.
//  4. Lines, names and words have budgets.
package arch
