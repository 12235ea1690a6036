package tmpl

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/template/parse"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// MaxOutput is the limit of one template's output, and of every argument and result of a function,
// in bytes.
const MaxOutput = 1 << 20

// maxSource is the limit of a template's own text: parsing takes about a hundred times its size.
const maxSource = 256 << 10

// name is the name of every template in the errors of text/template.
const name = "t"

// Template is a parsed template.
type Template struct {
	program *program
	pos     problem.Pos // of the template's first line
	text    string      // the text itself when it holds no action: executing it is free
	pure    bool
	parts   []plainPart
	// reads are the paths of the facts that the result may depend on.
	reads [][]string
	// lines are the lines at which the literal texts start, by address.
	lines map[*byte]int
	// steps are the numbers of steps that the empty texts count as, by address.
	steps   map[*byte]int
	parsing int // the steps of parsing
	// messages are the texts of fail and required, which an error may repeat.
	messages []string
	// identity identifies the template and its place.
	identity [sha256.Size]byte
	dear     atomic.Bool // an execution took dearSteps or more
}

// dearSteps is the number of steps from which an execution takes longer than Key does.
const dearSteps = 500

// Key returns a key that identifies the template and facts of an execution, so that a caller can
// remember its output. It returns false where that is not worth it: no execution of the template
// has taken long.
func (t *Template) Key(facts any) (key string, ok bool) {
	if !t.dear.Load() {
		return "", false
	}
	sum := sha256.Sum256([]byte(identity(reflect.ValueOf(facts)))) // 1 and 1.0 are different facts
	return string(t.identity[:]) + string(sum[:]), true
}

// Parse parses a template that starts at a place. Errors are problem.Problem with reason
// template-failed or limit-exceeded, and a problem.List of functions that templates may not call.
func Parse(pos problem.Pos, text string) (*Template, error) {
	if !strings.Contains(text, "{{") {
		return &Template{pos: pos, text: text, pure: true}, nil
	}
	if len(text) > maxSource {
		return nil, beyond(pos, limitError{fmt.Sprintf("template of %d bytes", len(text)), fmt.Sprintf("at most %d", maxSource)})
	}
	trees, err := parseTrees(text)
	if err != nil {
		return nil, failure(pos, err)
	}
	switch unknown := unknownFunctions(pos, trees); len(unknown) {
	case 0:
	case 1:
		return nil, unknown[0]
	default:
		return nil, unknown
	}
	t := &Template{pos: pos, parsing: Parsing(text), lines: textLines(trees, text), reads: readsOf(trees), parts: plainParts(trees), messages: messagesOf(trees), identity: sha256.Sum256(fmt.Append(nil, pos, "\n", text))}
	t.program = newProgram(trees)
	t.steps = steps(trees)
	return t, nil
}

func parseTrees(text string) (map[string]*parse.Tree, error) {
	tree, trees := parse.New(name), map[string]*parse.Tree{}
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(text, "", "", trees)
	return trees, err
}

// unknownFunctions returns a problem for each function that a template calls and may not.
func unknownFunctions(pos problem.Pos, trees map[string]*parse.Tree) (out problem.List) {
	reported := map[string]bool{}
	for _, each := range slices.Sorted(maps.Keys(trees)) {
		inspect(trees[each].Root, func(n parse.Node) {
			f, ok := n.(*parse.IdentifierNode)
			if !ok || reported[f.Ident] || slices.Contains(names, f.Ident) {
				return
			}
			reported[f.Ident] = true
			place, _ := trees[each].ErrorContext(f)
			var p problem.Problem
			errors.As(failure(pos, fmt.Errorf("template: %s: function %q not defined", place, shorten(f.Ident))), &p)
			p.Expected = "a function of templates (docs/reference/repository.md#functions)"
			if p.Hints = problem.Nearest(f.Ident, names); instead[f.Ident] != "" {
				p.Hints = []string{"use " + instead[f.Ident]}
			}
			out = append(out, p)
		})
	}
	return problem.Sorted(out)
}

// bytesOfStep is how many bytes of a template are parsed in the time of a step.
const bytesOfStep = 16

// Parsing returns how many steps parsing a template counts as. Each execution counts them, because
// whether a template is remembered depends on other templates.
func Parsing(text string) int {
	if !strings.Contains(text, "{{") {
		return 0
	}
	return min(len(text), maxSource) / bytesOfStep
}

// builtins are the names of text/template's own functions that funcs does not have. Parsing needs
// them.
var builtins = map[string]any{
	"and": true, "or": true, "not": true, "len": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
}

// Output is the result of an execution, and the steps that it took.
type Output struct {
	Text string
	// Lines holds, for each line of the text, the line of the template that it comes from. They
	// count from 1; nil when they are the same.
	Lines []int
	// Steps counts the execution's steps, also when it failed. Each executed part is one, and 64
	// bytes that functions read and produced; the steps of Parsing count, too.
	Steps int
}

// Execute runs the template. Errors are problem.Problem with reason template-failed or
// limit-exceeded.
func (t *Template) Execute(data any) (string, error) {
	if text, ok := t.plain(data); ok {
		return text, nil
	}
	out, err := t.ExecuteCounted(data)
	return out.Text, err
}

// ExecuteCounted does what Execute does, and also returns the number of steps.
func (t *Template) ExecuteCounted(data any) (Output, error) {
	if t.pure {
		return Output{Text: t.text}, nil
	}
	w := limited{marks: t.steps}
	work, err := t.program.execute(&w, data)
	return t.output(&w, work, nil, err)
}

// ExecuteLines does what ExecuteCounted does, and also returns the lines.
func (t *Template) ExecuteLines(data any) (Output, error) {
	if t.pure {
		return Output{Text: t.text}, nil
	}
	w := newLineWriter(t.lines, t.steps)
	work, err := t.program.execute(w, data)
	return t.output(&w.limited, work, w.lines, err)
}

// output makes the Output of an execution. A failed one has no text.
func (t *Template) output(w *limited, work int, lines []int, err error) (Output, error) {
	steps := t.parsing + w.steps + work/workOfStep
	if steps >= dearSteps {
		t.dear.Store(true)
	}
	if err != nil {
		return Output{Steps: steps}, t.failed(err)
	}
	return Output{w.String(), lines, steps}, nil
}

// limited writes the output, and ends the execution at the limits of bytes and steps.
type limited struct {
	strings.Builder
	marks map[*byte]int
	steps int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) == 0 { // a mark of steps.go, or an action that prints nothing
		if l.steps += l.weight(p); l.steps > maxSteps {
			return 0, limitError{fmt.Sprintf("template takes %d steps and more: it goes round its loops too often", l.steps), fmt.Sprintf("at most %d", maxSteps)}
		}
		return 0, nil
	}
	if size := l.Len() + len(p); size > MaxOutput {
		return 0, limitError{fmt.Sprintf("template writes %d bytes and more", size), fmt.Sprintf("at most %d bytes", MaxOutput)}
	}
	return l.Builder.Write(p)
}

// weight returns how many steps an empty text counts as.
func (l *limited) weight(p []byte) int {
	if cap(p) == 0 {
		return 0
	}
	return l.marks[&p[:1][0]]
}

// beyond returns the problem of an exceeded limit.
func beyond(pos problem.Pos, e limitError) problem.Problem {
	return problem.Problem{Reason: problem.LimitExceeded, Severity: problem.Error, Pos: pos, Found: e.found, Expected: e.expected}
}

// templateError matches text/template's "template: NAME:LINE:COLUMN: executing ...".
var templateError = regexp.MustCompile(`(?s)^template: t:(\d+)(?::(\d+))?: (.*)$`)

// executing matches text/template's place of an error; the last part is the error itself.
var executing = regexp.MustCompile(`(?s)^executing "t" at (<.*?>): (.*)$`)

// field is the subject of an error about a key of a map, such as `template <.labels.region>`.
var field = regexp.MustCompile(`^template <(\.[\w.]+)\.([\w-]+)>$`)

var noKey = regexp.MustCompile(`map has no entry for key "([^"]*)"`)

// maxText is how many bytes an error repeats of a text that a template made.
const maxText = 200

// failed returns the problem of an execution. It repeats the template's own text, but no value.
func (t *Template) failed(err error) error {
	p := failure(t.pos, err)
	if p.Reason != problem.TemplateFailed || len(p.Hints) > 0 {
		return p
	}
	var hint string
	if p.Found, hint = withoutValues(p.Found, t.messages); hint != "" {
		p.Hints = []string{hint}
	}
	p.Found = shorten(p.Found)
	return p
}

func failure(pos problem.Pos, err error) problem.Problem {
	p := problem.Problem{Reason: problem.TemplateFailed, Severity: problem.Error, Pos: pos, Subject: "template", Found: err.Error()}
	if m := templateError.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if pos.Line > 0 {
			// The template is a value inside a file: its lines count from its start, columns are
			// unknown.
			p.Pos.Line = pos.Line + line - 1
		} else {
			p.Pos.Line = line
			if column > 0 {
				p.Pos.Column = column + 1
			}
		}
		p.Found = m[3]
		if e := executing.FindStringSubmatch(m[3]); e != nil {
			if p.Found = e[2]; e[1] != "<"+ranged+">" {
				p.Subject = "template " + e[1]
			}
		}
	}
	var limit limitError
	if errors.As(err, &limit) {
		return beyond(p.Pos, limit)
	}
	if errors.Is(err, errNoValue) {
		p.Subject, p.Found, p.Expected = "template", errNoValue.Error(), "only values that exist"
		p.Hints = []string{"give a default: {{ ... | default \"x\" }}"}
		return p
	}
	if m := noKey.FindStringSubmatch(p.Found); m != nil {
		p.Found = fmt.Sprintf("no fact %q is known", m[1])
		p.Hints = []string{"for facts that not every cluster has, write {{ index .annotations \"x\" }} or {{ dig }} with a default"}
		if f := field.FindStringSubmatch(p.Subject); len(f) == 3 && f[2] == m[1] { // its last name is the missing one
			p.Hints = []string{fmt.Sprintf("if not every cluster has it, write {{ index %s %q | default \"...\" }}", f[1], f[2])}
		}
	}
	return p
}

// shorten cuts a text that a template may have made very long.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return problem.Prefix(text, maxText) + fmt.Sprintf("... (%d bytes)", len(text))
}
