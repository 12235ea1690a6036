package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestDocuments: whole documents mean what Helm takes them for.
func TestDocuments(t *testing.T) {
	documents := map[string]string{
		"empty":                   "",
		"blank":                   " \n\n",
		"comment":                 "# nothing\n",
		"marker":                  "---\n",
		"marker and comment":      "--- # x\n# y\n",
		"explicit end":            "a: 1\n...\n",
		"directive":               "%YAML 1.1\n---\na: yes\n",
		"anchors":                 "a: &x {b: 1}\nc: *x\nd: [*x, *x]\n",
		"scalar anchor":           "a: &x 12345678901234567890\nb: *x\n",
		"key anchor":              "&k key: 1\nother: *k\n",
		"alias as key":            "a: &k key\n*k : 1\n",
		"anchor defined again":    "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
		"merge":                   "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\n",
		"merge after":             "base: &b {x: 1, y: 2}\nuse: {y: 3, <<: *b}\n",
		"merge list":              "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nuse:\n  <<: [*a, *b]\n  z: 3\n",
		"merge list after":        "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nuse:\n  x: 9\n  <<: [*a, *b]\n",
		"merge twice":             "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nuse:\n  <<: *a\n  k: 0\n  <<: *b\n",
		"merge of merge":          "a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nuse: {<<: *b}\n",
		"merge inline":            "use: {<<: {x: 1}, y: 2}\n",
		"merge does not go deep":  "a: &a {m: {x: 1}}\nuse: {<<: *a, m: {y: 2}}\n",
		"merge null":              "use: {<<: null, y: 2}\n",
		"merge scalar":            "use: {<<: x, y: 2}\n",
		"merge alias to list":     "a: &a [{x: 1}]\nuse: {<<: *a}\n",
		"merge list of lists":     "use: {<<: [[{x: 1}]]}\n",
		"quoted merge key":        "use: {\"<<\": {x: 1}}\n",
		"single quoted merge key": "use: {'<<': 1}\n",
		"merge key as value":      "use: <<\n",
		"set":                     "s: !!set {a, b}\n",
		"omap":                    "s: !!omap [a: 1, b: 2]\n",
		"tagged map":              "s: !x {a: 1}\n",
		"tagged list":             "s: !x [1, yes]\n",
		"tag handle":              "%TAG !e! tag:example.com,2000:\n---\ns: !e!foo bar\nn: !e!foo 12\n",
		"null keys":               "~: 1\n",
		"float keys":              "1.5: a\n1e3: b\n",
		"integer keys":            "0x10: a\n017: b\n-1: c\n",
		"boolean keys":            "yes: a\nno: b\n",
		"list as key":             "? [a]\n: 1\n",
		"map as key":              "? {a: 1}\n: 1\n",
		"list":                    "- 1\n- a: 2\n",
		"literal":                 "a: |\n  x\n   y\n\n  z\n",
		"folded":                  "a: >\n  x\n  y\n\n  z\n\n",
		"keep":                    "a: |+\n  x\n\n",
		"indent indicator":        "a: |2\n    x\n",
		"escapes":                 `a: "\x41\u00e9\U0001F600\t\n\0\e\N\_\L\P"` + "\n",
		"line ends CRLF":          "a: 1\r\nb:\r\n  - x\r\n  - |\r\n    y\r\n    z\r\n",
		"line ends CR":            "a: 1\rb: 2\r",
		"byte order mark":         "\ufeffa: 1\n",
		"UTF-16":                  "\xff\xfea\x00:\x00 \x001\x00\n\x00",
		"tab after colon":         "a:\t1\n",
		"tab indent":              "a:\n\tb: 1\n",
		"tab in list":             "-\t1\n",
		"tab only line":           "a: 1\n\t\nb: 2\n",
		"tab before comment":      "a: 1\t# c\n",
		"not UTF-8":               "a: \xff\n",
		"not UTF-8 in a comment":  "# \xff\na: 1\n",
		"control character":       "a: \x01\n",
		"NUL":                     "a: 1\x00\n",
		"NEL and LS":              "a: x\u0085b: y\u2028c: z\n",
		"unicode keys":            "日本: 1\nключ: {é: 2}\n",
		"empty key":               "\"\": 1\n",
		"no value":                "a:\nb: \n",
		"flow":                    "{a: [1, {b: c}], \"d\":e, f: , g}\n",
		"flow over lines":         "{\n  a: 1,\n  b: [\n    1,\n    2,\n  ],\n}\n",
		"JSON":                    `{"a": {"b": [1, 2.5, true, null, "x\/y"]}}`,
		"template in plain file":  "a: \"{{ .x }}\"\n",
		"unquoted template":       "a: {{ .x }}\n",
		"unclosed":                "a: [1, 2\n",
		"bad indent":              "a: 1\n b: 2\n",
		"unknown alias":           "a: *x\n",
		"cycle":                   "a: &x [*x]\n",
		"cycle by map":            "a: &x {b: *x}\n",
		"reserved":                "a: @x\n",
		"backtick":                "a: `x`\n",
		"percent":                 "a: %x\n",
		"colon in plain":          "a: b: c\n",
		"hash":                    "a: b#c # d\n",
		"question":                "? a\n? b\n: 1\n",
		"windows path":            "a: C:\\dir\\file\n",
	}
	for name, text := range documents {
		t.Run(name, func(t *testing.T) { sameAsOracle(t, text) })
	}
}

// parseError is a document's error as text.
func parseError(t *testing.T, text string) (string, []problem.Problem) {
	t.Helper()
	_, err := Parse("f.yaml", []byte(text))
	if err == nil {
		t.Fatalf("%.200q is accepted", text)
	}
	ps := problem.From(err, "", problem.Pos{})
	var lines []string
	for _, p := range ps {
		lines = append(lines, fmt.Sprintf("%s %s", p.Reason, p.Error()))
	}
	return strings.Join(lines, "\n"), ps
}

// TestErrors: what is wrong is reported with its place (H9: every duplicate key at once).
func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{
			"duplicates", "a: 1\nb:\n  c: 1\n  c: 2\na: 3\n",
			`duplicate-key f.yaml:4:3: key "c": given again, first at line 3; expected each key once` + "\n" +
				`duplicate-key f.yaml:5:1: key "a": given again, first at line 1; expected each key once`,
		},
		{"duplicate by type", "1: a\n\"1\": b\n", `duplicate-key f.yaml:2:1: key "1": given again, first at line 1; expected each key once`},
		{"flow duplicate", "{a: 1, a: 2}\n", `duplicate-key f.yaml:1:8: key "a": given again, first at line 1; expected each key once`},
		{"infinity", "a: .inf\n", `invalid-yaml f.yaml:1:4: value ".inf": cannot be expressed in JSON, which Helm needs; expected a string, number, boolean or null`},
		{"tab", "a:\n\tb: 1\n", "invalid-yaml f.yaml:2: found character that cannot start any token; expected a YAML document; indent with spaces, not tabs, and quote text that starts with @, ` or %"},
		{"a wrong indent", "a: 1\nb:\n  - {x: 1,\n     y: 2}\n  - z\n - w\nc: 1\n", "invalid-yaml f.yaml:6: did not find expected key; expected a YAML document"},
		{"a line that is not a key", "name: a\nb:\n  c: 1\n  d\n  e: 2\nf: 1\n", "invalid-yaml f.yaml:4: could not find expected ':'; expected a YAML document"},
		{"an item among keys", "name: a\nnamespaces:\n    x: 1\n  - y\nz: 1\n", "invalid-yaml f.yaml:4: did not find expected key; expected a YAML document"},
		{"a bracket that stays open", "a: 1\nb: [1, 2\nc: 3\n", "invalid-yaml f.yaml:2: did not find expected ',' or ']'; expected a YAML document"},
		{"a quote that stays open", "a: 1\nb: \"x\nc: 3\n", "invalid-yaml f.yaml:2: found unexpected end of stream; expected a YAML document"},
		{"unknown anchor", "a: 1\nb: [x,\n  y]\nc: *no\n", "invalid-yaml f.yaml:4: unknown anchor 'no' referenced; expected a YAML document"},
		{"no UTF-8", "a: 1\nb: \xff\nc: 1\n", "invalid-yaml f.yaml:2: invalid leading UTF-8 octet; expected a YAML document"},
		{"a control character", "a: 1\nb: \x07\nc: 1\n", "invalid-yaml f.yaml:2: control characters are not allowed; expected a YAML document"},
		{"cycle", "a: &x [*x]\n", `invalid-yaml f.yaml:1:8: alias "x": refers to a value that contains it; expected an anchor defined before`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := parseError(t, c.text)
			assert.Equal(t, c.want, got)
		})
	}
}

// TestLimits is rule H10: the error states the limit.
func TestLimits(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) + "\n" }
	if _, err := Parse("f", []byte(nested(MaxDepth))); err != nil {
		t.Errorf("depth %d: %v", MaxDepth, err)
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	var tower strings.Builder
	tower.WriteString("a0: &a0 " + nested(50))
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&tower, "a%d: &a%d %s*a%d%s\n", i, i, strings.Repeat("[", 50), i-1, strings.Repeat("]", 50))
	}
	for name, text := range map[string]string{
		"depth": nested(MaxDepth + 1), "depth of blocks": strings.Repeat("- ", MaxDepth+1) + "x\n", "alias bomb": bomb.String(),
		"depth by aliases": tower.String(), "nodes": "[" + strings.Repeat("1,", MaxNodes) + "1]\n", "deeper than the parser goes": nested(20_000),
	} {
		t.Run(name, func(t *testing.T) {
			text, ps := parseError(t, text)
			if len(ps) != 1 || ps[0].Reason != problem.LimitExceeded && name != "deeper than the parser goes" {
				t.Errorf("%s", text)
			}
			if ps[0].Reason == problem.LimitExceeded && !strings.Contains(text, fmt.Sprint(MaxDepth)) && !strings.Contains(text, fmt.Sprint(MaxNodes)) {
				t.Errorf("the limit is not named: %s", text)
			}
		})
	}
}

// TestSecondDocument: the first document counts, and the second is remembered for lint.
func TestSecondDocument(t *testing.T) {
	for _, c := range []struct{ text, extra string }{
		{"a: 1\n", ""},
		{"a: 1\n---\n", "f.yaml:2:1"},
		{"a: 1\n---\nb: 2\n", "f.yaml:2:1"},
		{"---\na: 1\n...\n", ""},
		{"---\na: 1\n---\n---\n", "f.yaml:3:1"},
	} {
		doc, err := Parse("f.yaml", []byte(c.text))
		require.NoError(t, err)
		if got := doc.Root.Get("a"); got == nil || got.Text() != "1" {
			t.Errorf("%q: a is %v", c.text, got)
		}
		assert.Equal(t, c.extra, doc.Extra.String(), "%q: second document at", c.text)
	}
}

// TestPositions: keys and values know their places, inherited ones those of the anchor (H7).
func TestPositions(t *testing.T) {
	doc, err := Parse("d/f.yaml", []byte("a: 1\nb:\n  - x\n  - z: é\nbase: &b\n  k: v\nuse:\n  <<: *b\n  own: |\n    t\n"))
	require.NoError(t, err)
	r := doc.Root
	for _, c := range []struct {
		n    *Node
		want string
	}{
		{r, "d/f.yaml:1:1"},
		{r.Get("a"), "d/f.yaml:1:4"},
		{r.Get("b"), "d/f.yaml:3:3"},
		{r.Get("b").Items()[0], "d/f.yaml:3:5"},
		{r.Get("b").Items()[1].Get("z"), "d/f.yaml:4:8"},
		{r.Get("use").Get("k"), "d/f.yaml:6:6"},
		{r.Get("use").Get("own"), "d/f.yaml:9:8"},
	} {
		if got := c.n.Pos().String(); got != c.want {
			t.Errorf("%v stands at %s, want %s", c.n.Any(), got, c.want)
		}
	}
	assert.Equal(t, "d/f.yaml:7:1", r.KeyPos("use").String(), "key use at")
	assert.Equal(t, "d/f.yaml:6:3", r.Get("use").KeyPos("k").String(), "inherited key at")
	assert.Equal(t, "d/f.yaml:1:1", r.KeyPos("absent").String(), "absent key at")
	if (*Node)(nil).Get("x") != nil || r.Get("a").Get("x") != nil {
		t.Error("Get of no map")
	}
}

// TestParserNeverPanics covers the recovery, whatever the parser does.
func TestParserNeverPanics(t *testing.T) {
	for _, text := range []string{"#\n - C\nD\n", "0: [:!00 \xef", "[a, b: c\n", "\t", "%", "%TAG", "? ? ? ", "!<", "&", "*", "- - -\n :", "a: !!binary ===\n", "{,}", "--- |\n%\n", "|", ">x"} {
		_, err := Parse("f", []byte(text))
		if err != nil && len(problem.From(err, "", problem.Pos{})) == 0 {
			t.Errorf("%q: %v", text, err)
		}
		var l problem.List
		var p problem.Problem
		if err != nil && !errors.As(err, &l) && !errors.As(err, &p) {
			t.Errorf("%q: error of type %T", text, err)
		}
	}
}

// Places are the file's, as editors count lines, also where YAML 1.1 sees more of them.
func TestPlacesAreThoseOfEditors(t *testing.T) {
	for _, sep := range []string{"\u0085", "\u2028", "\u2029"} {
		doc, err := Parse("f", []byte("# "+sep+"# x\r\na: 'b "+sep+" c'\n"+sep+"k: v\n"))
		require.NoError(t, err)
		if pos := doc.Root.Get("k").Pos(); pos.Line != 3 || pos.Column != 5 {
			t.Errorf("%q: %s", sep, pos)
		}
		doc, err = ParseLines("f", []byte("a: 'b "+sep+" c'\nk: v\n"), []int{7, 9})
		require.NoError(t, err)
		if pos := doc.Root.Get("k").Pos(); pos.Line != 9 || pos.Column != 4 {
			t.Errorf("%q in a template's text: %s", sep, pos)
		}
	}
}
