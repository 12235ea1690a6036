// Package assert compares what a test got with what it wants, and the test goes on.
//
//	assert.Equal(t, "dns-hub dns-one", querytest.Names(t, st, querytest.Addons), "owner %s", owner)
//
// The last arguments, a format and its values, name what is compared. Each function reports
// whether it holds.
package assert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Equal fails the test if the two differ.
func Equal[T any](t testing.TB, want, got T, what ...any) bool {
	t.Helper()
	diff := cmp.Diff(want, got)
	if diff != "" {
		t.Errorf("%s(-want +got):\n%s", prefix(what), diff)
	}
	return diff == ""
}

// Contains fails the test if the text lacks the part.
func Contains(t testing.TB, whole, part string, what ...any) bool {
	t.Helper()
	contains := strings.Contains(whole, part)
	if !contains {
		t.Errorf("%sexpected %q in\n%s", prefix(what), part, whole)
	}
	return contains
}

// NoError fails the test if there is an error.
func NoError(t testing.TB, err error, what ...any) bool {
	t.Helper()
	if err != nil {
		t.Errorf("%s%v", prefix(what), err)
	}
	return err == nil
}

// prefix is the name of what is compared.
func prefix(what []any) string {
	if len(what) == 0 {
		return ""
	}
	return fmt.Sprintf(fmt.Sprint(what[0]), what[1:]...) + ": "
}
