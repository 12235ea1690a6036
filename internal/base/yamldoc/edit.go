package yamldoc

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrForm is the error of a value that an Editor cannot change without touching others: behind an
// anchor or an alias, in a file in braces, or in a file of several documents.
var ErrForm = errors.New("is in a form that this command does not change")

// Editor changes values of a YAML file. The library loses blank lines and indentation, so that it
// writes only the lines of the entry that changes; all other lines stay as they are. A path has the
// keys of maps and the indexes of lists. It may lead into a text in block form (|) that holds YAML.
type Editor struct {
	file  string
	lines []string
	root  *yaml.Node
}

// NewEditor returns the editor of a file. The error is one of Parse, or ErrForm.
func NewEditor(file, text string) (*Editor, error) {
	if _, err := Parse(file, []byte(text)); err != nil {
		return nil, err
	}
	e := &Editor{file: file, lines: slices.Collect(strings.Lines(text))}
	if text != "" && !strings.HasSuffix(text, "\n") {
		e.lines[len(e.lines)-1] += "\n"
	}
	if strings.Count(text, "\r") != strings.Count(text, "\r\n") { // a line end for YAML only
		return e, ErrForm
	}
	return e, e.parse()
}

// String returns the file.
func (e *Editor) String() string { return strings.Join(e.lines, "") }

// Doc returns the file as it is now.
func (e *Editor) Doc() *Doc {
	doc, err := Parse(e.file, []byte(e.String()))
	if err != nil { // splice has compared the values
		return &Doc{File: e.file}
	}
	return doc
}

// Set sets a value, written as YAML, and makes the maps on the way to it. A new scalar comes first
// in its map, so that it is not lost behind a long value. A new map, and a key of the root, come
// last.
func (e *Editor) Set(value string, path ...string) error {
	n, err := nodeOf(value)
	if err != nil {
		return err
	}
	chain, rest, err := e.find(path)
	if err != nil {
		return err
	}
	for _, key := range slices.Backward(rest) {
		if n, err = mapOf(key, n); err != nil {
			return err
		}
	}
	switch old := chain[len(chain)-1].value; {
	case isEmpty(old), len(rest) == 0 && (n.Kind != yaml.ScalarNode || old.Kind == yaml.ScalarNode):
		return e.replace(chain, n)
	case len(rest) == 0 || old.Kind != yaml.MappingNode:
		return ErrForm
	}
	return e.add(chain, len(rest) == 1 && n.Content[1].Kind == yaml.ScalarNode && len(chain) > 1, n.Content...)
}

// Insert adds an element, written as YAML on one line, to a list at its beginning or end.
func (e *Editor) Insert(value string, first bool, path ...string) error {
	n, err := nodeOf(value)
	if err != nil {
		return err
	}
	chain, rest, err := e.find(path)
	switch {
	case err != nil:
		return err
	case len(rest) > 0 || isEmpty(chain[len(chain)-1].value):
		return e.Set("- "+value, path...)
	case chain[len(chain)-1].value.Kind != yaml.SequenceNode:
		return ErrForm
	}
	return e.add(chain, first, n)
}

// Remove removes a key or an element, with the comments inside it.
func (e *Editor) Remove(path ...string) error {
	chain, rest, err := e.find(path)
	if err != nil || len(rest) > 0 || len(chain) == 1 {
		return ErrForm
	}
	s := chain[len(chain)-1]
	from, to, prefix := e.span(chain)
	i := slices.Index(s.parent.Content, s.value)
	s.parent.Content = slices.Delete(s.parent.Content, slices.Index(s.parent.Content, s.first()), i+1)
	switch {
	case s.parent.Style&yaml.FlowStyle != 0:
		return e.rewrite(chain[:len(chain)-1], false)
	case strings.TrimSpace(prefix) != "" || len(s.parent.Content) == 0:
		return ErrForm
	}
	return e.splice(from, to, "")
}

// Walk calls do for each value below the root with its path and place, and the texts of a list's
// elements; nil for another value.
func (e *Editor) Walk(do func(path []string, line, column int, elements []string)) {
	var visit func([]string, *yaml.Node)
	visit = func(path []string, n *yaml.Node) {
		var elements []string
		if n.Kind == yaml.SequenceNode {
			elements = []string{}
		}
		for i, value := range n.Content {
			switch {
			case n.Kind == yaml.SequenceNode:
				elements = append(elements, value.Value)
				visit(append(slices.Clone(path), strconv.Itoa(i)), value)
			case i%2 == 1:
				visit(append(slices.Clone(path), n.Content[i-1].Value), value)
			}
		}
		if len(path) > 0 {
			do(path, n.Line, n.Column, elements)
		}
	}
	visit(nil, e.root)
}

// entry is an entry of a map, with its key, or of a list. The root has no parent.
type entry struct{ parent, key, value *yaml.Node }

// first returns the entry's first node.
func (s entry) first() *yaml.Node { return cmp.Or(s.key, s.value) }

// find returns the entries on a path, from the root on, and the rest of it that does not exist.
func (e *Editor) find(path []string) (chain []entry, rest []string, err error) {
	chain = []entry{{value: e.root}}
	for at, name := range path {
		n := chain[at].value
		switch {
		case n.Anchor != "" || n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode && !isEmpty(n):
			return nil, nil, ErrForm
		case n.Kind == yaml.SequenceNode:
			if i, err := strconv.Atoi(name); err == nil && i < len(n.Content) {
				chain = append(chain, entry{parent: n, value: n.Content[i]})
			}
		default:
			for i := 1; i < len(n.Content); i += 2 {
				if n.Content[i-1].Value == name {
					chain = append(chain, entry{n, n.Content[i-1], n.Content[i]})
				}
			}
		}
		switch {
		case len(chain) > at+2: // a key that a text in block form has twice
			return nil, nil, ErrForm
		case len(chain) < at+2:
			return chain, path[at:], nil
		}
	}
	if last := chain[len(path)].value; last.Anchor != "" || last.Kind == yaml.AliasNode {
		return nil, nil, ErrForm
	}
	return chain, nil, nil
}

// isEmpty reports whether a value is null, or an empty map or list.
func isEmpty(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return n.ShortTag() == "!!null"
	}
	return n.Kind != yaml.AliasNode && len(n.Content) == 0
}

// replace replaces the value at the end of a path, and keeps the comment behind it.
func (e *Editor) replace(chain []entry, value *yaml.Node) error {
	s := chain[len(chain)-1]
	if equal(s.value, value) {
		return nil
	}
	isBlock := s.value.Kind == yaml.ScalarNode && s.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	if value.Kind == yaml.ScalarNode {
		value.LineComment = s.value.LineComment
	} else if s.key != nil {
		s.key.LineComment = cmp.Or(s.key.LineComment, s.value.LineComment)
	}
	value.Line, value.Column = s.value.Line, s.value.Column
	*s.value = *value
	return e.rewrite(chain, isBlock)
}

// add adds an entry to a map or a list that has some, at its beginning or end.
func (e *Editor) add(chain []entry, first bool, nodes ...*yaml.Node) error {
	s := chain[len(chain)-1]
	n, at := s.value, len(s.value.Content)
	_, line, _ := e.span(append(slices.Clone(chain), entry{parent: n, value: n.Content[at-1]}))
	blank := ""
	switch {
	case first:
		at = 0
		if s.key != nil && s.key.Line < n.Line {
			line = s.key.Line
		}
	case len(nodes) == 2 && nodes[1].Kind == yaml.MappingNode:
		blank = "\n" // between maps
	}
	n.Content = slices.Insert(n.Content, at, nodes...)
	if n.Style&yaml.FlowStyle != 0 {
		return e.rewrite(chain, false)
	}
	text, err := encode(&yaml.Node{Kind: n.Kind, Content: nodes}, strings.Repeat(" ", n.Column-1))
	return errors.Join(err, e.splice(line, line, blank+text))
}

// rewrite writes the innermost entry in block form on the way to a value. Lines of comments behind
// the entry stay, unless it was a text in block form, whose lines they are.
func (e *Editor) rewrite(chain []entry, isBlock bool) error {
	inFlow := func(s entry) bool { return s.parent != nil && s.parent.Style&yaml.FlowStyle != 0 }
	if i := slices.IndexFunc(chain, inFlow); i > 0 {
		chain = chain[:i]
	}
	s := chain[len(chain)-1]
	if s.parent == nil { // of an empty file, or one in braces
		if len(chain) > 1 || s.value.Style&yaml.FlowStyle != 0 {
			return ErrForm
		}
		text, err := encode(s.value, "")
		return errors.Join(err, e.splice(min(len(e.lines), s.value.Line-1), min(len(e.lines), s.value.Line), text))
	}
	from, to, prefix := e.span(chain)
	for ; !isBlock && to > from+1; to-- {
		if rest := strings.TrimSpace(e.lines[to-1]); rest != "" && rest[0] != '#' {
			break
		}
	}
	head := *s.first()
	head.HeadComment, head.FootComment = "", "" // which are on other lines
	nodes := []*yaml.Node{&head}
	if s.key != nil {
		nodes = append(nodes, s.value)
	}
	text, err := encode(&yaml.Node{Kind: s.parent.Kind, Content: nodes}, prefix)
	if comment := s.value.LineComment; comment != "" { // the space before it stays
		code := e.lines[from][:max(0, strings.LastIndex(e.lines[from], comment))]
		text = strings.Replace(text, " "+comment, code[len(strings.TrimRight(code, " \t")):]+comment, 1)
	}
	return errors.Join(err, e.splice(from, to, text))
}

// span returns the lines of an entry, from the first to behind the last, and what is before it on
// its first line.
func (e *Editor) span(chain []entry) (from, to int, prefix string) {
	s := chain[len(chain)-1]
	// The value of a key that has none is behind the last line.
	line, column := min(s.first().Line, len(e.lines)), s.first().Column
	if s.key == nil {
		column = s.parent.Column // of the dash
	}
	to = len(e.lines)
	for _, s := range slices.Backward(chain[1:]) {
		if i := slices.Index(s.parent.Content, s.value) + 1; i < len(s.parent.Content) {
			to = s.parent.Content[i].Line - 1
			break
		}
	}
	for ; to > line; to-- { // blank lines, and comments that are not deeper, are of what follows
		last := e.lines[to-1]
		if rest := strings.TrimSpace(last); rest != "" && !(rest[0] == '#' && indentOf(last) < column) {
			break
		}
	}
	return line - 1, to, e.lines[line-1][:min(column-1, len(e.lines[line-1]))]
}

// splice replaces lines, and checks that the file then has the values of the changed tree.
func (e *Editor) splice(from, to int, text string) error {
	was, want := e.lines, e.root
	e.lines = slices.Concat(was[:from], slices.Collect(strings.Lines(text)), was[to:])
	err := e.parse()
	if err == nil {
		_, err = Parse(e.file, []byte(e.String())) // which refuses 00 beside 0
	}
	if err != nil || !equal(want, e.root) {
		e.lines = was
		return ErrForm
	}
	return nil
}

// parse reads the lines.
func (e *Editor) parse() error {
	data := []byte(e.String())
	root, extra, err := decode(e.file, data)
	switch {
	case err != nil || extra.Line > 0:
		return ErrForm
	case root == nil:
		root = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	}
	if placesOf(data, nil).relocate(root); root.Kind == yaml.ScalarNode && root.Value == "" {
		root.Line = len(e.lines) + 1 // behind the comments
	}
	e.root = root
	e.open(root)
	return nil
}

// open puts the YAML that texts in block form hold in their place.
func (e *Editor) open(n *yaml.Node) {
	for i, value := range n.Content {
		if value.Tag == "!!merge" {
			value.Tag = "" // which the library would write
		}
		if n.Kind != yaml.MappingNode || i%2 == 0 || value.Style&yaml.LiteralStyle == 0 {
			e.open(value)
			continue
		}
		to := value.Line
		for to < len(e.lines) && indentOf(e.lines[to]) >= n.Content[i-1].Column {
			to++
		}
		inner, extra, err := decode(e.file, []byte(strings.Repeat("\n", value.Line)+strings.Join(e.lines[value.Line:to], "")))
		if err == nil && extra.Line == 0 && inner != nil && inner.Kind == yaml.MappingNode {
			*value = *inner
		}
	}
}

// equal reports whether two trees have the same values.
func equal(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.Value == b.Value && a.Anchor == b.Anchor && a.ShortTag() == b.ShortTag() && slices.EqualFunc(a.Content, b.Content, equal)
}

// indentOf returns how many spaces a line begins with; a blank line has more than any other.
func indentOf(line string) int {
	if strings.TrimSpace(line) == "" {
		return math.MaxInt
	}
	return len(line) - len(strings.TrimLeft(line, " "))
}

// mapOf returns a map of one key.
func mapOf(key string, value *yaml.Node) (*yaml.Node, error) {
	name, err := nodeOf(Scalar(key))
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{name, value}}, err
}

// nodeOf reads a value.
func nodeOf(text string) (*yaml.Node, error) {
	n, _, err := decode("", []byte(text))
	if err == nil && n == nil {
		err = ErrForm
	}
	return n, err
}

// encode writes a value behind a prefix, and its further lines as deep.
func encode(n *yaml.Node, prefix string) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(n)
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		if strings.TrimSpace(line) != "" {
			out.WriteString(prefix)
			prefix = strings.Repeat(" ", len(prefix))
		}
		out.WriteString(line)
	}
	return out.String(), err
}

// Scalar returns a text as YAML, on one line, in quotes where YAML would read another type or the
// end of a list.
func Scalar(text string) string {
	out, err := FromAny(nil, map[string]any{"k": text}).YAML()
	plain := strings.TrimSuffix(strings.TrimPrefix(string(out), "k: "), "\n")
	if err != nil || strings.Contains(text, "\n") || strings.Contains(plain, "\n") || plain == text && strings.ContainsAny(text, ",[]{}") {
		return strconv.Quote(text)
	}
	return plain
}
