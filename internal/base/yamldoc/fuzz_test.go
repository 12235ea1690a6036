package yamldoc

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// aloneTag is the tag `!`, which the parser does not tell (rule 1 of the package).
var aloneTag = regexp.MustCompile(`!([\s,\]}]|$)`)

// FuzzParse, UTF-16 apart (the tag cannot be found in it): what we accept, Helm accepts and reads
// the same; what is written is read back.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1\n", "a: &x {b: [yes, 0123, ~]}\nc: *x\n", "<<: {a: 1}\nb: |\n  x\n", "? a\n: b\n", "- - !!str 1\n", "\"\\u00e9\": 'x'\n", "a: 1\n---\nb\n", "%YAML 1.1\n---\na", "{a: 1e400}", "a: 1\r\nb: \t2\n", "&k a: *k\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 || aloneTag.Match(data) || bytes.ContainsAny(data[:min(2, len(data))], "\xff\xfe") {
			t.Skip()
		}
		doc, err := Parse("f", data)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			return
		}
		text, err := sigsyaml.YAMLToJSON(data)
		if err != nil {
			t.Fatalf("%q: read as %v; Helm: %v", data, doc.Root.Any(), err)
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		require.NoError(t, dec.Decode(&want))
		if diff := cmp.Diff(want, doc.Root.Any()); diff != "" {
			t.Fatalf("%q (-helm +ours):\n%s", data, diff)
		}
		if !doc.Root.IsMap() || len(doc.Root.Fields()) == 0 {
			return
		}
		out, err := doc.Root.YAML()
		require.NoError(t, err)
		again, err := Parse("f", out)
		require.NoError(t, err, "%q is written as %q", data, out)
		if diff := cmp.Diff(doc.Root.Any(), again.Root.Any()); diff != "" {
			t.Fatalf("%q is written as %q:\n%s", data, out, diff)
		}
	})
}
