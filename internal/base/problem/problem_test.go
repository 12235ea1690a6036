package problem

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

func TestText(t *testing.T) {
	p := Problem{
		Reason: UnknownKey, Severity: Error, Pos: Pos{File: "f.yaml", Line: 3, Column: 5}, Subject: `key "x"`, Found: "not known", Expected: "another",
		Hints: []string{`did you mean "y"?`}, Related: []Pos{{File: "g.yaml", Line: 1, Column: 0}},
	}
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{p, `f.yaml:3:5: key "x": not known; expected another; see g.yaml:1; did you mean "y"?`},
		{Problem{Reason: NoMembers}, "no-members"},
		{Problem{Reason: NoMembers, Found: "nothing", Pos: Pos{File: "f"}}, "f: nothing"},
		{Problem{Subject: "s"}, "s"},
	} {
		assert.Equal(t, c.want, c.p.Error())
	}
	if (Pos{}).String() != "" || !(Pos{}).IsZero() || (Pos{File: "f"}).IsZero() {
		t.Error("zero position")
	}
}

func TestLists(t *testing.T) {
	a := Problem{Reason: UnknownKey, Severity: Error, Pos: Pos{File: "a", Line: 2, Column: 1}}
	b := Problem{Reason: InvalidValue, Severity: Warning, Pos: Pos{File: "a", Line: 10, Column: 1}}
	c := Problem{Reason: InvalidValue, Severity: Error, Pos: Pos{File: "a", Line: 10, Column: 1}, Cluster: "x"}
	given := []Problem{c, b, a, b, c}
	assert.Equal(t, []Problem{a, b, c}, Sorted(given))
	if given[0].Cluster != "x" || given[2].Reason != UnknownKey {
		t.Error("the argument is changed")
	}
	assert.Equal(t, []Problem{c, a, c}, Errors(given))
	assert.Equal(t, "a:2:1: unknown-key (and 2 more)", (List{a, b, c}).Error())
	if (List{a}).Error() != a.Error() || (List{}).Error() != "no problems" {
		t.Error("short lists")
	}
}

func TestFrom(t *testing.T) {
	p := Problem{Reason: UnknownKey, Found: "x"}
	for _, c := range []struct {
		err  error
		want []Problem
	}{
		{nil, nil},
		{fmt.Errorf("read: %w", p), []Problem{p}},
		{fmt.Errorf("read: %w", List{p, p}), []Problem{p, p}},
		{errors.New("broken"), []Problem{{Reason: InvalidYAML, Severity: Error, Pos: Pos{File: "f"}, Found: "broken"}}},
	} {
		assert.Equal(t, c.want, From(c.err, InvalidYAML, Pos{File: "f"}))
	}
}

// H10: a request's word may have a megabyte, and be looked for among all names of a fleet.
func TestNearestOfALongWordTakesNoTime(t *testing.T) {
	known := make([]string, 100_000)
	for i := range known {
		known[i] = fmt.Sprint("cluster-of-a-tenant-", i)
	}
	began := time.Now()
	for _, word := range []string{strings.Repeat("x", 1<<20), strings.Repeat("x", 5000)} {
		if got := Nearest(word, append(known, word+"y")); got != nil {
			t.Errorf("%.100q", got)
		}
	}
	if took := time.Since(began); took > 5*race.Slack*time.Second {
		t.Error(took)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"tenant", "environment", "labels", "view", "dns", "enable_remote_addons", "enable_remote_fleet", "a", "b"}
	for unknown, want := range map[string]string{
		"tenannt": "tenant", "Tenant": "tenant", "enviroment": "environment", "veiw": "view", "dsn": "dns", "label": "labels", "enable_remote_adons": "enable_remote_addons",
		"zone": "", "": "a", "environmentalist": "", "veiws": "", "c": "a",
	} {
		got := Nearest(unknown, known)
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0] != fmt.Sprintf("did you mean %q?", want)) {
			t.Errorf("%q: %v, want %q", unknown, got, want)
		}
	}
	if Nearest("x", nil) != nil {
		t.Error("a hint from nothing")
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"ca", "abc", 3}, {"kitten", "sitting", 3}} {
		if distance(c.a, c.b) != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("distance of %q and %q is %d, want %d", c.a, c.b, distance(c.a, c.b), c.want)
		}
	}
}
