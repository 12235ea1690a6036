package yamldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// oracleValue is what Helm's parser makes of a document; ok is false where it refuses it.
func oracleValue(t testing.TB, data []byte) (v any, ok bool) {
	t.Helper()
	text, err := sigsyaml.YAMLToJSON(data)
	if err != nil {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	require.NoError(t, dec.Decode(&v), "the oracle's JSON cannot be read")
	return v, true
}

// sameAsOracle compares a document with the oracle's reading, accepted or refused.
func sameAsOracle(t testing.TB, data string) {
	t.Helper()
	want, ok := oracleValue(t, []byte(data))
	doc, err := Parse("f.yaml", []byte(data))
	switch {
	case ok && err != nil:
		t.Errorf("%q: %v; Helm reads %v", data, err, want)
	case !ok && err == nil:
		t.Errorf("%q: read as %v; Helm refuses it", data, doc.Root.Any())
	case ok:
		if diff := cmp.Diff(want, doc.Root.Any()); diff != "" {
			t.Errorf("%q: Helm's reading and ours differ (-helm +ours):\n%s", data, diff)
		}
	}
}

// interesting scalars: every form of YAML 1.1's core types and what almost is one.
var interesting = []string{
	"", "~", "null", "Null", "NULL", "nULL", "nil",
	"y", "Y", "yes", "Yes", "YES", "yEs", "n", "N", "no", "No", "NO", "nO", "true", "True", "TRUE", "tRUE", "false", "False", "FALSE",
	"on", "On", "ON", "oN", "off", "Off", "OFF", "oFF",
	"0", "-0", "+0", "00", "007", "0o7", "0o17", "-0o7", "0123", "-0123", "+0123", "08", "09", "0_7", "018", "0777", "010", "0x", "0xff", "0xFF", "-0xff", "+0xff", "0x_f", "0b", "0b1", "0b101", "-0b11", "0b2",
	"1", "-1", "+1", "1_000", "1__0", "_1", "1_", "12e03", "1e3", "1E3", "1e+3", "1e-3", "-1e3", "+1e3", "1.", ".1", "-.1", "+.1", "1.0", "1.5", "-1.5", "+1.5", "1.5e10", "1_0.5", "1e400", "-1e400", "1e-400",
	".inf", "-.inf", "+.inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", "inf", "nan", "Infinity",
	"123456789012", "999999999999999", "1000000000000000", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
	"18446744073709551615", "18446744073709551616", "123456789012345678901234567890", "0.1234567890123456789", "100000000000000000000000", "1e21", "1e20", "123456789.123456789",
	"1:30", "1:30:45", "190:20:30", "12:30:45.5", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-15 2:59:43.10", "20011214", "1.2.3", "v1.2.3", "1.10",
	"=", "<<", "<", "-", "--", "---x", ".", "..", "...x", "+", "a", "word", "two words", "a:b", "a#b", "http://x/y?z=1", "tru", "truee", "nulll", "yess", "0.0.0.0/0", "::1", "e1", "1e", "1e+", "0e0", "0x1p3", "1_000.5_0", "١", "é", "日本", "0١",
}

func TestScalars(t *testing.T) {
	for _, s := range interesting {
		sameAsOracle(t, "k: "+s+"\n")
		sameAsOracle(t, "k: ["+s+", x]\n")
		sameAsOracle(t, "- "+s+"\n")
		if s != "" {
			sameAsOracle(t, s+": v\n")
			sameAsOracle(t, "{"+s+": v}\n")
		}
		sameAsOracle(t, "? "+s+"\n: v\n")
		for _, style := range []string{"%q", "!!str %q", "!!str %s", "!!int %s", "!!float %s", "!!bool %s", "!!null %s", "!!binary %s", "!!timestamp %s", "!x %s", "!!int %q", "!<tag:yaml.org,2002:str> %s", "&a %s"} {
			v := fmt.Sprintf(style, s)
			sameAsOracle(t, "k: "+v+"\n")
			sameAsOracle(t, v+": v\n")
		}
		sameAsOracle(t, "k: '"+strings.ReplaceAll(s, "'", "''")+"'\n")
		sameAsOracle(t, "k: |\n  "+s+"\n")
		sameAsOracle(t, "k: >-\n  "+s+"\n")
	}
}

// TestGeneratedScalars mixes the characters that decide a scalar's type.
func TestGeneratedScalars(t *testing.T) {
	const letters = "0123456789+-._eExobaAfFnNyYtTrRuUlLsSiI~:=<> "
	r := rand.New(rand.NewPCG(1, 2))
	for range 8000 {
		b := make([]byte, 1+r.IntN(9))
		for i := range b {
			if b[i] = letters[r.IntN(len(letters))]; r.IntN(3) == 0 {
				b[i] = letters[r.IntN(12)]
			}
		}
		sameAsOracle(t, "k: "+string(b)+"\n")
		sameAsOracle(t, string(b)+": v\n")
		sameAsOracle(t, "["+string(b)+"]\n")
	}
}

// TestPlainScalarOverLines: a folded plain scalar is text even where its first line alone is not.
func TestPlainScalarOverLines(t *testing.T) {
	for _, s := range []string{"k: y\n\n  n\n", "k: 1\n\n  2\n", "k: 1\n  2\n", "k: yes\n  no\n", "k: -\n\n  1\n", "k: 0x\n  ff\n", "k: ~\n\n  ~\n", "[1\n\n2]\n", "? y\n\n  n\n: v\n"} {
		sameAsOracle(t, s)
	}
}

// TestLongKeys: an explicit key may be longer than the 1024 bytes of an implicit one.
func TestLongKeys(t *testing.T) {
	for _, key := range []string{strings.Repeat("1", 1100), strings.Repeat("a", 1100), strings.Repeat("-", 1100)} {
		sameAsOracle(t, "? "+key+"\n: v\n")
		sameAsOracle(t, key+": v\n")
	}
}

// TestLargeIntegersStayExact is rule H9: account identifiers and the like keep every digit.
func TestLargeIntegersStayExact(t *testing.T) {
	for _, n := range []string{"9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "123456789012"} {
		doc, err := Parse("f", []byte("k: "+n+"\n"))
		require.NoError(t, err)
		if got := doc.Root.Get("k").Text(); got != n {
			t.Errorf("%s is read as %s", n, got)
		}
		out, err := doc.Root.YAML()
		if err != nil || string(out) != "k: "+n+"\n" {
			t.Errorf("%s is written as %q, %v", n, out, err)
		}
	}
}

// TestTextIsAsWritten: an account or a version without quotes keeps all of its digits as a name,
// and is the number that Helm reads as a value (H9).
func TestTextIsAsWritten(t *testing.T) {
	for written, literal := range map[string]string{
		"012345678901": "12345678901", "0123": "83", "1e10": "10000000000", "1234e56": "1.234e+59", "86400000000000000000000": "8.64e+22",
		"0x10": "16", "1_000": "1000", "1.10": "1.1", "+49151": "49151", "yes": "true", "Off": "false", "TRUE": "true", "12": "12", "true": "true",
		"!!int \"0x10\"": "16", "!!float 1": "1",
	} {
		for _, file := range []string{"k: " + written + "\n", "{k: " + written + "}", "a: &a {k: " + written + "}\nb: *a\n", "k: " + written + " # é\n"} {
			doc, err := Parse("f", []byte(file))
			require.NoError(t, err)
			n := doc.Root.Get("k")
			if n == nil {
				n = doc.Root.Get("b").Get("k")
			}
			want := strings.Trim(written[strings.LastIndex(written, " ")+1:], `"`)
			if n.Text() != want || n.Literal() != literal {
				t.Errorf("%q: text %q, literal %q", file, n.Text(), n.Literal())
			}
			again := MapAt(n, []Field{{Key: "k", Value: n}})
			if text, err := again.YAML(); err != nil || !sameNumber(string(text), "k: "+literal+"\n") {
				t.Errorf("%q is written as %q, %v", file, text, err)
			}
		}
		if strings.Contains(written, "!") {
			continue
		}
		doc, err := Parse("f", []byte("m: {"+written+": x}\n"))
		require.NoError(t, err)
		if got := NewReader(doc).Map(doc.Root, "f").StringMap("m"); got[written] != "x" {
			t.Errorf("key %s is %v", written, got)
		}
	}
}

// sameNumber compares what the library writes: 1.234e+59 and 1.234e59 are the same.
func sameNumber(a, b string) bool {
	return a == b || strings.ReplaceAll(a, "e+", "e") == strings.ReplaceAll(b, "e+", "e")
}

// TestAmbiguous is the lint part of H9.
func TestAmbiguous(t *testing.T) {
	yes := []string{"yes", "No", "ON", "off", "y", "N", "0123", "-0123", "1_000", "0b11", "+0_1"}
	no := []string{"true", "False", "null", "~", "0", "12", "1.5", "0x1f", "0o17", "word", "1e3", "2001-12-14", `"yes"`, "'0123'", "!!str yes", "|\n  yes"}
	for _, s := range yes {
		doc, err := Parse("f.yaml", []byte("a: 1\nk: "+s+"\n"))
		require.NoError(t, err)
		if len(doc.Ambiguous) != 1 || doc.Ambiguous[0].Text != s || doc.Ambiguous[0].Pos.String() != "f.yaml:2:4" || doc.Ambiguous[0].Key {
			t.Errorf("%s: ambiguities %+v", s, doc.Ambiguous)
		}
		doc, err = Parse("f.yaml", []byte(s+": 1\n"))
		require.NoError(t, err)
		if len(doc.Ambiguous) != 1 || !doc.Ambiguous[0].Key {
			t.Errorf("key %s: ambiguities %+v", s, doc.Ambiguous)
		}
	}
	for _, s := range no {
		doc, err := Parse("f.yaml", []byte("k: "+s+"\n"))
		require.NoError(t, err)
		assert.Equal(t, 0, len(doc.Ambiguous), "%s: ambiguities %+v", s, doc.Ambiguous)
	}
}

func TestAmbiguousMeans(t *testing.T) {
	doc, err := Parse("f", []byte("a: yes\nb: 0123\nc: 1_000\non: 1\n"))
	require.NoError(t, err)
	var got []string
	for _, a := range doc.Ambiguous {
		got = append(got, a.Text+"="+a.Means)
	}
	assert.Equal(t, []string{"yes=true", "0123=83", "1_000=1000", "on=true"}, got)
}

// TestOracleIsBounded: hostile input does not fill memory.
func TestOracleIsBounded(t *testing.T) {
	for i := range 100 {
		long := strconv.Itoa(i) + strings.Repeat("0", 10_000)
		if _, err := resolve(long); err != nil {
			t.Fatal(err)
		}
	}
	valueOracle.mu.RLock()
	defer valueOracle.mu.RUnlock()
	for k := range valueOracle.answers {
		if len(k) > 1000 {
			t.Fatalf("a scalar of %d bytes is remembered", len(k))
		}
	}
}
