// Package tmpl runs Go templates over the facts of a cluster.
//
//  1. The functions are sprig's, less those whose result depends on the environment, the network, the clock or
//     randomness, so that an answer is a pure function of its inputs (rules H5, G6); and toYaml, fromYaml and
//     required, as Helm's charts have them. No function changes its arguments: set and unset are left out, merge and
//     its kin work on copies. keys and values come in order.
//  2. A key that is not there is an error, never "<no value>" (H5). Optional facts are read by {{ index .m "k" }},
//     {{ get .m "k" }} or {{ dig "k" "default" .m }}: index differs from text/template's in that an absent key gives
//     "", where text/template would print "<no value>".
//  3. Templates are parsed once and may be executed from several goroutines.
//  4. Errors carry the line within the template, and the file when it is known; ExecuteLines tells for each line of
//     the output which line of the template it comes from (H7).
//  5. Output is bounded, and so are the texts and lists that functions make, and how often loops and calls of templates
//     go round (H10).
package tmpl

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/argosy-hub/argosy/internal/problem"
)

// MaxOutput is the limit of one template's output, in bytes.
const MaxOutput = 1 << 20

// maxTurns is the limit of the turns of all loops of one execution, calls of templates included: {{ range }} takes any
// number, and nested loops multiply.
const maxTurns = 200_000

// Template is a parsed template.
type Template struct {
	t    *template.Template
	pos  problem.Pos // of the template's first line
	text string      // the text itself when it holds no action: executing it is free
	pure bool
	// lines are those at which the literal texts start.
	lines map[*byte]int
}

// Parse parses a template that starts at a place; errors are problem.Problem with reason template-failed.
func Parse(pos problem.Pos, text string) (*Template, error) {
	if !strings.Contains(text, "{{") {
		return &Template{pos: pos, text: text, pure: true}, nil
	}
	t, err := template.New("t").Option("missingkey=error").Funcs(funcs).Parse(text)
	if err != nil {
		return nil, failure(pos, err)
	}
	lines := textLines(t, text)
	countTurns(t)
	return &Template{t: t, pos: pos, lines: lines}, nil
}

// Execute runs the template; errors are problem.Problem with reason template-failed or limit-exceeded.
func (t *Template) Execute(data any) (string, error) {
	if t.pure {
		return t.text, nil
	}
	var out limited
	if err := t.run(&out, &out, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

// ExecuteLines is Execute that also tells, for each line of the output, the line of the template that it comes from
// (counted from 1; nil when they are the same).
func (t *Template) ExecuteLines(data any) (text string, lines []int, err error) {
	if t.pure {
		return t.text, nil, nil
	}
	out := newLineWriter(t.lines)
	if err := t.run(out, &out.limited, data); err != nil {
		return "", nil, err
	}
	return out.String(), out.lines, nil
}

// run executes the template into a writer; out is where its text ends up.
func (t *Template) run(w io.Writer, out *limited, data any) error {
	if err := t.t.Execute(w, data); err != nil {
		if out.turns > maxTurns {
			return problem.Problem{
				Reason: problem.LimitExceeded, Severity: problem.Error, Pos: t.pos,
				Found: "template goes round its loops more often than the limit", Expected: fmt.Sprintf("at most %d times", maxTurns),
			}
		}
		if out.exceeded {
			return problem.Problem{
				Reason: problem.LimitExceeded, Severity: problem.Error, Pos: t.pos,
				Found: "template writes more than the limit", Expected: fmt.Sprintf("at most %d bytes", MaxOutput),
			}
		}
		return failure(t.pos, err)
	}
	if strings.Contains(out.String(), noValue) {
		return problem.Problem{
			Reason: problem.TemplateFailed, Severity: problem.Error, Pos: t.pos, Subject: "template",
			Found: "a value it prints is not there", Expected: "only values that exist", Hints: []string{"give a default: {{ ... | default \"x\" }}"},
		}
	}
	return nil
}

// noValue is what text/template prints for a nil value (text/template, exec.go, printValue).
const noValue = "<no value>"

type limited struct {
	strings.Builder
	exceeded bool
	turns    int
}

var (
	errTooLong = errors.New("output too long")
	errTooMany = errors.New("too many turns")
)

func (l *limited) Write(p []byte) (int, error) {
	if len(p) == 0 { // countTurns's, or an action that prints nothing
		if l.turns++; l.turns > maxTurns {
			return 0, errTooMany
		}
		return 0, nil
	}
	if l.Len()+len(p) > MaxOutput {
		l.exceeded = true
		return 0, errTooLong
	}
	return l.Builder.Write(p)
}

// templateError takes text/template's "template: NAME:LINE:COLUMN: executing ..." apart.
var templateError = regexp.MustCompile(`(?s)^template: t:(\d+)(?::(\d+))?: (.*)$`)

// executing is text/template's account of where it was; the last part says what went wrong.
var executing = regexp.MustCompile(`(?s)^executing "t" at (<.*?>): (.*)$`)

// field is the subject of an error about a key of a map, such as `template <.labels.region>`.
var field = regexp.MustCompile(`^template <(\.[\w.]+)\.([\w-]+)>$`)

var noKey = regexp.MustCompile(`map has no entry for key "([^"]*)"`)

func failure(pos problem.Pos, err error) error {
	p := problem.Problem{Reason: problem.TemplateFailed, Severity: problem.Error, Pos: pos, Subject: "template", Found: err.Error()}
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if pos.Line > 0 {
			// The text is a value inside a file: its lines count from where it starts, columns are unknown.
			p.Pos.Line = pos.Line + line - 1
		} else {
			p.Pos.Line = line
			if column > 0 {
				p.Pos.Column = column + 1
			}
		}
		p.Found = m[3]
		if e := executing.FindStringSubmatch(m[3]); e != nil {
			p.Subject, p.Found = "template "+e[1], e[2]
		}
	}
	if m := noKey.FindStringSubmatch(p.Found); m != nil {
		p.Found = fmt.Sprintf("no fact %q is known", m[1])
		p.Hints = []string{"for facts that not every cluster has, write {{ index .annotations \"x\" }} or {{ dig }} with a default"}
		if f := field.FindStringSubmatch(p.Subject); f != nil {
			p.Hints = []string{fmt.Sprintf("if not every cluster has it, write {{ index %s %q | default \"...\" }}", f[1], f[2])}
		}
	}
	return p
}
