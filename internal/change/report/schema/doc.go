// Package schema generates the JSON Schemas of the reports' envelopes from their Go types. It has
// tests alone, so that no program links the generator. The command
// `go test ./internal/change/report/schema -update` rewrites docs/schemas.
package schema

//go:generate go test . -run TestSchemasAreUpToDate -update
