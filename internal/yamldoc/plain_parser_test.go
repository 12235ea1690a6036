package yamldoc

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/argosy-hub/argosy/internal/cases"
)

// same compares the document of the plain parser, if it accepts it, with the full parser's.
func same(t *testing.T, data []byte) (accepted bool) {
	t.Helper()
	plain := parsePlain("f.yaml", data)
	if plain == nil {
		return false
	}
	whole, err := parseFull("f.yaml", data, nil)
	if err != nil {
		t.Fatalf("the plain parser accepts it, but it is wrong: %v\n%s", err, data)
	}
	if whole.File != plain.File || whole.Extra != plain.Extra || !slices.Equal(whole.Ambiguous, plain.Ambiguous) || !equal(whole.Root, plain.Root) {
		diff := cmp.Diff(whole, plain, cmpopts.IgnoreFields(Node{}, "Doc"), cmpopts.EquateEmpty())
		t.Fatalf("the plain parser reads another document (-full +plain):\n%s\nof\n%s", diff, data)
	}
	belongs(t, plain, plain.Root)
	return true
}

// equal compares all of two nodes but their documents.
func equal(a, b *Node) bool {
	return a.Kind == b.Kind && a.Literal() == b.Literal() && a.Text() == b.Text() && a.Line == b.Line && a.Column == b.Column && slices.EqualFunc(a.Items(), b.Items(), equal) &&
		slices.EqualFunc(a.Fields(), b.Fields(), func(x, y Field) bool {
			return x.Key == y.Key && x.Line == y.Line && x.Column == y.Column && equal(x.Value, y.Value)
		})
}

func belongs(t *testing.T, d *Doc, n *Node) {
	t.Helper()
	if n.Doc != d {
		t.Fatalf("the node at line %d is of another document", n.Line)
	}
	for _, f := range n.Fields() {
		belongs(t, d, f.Value)
	}
	for _, item := range n.Items() {
		belongs(t, d, item)
	}
}

// TestPlainParserIsTheFullParser: the plain parser reads what is plain, with the same values,
// places and ambiguities.
func TestPlainParserIsTheFullParser(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"a: b\n", "a:\n", "a:\nb: ~\n", "a: 1\nb: 0123\nc: 1e3\nd: yes\non: off\n1: 2\n", "a:\n  b:\n    c: d\n  e: f\ng: h",
		"a:\n- b\n- c\nd: e\n", "a:\n  - b: c\n    d: e\n  - f\n  - {g: h}\n", "a: {b: c, d: [e, 1, 'x y'], f: {}}\n", "a: []\nb: {  }\n",
		"a: 'b'\nc: \"d: e # f\"\n", "# c\na: b # c\n\n  # d\nc: d#e\n", "a: https://example.org/x?y=z\nb: -1\nc: .5\nd: a, b [c]\n",
		"a:\n  b: c\n\n\n  d: e\n", "a: {repoURL: https://example.org:8080/x, version: 1.2.3}\n", "name: n\nyes: y\n", "a: # c\n  b: c\n",
		"a:\n  - b\n  # c\n  - d\n", "z: 1\na: 2\nm: 3\n", "a: b  \nc:   d   # e\n", "a: x-y\nb: 2024-01-01\nc: 1_000\n", "a:\n- b: c\n- d:\n  - e\n- f:\n- g\n",
	} {
		if !same(t, []byte(text)) {
			t.Errorf("refused by the plain parser:\n%s", text)
		}
	}
}

// TestPlainParserRefuses: what is not plain, or wrong, is the full parser's.
func TestPlainParserRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "# c\n", "a\n", "- a\n", "a: b\na: c\n", "a: |\n  b\n", "a: >-\n  b\n", "a: &b c\n", "a: *b\n", "a: !!str b\n", "<<: {a: b}\n", "a: b\n---\nc: d\n",
		"---\na: b\n", "a: b\n  c\n", "a: 'b\n  c'\n", "a: 'it''s'\n", "a: \"\\n\"\n", "a: b: c\n", "a: [b,\n  c]\n", "a:\tb\n", "a: ü\n", "a: b\r\n",
		"a: {b}\n", "a: {b: c,}\n", "a: {b: }\n", "a: [b, , c]\n", "a:\n  - - b\n", "a:\n  -\n    b\n", "? a\n: b\n", "\"a\": b\n", "a: @b\n", "a: %b\n", "a: `b\n",
		"a:b\n", "a: b:\n", " a: b\nc: d\n", "a:\n    b: c\n  d: e\n", "a: {b: c} d\n", "a: 'b' c\n", "a: 'b'#c\n", "...\n", "a: [b: c]\n", "a: {b:c}\n",
	} {
		if parsePlain("f.yaml", []byte(text)) != nil {
			if !same(t, []byte(text)) {
				continue
			}
			t.Errorf("accepted by the plain parser:\n%s", text)
		}
	}
}

// TestPlainParserReadsTheFleet: every file of this repository, most of them by the plain parser.
func TestPlainParserReadsTheFleet(t *testing.T) {
	t.Parallel()
	all, accepted := 0, 0
	for _, dir := range []string{"addons", "fleet", "resources", "versions", "examples", "charts"} {
		err := filepath.WalkDir("../../"+dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(p) != ".yaml" || strings.Contains(p, "/templates/") {
				return err
			}
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			all++
			if same(t, data) {
				accepted++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d files", accepted, all)
	if accepted < all/3 {
		t.Errorf("%d of %d files are read by the plain parser: expected at least a third", accepted, all)
	}
}

// TestPlainParserOnRandomDocuments makes documents of the pieces that plain knows, and breaks some
// of them.
func TestPlainParserOnRandomDocuments(t *testing.T) {
	t.Parallel()
	runs := cases.Times(4000)
	accepted := 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		text := randomMap(r, 0, 0)
		if r.IntN(2) == 0 && text != "" { // one byte more, less, or another one
			i := r.IntN(len(text))
			b := string("\n :-#'\"{}[],|&*!?~0ayn.\\"[r.IntN(24)])
			text = []string{text[:i] + b + text[i:], text[:i] + text[i+1:], text[:i] + b + text[i+1:]}[r.IntN(3)]
		}
		if same(t, []byte(text)) {
			accepted++
		}
	}
	t.Logf("%d of %d", accepted, runs)
	if accepted < runs/2 {
		t.Errorf("%d of %d documents are read by the plain parser: the test does not test much", accepted, runs)
	}
}

var randomScalars = []string{
	"a", "name", "1", "0", "007", "0x1f", "1.5", "1e3", "-3", "true", "no", "Off", "null", "~", "''", "'a b'", `"c: d"`, "https://x.y/z", "a b", "v1.2.3", "10m", "512Mi",
	"{}", "[]", "{a: b}", "{a: {b: 1}, c: [d, 'e']}", "[1, x, {a: yes}]", "a#b", ".", "/", "2024-01-01", "1_0", "12:30:45", "a:b", "<x", "=", "(x)", "$x", "+1", "18446744073709551615",
}

func randomMap(r *rand.Rand, indent, depth int) string {
	var b strings.Builder
	for i := range 1 + r.IntN(4) {
		pad := strings.Repeat(" ", indent)
		if r.IntN(8) == 0 {
			fmt.Fprintf(&b, "%s# comment\n\n", strings.Repeat(" ", r.IntN(5)))
		}
		if i > 0 || depth == 0 || !strings.HasSuffix(pad, "- ") {
			b.WriteString(pad)
		}
		fmt.Fprintf(&b, "%s%d:", []string{"key", "y", "on", "a.b/c-", ""}[r.IntN(5)], i)
		switch k := r.IntN(8); {
		case k == 0 && depth < 4:
			b.WriteString("\n" + randomMap(r, indent+1+r.IntN(3), depth+1))
		case k == 1 && depth < 4:
			b.WriteString("\n")
			at := indent + r.IntN(3)
			for range 1 + r.IntN(3) {
				gap := strings.Repeat(" ", 1+r.IntN(2))
				b.WriteString(strings.Repeat(" ", at) + "-" + gap)
				if r.IntN(2) == 0 {
					b.WriteString(strings.TrimLeft(randomMap(r, at+1+len(gap), depth+1), " "))
				} else {
					b.WriteString(randomScalars[r.IntN(len(randomScalars))] + "\n")
				}
			}
		case k == 2:
			b.WriteString([]string{"", " ", " # c"}[r.IntN(3)] + "\n")
		default:
			b.WriteString(" " + randomScalars[r.IntN(len(randomScalars))] + []string{"", "  ", " # c"}[r.IntN(3)] + "\n")
		}
	}
	return b.String()
}

// FuzzPlainParser: whatever the plain parser accepts is the full parser's document.
func FuzzPlainParser(f *testing.F) {
	for seed := range uint64(20) {
		f.Add([]byte(randomMap(rand.New(rand.NewPCG(seed, 6)), 0, 0)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { same(t, data) })
}

func BenchmarkParse(b *testing.B) {
	data := []byte(strings.Repeat("section:\n  enabled: true\n  requests: {cpu: 10m, memory: 64Mi}\n  tolerations:\n    - key: dedicated\n      value: system\n", 1))
	for name, parse := range map[string]func(){
		"plain": func() { parsePlain("f.yaml", data) },
		"full":  func() { _, _ = parseFull("f.yaml", data, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parse()
			}
		})
	}
}
