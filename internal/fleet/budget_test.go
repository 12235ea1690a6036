package fleet

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestBudgetIsRoundedDownToAtLeastOne: a share is rounded down, and is at least one member unless
// it is nothing; a number is that number. (G3)
func TestBudgetIsRoundedDownToAtLeastOne(t *testing.T) {
	for _, c := range []struct {
		budget        string
		members, want int
	}{
		{"10%", 0, 1},
		{"10%", 1, 1},
		{"10%", 9, 1},
		{"10%", 10, 1},
		{"10%", 19, 1},
		{"10%", 20, 2},
		{"10%", 29, 2},
		{"10%", 5000, 500},
		{"1%", 99, 1},
		{"1%", 250, 2},
		{"33%", 3, 1},
		{"33%", 100, 33},
		{"50%", 3, 1},
		{"99%", 2, 1},
		{"100%", 7, 7},
		{"0%", 50, 0},
		{"0", 50, 0},
		{"3", 50, 3},
		{"3", 1, 3},
	} {
		b, err := parseBudget(c.budget)
		require.NoError(t, err)
		assert.Equal(t, c.want, b.Of(c.members), "%s of %d members", c.budget, c.members)
		if got := b.String(); got != c.budget && c.budget != "0%" {
			t.Errorf("%s prints as %s", c.budget, got)
		}
	}
	for _, text := range []string{"", "-1", "1.5", "10 %", "101%", "%", "ten", "0x1", "9999999999"} {
		if b, err := parseBudget(text); err == nil {
			t.Errorf("%q is taken for %s", text, b)
		}
	}
}

func TestLayoutGuard(t *testing.T) {
	l := DefaultLayout()
	if l.Guard.MaxRemovals.String() != "10%" || l.Guard.Approvals != "fleet/approvals" {
		t.Errorf("default: %+v", l.Guard)
	}
	for text, want := range map[string]string{
		"guard: {maxRemovals: 3, approvals: ops/approvals}\n": "3 ops/approvals",
		"guard: {maxRemovals: \"3\"}\n":                       "3 fleet/approvals",
		"guard: {maxRemovals: 0}\n":                           "0 fleet/approvals",
		"guard: {maxRemovals: 25%}\n":                         "25% fleet/approvals",
		"guard: null\n":                                       "10% fleet/approvals",
	} {
		l, problems := parseLayout(t, text)
		if problems != "" {
			t.Errorf("%q: %s", text, problems)
			continue
		}
		assert.Equal(t, want, l.Guard.MaxRemovals.String()+" "+l.Guard.Approvals, "%q", text)
	}
	for text, want := range map[string]string{
		"guard: {maxRemovals: 10.5%}\n":  `invalid-layout fleet/layout.yaml:1:22: key "guard.maxRemovals": "10.5%"; expected a number of members, or a whole percentage such as "10%", at most "100%"`,
		"guard: {maxRemovals: 120%}\n":   `invalid-layout fleet/layout.yaml:1:22: key "guard.maxRemovals": "120%"; expected a number of members, or a whole percentage such as "10%", at most "100%"`,
		"guard: {maxRemovals: -1}\n":     `invalid-layout fleet/layout.yaml:1:22: key "guard.maxRemovals": "-1"; expected a number of members, or a whole percentage such as "10%", at most "100%"`,
		"guard: {approvals: ../other}\n": `invalid-layout fleet/layout.yaml:1:20: key "guard.approvals": path "../other" leads upwards (..): paths stay inside the repository`,
	} {
		if _, got := parseLayout(t, text); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want)
		}
	}
}

func parseBudget(text string) (b Budget, err error) {
	err = b.UnmarshalText([]byte(text))
	return b, err
}
