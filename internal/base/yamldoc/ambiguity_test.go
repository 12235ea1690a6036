package yamldoc

import (
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A scalar is ambiguous where Helm's reading is not that of YAML 1.2, or a number that may be meant
// as a name and loses a part of its text (H9).
func TestAmbiguousScalars(t *testing.T) {
	for text, want := range map[string]bool{
		"-0x10": true, "+0xff": true, "0XFF": true, "0B101": true, "0x_ff": true, "1_e3": true, "-0o7": true, "1_0.5": true, "0O17": true,
		"1_000": true, "0123": true, "08": true, "0b11": true, "yes": true, "n": true, "Off": true,
		"0x1F": false, "0o17": false, "1e3": false, "1.": false, ".5": false, "+1": false, "-0": false, "-0.0": false, "-1.5E+3": false, "1.0": false,
		"1234e56": true, "1e10": true, "12E3": true, "1.10": true, "86400000000000000000000": true, "-86400000000000000000000": true, "0": false, "12": false, "1.5": false, "-3": false, "9007199254740993": false, "18446744073709551615": false,
		"1e400": false, "2001-12-14": false, "1:30": false, "a_1": false,
		"~": false, "Null": false, "nULL": false, "True": false, "tRUE": false, "=": false, "<<": false, "": false,
	} {
		doc, err := Parse("f", []byte("k: "+text+"\n"))
		require.NoError(t, err)
		if got := len(doc.Ambiguous) == 1; got != want {
			t.Errorf("%q: %v", text, doc.Ambiguous)
		}
	}
}
