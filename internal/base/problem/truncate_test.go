package problem_test

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
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
		assert.Equal(t, c.want, problem.Truncate(c.text, c.limit), "%q to %d", c.text, c.limit)
	}
}
