// Package pathpattern matches paths of a repository: those of member files, from which names can be
// read back, and globs.
package pathpattern
