package tmpl

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/race"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestAnExecutionTakesSecondsAtMost is rule 5: the steps of a template stand for its time, whatever
// it does. Each template takes a part of the steps that one execution may take; the time of all is
// that many times longer. Without its charge each would take a minute and more.
func TestAnExecutionTakesSecondsAtMost(t *testing.T) {
	const (
		fields = 1000
		most   = 10 * race.Slack * time.Second
		long   = `{{ $s := repeat 16000 (repeat 64 "x") }}`
		table  = `{{ $m := fromYaml (printf "a%s: v" (join ": v\na" (until 2000))) }}`
	)
	for name, text := range map[string]string{
		"letters of all cases":     `{{ if regexMatch (printf "(?i)%s" (repeat 45 "[B-\\x{1e941}]")) "" }}{{ end }}`,
		"many such expressions":    `{{ range until 20 }}{{ if regexMatch (printf "(?mi)[B-\\x{1e941}]%d" .) "" }}{{ end }}{{ end }}`,
		"such letters as they are": `{{ if regexMatch (printf "(?i)[%s]" (repeat 40 "B-𞥁")) "" }}{{ end }}`,
		"classes of letters":       `{{ range until 3 }}{{ if regexMatch (printf "(?i)[%s]%d" (repeat 300 "\\pL") .) "" }}{{ end }}{{ end }}`,
		"equal beginnings":         long + `{{ $a := print $s "a" }}{{ $b := print $s "b" }}{{ range 100 }}{{ if eq $a` + strings.Repeat(" $b", 500) + ` }}{{ end }}{{ end }}`,
		"a long path":              fmt.Sprintf(`{{ $m := dict }}{{ range %d }}{{ $m = dict "a" $m }}{{ end }}{{ range 20000 }}{{ if $m%s }}{{ end }}{{ end }}`, fields, strings.Repeat(".a", fields)),
		"a path from the dot":      fmt.Sprintf(`{{ $m := dict }}{{ range %d }}{{ $m = dict "a" $m }}{{ end }}{{ range 20000 }}{{ with $m }}{{ if %s }}{{ end }}{{ end }}{{ end }}`, fields, strings.Repeat(".a", fields)),
		"a path after a call":      fmt.Sprintf(`{{ $m := dict }}{{ range %d }}{{ $m = dict "a" $m }}{{ end }}{{ range 20000 }}{{ if (default $m)%s }}{{ end }}{{ end }}`, fields, strings.Repeat(".a", fields)),
		"many variables":           `{{ $z := 1 }}` + strings.Repeat("{{ $a := 1 }}", 15_000) + `{{ range 100 }}{{ if list` + strings.Repeat(" $z", 200) + ` }}{{ end }}{{ end }}`,
		"the order of a loop":      table + `{{ range 2000 }}{{ range $m }}{{ break }}{{ end }}{{ end }}`,
		"constraints":              `{{ range 200 }}{{ $b := semverCompare "` + strings.Repeat(">1||", 62) + `>1" "0.0.1" }}{{ end }}`,
	} {
		t.Run(name, func(t *testing.T) {
			tm, err := Parse(at("f", 1), text)
			require.NoError(t, err)
			began := threadTime(t)
			defer runtime.UnlockOSThread()
			out, err := tm.ExecuteCounted(nil)
			took := threadTime(t) - began
			if all := time.Duration(float64(took) * maxSteps / float64(out.Steps)); all > most {
				t.Errorf("%d steps take %s: all that one execution may take would take %s (%v)", out.Steps, took, all, err)
			}
		})
	}
}

// TestEveryFunctionIsCharged is rule 5 for each function alone, with large arguments of each kind:
// what it takes is charged, so that all that one execution may take is seconds.
func TestEveryFunctionIsCharged(t *testing.T) {
	const (
		most   = 10 * race.Slack * time.Second
		rounds = 60
		tells  = 9 * time.Millisecond // less is within the limit, with the steps of the calls alone
	)
	list, dict := make([]any, 300), map[string]any{}
	for i := range list {
		list[i], dict[fmt.Sprint("k", i)] = fmt.Sprint("v", i), fmt.Sprint("value ", i)
	}
	data := map[string]any{"s": strings.Repeat("aB c_d-é\n", 300), "l": list, "m": dict, "short": strings.Repeat("a", maxSearched)}
	for name, text := range map[string]string{"j": "toJson .m", "y": "toYaml .m", "b": "b64enc .s", "b32": "b32enc .s"} {
		tm, err := Parse(at("f", 1), "{{ "+text+" }}")
		if err == nil {
			data[name], err = tm.Execute(data)
		}
		require.NoError(t, err)
	}
	calls := []string{
		"$.s", "$.l", "$.m", "$.j", "$.y", "$.b", "$.b32", "$.s $.s", "$.s 5", "5 $.s", "$.l $.s", "$.s $.l", `"k1" $.m`, `$.m "k1" "k2"`, "$.m $.m", "$.l 5", "$.l $.l", "0 5 $.s", "1 2000 1", `2000 "ab"`,
		`"a" "b" $.s`, `"%s %v" $.s $.l`, `"k1" "x" $.m`, "true $.s $.s", `"x*y|x" $.short`, `"(a|b|c)*[a-z]{50}" $.short`, `"a*b|a" $.short -1`, `"a*b|a" $.short "x"`, `"(?i)[a-z]*$" $.short`,
		`">1.2.3 <2 || ^3.4" "1.2.3-rc.1+b"`, `"1.2.3-rc.1+b"`,
	}
	measured := 0
	for _, name := range slices.Sorted(maps.Keys(Funcs())) {
		ends := false
		for _, call := range calls {
			tm, err := Parse(at("f", 1), fmt.Sprintf("{{ range %d }}{{ $x := %s %s }}{{ end }}", rounds, name, call))
			require.NoError(t, err)
			began := threadTime(t)
			out, err := tm.ExecuteCounted(data)
			took := threadTime(t) - began
			runtime.UnlockOSThread()
			runtime.UnlockOSThread()
			if err != nil && !strings.Contains(err.Error(), "at most") {
				continue // no arguments of this function
			}
			ends = ends || err == nil
			if all := time.Duration(float64(took) * maxSteps / float64(max(1, out.Steps))); took > tells && all > most {
				t.Errorf("%s %s: %d steps take %s: all that one execution may take would take %s (%v)", name, call, out.Steps, took, all, err)
			}
		}
		if ends {
			measured++
		}
	}
	if measured < len(Funcs())*3/4 {
		t.Errorf("%d of %d functions take one of the arguments: too few to say anything", measured, len(Funcs()))
	}
}

// TestParsingCounts is rule 5 for what a template never executes: the text alone stands for the
// time that parsing it takes.
func TestParsingCounts(t *testing.T) {
	const most = 20 * race.Slack * time.Second // for the steps of one execution
	for _, part := range []string{"\n{{1}}", "{{$a:=1}}\n", "{{eq 1 2}}", "{{/**/}}\n"} {
		text := `{{define "x"}}` + strings.Repeat(part, 200_000/len(part)) + `{{end}}`
		began := threadTime(t)
		tm, err := Parse(at("f", 1), text)
		took := threadTime(t) - began
		runtime.UnlockOSThread()
		require.NoError(t, err)
		for name, execute := range map[string]func(any) (Output, error){"": tm.ExecuteCounted, "lines": tm.ExecuteLines} {
			out, err := execute(nil)
			if all := time.Duration(float64(took) * maxSteps / float64(out.Steps)); err != nil || all > most {
				t.Errorf("%q%s: %d steps take %s: all that one execution may take would take %s (%v)", part, name, out.Steps, took, all, err)
			}
		}
	}
}

// threadTime is the processor's time of this thread, which the goroutine keeps: work of others does
// not count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_THREAD, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
