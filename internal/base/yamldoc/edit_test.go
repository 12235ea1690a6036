package yamldoc

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// An edit changes the lines of its entry. Comments, blank lines and indentation of the rest stay.
func TestEditorKeepsTheRest(t *testing.T) {
	t.Parallel()
	set := func(value string, path ...string) func(*Editor) error {
		return func(e *Editor) error { return e.Set(value, path...) }
	}
	insert := func(value string, first bool, path ...string) func(*Editor) error {
		return func(e *Editor) error { return e.Insert(value, first, path...) }
	}
	remove := func(path ...string) func(*Editor) error {
		return func(e *Editor) error { return e.Remove(path...) }
	}
	for name, tt := range map[string]struct {
		text string
		do   func(*Editor) error
		want string
	}{
		"a scalar, with the space before its comment": {"# a\na:   x   # why\n\nb:\n    - 1\n", set("true", "a"), "# a\na: true   # why\n\nb:\n    - 1\n"},
		"the value that is there":                     {"a:   'x'   # why", set("x", "a"), "a:   'x'   # why\n"},
		"a text of several lines":                     {"a: >\n  x\n  # y\n\n\nb: 1\n", set("z", "a"), "a: z\n\n\nb: 1\n"},
		"a new scalar comes first":                    {"a: # of a\n    # of b\n    b: {c: 1}\n", set("2", "a", "d"), "a: # of a\n    d: 2\n    # of b\n    b: {c: 1}\n"},
		"a new map comes last":                        {"a:\n  b:\n    c: |\n      # x\n\n# end\n", set("e: 1", "a", "on"), "a:\n  b:\n    c: |\n      # x\n\n  \"on\":\n    e: 1\n\n# end\n"},
		"a key of the root comes last":                {"a: 1\n# end\n", set("1", "b"), "a: 1\nb: 1\n# end\n"},
		"in braces":                                   {"a:\n- b: {c: {d: 1}, e: 2} # why\n- f\n", set("3", "a", "0", "b", "c", "d"), "a:\n- b: {c: {d: 3}, e: 2} # why\n- f\n"},
		"beside a merge":                              {"a: &a {b: 1}\nc: {<<: *a}\n", set("2", "c", "b"), "a: &a {b: 1}\nc: {b: 2, <<: *a}\n"},
		"nothing yet":                                 {"a: # why\nb: 1\n", set("2", "a", "c"), "a: # why\n  c: 2\nb: 1\n"},
		"an empty map":                                {"a: {} # why\nb: 1\n", set("2", "a", "c"), "a: # why\n  c: 2\nb: 1\n"},
		"an empty file":                               {"# a\n", set("2", "a", "c"), "# a\na:\n  c: 2\n"},
		"an empty root":                               {"# a\n{}\n", set("2", "a"), "# a\na: 2\n"},
		"the first element":                           {"a:\n# of b\n- b\n\nc: 1\n", insert("{d: 1}", true, "a"), "a:\n- {d: 1}\n# of b\n- b\n\nc: 1\n"},
		"the last element":                            {"a:\n   - b:\n       c: 1\n   # of d\n\n\ne: 1\n", insert("f", false, "a"), "a:\n   - b:\n       c: 1\n   - f\n   # of d\n\n\ne: 1\n"},
		"an element of no list":                       {"a: 1\n", insert("f", false, "b", "c"), "a: 1\n\nb:\n  c:\n    - f\n"},
		"an element in brackets":                      {"a: [b, 'c']\n", insert("f", false, "a"), "a: [b, 'c', f]\n"},
		"YAML in a text": {
			"a:\n    b: |\n        c:\n          - 1\n\n        d: 2\n    e: 3\n", insert("f", false, "a", "b", "c"),
			"a:\n    b: |\n        c:\n          - 1\n          - f\n\n        d: 2\n    e: 3\n",
		},
		"without an element":             {"a:\n  # of b\n  - b:\n    c: 1\n    # of c\n  # of d\n  - d\n", remove("a", "0"), "a:\n  # of b\n  # of d\n  - d\n"},
		"without an element in brackets": {"a: [b, 'c']\n", remove("a", "0"), "a: ['c']\n"},
		"without a key":                  {"a: 1\n\n# of b\nb: [\n  1]\nc: 2\n", remove("b"), "a: 1\n\n# of b\nc: 2\n"},
		"comments behind a value":        {"a: x  # why:\n      # not yet\nb: 1\n", set("y", "a"), "a: y  # why:\n      # not yet\nb: 1\n"},
		"a tab before a comment":         {"a: x\t# why\n", set("y", "a"), "a: y\t# why\n"},
		"a key without a value":          {"? a", set("2", "b"), "? a\nb: 2\n"},
		"another line separator":         {"a: \"\u2028\"\nb: 1\n", set("2", "b"), "a: \"\u2028\"\nb: 2\n"},
	} {
		e, err := NewEditor("f", tt.text)
		if err == nil {
			err = tt.do(e)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(tt.want, e.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, text := range map[string]string{
		"an anchor": "a: &x {b: 1}\nc: *x\n", "an alias": "x: &x {b: 1}\na: *x\n", "a file in braces": "{a: {b: 1}}\n", "a list": "- a\n",
		"a text": "a: b\n", "a map where a scalar goes": "a: {b: {c: 1}}\n", "several documents": "a: {b: 1}\n---\n", "several documents in a text": "a: |\n  b: [1]\n  ---\n  c: 1\n", "a key twice in a text": "a: |\n  b: 1\n  b: 2\n",
		"a line end of YAML only": "a: {b: 1}\rc: 1\n",
	} {
		e, err := NewEditor("f", text)
		if err == nil {
			err = e.Set("2", "a", "b")
		}
		if !errors.Is(err, ErrForm) || e.String() != text {
			t.Errorf("%s: %v, %q", name, err, e)
		}
	}
}

// FuzzEditor: an edit is refused, or it sets one value and no other.
func FuzzEditor(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &x {b: [yes, 0123, ~]}\nc: *x\n", "a: # x\n  # y\n  b: {c: 1} # z\n", "a:\n  b: |\n    c: 1\n    d: 2\n", "{a: 1}", "a: {}\n---\nb\n", "? a\n: b\n", "? a", "00:", "a:\r\n  b: \"\u2028\"\r\n"} {
		f.Add(s, "a/b", true)
		f.Add(s, "c", false)
	}
	f.Fuzz(func(t *testing.T, text, path string, isMap bool) {
		if len(text) > 4096 || strings.Contains(text, "|") || !utf8.ValidString(path) { // whose YAML is a value, too
			t.Skip()
		}
		e, err := NewEditor("f", text)
		if err != nil {
			t.Skip()
		}
		before := e.Doc().Root.Any()
		value := "1e1"
		if isMap {
			value = "{k: v}"
		}
		keys := strings.Split(path, "/")
		if err := e.Set(value, keys...); err != nil {
			return
		}
		v, _ := Parse("f", []byte("v: "+value))
		want := withKey(before, keys, v.Root.Get("v").Any())
		require.Equal(t, want, e.Doc().Root.Any(), "%q: %q set to %s", text, keys, value)
	})
}

// withKey returns a value with one key set.
func withKey(v any, keys []string, value any) any {
	if len(keys) == 0 {
		return value
	}
	if list, isList := v.([]any); isList {
		if i, err := strconv.Atoi(keys[0]); err == nil && i < len(list) {
			list[i] = withKey(list[i], keys[1:], value)
			return list
		}
	}
	out := map[string]any{}
	m, isMap := v.(map[string]any)
	if v != nil && !isMap {
		return "not a map"
	}
	for k, v := range m {
		out[k] = v
	}
	out[keys[0]] = withKey(out[keys[0]], keys[1:], value)
	return out
}
