package hierarchy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func mustRules(t testing.TB, rules ...Rule) Rules {
	t.Helper()
	out, err := NewRules(rules...)
	require.NoError(t, err)
	return out
}

// image is a tree as text with everything that it shares with its layers: values and places.
func image(n *yamldoc.Node) string {
	var b strings.Builder
	var walk func(n *yamldoc.Node)
	walk = func(n *yamldoc.Node) {
		if n == nil {
			b.WriteString("-")
			return
		}
		fmt.Fprintf(&b, "(%d %q %s", n.Kind, n.Text(), n.Pos())
		for _, f := range n.Fields() {
			fmt.Fprintf(&b, " %q@%d:%d=", f.Key, f.Line, f.Column)
			walk(f.Value)
		}
		for _, item := range n.Items() {
			b.WriteString(" -")
			walk(item)
		}
		b.WriteString(")")
	}
	walk(n)
	return b.String()
}

// checkProperties are what holds for any layers and rules.
func checkProperties(t testing.TB, files []string, rules Rules) {
	t.Helper()
	layers := layersOf(t, files)
	before := make([]string, len(layers))
	for i, l := range layers {
		before[i] = image(l.Root)
	}
	tree := Merge(layers, rules)
	whole := image(tree.At(nil))
	if remerged, _ := tree.withReplaced(); image(remerged) != whole {
		t.Fatalf("files %q: merged once more, with replaced values recorded, it is\n%s\ninstead of\n%s", files, image(remerged), whole)
	}
	for i, l := range layers {
		if image(l.Root) != before[i] {
			t.Fatalf("files %q: layer %d is changed by the merge", files, i)
		}
		if l.Root.IsMap() {
			if one := Merge([]Layer{l}, rules); !Equal(one.Root, l.Root) {
				t.Fatalf("merging layer %d alone is not the layer", i)
			}
		}
	}
	// An empty layer changes nothing, wherever it stands.
	for at := range len(layers) + 1 {
		for _, empty := range []string{"", "{}", "null"} {
			doc, err := yamldoc.Parse("empty.yaml", []byte(empty))
			require.NoError(t, err)
			with := slices.Insert(slices.Clone(layers), at, Layer{Level: "empty", Path: "empty.yaml", Root: doc.Root}, Layer{Level: "missing", Path: "none"})
			got := Merge(with, rules)
			if !Equal(got.At(nil), tree.At(nil)) && !(got.At(nil).IsMap() && len(got.At(nil).Fields()) == 0 && tree.At(nil).IsNull()) {
				t.Fatalf("files %q: an empty layer at %d changes the result", files, at)
			}
			if len(got.Layers()) != len(layers)+2 {
				t.Fatalf("layers are lost: %v", got.Layers())
			}
		}
	}
	// Adding a layer leaves the tree as it is.
	if len(layers) > 0 {
		tree.With(layers[0], rules)
		if image(tree.At(nil)) != whole {
			t.Fatalf("files %q: adding a layer changes the tree", files)
		}
	}
	if again := Merge(layers, rules); image(again.At(nil)) != whole {
		t.Fatal("merging twice gives two results")
	}
	checkOrigins(t, files, tree)
}

// checkOrigins is rule H7: every leaf's origin is the place in the right file that holds this
// value.
func checkOrigins(t testing.TB, files []string, tree *Tree) {
	t.Helper()
	docs := layersOf(t, files) // parsed apart from the tree
	for _, leaf := range tree.Leaves(nil) {
		text := FormatPath(leaf.Path)
		parts, err := ParsePath(text)
		if err != nil || !slices.Equal(parts, leaf.Path) {
			t.Fatalf("path %q is read as %q, %v", text, parts, err)
		}
		for i, o := range append([]Origin{leaf.Origin}, leaf.Replaced...) {
			var level int
			if _, err := fmt.Sscanf(o.Level, "level%d", &level); err != nil || o.Pos.File != fmt.Sprintf("level%d/values.yaml", level) {
				t.Fatalf("%s: origin %d is %q at %s", text, i, o.Level, o.Pos)
			}
			if !standsAt(docs[level].Root, o.Pos, o.Value) {
				t.Fatalf("%s: no value %v at %s of\n%s", text, o.Value.Any(), o.Pos, files[level])
			}
		}
		last := leaf.Level
		for _, o := range leaf.Replaced {
			if o.Level > last {
				t.Fatalf("%s: %s was replaced by %s, which is less specific", text, o.Level, last)
			}
			last = o.Level
		}
		if o, ok := tree.Origin(leaf.Path); !ok || o.Pos != leaf.Pos || o.Level != leaf.Level {
			t.Fatalf("%s: Origin is %v, the leaf's %v", text, o, leaf.Origin)
		}
		if len(tree.History(leaf.Path)) != len(leaf.Replaced) {
			t.Fatalf("%s: History and Replaced differ", text)
		}
	}
}

// standsAt reports whether a document holds a value at a place.
func standsAt(n *yamldoc.Node, pos problem.Pos, want *yamldoc.Node) bool {
	if n.Pos() == pos && n.Kind == want.Kind && (n.Kind == yamldoc.Map || Equal(n, want) || n.Kind == yamldoc.List) {
		return true
	}
	return slices.ContainsFunc(n.Fields(), func(f yamldoc.Field) bool { return standsAt(f.Value, pos, want) }) ||
		slices.ContainsFunc(n.Items(), func(i *yamldoc.Node) bool { return standsAt(i, pos, want) })
}

// TestProperties checks generated hierarchies, without rules and with each strategy.
func TestProperties(t *testing.T) {
	rules := []Rules{
		nil, mustRules(t, Rule{Pattern: "**", Strategy: Append}), mustRules(t, Rule{Pattern: "**", Strategy: Unique}),
		mustRules(t, Rule{Pattern: "**", Strategy: ByKey, Key: "a"}), mustRules(t, Rule{Pattern: "*.b", Strategy: Replace}, Rule{Pattern: "a.**", Strategy: Append}),
	}
	for seed := range cases.Times(250) {
		g := newGen(uint64(seed) + 1_000_000)
		files := make([]string, g.r.IntN(6))
		for i := range files {
			files[i] = g.file()
		}
		checkProperties(t, files, rules[seed%len(rules)])
	}
}

// TestHistory is rule H7: who won, and whom it beat, the most recent first.
func TestHistory(t *testing.T) {
	tree := Merge(layersOf(t, []string{"a: 1\nm: {x: 1}\n", "b: 1\n", "a: 2\nm: {x: null}\n", "a: null\nm: {w: 2}\n", "a: 4\nm: {x: 3}\n"}), nil)
	describe := func(path string) string {
		parts, err := ParsePath(path)
		require.NoError(t, err)
		o, ok := tree.Origin(parts)
		if !ok {
			return "none"
		}
		out := fmt.Sprintf("%s %s %v", o.Level, o.Pos, o.Value.Any())
		for _, b := range tree.History(parts) {
			out += fmt.Sprintf(" < %s %s %v", b.Level, b.Pos, b.Value.Any())
		}
		return out
	}
	for path, want := range map[string]string{
		"a":   "level4 level4/values.yaml:1:4 4 < level3 level3/values.yaml:1:4 <nil> < level2 level2/values.yaml:1:4 2 < level0 level0/values.yaml:1:4 1",
		"b":   "level1 level1/values.yaml:1:4 1",
		"m.x": "level4 level4/values.yaml:2:8 3 < level2 level2/values.yaml:2:8 <nil> < level0 level0/values.yaml:2:8 1",
		"m.w": "level3 level3/values.yaml:2:8 2",
		"z":   "none", "a.b": "none", "m.x.y": "none",
	} {
		assert.Equal(t, want, describe(path), "%s", path)
	}
	var none *Tree
	if none.At(nil) != nil || none.History(nil) != nil || none.Leaves(nil) != nil || len(none.Layers()) != 0 || none.Conflicts() != nil {
		t.Error("a nil tree is not empty")
	}
}

// TestConflicts is rule H3: both places are named, the answer follows Helm
// (TestHelmAgreesOnWrittenCases).
func TestConflicts(t *testing.T) {
	tree := Merge(layersOf(t, []string{
		"a: {b: 1}\nlist: [x]\nkeep: {m: {}}\nnulled: {a: 1}\nsame: 1\n",
		"a: text\nlist: {x: 1}\nkeep:\n  m: []\nnulled: null\nsame: x\n",
		"a: {c: 1}\nnulled: x\n",
	}), nil)
	var got []string
	for _, p := range tree.Conflicts() {
		if p.Reason != problem.TypeConflict || p.Severity != problem.Warning {
			t.Errorf("%+v", p)
		}
		got = append(got, strings.TrimSuffix(p.Error(), "; write null first to remove what lower layers set, or use the same type"))
	}
	want := []string{
		`level1/values.yaml:1:4: value "a": a string replaces a map; see level0/values.yaml:1:4`,
		`level1/values.yaml:2:7: value "list": a map replaces a list; see level0/values.yaml:2:7`,
		`level1/values.yaml:4:6: value "keep.m": a list replaces a map; see level0/values.yaml:3:11`,
		`level2/values.yaml:1:4: value "a": a map replaces a string; see level1/values.yaml:1:4`,
	}
	assert.Equal(t, want, got)
}

// TestStrategies is rule H4.
func TestStrategies(t *testing.T) {
	low := "args: [a, b]\nenv: [{name: X, value: 1}, {name: Y, value: 2}]\nlabels: {a: 1, b: 2}\nnested: {args: [a]}\n"
	for _, c := range []struct {
		name string
		rule Rule
		top  string
		want string
	}{
		{"append", Rule{Pattern: "args", Strategy: Append}, "args: [b, c]\n", "args: [a, b, b, c]"},
		{"append nothing", Rule{Pattern: "args", Strategy: Append}, "args: []\n", "args: [a, b]"},
		{"append elsewhere", Rule{Pattern: "args", Strategy: Append}, "nested: {args: [b]}\n", "nested: {args: [b]}"},
		{"unique", Rule{Pattern: "args", Strategy: Unique}, "args: [b, c, c]\n", "args: [a, b, c]"},
		{"unique of maps", Rule{Pattern: "env", Strategy: Unique}, "env: [{value: 1, name: X}, {name: X}]\n", "env: [{name: X, value: 1}, {name: Y, value: 2}, {name: X}]"},
		{"by key", Rule{Pattern: "env", Strategy: ByKey, Key: "name"}, "env: [{name: Y, value: 3, more: z}, {name: Z}]\n", "env: [{name: X, value: 1}, {name: Y, value: 3, more: z}, {name: Z}]"},
		{"by key without it", Rule{Pattern: "env", Strategy: ByKey, Key: "name"}, "env: [{value: 9}, x]\n", "env: [{name: X, value: 1}, {name: Y, value: 2}, {value: 9}, x]"},
		{"by another key", Rule{Pattern: "env", Strategy: ByKey, Key: "value"}, "env: [{name: W, value: 2}]\n", "env: [{name: X, value: 1}, {name: W, value: 2}]"},
		{"replace", Rule{Pattern: "labels", Strategy: Replace}, "labels: {c: 3}\n", "labels: {c: 3}"},
		{"null still removes", Rule{Pattern: "args", Strategy: Append}, "args: null\n", "args: null"},
		{"scalar still replaces", Rule{Pattern: "args", Strategy: Append}, "args: x\n", "args: x"},
		{"any part", Rule{Pattern: "*.args", Strategy: Append}, "nested: {args: [b]}\nargs: [z]\n", "args: [z]\nnested: {args: [a, b]}"},
		{"any depth", Rule{Pattern: "**.args", Strategy: Append}, "nested: {args: [b]}\nargs: [z]\n", "args: [a, b, z]\nnested: {args: [a, b]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := Merge(layersOf(t, []string{low, c.top}), mustRules(t, c.rule))
			want := layersOf(t, []string{c.want})[0].Root
			for _, f := range want.Fields() {
				if got := tree.At([]string{f.Key}); !Equal(got, f.Value) {
					t.Errorf("%s is %v, want %v", f.Key, got.Any(), f.Value.Any())
				}
			}
		})
	}
}

// TestStrategyOrigins: the elements of a list made of two know where each comes from (H7 with H4).
func TestStrategyOrigins(t *testing.T) {
	tree := Merge(layersOf(t, []string{"env: [{name: X, value: 1, old: 0}]\n", "env:\n  - name: X\n    value: 2\n  - name: Z\n"}), mustRules(t, Rule{Pattern: "env", Strategy: ByKey, Key: "name"}))
	var got []string
	for _, l := range tree.Leaves([]string{"env"}) {
		line := fmt.Sprintf("%s %s", FormatPath(l.Path), l.Pos)
		for _, r := range l.Replaced {
			line += " < " + r.Pos.String()
		}
		got = append(got, line)
	}
	want := []string{
		"env.0.name level1/values.yaml:2:11 < level0/values.yaml:1:14", "env.0.old level0/values.yaml:1:32", "env.0.value level1/values.yaml:3:12 < level0/values.yaml:1:24",
		"env.1.name level1/values.yaml:4:11",
	}
	assert.Equal(t, want, got)
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Pattern: "", Strategy: Append}, "empty path"},
		{Rule{Pattern: "a..b", Strategy: Append}, `path "a..b": empty part at 3`},
		{Rule{Pattern: "a", Strategy: "add"}, `rule for "a": unknown strategy "add"; expected append, unique, by-key or replace`},
		{Rule{Pattern: "a"}, `rule for "a": unknown strategy ""; expected append, unique, by-key or replace`},
		{Rule{Pattern: "a", Strategy: ByKey}, `rule for "a": strategy by-key needs a key`},
		{Rule{Pattern: "a", Strategy: Append, Key: "n"}, `rule for "a": only strategy by-key takes a key`},
	} {
		if _, err := NewRules(c.rule); err == nil || err.Error() != c.want {
			t.Errorf("%+v: %v, want %s", c.rule, err, c.want)
		}
	}
	if s, k := ParseStrategy(" by-key: name "); s != ByKey || k != "name" {
		t.Errorf("%q %q", s, k)
	}
	rules := mustRules(t,
		Rule{Pattern: "a", Strategy: Append, Group: "addons"}, Rule{Pattern: "b", Strategy: Append, Component: "x"},
		Rule{Pattern: "c", Strategy: Append, Group: "addons", Component: "x"}, Rule{Pattern: "d", Strategy: Append},
	)
	for _, c := range []struct{ group, component, want string }{
		{"addons", "x", "abcd"}, {"addons", "y", "ad"}, {"other", "x", "bd"}, {"other", "y", "d"},
	} {
		var got string
		for _, r := range rules.For(c.group, c.component) {
			got += r.Pattern
		}
		assert.Equal(t, c.want, got, "rules of %s/%s", c.group, c.component)
	}
	first := mustRules(t, Rule{Pattern: "a", Strategy: Unique}, Rule{Pattern: "**", Strategy: Append})
	tree := Merge(layersOf(t, []string{"a: [x]\nb: [x]\n", "a: [x]\nb: [x]\n"}), first)
	if len(tree.At([]string{"a"}).Items()) != 1 || len(tree.At([]string{"b"}).Items()) != 2 {
		t.Error("the first rule that matches does not decide")
	}
}
