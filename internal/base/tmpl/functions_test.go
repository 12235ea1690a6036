package tmpl

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestPurity is rule H5: nothing that reads the environment, the network, the clock or randomness,
// and nothing that changes what templates share. What sprig adds is not there by itself.
func TestPurity(t *testing.T) {
	all, hermetic, ours := sprig.GenericFuncMap(), sprig.HermeticTxtFuncMap(), Funcs()
	for _, name := range allowed {
		if all[name] == nil {
			t.Errorf("%s is no function of sprig", name)
		}
	}
	for name := range ours {
		if all[name] != nil && hermetic[name] == nil {
			t.Errorf("%s can be called: sprig says that it reads the environment, the network, the clock or randomness", name)
		}
	}
	for _, name := range strings.Fields(`now ago date dateInZone dateModify mustDateModify htmlDate toDate duration durationRound unixEpoch
		randAlphaNum randAlpha randAscii randNumeric randBytes randInt uuidv4 shuffle bcrypt htpasswd encryptAES genPrivateKey genCA
		genSelfSignedCert genSignedCert env expandenv getHostByName set unset osBase derivePassword`) {
		if ours[name] != nil {
			t.Errorf("%s can be called", name)
		}
	}
	for name, other := range instead {
		if ours[name] != nil || !strings.Contains(other, " ") && ours[other] == nil {
			t.Errorf("in the place of %s: %s", name, other)
		}
	}
}

// TestFunctionsAreDocumented: the reference lists all functions and no others, but for the forms
// with must.
func TestFunctionsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/repository.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "### Functions\n")
	section, _, _ = strings.Cut(section, "\n### ")
	var listed []string
	for _, row := range strings.Split(section, "\n") {
		if cells := strings.Split(row, " | "); strings.HasPrefix(row, "| ") && len(cells) == 2 {
			for _, name := range regexp.MustCompile("`([a-z]\\w*)`").FindAllStringSubmatch(cells[1], -1) {
				listed = append(listed, name[1])
			}
		}
	}
	want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "must") })
	slices.Sort(listed)
	assert.Equal(t, want, listed)
}

// TestUnknownFunctionsAreNamed: each with its line, and what to use.
func TestUnknownFunctionsAreNamed(t *testing.T) {
	_, err := Parse(at("f", 0), "{{ now }}\n{{ define \"x\" }}{{ if (uper .a) }}{{ end }}{{ end }}{{ range (set .m 1) }}{{ now }}{{ end }}\n{{ wrap 1 2 | upper }}")
	const expected = " not defined; expected a function of templates (docs/reference/repository.md#functions)"
	var got []string
	for _, p := range problem.From(err, "", problem.Pos{}) {
		got = append(got, p.Error())
	}
	want := []string{
		`f:1:4: template: function "now"` + expected + "; use the date itself",
		`f:2:24: template: function "uper"` + expected + `; did you mean "upper"?`,
		`f:2:63: template: function "set"` + expected + "; use merge",
		`f:3:4: template: function "wrap"` + expected,
	}
	assert.Equal(t, want, got)
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
		require.NoError(t, err)
		data := facts()
		if _, err := tt.Execute(data); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		assert.Equal(t, facts(), data, "%s changes the facts", text)
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
		require.NoError(t, err)
		first, err := tt.Execute(data)
		require.NoError(t, err)
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
		`{{ index .m "a" }}{{ index .m "absent" }}.`: "1.",
		`{{ index .s "a" }}{{ index .s "absent" }}.`: "1.",
		`{{ index .l 1 }}`:                           "y",
		`{{ index .n "m" "k" }}`:                     "v",
		`{{ get .m "absent" }}.`:                     ".",
		`{{ dig "m" "absent" "d" .n }}`:              "d",
		`{{ index .m "absent" | default "d" }}`:      "d",
		`{{ toYaml .n }}`:                            "m:\n  k: v",
		`{{ (fromYaml "a: {b: 1}").a.b }}`:           "1",
		`{{ required "needed" (index .m "a") }}`:     "1",
		`{{ keys .m | join "," }}`:                   "a,nil",
		`{{ values .s }}`:                            "",
		`{{ until 3 }}{{ until 0 }}`:                 "[0 1 2][]",
		`{{ until -2 }}`:                             "[0 -1]",
		`{{ repeat 3 "ab" }}{{ repeat 0 "x" }}`:      "ababab",
		`{{ uniq (list 1 "1" 1 (list 1) (list "1") (list 1) nil nil) | toJson }}`:             `[1,"1",[1],["1"],null]`,
		`{{ without (list 1 2 "2" (dict "a" 1)) 2 (dict "a" 1) | toJson }}`:                   `[1,"2"]`,
		`{{ trimAll "/-" "/-a/b-/" }}{{ replace "a" "bb" "aXa" }}{{ join "-" (list 1 "x") }}`: "a/bbbXbb1-x",
		`{{ indent 2 "a\nb" }}{{ nindent 1 "c" }}`:                                            "  a\n  b\n c",
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
