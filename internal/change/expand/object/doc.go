// Package object holds a Kubernetes object of an expansion with its origin: its parent, its
// position, and the engine that runs it.
//
//	o.Key()        // {Engine: "hub", Group: "apps", Kind: "Deployment", Name: "dns"}
//	o.Parent.Key() // Application dns-prod-eu-1
//	o.At("spec")   // charts/dns/templates/deployment.yaml
package object
