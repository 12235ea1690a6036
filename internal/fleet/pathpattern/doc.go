// Package pathpattern matches paths of a repository: member files, from whose paths names are read,
// and globs.
//
//	NewMembers("fleet/fleet-members/{{ .hub }}/{{ .cluster }}.yaml", "")
//	Match("fleet/fleet-members/hub-a/bank-dev.yaml") -> hub-a, bank-dev
//
// Both are compiled once; compiling reports an invalid pattern.
package pathpattern
