package yamldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// roundTrip writes a value and reads it back, as Helm and as ourselves.
func roundTrip(t testing.TB, v any) {
	t.Helper()
	n := FromAny(nil, v)
	text, err := n.YAML()
	require.NoError(t, err, "%v", v)
	got, ok := oracleValue(t, text)
	if !ok {
		t.Fatalf("Helm refuses what is written of %#v:\n%s", v, text)
	}
	if diff := cmp.Diff(v, got); diff != "" {
		t.Errorf("written and read by Helm (-want +got):\n%s\ntext:\n%s", diff, text)
	}
	doc, err := Parse("f", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(v, doc.Root.Any()); diff != "" {
		t.Errorf("written and read (-want +got):\n%s\ntext:\n%s", diff, text)
	}
	if len(doc.Ambiguous) > 0 {
		t.Errorf("what is written is ambiguous: %+v\n%s", doc.Ambiguous, text)
	}
}

// awkward texts for a YAML writer.
var awkward = []string{
	"", " ", "  lead", "trail ", "\n", "\n\n", "a\n", "a\n\n", "a\nb", "\na", " a\nb", "a\n b\n", "a \nb", "\ta", "a\tb", "a\n\tb", "\t\n", "a\r\nb", "a\rb",
	"yes", "no", "y", "N", "on", "true", "null", "~", "0123", "0x1f", "1_000", "1e3", ".5", "1:30", "<<", "=", "-", "- a", "? a", ": a", "a: b", "a #b", "#a", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "[a", "{a", "a]", "a,", "'", "\"", "'a'", "a'b\"c",
	"---", "...", "--- a", "2001-01-01", "é", "日本語", "😀", "\u0085", "\u2028", "\u00a0", "\ufeffx", "x\ufeff", "\x00", "\x07", "\x1b[0m", "\x7f", "\u200b",
	strings.Repeat("long words and ", 20), strings.Repeat("x", 300), strings.Repeat("line\n", 30), "key: value\n  nested: 1\n", "{{ .Values.x }}", "{{- if a }}\n  b\n{{- end }}\n", "a\\b", "C:\\x", "${x}", "123456789012",
}

func TestAwkwardTextsRoundTrip(t *testing.T) {
	for _, s := range awkward {
		roundTrip(t, map[string]any{"k": s})
		roundTrip(t, map[string]any{s: "v"})
		roundTrip(t, map[string]any{"k": map[string]any{"l": []any{s, map[string]any{s: s}}}})
	}
	for _, s := range interesting {
		roundTrip(t, map[string]any{"k": s, s + "x": s, s: []any{s}})
	}
}

// TestTextsLikeTheWritersMarksRoundTrip is rule H2: what the writer marks for itself is in no file.
func TestTextsLikeTheWritersMarksRoundTrip(t *testing.T) {
	zero := json.Number("-0")
	for _, s := range []string{"\x00argosy", "a\"\x00argosy", `say "\0argosy"`, "<<\x00argosy", `"<<\0argosy":`, "\x00", "\x00argosy0", "\x00argosy00 argosy0"} {
		roundTrip(t, map[string]any{"k": s, "<<": "v", "zero": zero})
		roundTrip(t, map[string]any{s: "v", "<<": map[string]any{"<<": []any{zero, s}}})
	}
}

// TestGeneratedValuesRoundTrip: what Helm reads of our text is what was merged, for any value.
func TestGeneratedValuesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := []rune("ab: -#\n\t'\"\\{}[],&*!|>%@`?=~.0é\u2028 ")
	var value func(depth int) any
	text := func() string {
		switch r.IntN(3) {
		case 0:
			return awkward[r.IntN(len(awkward))]
		case 1:
			return interesting[r.IntN(len(interesting))]
		}
		b := make([]rune, r.IntN(8))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	value = func(depth int) any {
		switch k := r.IntN(8); {
		case k == 0 && depth > 0:
			l := make([]any, r.IntN(4))
			for i := range l {
				l[i] = value(depth - 1)
			}
			return l
		case k <= 2 && depth > 0:
			m := map[string]any{}
			for range r.IntN(4) {
				m[text()] = value(depth - 1)
			}
			return m
		case k == 3:
			return nil
		case k == 4:
			return r.IntN(2) == 0
		case k == 5:
			return json.Number([]string{"0", "-1", "12345678901234567", "1.5", "-0.001", "18446744073709551615", "-9223372036854775808"}[r.IntN(7)])
		}
		return text()
	}
	for range 3000 {
		roundTrip(t, map[string]any{"a": value(4), text() + "x": value(2)})
	}
}

// TestEmptyValues: Helm reads {} for nothing.
func TestEmptyValues(t *testing.T) {
	for _, n := range []*Node{nil, {Kind: Null}, {Kind: Map}} {
		if text, err := n.YAML(); err != nil || string(text) != "{}\n" {
			t.Errorf("%v: %q, %v", n, text, err)
		}
	}
}

func TestFromAny(t *testing.T) {
	doc := &Doc{File: "base"}
	n := FromAny(doc, map[string]any{"b": map[string]string{"x": "1"}, "a": []any{nil, true, json.Number("12345678901234567890"), 3, 1.5}})
	want := map[string]any{
		"a": []any{nil, true, json.Number("12345678901234567890"), json.Number("3"), json.Number("1.5")}, "b": map[string]any{"x": "1"},
	}
	if diff := cmp.Diff(want, n.Any()); diff != "" {
		t.Error(diff)
	}
	if n.Fields()[0].Key != "a" || n.Get("a").Items()[0].Doc != doc || n.Get("b").Pos().String() != "base" {
		t.Error("fields are not sorted, or the document is not theirs")
	}
	if got := FromAny(nil, func() {}); got.Kind != Null {
		t.Errorf("what JSON cannot hold is %v", got.Any())
	}
}

// TestAnyIsFresh: changing the result changes nothing.
func TestAnyIsFresh(t *testing.T) {
	doc, err := Parse("f", []byte("a: {b: [1]}\n"))
	require.NoError(t, err)
	first := doc.Root.Any().(map[string]any)
	first["a"].(map[string]any)["b"].([]any)[0] = "changed"
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": []any{json.Number("1")}}}, doc.Root.Any()); diff != "" {
		t.Error(diff)
	}
}

// TestWrittenSizeIsFromAbove is rule W2: a budget counts what values take when they are written,
// folded lines and escapes included.
func TestWrittenSizeIsFromAbove(t *testing.T) {
	for _, s := range append(slices.Clone(awkward), strings.Repeat("x ", 2000), strings.Repeat("😀", 500)) {
		for _, isKey := range []bool{false, true} {
			n := newScalar(nil, String, s)
			if isKey {
				n = NewMap(nil, Field{Key: s, Value: n})
			}
			for depth := range 90 {
				if n = NewMap(nil, Field{Key: "a", Value: n}); depth%11 != 0 {
					continue
				}
				text, err := n.YAML()
				require.NoError(t, err)
				var b bytes.Buffer
				enc := json.NewEncoder(&b)
				enc.SetEscapeHTML(false)
				require.NoError(t, enc.Encode(string(text)))
				if b.Len() > 2*n.WrittenSize() {
					t.Fatalf("%.40q at depth %d takes %d bytes, and counts as %d", s, depth+1, b.Len(), n.WrittenSize())
				}
			}
		}
	}
}

// A key of more than 128 bytes has a line of its own.
func TestWrittenSizeOfLongKeys(t *testing.T) {
	fields := make([]Field, 100)
	for i := range fields {
		fields[i] = Field{Key: fmt.Sprintf("%0140d", i), Value: newScalar(nil, String, "x")}
	}
	n := NewMap(nil, fields...)
	for range 89 {
		n = NewMap(nil, Field{Key: "a", Value: n})
	}
	text, err := n.YAML()
	require.NoError(t, err)
	if len(text) > n.WrittenSize() {
		t.Errorf("%d bytes count as %d", len(text), n.WrittenSize())
	}
}
