package hierarchy

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		"a":                      {"a"},
		"controller.args[0]":     {"controller", "args", "0"},
		`annotations["a.b/c"]`:   {"annotations", "a.b/c"},
		`annotations["a.b/c"].d`: {"annotations", "a.b/c", "d"},
		`a\.b.c`:                 {"a.b", "c"},
		`[""]`:                   {""},
		`a["x\"y"][1][2]`:        {"a", `x"y`, "1", "2"},
		"a.0.b":                  {"a", "0", "b"},
		`["a"]["b"]`:             {"a", "b"},
		"é.日本":                   {"é", "日本"},
	} {
		if got, err := ParsePath(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		".a": `path ".a": empty part at 1`, "a..b": `path "a..b": empty part at 3`, "a.": `path "a." ends in a dot`,
		"a[": `path "a[": bracket without content or end`, "a[]": `path "a[]": bracket without content or end`,
		`a["x`: `path "a[\"x": bracket without its closing "]`, `a["x"`: `path "a[\"x\"": bracket without its closing "]`,
		`["a"]..b`: `path "[\"a\"]..b": empty part at 7`,
	} {
		if _, err := ParsePath(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestPathsRoundTrip: ParsePath(FormatPath(x)) is x.
func TestPathsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	letters := []rune("ab.[]\\\" \n0é\x00*'/\ufeff")
	for range 20_000 {
		parts := make([]string, r.IntN(4))
		for i := range parts {
			p := make([]rune, r.IntN(5))
			for j := range p {
				p[j] = letters[r.IntN(len(letters))]
			}
			parts[i] = string(p)
		}
		checkPath(t, parts)
	}
}

func checkPath(t testing.TB, parts []string) {
	t.Helper()
	text := FormatPath(parts)
	if got, err := ParsePath(text); err != nil || !slices.Equal(got, parts) {
		t.Fatalf("%q is written as %q and read as %q, %v", parts, text, got, err)
	}
}
