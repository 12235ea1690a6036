package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Parse reads the first document of data, which must not be changed any more: the document's texts
// are parts of it. All duplicate keys and values that JSON cannot hold are reported together, as a
// problem.List; a syntax error is reported alone, as a problem.Problem.
func Parse(file string, data []byte) (*Doc, error) { return ParseLines(file, data, nil) }

// ParseLines is Parse for a text that was made from the file: lines[i] is the file's line that the
// text's line i+1 comes from; nil when they are the same. Places in the document, and in errors,
// are the file's.
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

// ParseLenient is ParseLines for which the last of duplicate keys wins, as in Helm 3.
func ParseLenient(file string, data []byte, lines []int) (*Doc, error) {
	if lines == nil {
		if d := parsePlain(file, data); d != nil {
			return d, nil
		}
	}
	return parseFull(file, data, lines)
}

// parseFull is ParseLines with the library, which knows all of YAML.
func parseFull(file string, data []byte, lines []int) (*Doc, error) {
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
	d.Duplicates = c.duplicates.all(problem.Warning)
	if all := c.problems.all(problem.Error); len(all) > 0 {
		return nil, problem.List(append(all, asErrors(d.Duplicates)...))
	}
	return d, nil
}

// DuplicateErrors are the document's duplicate keys as an error, a problem.List; nil without any.
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

// bounded keeps the first problems of a file, and counts the others (H10).
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

// decode runs the YAML parser and finds the first document's root (nil when empty) and where a
// second one starts.
func decode(file string, data []byte) (root *yaml.Node, extra problem.Pos, err error) {
	defer func() {
		// The parser answers malformed input with an error, but has panicked on some in the past
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

// conflictMark is the line that begins a conflict that a merge has left, as Git writes it.
var conflictMark = regexp.MustCompile(`(?m)^<<<<<<< `)

// syntaxError takes the line out of the parser's text ("yaml: line 3: ...").
func syntaxError(file string, data []byte, err error) error {
	if at := conflictMark.FindIndex(data); at != nil {
		return problem.Problem{
			Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: file, Line: 1 + bytes.Count(data[:at[0]], []byte("\n")), Column: 1},
			Found: "a merge conflict that is not resolved", Expected: "a YAML document", Hints: []string{"keep what is right, and take out the lines that begin with <<<<<<<, ======= and >>>>>>>"},
		}
	}
	m := yamlErrorLine.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " "))
	line, _ := strconv.Atoi(m[1])
	p := problem.Problem{
		Reason: problem.InvalidYAML, Severity: problem.Error, Pos: problem.Pos{File: file, Line: line},
		Found: m[2], Expected: "a YAML document",
	}
	if strings.Contains(m[2], "cannot start any token") {
		p.Hints = []string{"indent with spaces, not tabs, and quote text that starts with @, ` or %"}
	}
	return p
}

// converted is a node with its number of nodes, the bytes of their texts and their depth. Aliases
// count as often as they are used.
type converted struct {
	node   *Node
	size   int
	text   int
	height int
}

// hold adds the counts of a value inside this one.
func (c *converted) hold(below converted) {
	c.size += below.size
	c.text += below.text
	c.height = max(c.height, below.height+1)
}

type converter struct {
	doc        *Doc
	done       map[*yaml.Node]converted // anchored nodes; a zero value marks one that is being converted
	problems   bounded
	duplicates bounded
	overflow   bool
}

func (c *converter) pos(n *yaml.Node) problem.Pos {
	return problem.Pos{File: c.doc.File, Line: n.Line, Column: n.Column}
}

func (c *converter) fail(n *yaml.Node, reason problem.Reason, subject, found, expected string, hints ...string) {
	c.problems.add(problem.Problem{
		Reason: reason, Severity: problem.Error, Pos: c.pos(n), Subject: subject, Found: found, Expected: expected, Hints: hints,
	})
}

func (c *converter) node(n *yaml.Node, depth int) converted {
	out := converted{node: &Node{Line: int32(n.Line), Column: int32(n.Column), Doc: c.doc}, size: 1} //nolint:gosec // files are bounded
	if c.overflow {
		return out
	}
	if depth > MaxDepth {
		c.tooDeep(n)
		return out
	}
	if n.Anchor != "" {
		c.done[n] = converted{}
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.MappingNode:
		c.mapping(n, &out, depth)
	case yaml.SequenceNode:
		out.node.Kind = List
		out.node.Items = make([]*Node, 0, len(n.Content))
		for _, item := range n.Content {
			i := c.node(item, depth+1)
			out.hold(i)
			out.node.Items = append(out.node.Items, i.node)
			if c.tooLarge(n, out) {
				break
			}
		}
	default:
		c.scalar(n, out.node)
		out.text = len(out.node.Text)
	}
	c.tooLarge(n, out)
	if n.Anchor != "" {
		c.done[n] = out
	}
	return out
}

// tooLarge ends the conversion of a document beyond the limits.
func (c *converter) tooLarge(n *yaml.Node, out converted) bool {
	switch {
	case c.overflow:
	case out.size > MaxNodes:
		c.overflow = true
		c.fail(n, problem.LimitExceeded, "", fmt.Sprintf("%d values and more, aliases counted as often as they are used", out.size), fmt.Sprintf("at most %d", MaxNodes))
	case out.text > MaxText:
		c.overflow = true
		c.fail(n, problem.LimitExceeded, "", fmt.Sprintf("%d bytes of text and more, aliases counted as often as they are used", out.text), fmt.Sprintf("at most %d", MaxText))
	}
	return c.overflow
}

func (c *converter) tooDeep(n *yaml.Node) {
	c.overflow = true
	c.fail(n, problem.LimitExceeded, "", "values nested deeper than the limit", fmt.Sprintf("at most %d levels", MaxDepth))
}

func (c *converter) alias(n *yaml.Node, depth int) converted {
	target, ok := c.done[n.Alias]
	if !ok && n.Alias.Kind == yaml.ScalarNode {
		return c.node(n.Alias, depth) // the anchor is at a key
	}
	if depth+target.height > MaxDepth {
		c.tooDeep(n) // a tower of aliases is as deep as its value
	}
	if !ok || target.node == nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("alias %q", n.Value), "refers to a value that contains it", "an anchor defined before")
		return converted{node: &Node{Doc: c.doc}, size: 1}
	}
	return target
}

// mapping converts a map. Fields are gathered in the order they are written, because a merge key
// sets what comes after and overrides what came before it (yaml.v2, decode.go, mapping and merge).
func (c *converter) mapping(n *yaml.Node, out *converted, depth int) {
	fields := make([]Field, 0, len(n.Content)/2)
	index := make(map[string]int, len(n.Content)/2)
	own := make(map[string]*yaml.Node, len(n.Content)/2)
	set := func(f Field) {
		if i, ok := index[f.Key]; ok {
			fields[i] = f
			return
		}
		index[f.Key] = len(fields)
		fields = append(fields, f)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			c.merge(value, set, out, depth)
			continue
		}
		name, ok := c.key(key)
		if !ok {
			continue
		}
		if first, dup := own[name]; dup {
			c.duplicates.add(problem.Problem{
				Reason: problem.DuplicateKey, Severity: problem.Warning, Pos: c.pos(key), Subject: fmt.Sprintf("key %q", name),
				Found: fmt.Sprintf("given again, first at line %d", first.Line), Expected: "each key once",
			})
		} else {
			own[name] = key
		}
		v := c.node(value, depth+1)
		out.hold(v)
		out.text += len(name)
		if c.tooLarge(n, *out) {
			return
		}
		set(Field{Key: name, Line: int32(key.Line), Column: int32(key.Column), Value: v.node}) //nolint:gosec // files are bounded
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].Key < fields[j].Key })
	out.node.Kind, out.node.Fields = Map, fields
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && (key.Tag == "!!merge" || key.Tag == "" || key.ShortTag() == "!!merge") && key.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0
}

// merge applies the value of a merge key: a map, or a list of maps of which earlier ones win.
func (c *converter) merge(value *yaml.Node, set func(Field), out *converted, depth int) {
	apply := func(n *yaml.Node) {
		v := c.node(n, depth+1)
		out.hold(v)
		if c.tooLarge(n, *out) {
			return
		}
		if v.node.Kind != Map {
			c.fail(n, problem.InvalidYAML, "merge key <<", "holds a "+v.node.Kind.String(), "a map, or a list of maps")
			return
		}
		for _, f := range v.node.Fields {
			set(f)
		}
	}
	if value.Kind == yaml.SequenceNode {
		for i := len(value.Content) - 1; i >= 0; i-- {
			apply(value.Content[i])
		}
		return
	}
	apply(value)
}

func (c *converter) key(n *yaml.Node) (string, bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.ScalarNode {
		var hints []string
		if n.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0 { // {{ .x }} is a map with a map as its key
			hints = []string{"if it is a template, put it in quotes, or end the file's name in .gotmpl"}
		}
		c.fail(n, problem.InvalidYAML, "key", "is a map or list", "text", hints...)
		return "", false
	}
	if isText(n) {
		return n.Value, true
	}
	key, err := resolveKey(taggedSource(n))
	if err != nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("key %q", n.Value), "cannot be a key", "text")
		return "", false
	}
	if (n.Tag == "" || n.Style&yaml.TaggedStyle == 0) && isAmbiguousKey(n.Value, key) {
		c.ambiguous(n, key, true)
	}
	return key, true
}

func (c *converter) scalar(n *yaml.Node, out *Node) {
	if isText(n) {
		out.Kind, out.Text = String, n.Value
		return
	}
	s, err := resolve(taggedSource(n))
	if err != nil {
		c.fail(n, problem.InvalidYAML, fmt.Sprintf("value %q", n.Value), "cannot be expressed in JSON, which Helm needs", "a string, number, boolean or null")
		return
	}
	out.Kind, out.Text = s.kind, s.text
	if n.Style&yaml.TaggedStyle == 0 && isAmbiguous(n.Value, s) {
		c.ambiguous(n, s.text, false)
	}
}

// isText reports whether a scalar is a string by its style alone: quoted, or a block scalar,
// without a tag.
func isText(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	if n.Style&yaml.TaggedStyle != 0 {
		return n.ShortTag() == "!!str"
	}
	return n.Style&quoted != 0 || plainIsText(n.Value)
}

var coreTag = regexp.MustCompile(`^!![a-z]+$`)

// taggedSource is a scalar as it can be given to the oracle: plain, or behind its tag and quoted.
func taggedSource(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return n.Value
	}
	tag := n.Tag
	if !coreTag.MatchString(tag) {
		tag = "!x" // all tags that YAML does not define mean the same, but may be hard to write
	}
	return tag + " " + strconv.Quote(n.Value)
}

func (c *converter) ambiguous(n *yaml.Node, means string, key bool) {
	if len(c.doc.Ambiguous) < problem.OfFile {
		c.doc.Ambiguous = append(c.doc.Ambiguous, Ambiguity{Pos: c.pos(n), Text: n.Value, Means: means, Key: key})
	}
}
