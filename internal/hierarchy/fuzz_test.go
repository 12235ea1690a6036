package hierarchy

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// FuzzPath: a path that is read is written and read back as itself; any parts are.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.b[0]", `a["x.y"].c`, `\..a`, `["\xff"]`, "a]b", "[x]y", `a\`} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		checkPath(t, []string{text, other})
		if parts, err := ParsePath(text); err == nil {
			checkPath(t, parts)
		}
	})
}

// FuzzMerge: two files and a rule; the result without rules is Helm's, and the properties hold.
func FuzzMerge(f *testing.F) {
	f.Add("a: 1\n", "a: null\n", "a")
	f.Add("a: {b: [1]}\nc: &x {d: 1}\ne: *x\n", "a: {b: [2]}\ne: {<<: {d: 2}}\n", "**")
	f.Add("a: [{name: x, v: 1}]\n", "a: [{name: x, w: 1}, y]\n", "a")
	for seed := range 5 {
		g := newGen(uint64(seed) + 99)
		f.Add(g.file(), g.file(), "*.b")
	}
	f.Fuzz(func(t *testing.T, low, top, pattern string) {
		files := []string{low, top}
		for i, text := range files {
			doc, err := yamldoc.Parse("f", []byte(text))
			if err != nil || !doc.Root.IsMap() && !doc.Root.IsNull() || len(text) > 2000 || strings.Contains(text, "!") {
				t.Skip(i)
			}
		}
		want := helmMerge(helmMerge(map[string]any{}, readNumbers(t, []byte(low))), readNumbers(t, []byte(top)))
		tree := Merge(layersOf(t, files), nil)
		got := yamldoc.FromAny(nil, want)
		if !Equal(got, tree.Root) && !(len(want) == 0 && tree.Root.IsNull()) {
			t.Fatalf("%q: helm %v, ours %v", files, want, tree.Root.Any())
		}
		for _, s := range []Strategy{Append, Unique, Replace, ByKey} {
			r := Rule{Pattern: pattern, Strategy: s}
			if s == ByKey {
				r.Key = "name"
			}
			if rules, err := NewRules(r); err == nil {
				checkProperties(t, files, rules)
			}
		}
		checkProperties(t, files, nil)
	})
}
