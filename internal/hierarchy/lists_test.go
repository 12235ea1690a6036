package hierarchy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

// plainLists merges two lists as rule 3 says it, each element compared with all before it.
func plainLists(a, b []*yamldoc.Node, rule Rule, rules Rules) []*yamldoc.Node {
	items := slices.Clone(a)
	for _, item := range b {
		same := func(x *yamldoc.Node) bool { return Equal(x, item) }
		if rule.Strategy == ByKey {
			id := item.Get(rule.Key)
			same = func(x *yamldoc.Node) bool { return id != nil && x.IsMap() && Equal(x.Get(rule.Key), id) }
		}
		i := slices.IndexFunc(items, same)
		switch {
		case i < 0:
			items = append(items, item)
		case rule.Strategy == ByKey:
			items[i] = Merge([]Layer{{Root: items[i]}, {Root: item}}, rules).Root
		}
	}
	return items
}

// TestListsMergeAsIfAllWereCompared is rule 3 for lists of any values: numbers that are spelled
// differently, maps with other orders of keys, keys that grow when they are merged, and elements
// that one list names several times, with all that maps and lists in them may have.
func TestListsMergeAsIfAllWereCompared(t *testing.T) {
	g := newGen(11)
	values := []string{"1", "1.0", "0x1", "+1", "1e0", "'1'", "null", "~", "true", "yes", "a", "{a: 1, b: 2}", "{b: 2, a: 1.0}", "{a: {b: 1}}", "{a: {}, b: 1}", "[]", "{}", "[1]", "[1, 1]", "[1.0]"}
	text := func() string {
		var b strings.Builder
		for range g.r.IntN(12) {
			switch g.r.IntN(7) {
			case 0:
				b.WriteString("- " + g.flow(2, false) + "\n")
			case 1:
				b.WriteString("- " + g.pick(values) + "\n")
			case 2:
				fmt.Fprintf(&b, "- {name: %s, more: {%s: 1}}\n", g.pick(values), g.pick([]string{"a", "b", "c"}))
			default:
				fmt.Fprintf(&b, "- {name: %s, %s: %s, env: [{name: a, %s: %s}, {name: a, v: %s}], more: %s}\n", g.pick([]string{"a", "a", "[1]"}), g.pick([]string{"x", "z"}), g.flow(3, true),
					g.pick([]string{"x", "z"}), g.flow(2, true), g.flow(2, false), g.pick([]string{"{}", "null", "{a: 1}", "{a: {b: 1}}", "{a: {}}", "[1]", "[]"}))
			}
		}
		return b.String()
	}
	merged := 0
	for _, rule := range []Rule{{Pattern: "l", Strategy: Unique}, {Pattern: "l", Strategy: ByKey, Key: "name"}} {
		// Rules beside it, one of them for keys that grow: below l in Merge, alone in plainLists.
		rules, below := []Rule{rule}, []Rule{}
		for _, r := range []Rule{{Pattern: "name", Strategy: Append}, {Pattern: "env", Strategy: ByKey, Key: "name"}, {Pattern: "x.**", Strategy: Append}, {Pattern: "z", Strategy: Replace}} {
			below = append(below, r)
			r.Pattern = "l.*." + r.Pattern
			rules = append(rules, r)
		}
		for i := range 1000 {
			files := []string{"l:\n" + text(), "l:\n" + text()}
			layers := layersOf(t, files)
			a, b := layers[0].Root.Get("l"), layers[1].Root.Get("l")
			if a.Kind != yamldoc.List || b.Kind != yamldoc.List {
				continue
			}
			want := yamldoc.ListAt(b, plainLists(a.Items(), b.Items(), rule, mustRules(t, below...)))
			if len(want.Items()) < len(a.Items())+len(b.Items()) {
				merged++
			}
			if got := Merge(layers, mustRules(t, rules...)).Root.Get("l"); image(got) != image(want) {
				t.Fatalf("%s of\n%s\nand\n%s\nis\n%s\nwant\n%s", rule.Strategy, files[0], files[1], image(got), image(want))
			}
			if i%10 == 0 {
				checkProperties(t, files, mustRules(t, rules...))
			}
		}
	}
	if merged < 500 {
		t.Errorf("only %d pairs of lists have elements in common", merged)
	}
}

// TestLongListsMergeInTimeOfTheirLength is rule H10: a file holds lists of more than 100,000
// elements.
func TestLongListsMergeInTimeOfTheirLength(t *testing.T) {
	const elements, most = 120_000, 5 * race.Slack * time.Second
	list := func(element func(i int) *yamldoc.Node) Layer {
		items := make([]*yamldoc.Node, elements)
		for i := range items {
			items[i] = element(i)
		}
		return Layer{Root: yamldoc.NewMap(nil, yamldoc.Field{Key: "l", Value: yamldoc.ListAt(&yamldoc.Node{}, items)})}
	}
	number := func(i int) *yamldoc.Node { return yamldoc.ScalarAt(&yamldoc.Node{}, yamldoc.Number, fmt.Sprint(i)) }
	named := func(value *yamldoc.Node) *yamldoc.Node {
		return yamldoc.NewMap(nil, yamldoc.Field{Key: "name", Value: value})
	}
	one := yamldoc.ListAt(&yamldoc.Node{}, []*yamldoc.Node{number(1)})
	large := func(inner string) func(i int) *yamldoc.Node {
		fields := make([]yamldoc.Field, elements)
		for i := range fields {
			fields[i] = yamldoc.Field{Key: fmt.Sprint(i), Value: number(i)}
		}
		all := yamldoc.NewMap(nil, fields...)
		return func(i int) *yamldoc.Node {
			element := all
			switch {
			case i == 0:
			case i <= elements/2:
				element = yamldoc.NewMap(nil)
			default:
				element = yamldoc.NewMap(nil, all.Fields()[i-elements/2])
			}
			if inner != "" {
				return yamldoc.NewMap(nil, yamldoc.Field{Key: "name", Value: number(1)}, yamldoc.Field{Key: inner, Value: element})
			}
			return yamldoc.NewMap(nil, append(slices.Clone(element.Fields()), yamldoc.Field{Key: "name", Value: number(1)})...)
		}
	}
	byKey := []Rule{{Pattern: "l", Strategy: ByKey, Key: "name"}, {Pattern: "l.*.name", Strategy: Append}}
	for name, tt := range map[string]struct {
		rules   []Rule
		element func(i int) *yamldoc.Node
	}{
		"unique":            {[]Rule{{Pattern: "l", Strategy: Unique}}, number},
		"by key":            {byKey, func(i int) *yamldoc.Node { return named(number(i)) }},
		"by one key":        {byKey[:1], func(int) *yamldoc.Node { return named(number(1)) }},
		"by no key":         {byKey[:1], func(int) *yamldoc.Node { return named(yamldoc.ScalarAt(&yamldoc.Node{}, yamldoc.Null, "")) }},
		"by keys that grow": {byKey, func(int) *yamldoc.Node { return named(one) }},
		"large elements":    {byKey, large("")},
		"large values":      {byKey, large("more")},
		"elements that grow": {byKey, func(i int) *yamldoc.Node {
			return yamldoc.NewMap(nil, yamldoc.Field{Key: "name", Value: number(1)}, yamldoc.Field{Key: fmt.Sprint(i), Value: one})
		}},
	} {
		lower, upper := list(tt.element), list(func(i int) *yamldoc.Node { return tt.element(i + elements/2) })
		began := time.Now()
		Merge([]Layer{lower, upper}, mustRules(t, tt.rules...))
		if took := time.Since(began); took > most {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}
