package facts

import "encoding/json"

// ApplicationSet has the queries of an ApplicationSet of Argo CD to the service.
type ApplicationSet struct {
	Name string
	// Requests are the input.parameters of its plugin generators, in order.
	Requests []json.RawMessage
	// Templated reports that it has further queries that only Argo CD knows: parameters of a plugin
	// generator inside a matrix or merge generator that are templates over another generator's
	// output.
	Templated bool
	// Failed reports that Argo CD could not make its Applications last time (its condition
	// ErrorOccurred).
	Failed bool
}
