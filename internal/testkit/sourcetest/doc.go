// Package sourcetest has Git repositories, servers and helpers for the tests of sources.
package sourcetest
