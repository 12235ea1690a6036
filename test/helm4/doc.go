// Package helm4 compares Helm 4 with the Helm 3 that argosy renders with, and with the product's
// merge (docs/reference/compatibility.md lists the differences).
package helm4
