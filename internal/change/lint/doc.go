// Package lint finds what is wrong with a fleet repository, and what most likely is not meant.
//
//	Run(state) -> problems, in order of position
//
// It is pure: it reads a state and nothing else.
//
//  1. It reports the state's own problems, and warnings that change no response: files that no
//     cluster can read (H6), values that YAML versions read differently (H9), flags, roots and
//     groups without effect, engines and credentials that nobody brings, Application names that
//     are taken twice (N1).
//  2. It reports every independent problem. One at a general level is reported once, whatever the
//     number of clusters.
//  3. It looks for secrets in plain text (package secretscan).
package lint
