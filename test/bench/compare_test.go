package bench

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestCompare: a difference is one where no round of before is among those of now.
func TestCompare(t *testing.T) {
	t.Parallel()
	of := func(g goal, rounds ...float64) figure {
		return figure{what: "w", fleet: "f", against: "a", goal: g, rounds: rounds}
	}
	file := filepath.Join(t.TempDir(), "before.json")
	for name, c := range map[string]struct {
		before, now figure
		want        string
	}{
		"less of what is to be less": {of(atMost(1, "%"), 4, 5, 6), of(atMost(1, "%"), 2, 2.5, 3), "5%  2.5%  -50 % better"},
		"more of what is to be less": {of(atMost(1, "%"), 2, 2.5, 3), of(atMost(1, "%"), 4, 5, 6), "2.5%  5%  +100 % worse"},
		"more of what is to be more": {of(atLeast(9, "x"), 2, 2.5, 3), of(atLeast(9, "x"), 4, 5, 6), "2.5x  5x  +100 % better"},
		"less of what is to be more": {of(atLeast(9, "x"), 4, 5, 6), of(atLeast(9, "x"), 2, 2.5, 3), "5x  2.5x  -50 % worse"},
		"rounds that overlap":        {of(atMost(1, "x"), 1, 2, 3), of(atMost(1, "x"), 3, 4, 5), "2x  4x  ~"},
		"one round":                  {of(atMost(1, "x"), 1), of(atMost(1, "x"), 4, 5, 6), "1x  5x  ~ (fewer than 3 rounds)"},
		"nothing to compare with":    {figure{what: "other", rounds: []float64{1}}, of(atMost(1, "x"), 1, 2, 3), "-  2x  new"},
	} {
		require.NoError(t, save(file, "cpu", []figure{c.before}))
		old, err := load(file, "cpu")
		require.NoError(t, err)
		var out bytes.Buffer
		compare(&out, *old, []figure{c.now})
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if got := strings.Join(strings.Fields(lines[len(lines)-1]), " "); got != "w f "+strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if _, err := load(file, "wall"); err == nil || !strings.Contains(err.Error(), `measured with -clock "cpu"; expected "wall"`) {
		t.Errorf("figures of two clocks are compared: %v", err)
	}
}
