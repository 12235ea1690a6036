// Package schema generates the JSON Schemas of the reports' envelopes from their Go types. It has
// only tests, so that no program links the generator. This command rewrites docs/schemas:
//
//	go test ./internal/change/report/schema -update
package schema

//go:generate go test . -run TestSchemasAreUpToDate -update
