package yamldoc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestLastOfDuplicateKeysWinsAsInHelm: a document with duplicate keys, parsed leniently, is what
// Helm 3 reads (sigs.k8s.io/yaml decides both). (H9)
func TestLastOfDuplicateKeysWinsAsInHelm(t *testing.T) {
	t.Parallel()
	texts := []string{
		"a: 1\na: 2\n",
		"a: {b: 1}\na: {c: 2}\n",
		"a: {b: 1, b: 2}\n",
		"a:\n  b: 1\n  c: 1\n  b: null\n",
		"a: &x {b: 1}\nc: *x\na: 2\n",
		"<<: {a: 1, b: 1}\na: 2\n<<: {a: 3}\n",
		"a: 2\n<<: {a: 3, b: 1}\na: 4\n",
		"- a: 1\n  a: [2]\n- 3\n",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		texts = append(texts, random(r, 0))
	}
	for _, text := range texts {
		var want any
		require.NoError(t, yaml.Unmarshal([]byte(text), &want), "%s", text)
		doc, err := ParseLenient("f", []byte(text), nil)
		require.NoError(t, err, "%s", text)
		var got any
		if data, err := json.Marshal(doc.Root.Any()); err != nil || json.Unmarshal(data, &got) != nil {
			t.Fatal(err)
		}
		assert.Equal(t, want, got, "%s", text)
		if _, err := Parse("f", []byte(text)); (err == nil) != (len(doc.Duplicates) == 0) {
			t.Errorf("%swith %d duplicates: %v", text, len(doc.Duplicates), err)
		}
	}
}

// random is a map in block style whose keys are often given again.
func random(r *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		key := string(rune('a' + r.IntN(3)))
		if depth < 3 && r.IntN(2) == 0 {
			below := strings.TrimSuffix(random(r, depth+1), "\n")
			b.WriteString(key + ":\n  " + strings.ReplaceAll(below, "\n", "\n  ") + "\n")
			continue
		}
		fmt.Fprintf(&b, "%s: %d\n", key, r.IntN(10))
	}
	return b.String()
}

// TestMergeKeyAfterKeyIsNoted: Helm reads keys in their order, so a merge key behind a key wins
// over it. Other readers of YAML differ, so lint says so (H9).
func TestMergeKeyAfterKeyIsNoted(t *testing.T) {
	for text, want := range map[string][]string{
		"a: &a {x: 1}\nuse: {<<: *a, x: 2}\n":                               nil,
		"a: &a {x: 1}\nb: &b {x: 2}\nuse: {<<: [*a, *b]}\n":                 nil,
		"a: &a {x: 1}\nb: &b {x: 2}\nuse:\n  <<: *a\n  <<: *b\n":            nil,
		"a: &a {x: 1}\nuse:\n  y: 2\n  <<: *a\n":                            nil,
		"a: &a {x: 1, y: 1}\nuse:\n  x: 2\n  <<: *a\n  y: 3\n":              {"f:3:3"},
		"a: &a {x: 1}\nb: &b {y: 2}\nuse: {y: 1, x: 2, <<: [*a, *b]}\n":     {"f:3:7", "f:3:13"},
		"a: &a {x: 1}\nuse:\n  in:\n  - x: 2\n    <<: *a\n  more: {x: 1}\n": {"f:4:5"},
	} {
		doc, err := Parse("f", []byte(text))
		require.NoError(t, err)
		var got []string
		for _, p := range doc.Overridden {
			got = append(got, p.Pos.String())
			if p.Severity != problem.Note {
				t.Errorf("%s: %s", p.Severity, p)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s\nnotes %v, want %v", text, got, want)
		}
	}
}
