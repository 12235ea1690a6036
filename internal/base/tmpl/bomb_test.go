package tmpl

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/race"
)

// bombs are small templates that would make gigabytes, or never end, if only their output and their
// loops were bounded. Each doubles something forty times, or asks for everything at once.
var bombs = map[string]string{
	"replace":             `{{ $s := repeat 1000000 "x" }}{{ replace "x" $s $s }}`,
	"replace in a loop":   `{{ $s := "xx" }}{{ range until 40 }}{{ $s = replace "x" "xx" $s }}{{ end }}`,
	"replace of nothing":  `{{ replace "" (repeat 10000 "y") (repeat 100000 "x") }}`,
	"indent":              `{{ indent 100000000000 "x" }}`,
	"nindent":             `{{ nindent 100000 (repeat 500000 "\n") }}`,
	"join":                `{{ join (repeat 100000 "x") (until 50000) }}`,
	"regexReplaceAll":     `{{ regexReplaceAll "x" (repeat 10000 "x") (repeat 10000 "y") }}`,
	"regexReplaceAll $0":  `{{ regexReplaceAll ".*" (repeat 10000 "x") (repeat 10000 "$0") }}`,
	"long expression":     `{{ regexMatch (repeat 1000000 "x?") "x" }}`,
	"large expression":    `{{ regexMatch "(((x{1000})|(y{1000})|(z{1000})){1}|(.{1000}){1}){1}.{1000}.{1000}.{1000}.{1000}.{1000}.{1000}.{1000}" "x" }}`,
	"same search again":   `{{ $s := repeat 1000000 "x" }}{{ range until 100000 }}{{ $b := regexMatch "(x|xx|xxx)*y" $s }}{{ end }}`,
	"letters":             `{{ range until 100000 }}{{ if regexMatch (printf "(?i)[B-\\x{1e941}]%d" .) "" }}{{ end }}{{ end }}`,
	"compared lists":      `{{ $l := list "x" }}{{ range 40 }}{{ $l = list $l $l }}{{ end }}{{ if eq $l $l }}{{ end }}`,
	"compared texts":      `{{ $s := repeat 1000000 "x" }}{{ $r := print $s "" }}{{ range until 1000 }}{{ if eq $s $r }}{{ end }}{{ end }}`,
	"a long key":          `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ if hasKey $.m $s }}{{ end }}{{ end }}`,
	"a long key of get":   `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ if get $.m $s }}{{ end }}{{ end }}`,
	"a long key of index": `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ if index $.m $s }}{{ end }}{{ end }}`,
	"a long key of dig":   `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ if dig $s "" $.m }}{{ end }}{{ end }}`,
	"a long type":         `{{ $s := repeat 1000000 "x" }}{{ range until 1000 }}{{ if typeIsLike $s 1 }}{{ end }}{{ end }}`,
	"b64enc":              `{{ $s := repeat 1000 "x" }}{{ range until 40 }}{{ $s = b64enc $s }}{{ end }}`,
	"b32enc":              `{{ $s := repeat 1000 "x" }}{{ range until 40 }}{{ $s = b32enc $s }}{{ end }}`,
	"quote":               `{{ $s := "\"" }}{{ range until 40 }}{{ $s = quote $s }}{{ end }}`,
	"html":                `{{ $s := "&" }}{{ range until 400000 }}{{ $s = html $s $s }}{{ end }}`,
	"js":                  `{{ $s := "<" }}{{ range until 40 }}{{ $s = js $s $s }}{{ end }}`,
	"urlquery":            `{{ $s := "%" }}{{ range until 40 }}{{ $s = urlquery $s $s }}{{ end }}`,
	"print":               `{{ $s := "x" }}{{ range until 40 }}{{ $s = print $s $s }}{{ end }}`,
	"cat":                 `{{ $s := "x" }}{{ range until 40 }}{{ $s = cat $s $s }}{{ end }}`,
	"printf widths":       `{{ printf (repeat 100000 "%9999d") 1 }}`,
	"printf precision":    `{{ printf (repeat 100000 "%.9999f") 1.5 }}`,
	"printf indexes":      `{{ printf (repeat 100000 "%[1]s") (repeat 500000 "x") }}`,
	"printf width's":      `{{ printf (repeat 1500 "%1[1]s") (repeat 400000 "x") }}`,
	"printf precision's":  `{{ printf (repeat 1500 "%.9999[1]s") (repeat 400000 "x") }}`,
	"printf point's":      `{{ printf (repeat 100000 "%.[1]s") (repeat 10 "x") (repeat 500000 "x") }}`,
	"list":                `{{ $l := list "x" }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`,
	"list alone":          `{{ $l := list "x" }}{{ range 40 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`,
	"tuple":               `{{ $l := tuple "x" }}{{ range 40 }}{{ $l = tuple $l $l }}{{ end }}{{ toString $l }}`,
	"dict":                `{{ $d := dict "k" "x" }}{{ range until 40 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ toJson $d }}`,
	"dict's key":          `{{ $l := list "x" }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ len (dict $l 1) }}`,
	"index's key":         `{{ $l := list "x" }}{{ range until 40 }}{{ $l = list $l $l }}{{ end }}{{ index .m $l }}`,
	"toYaml":              `{{ $d := dict "k" "x" }}{{ range until 40 }}{{ $d = dict "a" $d "b" $d }}{{ end }}{{ toYaml $d }}`,
	"toYaml of itself":    `{{ $s := ":\n" }}{{ range until 40 }}{{ $s = toYaml (list $s $s) }}{{ end }}`,
	"toPrettyJson":        `{{ $l := list "x" }}{{ range until 90000 }}{{ $l = list $l }}{{ end }}{{ toPrettyJson $l }}`,
	"toJson of itself":    `{{ $s := "\"" }}{{ range until 40 }}{{ $s = toJson $s }}{{ end }}`,
	"fromJson":            `{{ $l := fromJson (print "[" (repeat 300000 "[],") "[]]") }}`,
	"fromYaml's aliases":  `{{ len (fromYaml "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]") }}`,
	"fromYaml's breaks":   `{{ len (fromYaml (print "a: &a " (repeat 250000 "x") "\nb: [" (repeat 2000 "\u2028*a\u2028,") "1]")) }}`,
	"fromYaml's anchors":  `{{ len (fromYaml (print "b: [\u0085&a " (repeat 250000 "x") (repeat 2000 ",*a") "]")) }}`,
	"fromYaml's letters":  `{{ len (fromYaml (print "\xff\xfea\x00:\x00 \x00&\x00a\x00 \x00" (repeat 250000 "x\x00") "\n\x00b\x00:\x00 \x00[\x00" (repeat 2000 "*\x00a\x00,\x00") "]\x00")) }}`,
	"fromYaml's halves":   `{{ len (fromYaml (print "\xfe\xff\x00a\x00:\x00 \x00&\x00a\x00 " (repeat 250000 "\x00x") "\x00\n\x00b\x00:\x00 \x00[" (repeat 2000 "\x00*\x00a\x00,") "\x00]")) }}`,
	"merge":               `{{ $d := dict "k" "x" }}{{ range until 40 }}{{ $d = merge (dict "a" $d) (dict "b" $d) }}{{ end }}`,
	"deepCopy":            `{{ $d := list "x" }}{{ range until 40 }}{{ $d = list $d $d }}{{ end }}{{ len (deepCopy $d) }}`,
	"concat":              `{{ $l := list 1 }}{{ range until 40 }}{{ $l = concat $l $l }}{{ end }}`,
	"append":              `{{ $l := list }}{{ range until 90000 }}{{ $l = append $l (repeat 1000000 "x") }}{{ end }}`,
	"append numbers":      `{{ $l := list }}{{ range until 50000 }}{{ $l = append $l 1 }}{{ end }}`,
	"kept texts":          `{{ $l := list }}{{ range until 40000 }}{{ $l = list $l (repeat 100000 "x") }}{{ end }}`,
	"kept lists":          `{{ $l := list }}{{ range until 40000 }}{{ $l = list $l (until 100000) }}{{ end }}`,
	"splitList":           `{{ $l := list }}{{ range until 40000 }}{{ $l = list $l (splitList "" (repeat 50000 "x")) }}{{ end }}`,
	"trimAll":             `{{ trimAll (repeat 300000 "äö") (repeat 300000 "öx") }}`,
	"sha256sum":           `{{ $s := repeat 1000000 "x" }}{{ range until 50000 }}{{ $h := sha256sum $s }}{{ end }}`,
	"contains":            `{{ $s := repeat 500000 "x" }}{{ range until 50000 }}{{ if contains "xy" $s }}{{ end }}{{ end }}`,
	"has":                 `{{ $l := until 60000 }}{{ range until 50000 }}{{ if has "x" $l }}{{ end }}{{ end }}`,
	"sortAlpha":           `{{ $l := until 30000 }}{{ range until 50000 }}{{ $m := sortAlpha $l }}{{ end }}`,
	"repeat":              `{{ repeat 2000000000 "x" }}`,
	"until":               `{{ until 2000000000 }}`,
	"calls of itself":     `{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
	"doubling calls":      `{{ define "a" }}{{ if . }}{{ template "a" rest . }}{{ template "a" rest . }}{{ end }}{{ end }}{{ template "a" until 60 }}`,
	"long loop":           `{{ range 9223372036854775807 }}{{ end }}`,
	"a long body":         `{{ range until 100000 }}` + strings.Repeat(`{{ if eq 1 2 }}{{ end }}`, 5000) + `{{ end }}`,
	"source":              strings.Repeat("{{ if true }}", 30000) + strings.Repeat("{{ end }}", 30000),
	"a long error":        `{{ fail (repeat 1000000 "x") }}`,
	"a long error, index": `{{ index .m.inner.x (repeat 1000000 "x") }}`,
	"range over a text":   `{{ range (repeat 1000000 "x") }}{{ end }}`,
}

// TestBombs is rule H10: whatever a template does, one execution ends soon, within bounded memory,
// with an error that states the limit. Without the accounts most of these are ended by the kernel.
func TestBombs(t *testing.T) {
	const (
		memory = 256 << 20 // allocated in all by one execution; what is in use at one time is less
		// On a machine that is busy; each takes well under one on its own.
		seconds = 20 * race.Slack
	)
	data := map[string]any{"m": map[string]any{"a": "1", "inner": map[string]any{"x": 1}}}
	for name, text := range bombs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			tt, err := Parse(at("f", 0), text)
			if err == nil {
				_, err = tt.Execute(data)
			}
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			var p problem.Problem
			if !errors.As(err, &p) || p.Pos.File != "f" || len(p.Error()) > 400 {
				t.Fatalf("error %.1000v", err)
			}
			if strings.HasPrefix(name, "a long error") || strings.HasPrefix(name, "range") {
				if p.Reason != problem.TemplateFailed {
					t.Errorf("%s", err)
				}
			} else if p.Reason != problem.LimitExceeded || p.Found == "" || !strings.Contains(p.Expected, "at most ") {
				t.Errorf("%s: %s", p.Reason, p.Error())
			}
			if all := after.TotalAlloc - before.TotalAlloc; all > memory || took > seconds*time.Second {
				t.Errorf("%d MiB in %s", all>>20, took)
			} else {
				t.Logf("%d MiB in %s: %s", all>>20, took.Round(time.Millisecond), p.Error())
			}
			if tt != nil && took < 100*time.Millisecond { // the others would only take as long again
				if _, again := tt.Execute(data); again == nil || again.Error() != err.Error() {
					t.Errorf("first %v, then %v", err, again) // G5
				}
			}
		})
	}
}
