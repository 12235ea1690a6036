package yamldoc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func read(t *testing.T, text string) (*Reader, *MapReader) {
	t.Helper()
	doc, err := Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	r := NewReader(doc)
	return r, r.Map(doc.Root, "the file")
}

func messages(ps []problem.Problem) string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, string(p.Reason)+" "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// TestReaderReportsEverything: one reading finds all that is wrong, in order.
func TestReaderReportsEverything(t *testing.T) {
	r, m := read(t, "kind: Other\ntenannt: x\nzzz: 1\ntext: [1]\nflag: maybe\nlist: {a: 1}\nmap: 5\nlabels: {a: {b: 1}}\n")
	m.Known("kind", "tenant", "text", "flag", "list", "map", "labels")
	m.String("text")
	At{Reader: r, Node: m.Node()}.Flag("flag")
	m.List("list")
	m.Map("map")
	m.StringMap("labels")
	want := `unknown-key f.yaml:2:1: key "tenannt": not known in the file; did you mean "tenant"?
unknown-key f.yaml:3:1: key "zzz": not known in the file; expected one of kind, tenant, text, flag, list, map, labels
invalid-value f.yaml:4:7: key "text": is a list; expected text
invalid-value f.yaml:5:7: key "flag": "maybe"; expected true or false
invalid-value f.yaml:6:7: key "list": is a map; expected a list
invalid-value f.yaml:7:6: key "map": is a number; expected a map
invalid-value f.yaml:8:13: key "a": is a map; expected text`
	assert.Equal(t, want, messages(r.Problems()))
	if err := r.Err(); err == nil || !strings.HasSuffix(err.Error(), "(and 6 more)") {
		t.Errorf("error %v", err)
	}
}

// TestBooleansInBothForms: people write true and "true"; the text "false" is not true.
func TestBooleansInBothForms(t *testing.T) {
	flag := func(text string) (bool, error) {
		r, m := read(t, text)
		return At{Reader: r, Node: m.Node()}.Flag("k"), r.Err()
	}
	for text, want := range map[string]bool{"true": true, "false": false, `"true"`: true, `"false"`: false, "'True'": true, "yes": true, "off": false, `"FALSE"`: false} {
		if got, err := flag("k: " + text + "\n"); got != want || err != nil {
			t.Errorf("%s: %t, %v", text, got, err)
		}
	}
	for _, text := range []string{`"yes"`, "1", "0", "[]", "{}", `""`, "word"} {
		if _, err := flag("k: " + text + "\n"); err == nil {
			t.Errorf("%s is taken for a boolean", text)
		}
	}
	for _, text := range []string{"other: 1\n", "k:\n", "k: null\n"} {
		if is, err := flag(text); is || err != nil {
			t.Errorf("%q: %t, %v", text, is, err)
		}
	}
}

func TestReaderValues(t *testing.T) {
	r, m := read(t, "s: text\nnumber: 123456789012345678\nb: true\nm: {x: 1, w: yes, z: }\n")
	got := []any{m.String("s"), m.String("number"), m.String("b"), m.String("absent"), m.StringMap("m"), m.StringMap("absent")}
	want := []any{"text", "123456789012345678", "true", "", map[string]string{"x": "1", "w": "yes", "z": ""}, map[string]string{}}
	if diff := cmp.Diff(want, got); diff != "" || r.Err() != nil {
		t.Error(diff, r.Err())
	}
}

// TestWarningsAreNoErrors: Err counts errors alone, Problems both.
func TestWarningsAreNoErrors(t *testing.T) {
	r, m := read(t, "a: 1\n")
	r.Warn(problem.UnknownKey, m.Node().Get("a"), "s", "f", "e", "h")
	if r.Err() != nil || len(r.Problems()) != 1 || r.Problems()[0].Pos.String() != "f.yaml:1:4" {
		t.Errorf("%v %v", r.Err(), r.Problems())
	}
}

// TestEmptyDocumentIsAnEmptyMap: positions of what is missing point at the file.
func TestEmptyDocumentIsAnEmptyMap(t *testing.T) {
	r, m := read(t, "")
	m.Known("a")
	if r.Err() != nil || m.KeyPos("a").File != "f.yaml" {
		t.Errorf("%v %v", r.Err(), m.KeyPos("a"))
	}
}
