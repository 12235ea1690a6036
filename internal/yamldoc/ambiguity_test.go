package yamldoc

import "testing"

// A scalar is ambiguous where Helm's reading is not that of YAML 1.2 (H9).
func TestAmbiguousScalars(t *testing.T) {
	for text, want := range map[string]bool{
		"-0x10": true, "+0xff": true, "0XFF": true, "0B101": true, "0x_ff": true, "1_e3": true, "-0o7": true, "1_0.5": true, "0O17": true,
		"1_000": true, "0123": true, "08": true, "0b11": true, "yes": true, "n": true, "Off": true,
		"0x1F": false, "0o17": false, "1e3": false, "1.": false, ".5": false, "+1": false, "0": false, "-0": false, "-0.0": false, "12": false,
		"1.10": false, "1e400": false, "123456789012345678901234567890": false, "2001-12-14": false, "1:30": false, "a_1": false,
		"~": false, "Null": false, "nULL": false, "True": false, "tRUE": false, "=": false, "<<": false, "": false,
	} {
		doc, err := Parse("f", []byte("k: "+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(doc.Ambiguous) == 1; got != want {
			t.Errorf("%q: %v", text, doc.Ambiguous)
		}
	}
}
