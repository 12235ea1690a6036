package yamldoc

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// lines is a text repeated with numbers.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBombs is rule 4 of the package: a file of at most 1 MiB that stands for gigabytes, or that
// has a problem in every line, ends in an error within bounded memory.
func TestBombs(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	wide := "a: &a {" + lines(1000, "k%d: 1, ") + "}\n"
	for name, c := range map[string]struct {
		text string
		want string
		all  int // problems
	}{
		"laughs":                 {laughs, "at most 500000", 1},
		"a long text again":      {"a: &a " + strings.Repeat("x", 500_000) + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n", "at most 8388608", 1},
		"a long key again":       {"a: &a\n  ? " + strings.Repeat("x", 500_000) + "\n  : 1\nb: [" + strings.Repeat("*a,", 100_000) + "]\n", "at most 8388608", 1},
		"merged again":           {wide + "b:\n  <<: [" + strings.Repeat("*a,", 250_000) + "]\n", "at most 500000", 1},
		"merged again and again": {wide + "b:\n" + strings.Repeat("  <<: *a\n", 90_000), "at most 500000", 1},
		"deep":                   {strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "at most 100 levels", 1},
		"deeper":                 {strings.Repeat("[", 500_000), "YAML document", 1},
		"duplicate keys":         {strings.Repeat("a: 1\n", 200_000), "199899 more problems are not listed", problem.OfFile + 1},
		"unfit keys":             {lines(50_000, "{a: %d}: 1\n"), "49900 more problems are not listed", problem.OfFile + 1},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse("f", []byte(c.text))
			runtime.ReadMemStats(&after)
			ps := problem.From(err, "", problem.Pos{})
			if len(ps) != c.all || !strings.Contains(ps[len(ps)-1].Error(), c.want) {
				t.Fatalf("%d problems: %.300v", len(ps), err)
			}
			if all := (after.TotalAlloc - before.TotalAlloc) >> 20; all > 300 { // what the parser itself takes of 1 MiB
				t.Errorf("%d MiB", all)
			} else {
				t.Logf("%d MiB: %s", all, ps[len(ps)-1].Error())
			}
		})
	}
	doc, err := Parse("f", []byte(lines(50_000, "k%d: yes\n")))
	if err != nil || len(doc.Ambiguous) != problem.OfFile {
		t.Errorf("%d ambiguous scalars, %v", len(doc.Ambiguous), err)
	}
}

// TestReaderKeepsTheFirst: what is wrong with a file of keys is cut in the same way, and the worst
// of what is left out is reported.
func TestReaderKeepsTheFirst(t *testing.T) {
	doc, err := Parse("f", []byte(lines(5000, "k%04d: 1\n")))
	require.NoError(t, err)
	r := NewReader(doc)
	r.Map(doc.Root, "file").Known("x")
	var l problem.List
	if !errors.As(r.Err(), &l) || len(l) != problem.OfFile+1 || l[0].Pos.Line != 1 || l[problem.OfFile].Found != "4900 more problems are not listed" {
		t.Errorf("%d problems, the last %v", len(l), l[len(l)-1])
	}
	warnings := NewReader(doc)
	for _, f := range doc.Root.Fields() {
		warnings.Warn(problem.UnknownKey, f.Value, "s", "found", "")
	}
	if err := warnings.Err(); err != nil || len(warnings.Problems()) != problem.OfFile+1 {
		t.Errorf("warnings are an error: %v, %d", err, len(warnings.Problems()))
	}
	warnings.Add(problem.UnknownKey, doc.Root, "s", "an error at last", "")
	if err := warnings.Err(); err == nil {
		t.Error("an error among what is not listed is lost")
	}
}
