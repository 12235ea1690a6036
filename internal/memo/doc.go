// Package memo remembers what many clusters have in common: merged trees, executed templates, and
// what is derived from them.
//
// Its keys are nodes and trees, which never change. So nothing in it can be outdated, and the
// States of successive commits share it.
package memo
