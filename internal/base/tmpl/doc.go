// Package tmpl runs Go templates over the facts of a cluster: paths of the layout, strings of
// catalogs and files named *.gotmpl. A template's result is a pure function of its text and the
// facts, and no template can use up the service's memory or time.
//
//  1. The functions are a list of sprig's, and toYaml, fromYaml and required as Helm's charts have
//     them: those whose results depend on their arguments alone, and whose time and memory are
//     linear in what they are given and make (H5, G6, H10). No function changes its arguments:
//     merge and its kin work on copies. keys and values are ordered.
//  2. A key that does not exist is an error, never "<no value>" (H5). A template reads an optional
//     fact by {{ index .m "k" }}, {{ get .m "k" }} or {{ dig "k" "default" .m }}: index returns ""
//     for an absent key, where text/template's own prints "<no value>".
//  3. A template is parsed once and may be executed by several goroutines.
//  4. Errors carry the line within the template, and the file when it is known. ExecuteLines
//     returns for each line of the output the line of the template that wrote it (H7).
//  5. One execution is bounded as a whole (H10). The writer counts its steps (steps.go). An account
//     charges what each function is given and makes (metering.go). Keys of lookups, compared values
//     (comparisons.go) and the sorting of maps in loops count as bytes. A function whose result may
//     be many times what it is given refuses before it makes it (own_functions.go); expressions and
//     versions have limits of their own. All of this counts work, not time: the same template ends
//     in the same way on every machine (G6), and the limits stand for seconds of a processor.
//  6. Reads and ReadsOnly say which facts a template depends on, by its text alone
//     (fact_paths.go). Key says which executions come to the same, once one has taken long.
package tmpl
