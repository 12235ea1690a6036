package problem_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

func TestTruncateKeepsCharactersWhole(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""},
		{"short", 5, "short"},
		{"longer", 5, "lo..."},
		{"éééé", 8, "éééé"},
		{"éééé", 7, "éé..."},
		{"éééé", 6, "é..."}, // the second character would be cut
	} {
		if got := problem.Truncate(c.text, c.limit); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
}
