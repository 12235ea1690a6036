// Package require compares as package assert does, and ends the test where it does not hold.
//
//	st, err := fleetstate.Build(nil, snapshot, known)
//	require.NoError(t, err)
package require

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error, what ...any) {
	t.Helper()
	if !assert.NoError(t, err, what...) {
		t.FailNow()
	}
}

// Equal ends the test if the two differ.
func Equal[T any](t testing.TB, want, got T, what ...any) {
	t.Helper()
	if !assert.Equal(t, want, got, what...) {
		t.FailNow()
	}
}

// Contains ends the test if the text lacks the part.
func Contains(t testing.TB, whole, part string, what ...any) {
	t.Helper()
	if !assert.Contains(t, whole, part, what...) {
		t.FailNow()
	}
}
