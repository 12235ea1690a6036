package tmpl

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/google/go-cmp/cmp"
)

// leftOut are all functions of sprig that a template cannot call, each with its reason. A new
// version of sprig that brings another one is noticed by TestPurity.
var leftOut = map[string]string{
	"now": "clock", "ago": "clock", "date": "clock and time zone", "date_in_zone": "clock and time zone", "dateInZone": "clock and time zone",
	"date_modify": "clock", "dateModify": "clock", "mustDateModify": "clock", "must_date_modify": "clock",
	"htmlDate": "clock and time zone", "htmlDateInZone": "clock and time zone", "toDate": "time zone", "mustToDate": "time zone",
	"randAlphaNum": "randomness", "randAlpha": "randomness", "randAscii": "randomness", "randNumeric": "randomness", "randBytes": "randomness",
	"randInt": "randomness", "uuidv4": "randomness", "shuffle": "randomness", "bcrypt": "random salt", "htpasswd": "random salt", "encryptAES": "random salt",
	"genPrivateKey": "randomness", "genCA": "randomness", "genCAWithKey": "randomness", "genSelfSignedCert": "randomness",
	"genSelfSignedCertWithKey": "randomness", "genSignedCert": "randomness", "genSignedCertWithKey": "randomness",
	"env": "environment", "expandenv": "environment", "getHostByName": "network",
	"set": "changes its argument", "unset": "changes its argument",
}

// known are all functions of sprig v3.3.0 that stay: a new one is to be judged before templates may
// call it.
var known = strings.Fields(`abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec
	b64enc base biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy
	deepEqual default derivePassword dict dig dir div divf duration durationRound empty ext fail first float64 floor
	fromJson get has hasKey hasPrefix hasSuffix hello indent initial initials int int64 isAbs join kebabcase keys kindIs
	kindOf last list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact
	mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush
	mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest
	mustReverse mustSlice mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout nindent nospace omit osBase
	osClean osDir osExt osIsAbs pick pluck plural prepend push quote regexFind regexFindAll regexMatch regexQuoteMeta
	regexReplaceAll regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq sha1sum
	sha256sum sha512sum slice snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary title
	toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple
	typeIs typeIsLike typeOf uniq unixEpoch until untilStep untitle upper urlJoin urlParse values without wrap wrapWith`)

// TestPurity is rule H5: nothing that reads the environment, the network, the clock or randomness,
// and nothing that changes what templates share.
func TestPurity(t *testing.T) {
	all := sprig.GenericFuncMap()
	ours := Funcs()
	for name := range all {
		_, out := leftOut[name]
		_, in := ours[name]
		switch {
		case out && in:
			t.Errorf("%s can be called: it reads %s", name, leftOut[name])
		case !out && !slices.Contains(known, name):
			t.Errorf("%s is new in sprig: is it pure?", name)
		case !out && !in:
			t.Errorf("%s cannot be called, for no stated reason", name)
		}
	}
	for name := range leftOut {
		if _, ok := all[name]; !ok {
			t.Errorf("%s is no function of sprig", name)
		}
	}
	for _, name := range []string{"toYaml", "fromYaml", "required", "index"} {
		if ours[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestLeftOutFunctionsAreNamed: the error says which function there is not.
func TestLeftOutFunctionsAreNamed(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(leftOut)) {
		_, err := Parse(at("f", 0), "{{ "+name+" }}")
		if err == nil || !strings.Contains(err.Error(), `function "`+name+`" not defined`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFactsAreNotChanged is rule G6: no template changes what the next one sees.
func TestFactsAreNotChanged(t *testing.T) {
	facts := func() map[string]any {
		return map[string]any{
			"m": map[string]any{"a": "1", "inner": map[string]any{"x": "1"}}, "l": []any{"b", "a", map[string]any{"z": "1"}},
		}
	}
	for _, text := range []string{
		`{{ merge .m (dict "b" "2" "inner" (dict "y" "2")) }}`, `{{ mustMerge .m (dict "b" "2") }}`,
		`{{ mergeOverwrite .m (dict "a" "2" "inner" (dict "x" "2")) }}`, `{{ mustMergeOverwrite .m (dict "a" "2") }}`,
		`{{ merge (dict) .m | toJson }}{{ $d := merge (dict) .m }}{{ mergeOverwrite $d.inner (dict "x" "9") }}`,
		`{{ append .l "x" }}{{ prepend .l "x" }}{{ push .l "x" }}`, `{{ sortAlpha .l }}`, `{{ reverse .l }}`, `{{ concat .l (list 1) }}`, `{{ rest .l }}{{ initial .l }}{{ compact .l }}{{ uniq .l }}`,
		`{{ omit .m "a" }}{{ pick .m "a" }}{{ without .l "a" }}`, `{{ append (slice .l 0 1) "changed" }}`, `{{ append (initial .l) "changed" }}`,
	} {
		tt, err := Parse(at("f", 0), text)
		if err != nil {
			t.Fatal(err)
		}
		data := facts()
		if _, err := tt.Execute(data); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(facts(), data); diff != "" {
			t.Errorf("%s changes the facts:\n%s", text, diff)
		}
	}
}

// TestSameEveryTime is rule G6: maps have no order, the results of functions over them do.
func TestSameEveryTime(t *testing.T) {
	data := map[string]any{"m": map[string]any{}, "n": map[string]any{"z": 1, "y": 2}}
	for _, k := range strings.Split("qwertyuiopasdfghjklzxcvbnm", "") {
		data["m"].(map[string]any)[k] = k
	}
	for _, text := range []string{`{{ keys .m .n }}`, `{{ values .m }}`, `{{ .m }}`, `{{ toYaml .m }}`, `{{ toJson .m }}`, `{{ range $k, $v := .m }}{{ $k }}{{ end }}`, `{{ merge .n .m }}`, `{{ keys (omit .m "a") | join "," }}`} {
		tt, err := Parse(at("f", 0), text)
		if err != nil {
			t.Fatal(err)
		}
		first, err := tt.Execute(data)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if again, _ := tt.Execute(data); again != first {
				t.Errorf("%s: %q and %q", text, first, again)
				break
			}
		}
	}
}

func TestFunctions(t *testing.T) {
	data := map[string]any{
		"m": map[string]any{"a": "1", "nil": nil}, "s": map[string]string{"a": "1"}, "l": []any{"x", "y"}, "n": map[string]any{"m": map[string]any{"k": "v"}},
	}
	for text, want := range map[string]string{
		`{{ index .m "a" }}{{ index .m "absent" }}.`:                        "1.",
		`{{ index .s "a" }}{{ index .s "absent" }}.`:                        "1.",
		`{{ index .l 1 }}`:                                                  "y",
		`{{ index .n "m" "k" }}`:                                            "v",
		`{{ get .m "absent" }}.`:                                            ".",
		`{{ dig "m" "absent" "d" .n }}`:                                     "d",
		`{{ index .m "absent" | default "d" }}`:                             "d",
		`{{ toYaml .n }}`:                                                   "m:\n  k: v",
		`{{ (fromYaml "a: {b: 1}").a.b }}`:                                  "1",
		`{{ required "needed" (index .m "a") }}`:                            "1",
		`{{ keys .m | join "," }}`:                                          "a,nil",
		`{{ values .s }}`:                                                   "",
		`{{ until 3 }}{{ untilStep 3 0 -1 }}{{ untilStep 0 3 0 }}`:          "[0 1 2][3 2 1][]",
		`{{ until -2 }}{{ untilStep 0 3 -1 }}{{ untilStep 3 0 1 }}`:         "[0 -1][][]",
		`{{ seq 3 }},{{ seq 2 4 }},{{ seq 0 2 4 }},{{ seq 3 1 }},{{ seq }}`: "1 2 3,2 3 4,0 2 4,3 2 1,",
		`{{ repeat 3 "ab" }}{{ repeat 0 "x" }}`:                             "ababab",
	} {
		tt, err := Parse(at("f", 0), text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := tt.Execute(data)
		if text == `{{ values .s }}` {
			if err == nil {
				t.Error("values takes a map of strings")
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}
