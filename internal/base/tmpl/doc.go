// Package tmpl runs Go templates over the facts of a cluster: paths of the layout, strings of
// catalogs and files named *.gotmpl. A result depends only on the template's text and the facts. No
// template can exhaust the service's memory or time.
//
//	t, err := tmpl.Parse(pos, `region/{{ .labels.region }}`)
//	text, err := t.Execute(tmpl.Facts{"labels": map[string]any{"region": "eu"}}) // "region/eu"
//	t.ReadsOnly("labels")                                                        // true
//
// Callers may rely on:
//
//  1. The functions are a list of sprig's, and Helm's toYaml, fromYaml and required. Their results
//     depend only on their arguments, and their time and memory are linear in arguments and result.
//     No function changes its arguments: merge and its kin work on copies. keys and values are
//     sorted.
//  2. A key that does not exist is an error, never "<no value>". A template reads an optional fact
//     by {{ index .m "k" }}, {{ get .m "k" }} or {{ dig "k" "default" .m }}. index returns "" for
//     an absent key, where text/template's own prints "<no value>".
//  3. A template is parsed once. Several goroutines may execute it.
//  4. Errors have the line within the template, and the file when it is known. ExecuteLines returns
//     for each line of the output the line of the template that wrote it.
//  5. Each execution has one bound for all of its work. The writer counts steps (steps.go), and an
//     account charges the arguments and results of functions (metering.go). Keys of lookups,
//     compared values and the sorting of maps in loops count as bytes. Work is counted, not time: a
//     template ends in the same way on every machine.
//  6. A function whose result may be many times its arguments refuses before it makes the result
//     (own_functions.go). Expressions and versions have their own limits.
//  7. Reads and ReadsOnly say which facts a template depends on, by its text (fact_paths.go). Key
//     identifies executions with the same result, once one has taken long.
package tmpl
