// Package sourcetest has the Git repositories and helpers of the tests of sources.
package sourcetest
