package tmpl_test

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestPrintingIsBounded: a text that doubles in a loop ends in an error before it uses up the
// memory (H10), and no address gets into an answer (G6). What is fit prints as text/template and
// sprig print it.
func TestPrintingIsBounded(t *testing.T) {
	for text, want := range map[string]string{
		`{{ $s := "x" }}{{ range until 60 }}{{ $s = print $s $s }}{{ end }}`:         "at most 1048576",
		`{{ $s := "x" }}{{ range until 60 }}{{ $s = println $s $s }}{{ end }}`:       "at most 1048576",
		`{{ $s := "x" }}{{ range until 60 }}{{ $s = printf "%s%s" $s $s }}{{ end }}`: "at most 1048576",
		`{{ $s := "x" }}{{ range until 60 }}{{ $s = cat $s $s }}{{ end }}`:           "at most 1048576",
		`{{ printf "%p" .m }}`:                 "prints an address",
		`{{ printf "%#p" .m }}`:                "prints an address",
		`{{ printf "%1000000000d" 1 }}`:        "too wide",
		`{{ printf (repeat 200 "%9999d") 1 }}`: "at most 1048576",
		`{{ printf "%*d" 1000000000 1 }}`:      "too wide",
		`{{ printf "100%% p" }}`:               "",
		`{{ printf "%d %#v" 1 (list "x") }}`:   "",
		`{{ printf "%05.2f %s" 1.5 "p" }}`:     "",
		`{{ cat "a" nil 1 }}`:                  "",
	} {
		tt, err := tmpl.Parse(problem.Pos{File: "f"}, text)
		require.NoError(t, err)
		out, err := tt.Execute(map[string]any{"m": map[string]any{}})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %q, %v", text, out, err)
		}
	}
	tt, err := tmpl.Parse(problem.Pos{}, `{{ print "a" 1 2 "b" }}|{{ println 1 "a" }}|{{ cat "a" nil 1 }}`)
	require.NoError(t, err)
	if out, err := tt.Execute(nil); err != nil || out != "a1 2b|1 a\n|a 1" {
		t.Errorf("%q, %v", out, err)
	}
}
