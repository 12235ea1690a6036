// Package object is a Kubernetes object of an expansion, with its origin: its parent, its position,
// and the engine that runs it.
package object
