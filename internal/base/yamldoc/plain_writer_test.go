package yamldoc

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// textsToWrite are texts that YAML has opinions on, and texts that it has none on.
var textsToWrite = []string{
	"", "a", "x-1", "true", "True", "tRue", "TRUE", "yes", "Y", "n", "no", "On", "off", "null", "Null", "~", "nan", ".nan", "inf", "NaN", "e", "E1", "0", "00", "08", "017", "1", "-1", "+1", "0x1f", "0b1", "0o7", "1e3", "1.5", "1.", ".5", "1_000",
	"1.2.3", "1.2.3-rc.1", "1..2", "1.2.", "10.0.0.1", "123456789012", "99999999999999999999999", "2001-01-01", "2001-01-01T00:00:00Z", "1:20", "190:20:30", "12h", "512Mi", "280m", "0d", "1h30m", "2Gi", "5K", "1E", "1i", "007s", "m5", "1_0m", "1e3m", "0x1d", "0b1d", "9223372036854775808m",
	"https://git.example/a.git", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:x", "a:", "a: b", "a #b", "a#b", "#a", "- a", "-", "---", "...", "a,b", "[a]", "{a}", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "'a'", `"a"`, "a=b", "=", "<<", "?", "? a", ":a",
	"a b", " a", "a ", "a\nb", "a\n", "\n", "a\tb", "é", "a\u00a0b", "\x00", "\u2028", "{{ .cluster }}", "a/b_c.d-e", "/a", "_a", ".a", "a.", "a-", "a_", strings.Repeat("long", 40), strings.Repeat("l ", 60),
	"argocd.argoproj.io/secret-type", "kubernetes.io/cluster.name",
}

// randomNode is a value of some depth.
func randomNode(r *rand.Rand, depth int, texts []string) *Node {
	text := func() string { return texts[r.IntN(len(texts))] }
	switch k := r.IntN(9); {
	case k < 3 && depth > 0:
		fields := map[string]any{}
		for range r.IntN(4) {
			fields[text()] = nil
		}
		n := FromAny(nil, fields)
		for i := range n.Fields() {
			n.Fields()[i].Value = randomNode(r, depth-1, texts)
		}
		return n
	case k == 3 && depth > 0:
		var items []*Node
		for range r.IntN(3) {
			items = append(items, randomNode(r, depth-1, texts))
		}
		return ListAt(&Node{}, items)
	case k == 4:
		return newScalar(nil, Bool, strconv.FormatBool(r.IntN(2) == 0))
	case k == 5:
		return newScalar(nil, Number, []string{"0", "1", "42", "-7", "1.5", "1e3", "123456789012345678", "1234567890123456789", "99999999999999999999", "100000000000000000000000"}[r.IntN(10)])
	case k == 6:
		return &Node{Kind: Null}
	}
	return newScalar(nil, String, text())
}

// TestPlainYAMLIsTheLibrarys: what is written in one go is what the library writes, byte by byte.
func TestPlainYAMLIsTheLibrarys(t *testing.T) {
	t.Parallel()
	check := func(n *Node) bool {
		if n.Kind != Map || len(n.Fields()) == 0 {
			return false
		}
		got, ok := appendMap(nil, n, 0)
		if !ok {
			return false
		}
		want, err := n.libraryYAML()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("written in one go:\n%s\nby the library (%v):\n%s", got, err, want)
		}
		return true
	}
	for _, text := range textsToWrite { // each alone, as a value, a key and an item
		check(FromAny(nil, map[string]any{"k": text}))
		check(FromAny(nil, map[string]any{text: "v"}))
		check(FromAny(nil, map[string]any{"k": []any{text, map[string]any{text: text, "z": []any{text}}}}))
	}
	r := rand.New(rand.NewPCG(1, 8))
	plain := []string{"a", "b-1", "", "true", "no", "12", "1.2.3", "512Mi", "30s", "https://git.example/a.git", "argocd.argoproj.io/secret-type"}
	written := 0
	const rounds = 20_000
	for i := range rounds {
		texts := plain
		if i%2 == 0 {
			texts = textsToWrite
		}
		if check(randomNode(r, 5, texts)) {
			written++
		}
	}
	if written < rounds/20 {
		t.Errorf("%d of %d are written by the plain writer: the test does not test much", written, rounds)
	}
}

// FuzzPlainYAML: whatever document it is.
func FuzzPlainYAML(f *testing.F) {
	f.Add("a: {b: [1, x, {c: 'true'}], d: 1.2.3}\ne: \"\"\n")
	f.Add("'y': on\nu: https://a/b:c\n")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := Parse("f.yaml", []byte(text))
		if err != nil || !doc.Root.IsMap() || len(doc.Root.Fields()) == 0 {
			return
		}
		got, ok := appendMap(nil, doc.Root, 0)
		if !ok {
			return
		}
		if want, err := doc.Root.libraryYAML(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("written in one go:\n%s\nby the library (%v):\n%s", got, err, want)
		}
	})
}
