// Package tmpl runs Go templates over the facts of a cluster: paths of the layout, strings of
// catalogs and files named *.gotmpl. A template's result is a pure function of its text and the
// facts, and no template can use up the service's memory or time.
//
//  1. The functions are sprig's, and toYaml, fromYaml and required as Helm's charts have them. Left
//     out are functions that read the environment, the network, the clock or randomness (H5, G6),
//     and set and unset: no function changes its arguments. merge and its kin work on copies. keys
//     and values are ordered.
//  2. A key that does not exist is an error, never "<no value>" (H5). A template reads an optional
//     fact by {{ index .m "k" }}, {{ get .m "k" }} or {{ dig "k" "default" .m }}: index returns ""
//     for an absent key, where text/template's own prints "<no value>".
//  3. A template is parsed once and may be executed by several goroutines.
//  4. Errors carry the line within the template, and the file when it is known. ExecuteLines
//     returns for each line of the output the line of the template that wrote it (H7).
//  5. One execution is bounded as a whole (H10). The writer counts its steps (steps.go). An account
//     counts the bytes that its functions read and make (account.go, metering.go): it charges every
//     function that is not known to be free, so that a function that sprig adds is bounded too.
//     Keys of lookups, compared values (comparisons.go), regular expressions (expressions.go) and
//     the sorting of maps in loops count as bytes. A precheck refuses a call that would make many
//     times what it is given (prechecks.go). Methods that take texts of any length are left out
//     (methods.go). All of this counts work, not time: the same template ends in the same way on
//     every machine (G6), and the limits stand for some seconds of a processor.
//  6. Reads and ReadsOnly say which facts a template depends on, by its text alone
//     (fact_paths.go).
package tmpl
