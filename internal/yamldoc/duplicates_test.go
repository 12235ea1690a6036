package yamldoc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
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
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s%v", text, err)
		}
		doc, err := ParseLenient("f", []byte(text), nil)
		if err != nil {
			t.Fatalf("%s%v", text, err)
		}
		var got any
		if data, err := json.Marshal(doc.Root.Any()); err != nil || json.Unmarshal(data, &got) != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s%s", text, d)
		}
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
