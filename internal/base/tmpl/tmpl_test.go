package tmpl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func at(file string, line int) problem.Pos { return problem.Pos{File: file, Line: line} }

// TestErrors is rule H5 (missingkey=error) with positions: those of the template in its file.
func TestErrors(t *testing.T) {
	data := map[string]any{"a": "1", "nothing": nil, "m": map[string]any{"nothing": nil}, "s": map[string]string{}}
	const hint = `; for facts that not every cluster has, write {{ index .annotations "x" }} or {{ dig }} with a default`
	for _, c := range []struct {
		name, text string
		pos        problem.Pos
		want       string
	}{
		{"missing key", "x\n{{ .absent }}", at("f", 0), `f:2:4: template <.absent>: no fact "absent" is known` + hint},
		{"missing key in a value", "x\n{{ .absent }}", at("f", 10), `f:11: template <.absent>: no fact "absent" is known` + hint},
		{"missing key of a map of strings", "{{ .s.absent }}", at("f", 0), `f:1:6: template <.s.absent>: no fact "absent" is known; if not every cluster has it, write {{ index .s "absent" | default "..." }}`},
		{"missing map", "{{ .S.absent }}", at("f", 0), `f:1:6: template <.S.absent>: no fact "S" is known` + hint},
		{"nil", "{{ .nothing }}", at("f", 0), `f:1:4: template: a value it prints is not there; expected only values that exist; give a default: {{ ... | default "x" }}`},
		{"nil below", "{{ .m.nothing }}", at("f", 0), `f:1:4: template: a value it prints is not there; expected only values that exist; give a default: {{ ... | default "x" }}`},
		{"below nil", "{{ .nothing.x }}", at("f", 0), "f:1:12: template <.nothing.x>: nil pointer evaluating interface {}.x"},
		{"below text", "{{ .a.x }}", at("f", 0), "f:1:6: template <.a.x>: can't evaluate field x in type interface {}"},
		{"syntax", "a\n{{ if }}", at("f", 0), "f:2: template: missing value for if"},
		{"unclosed", "a\n{{ .a ", at("f", 0), "f:2: template: unclosed action"},
		{"syntax in a value", "a\n{{ end }}", at("f", 7), "f:8: template: unexpected {{end}}"},
		{"unknown function", "{{ now }}", at("f", 0), `f:1:4: template: function "now" not defined; expected a function of templates (docs/reference/repository.md#functions); use the date itself`},
		{"fail", `{{ fail "no" }}`, at("f", 0), `f:1:4: template <fail "no">: error calling fail: no`},
		{"required", `{{ required "needed" "" }}`, at("f", 0), `f:1:4: template <required "needed" "">: error calling required: needed`},
		{"index out of range", `{{ index (list 1) 3 }}`, at("f", 0), `f:1:4: template <index (list 1) 3>: error calling index: no such element in a list of 1`},
		{"index of text", `{{ index 5 "x" }}`, at("f", 0), `f:1:4: template <index 5 "x">: error calling index: cannot look up a string in int`},
		{"index with a number", `{{ index .m 5 }}`, at("f", 0), `f:1:4: template <index .m 5>: error calling index: cannot look up a int in a map with keys of type string`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tt, err := Parse(c.pos, c.text)
			if err == nil {
				_, err = tt.Execute(data)
			}
			var p problem.Problem
			if !errors.As(err, &p) || p.Reason != problem.TemplateFailed || p.Severity != problem.Error {
				t.Fatalf("error %#v", err)
			}
			assert.Equal(t, c.want, p.Error())
		})
	}
}

// TestErrorsHoldNoValues: whatever fails, the error of an execution repeats the template's own
// text, and no value of the facts.
func TestErrorsHoldNoValues(t *testing.T) {
	const value = "facts-v4lue"
	data := map[string]any{"v": value, "m": map[string]any{"k": value}, "l": []any{value}, "n": 7654321}
	for _, text := range []string{
		`{{ fail .v }}`, `{{ fail (toJson .) }}`, `{{ .v | fail }}`, `{{ required .v "" }}`, `{{ fail (printf "x %s" .v) }}`, `{{ $f := .v }}{{ fail $f }}`,
		`{{ fail (print "incompatible types for comparison: " .v) }}`, `{{ if false }}{{ fail "x" }}{{ end }}{{ fail (cat "x" .v) }}`,
		`{{ range $i, $x, := .v }}{{ end }}`, `{{ range .v }}{{ . | add1 | fail }}{{ end }}`, `{{ range .m.k }}{{ . }}{{ end }}`, `{{ atoi .v | fail }}`,
		`{{ fromYaml (print "[" .v) }}`, `{{ fromYaml .v }}`, `{{ mustFromJson .v }}`, `{{ mustRegexMatch (print "(" .v) "x" }}`, `{{ regexMatch (print "(" .v) "x" }}`,
		`{{ regexReplaceAll (print "[" .v) "x" "y" }}`, `{{ semverCompare .v "1.2.3" }}`, `{{ semverCompare ">1" .v }}`, `{{ mustToDuration .v }}`, `{{ index .l .v }}`, `{{ index .l .n }}`, `{{ index .n .v }}`, `{{ index .m .n }}`,
		`{{ printf (print "%" .n "p") .v }}`, `{{ printf (print "%" .v "p") .m }}`, `{{ lt .v .n }}`, `{{ eq .l .l }}`, `{{ .v.x }}`, `{{ .m.k.x }}`, `{{ index .l 0 | include }}`, `{{ template .v }}`,
		`{{ mustFirst .v }}`, `{{ mustHas .v .v }}`, `{{ mustSlice .v 1 }}`, `{{ slice .v 9 99 }}`, `{{ dig "a" .v }}`, `{{ get .v "x" }}`, `{{ merge .v }}`, `{{ b64dec .v | fail }}`, `{{ b32dec .v }}`, `{{ urlParse (print "%" .v "://") }}`,
		`{{ mustDateModify .v now }}`, `{{ derivePassword 1 .v .v .v .v }}`, `{{ buildCustomCert .v .v }}`, `{{ decryptAES .v .v }}`, `{{ until .v }}`, `{{ repeat .n .v }}`, `{{ tuple .v | first | len }}{{ len .n }}`,
	} {
		tt, err := Parse(at("f", 0), text)
		if err == nil {
			_, err = tt.Execute(data)
		}
		if err != nil && (strings.Contains(err.Error(), value) || strings.Contains(err.Error(), "7654321") || strings.Contains(err.Error(), b64(value))) {
			t.Errorf("%s: %v", text, err)
		}
	}
	tt, err := Parse(at("f", 0), `{{ fail .v }}`)
	if err == nil {
		_, err = tt.Execute(data)
	}
	const want = `f:1:4: template <fail .v>: error calling fail: its message is withheld, as it may hold values; a message in quotes is shown: {{ fail "..." }}`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// TestOutputIsBounded is rule H10, with limit and actual.
func TestOutputIsBounded(t *testing.T) {
	tt, err := Parse(at("f", 3), `{{ range until 1000 }}{{ repeat 2000 "x" }}{{ end }}`)
	require.NoError(t, err)
	_, err = tt.Execute(nil)
	var p problem.Problem
	if !errors.As(err, &p) || p.Reason != problem.LimitExceeded || p.Error() != "f:3: template writes 1050000 bytes and more; expected at most 1048576 bytes" {
		t.Errorf("error %v", err)
	}
	tt, err = Parse(at("f", 0), `{{ define "a" }}{{ template "a" }}{{ end }}{{ template "a" }}`)
	require.NoError(t, err)
	if _, err := tt.Execute(nil); err == nil {
		t.Error("endless recursion is not refused")
	}
}

// TestPlainTextIsUntouched: text without an action is returned as it is.
func TestPlainTextIsUntouched(t *testing.T) {
	for _, text := range []string{"", "a", "}} a {", "{ { .x } }", "<no value>", "a\r\n\x00"} {
		tt, err := Parse(at("f", 0), text)
		require.NoError(t, err)
		if got, err := tt.Execute(nil); got != text || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestKeys: an execution has a key once one has taken long, and another with other facts, another
// text or another place.
func TestKeys(t *testing.T) {
	const long = "{{ range until 1000 }}{{ end }}"
	seen := map[string]string{}
	for _, text := range []string{long, long + " ", "{{ .x }}"} {
		for _, file := range []string{"f", "g"} {
			tt, err := Parse(at(file, 0), text)
			require.NoError(t, err)
			if _, ok := tt.Key(nil); ok {
				t.Error("a template that has not been executed takes long")
			}
			for _, x := range []any{1, 1.0, int64(1), "1", nil, true, []any{1, "2"}, []any{"1", 2}, map[string]any{"a": 1}, map[string]any{"a": 1, "b": nil}} {
				facts := map[string]any{"x": x}
				_, _ = tt.ExecuteCounted(facts)
				key, ok := tt.Key(facts)
				if ok != strings.HasPrefix(text, long) {
					t.Errorf("%s: a key: %t", text, ok)
				}
				what := fmt.Sprintf("%s %s %#v %T", file, text, x, x)
				if other := seen[key]; ok && other != "" {
					t.Errorf("%s and %s have one key", what, other)
				}
				seen[key] = what
				if again, _ := tt.Key(map[string]any{"x": x}); again != key {
					t.Errorf("%s: two keys", what)
				}
			}
		}
	}
}

// TestConcurrentUse: one template, many goroutines.
func TestConcurrentUse(t *testing.T) {
	tt, err := Parse(at("f", 0), `{{ .a }}{{ merge .m (dict "x" .a) }}`)
	require.NoError(t, err)
	data := map[string]any{"a": "1", "m": map[string]any{"k": "v"}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, err := tt.Execute(data); got != "1map[k:v x:1]" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzTemplate: no input makes a template panic, change its facts, or give two results.
func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"{{ .a }}", "{{ range .l }}{{ . }}{{ end }}", `{{ index .m "k" | default "x" | quote }}`, "{{ with .m }}{{ .k }}{{ end }}", `{{ merge .m (dict "a" 1) | toYaml | nindent 2 }}`, "{{ .m.absent }}", "{{- /* c */ -}}", `{{ define "x" }}{{ end }}{{ template "x" . }}`, `{{ printf "%d" 3 }}`, "{{ keys .m }}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 || strings.Count(text, "range") > 1 {
			t.Skip() // nested loops take long, whatever they do
		}
		tt, err := Parse(at("f", 1), text)
		if err != nil {
			return
		}
		data := map[string]any{"a": "1", "m": map[string]any{"k": "v"}, "l": []any{"x"}}
		first, err1 := tt.Execute(data)
		if len(data) != 3 || len(data["m"].(map[string]any)) != 1 || len(data["l"].([]any)) != 1 {
			t.Fatalf("%q changes the facts: %v", text, data)
		}
		second, err2 := tt.Execute(data)
		if first != second || (err1 == nil) != (err2 == nil) || err1 != nil && err1.Error() != err2.Error() {
			if !strings.Contains(text, "%") { // %p prints an address
				t.Fatalf("%q gives %q, %v and %q, %v", text, first, err1, second, err2)
			}
		}
		if len(first) > MaxOutput || err1 == nil && !strings.Contains(text, "no value") && strings.Contains(first, "<no value>") {
			t.Fatalf("%q gives %d bytes: %.100q", text, len(first), first)
		}
	})
}

// A text of the template or of a fact is what it is, also where it reads as text/template's word
// for what is not there.
func TestNoValueMayBeWritten(t *testing.T) {
	for text, want := range map[string]string{
		`a: "<no value>" {{ .a }}`: `a: "<no value>" 1`,
		`{{ .note }}`:              "<no value>",
		`{{ .note | upper | lower }}{{ "<no value>" }}`: "<no value><no value>",
	} {
		tt, err := Parse(at("f", 0), text)
		require.NoError(t, err)
		if got, err := tt.Execute(map[string]any{"a": "1", "note": "<no value>"}); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
