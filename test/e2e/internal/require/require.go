// Package require ends a test that cannot go on.
//
//	require.NoError(t, os.WriteFile(path, data, 0o600))
package require

import "testing"

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
