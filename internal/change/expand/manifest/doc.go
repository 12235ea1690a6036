// Package manifest reads Kubernetes objects as trees: from files, and from the output of charts.
package manifest
