package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Parse reads the first document of data, which must not be changed afterwards: the document's
// texts are parts of it. All duplicate keys and values that JSON cannot hold are reported together,
// as a problem.List. A syntax error is the only error, a problem.Problem.
func Parse(file string, data []byte) (*Doc, error) { return ParseLines(file, data, nil) }

// ParseLines does what Parse does for a text that was made from the file. lines[i] is the file's
// line that the text's line i+1 comes from; nil when they are the same. Places in the document, and
// in errors, are the file's.
func ParseLines(file string, data []byte, lines []int) (*Doc, error) {
	d, err := ParseLenient(file, data, lines)
	if err != nil {
		return nil, err
	}
	if err := d.DuplicateErrors(); err != nil {
		return nil, err
	}
	return d, nil
}

// Parsing a large text takes up to a few hundred times its size for a moment. So large texts are
// parsed one at a time: the memory does not depend on the number of processors.
var largeTexts sync.Mutex

// largeText is the size from which a text is large, in bytes.
const largeText = 64 << 10

// ParseLenient does what ParseLines does, but the last of duplicate keys wins, as in Helm 3.
func ParseLenient(file string, data []byte, lines []int) (*Doc, error) {
	if len(data) > largeText {
		largeTexts.Lock()
		defer largeTexts.Unlock()
	}
	d := &Doc{File: file}
	root, extra, err := decode(file, data)
	places := placesOf(data, lines)
	if err != nil {
		var p problem.Problem
		if errors.As(err, &p) {
			p.Pos.Line, p.Pos.Column = places.of(p.Pos.Line, p.Pos.Column)
			return nil, p
		}
		return nil, err
	}
	if places != nil {
		extra.Line, extra.Column = places.of(extra.Line, extra.Column)
		places.relocate(root)
	}
	d.Extra = extra
	c := converter{doc: d, done: map[*yaml.Node]converted{}}
	if root == nil {
		d.Root = &Node{Kind: Null, Line: 1, Column: 1, Doc: d}
	} else {
		d.Root = c.node(root, 1).node
	}
	d.Duplicates, d.Overridden = c.duplicates.all(problem.Warning), c.overridden.all(problem.Note)
	if all := c.problems.all(problem.Error); len(all) > 0 {
		return nil, problem.List(append(all, asErrors(d.Duplicates)...))
	}
	return d, nil
}

// DuplicateErrors returns the document's duplicate keys as an error, a problem.List; nil without
// any.
func (d *Doc) DuplicateErrors() error {
	if len(d.Duplicates) == 0 {
		return nil
	}
	return problem.List(asErrors(d.Duplicates))
}

func asErrors(warnings []problem.Problem) []problem.Problem {
	out := slices.Clone(warnings)
	for i := range out {
		out[i].Severity = problem.Error
	}
	return out
}

// bounded keeps the first problems of a file, and counts the others.
type bounded struct {
	first    []problem.Problem
	unlisted int
}

func (b *bounded) add(p problem.Problem) {
	if len(b.first) == problem.OfFile {
		b.unlisted++
		return
	}
	b.first = append(b.first, p)
}

func (b *bounded) all(worst problem.Severity) []problem.Problem {
	if b.unlisted == 0 {
		return b.first
	}
	return append(b.first, problem.More(b.first[0], b.unlisted, worst))
}

// decode runs the YAML parser. It returns the first document's root (nil when empty) and the place
// where a second document starts.
func decode(file string, data []byte) (root *yaml.Node, extra problem.Pos, err error) {
	defer func() {
		// The parser returns an error for malformed input, but has panicked on some in the past
		// (go-yaml#666).
		if r := recover(); r != nil {
			err = problem.Problem{
				Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: file},
				Found: fmt.Sprintf("the YAML parser gave up: %v", r), Expected: "a YAML document",
			}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := dec.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, problem.Pos{}, nil
		}
		return nil, problem.Pos{}, syntaxError(file, data, err)
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		extra = problem.Pos{File: file, Line: second.Line, Column: second.Column}
	case !errors.Is(err, io.EOF):
		return nil, problem.Pos{}, syntaxError(file, data, err)
	}
	if len(document.Content) == 0 {
		return nil, extra, nil
	}
	return document.Content[0], extra, nil
}

var yamlErrorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?(.*)$`)

// conflictMark matches the line with which Git begins a merge conflict.
var conflictMark = regexp.MustCompile(`(?m)^<<<<<<< `)

const (
	// maxSearched is the size of a file up to which its wrong line is searched. maxOpen is how many
	// lines a value may take, and maxRead how many bytes are read in all, about 10 ms.
	maxSearched = 16 << 10
	maxOpen     = 30
	maxRead     = 96 << 10
)

// wrongLine returns the line after the longest valid beginning of a text, in whole lines; 0 if it
// is not found. The parser names the line where the block around the error begins, or none.
func wrongLine(data []byte) int {
	if len(data) > maxSearched {
		return 0
	}
	ends, read := []int{0}, 0 // ends[n] is the size of the first n lines
	for line := range bytes.Lines(data) {
		ends = append(ends, ends[len(ends)-1]+len(line))
	}
	isYAML := func(lines int) bool {
		read += ends[lines]
		return read <= maxRead && readable(data[:ends[lines]])
	}
	good, bad := 0, len(ends)-1
	for bad-good > 1 {
		if mid := (good + bad) / 2; isYAML(mid) {
			good = mid
		} else {
			bad = mid
		}
		if bad-good > 1 {
			continue
		}
		// A list in brackets may end on a later line.
		for later := bad + 1; later < min(len(ends)-1, bad+maxOpen); later++ {
			if isYAML(later) {
				good, bad = later, len(ends)-1
				break
			}
		}
	}
	if read > maxRead {
		return 0
	}
	return bad
}

// readable reports whether the parser reads a text to its end.
func readable(data []byte) (ok bool) {
	defer func() { ok = recover() == nil && ok }() // as in decode
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		if err := dec.Decode(&document); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// syntaxError returns the problem of a parser's error, with the line in its text ("yaml: line 3:
// ...").
func syntaxError(file string, data []byte, err error) error {
	if at := conflictMark.FindIndex(data); at != nil {
		return problem.Problem{
			Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: file, Line: 1 + bytes.Count(data[:at[0]], []byte("\n")), Column: 1},
			Found: "a merge conflict that is not resolved", Expected: "a YAML document", Hints: []string{"keep what is right, and take out the lines that begin with <<<<<<<, ======= and >>>>>>>"},
		}
	}
	m := yamlErrorLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	line, _ := strconv.Atoi(m[1])
	if searched := wrongLine(data); searched > 0 {
		line = searched
	}
	p := problem.Problem{
		Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: file, Line: line},
		Found: m[2], Expected: "a YAML document",
	}
	if strings.Contains(m[2], "cannot start any token") {
		p.Hints = []string{"indent with spaces, not tabs, and quote text that starts with @, ` or %"}
	}
	return p
}

// Separates reports whether a line ends a document: three hyphens and at most a comment, as in
// Kubernetes' reader (k8s.io/apimachinery/pkg/util/yaml).
func Separates(line string) bool {
	rest, is := strings.CutPrefix(line, "---")
	rest = strings.TrimSpace(rest)
	return is && (rest == "" || strings.HasPrefix(rest, "#"))
}
