package assert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// recorder is a test that remembers its failure.
type recorder struct {
	testing.TB
	says string
}

func (r *recorder) Helper()                        {}
func (r *recorder) Errorf(format string, a ...any) { r.says = fmt.Sprintf(format, a...) }

// TestFailures: what does not hold fails the test and is reported, what holds does neither.
func TestFailures(t *testing.T) {
	for want, check := range map[string]func(r *recorder) bool{
		"":                               func(r *recorder) bool { return assert.Equal(r, []string{"a"}, []string{"a"}) },
		"one of 2: expected \"b\" in\na": func(r *recorder) bool { return assert.Contains(r, "a", "b", "one of %d", 2) },
		"boom":                           func(r *recorder) bool { return assert.NoError(r, errors.New("boom")) },
		"sum: (-want +got):":             func(r *recorder) bool { return assert.Equal(r, 1, 2, "sum") },
	} {
		r := &recorder{TB: t}
		if holds := check(r); !strings.HasPrefix(r.says, want) || holds != (r.says == "") || holds != (want == "") {
			t.Errorf("%t, %q; expected %q", holds, r.says, want)
		}
	}
}
