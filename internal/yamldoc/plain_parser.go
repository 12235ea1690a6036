package yamldoc

import (
	"strings"
	"unsafe"

	"github.com/argosy-hub/argosy/internal/problem"
)

// plainParser reads what most files of a fleet are: block maps and lists, scalars on one line, and
// small maps in flow style. It refuses whatever it does not know for sure (anchors, tags, escapes,
// block scalars, text over several lines, several documents, anything but ASCII, and everything
// that is wrong): then the full parser reads the file, which alone reports problems. What it
// accepts is the same document to the last column; tests compare the two on every file of this
// repository and on random ones.
//
// It takes a third of the processor time of a cold start away (1,000 clusters: 979 instead of
// 1,482 ms; a commit of one cluster's file takes the same with and without it).

const (
	// maxPlainSize is the size up to which no document can be beyond the limits of nodes and text.
	maxPlainSize = min(MaxNodes, MaxText) / 2
	// maxPlainDepth bounds the recursion, far below MaxDepth.
	maxPlainDepth = 40
	// maxPlainKey is how long a key may be; YAML itself ends at 1024.
	maxPlainKey = 128
)

// plainParser is one reading. Its place is always at a line with content, or at the end.
type plainParser struct {
	doc    *Doc
	text   string
	bad    bool // refused
	done   bool // no line is left
	line   int32
	from   int // where the line starts
	to     int // where it ends
	indent int // its spaces
	// nodes and fields hold all nodes and fields of the document: two allocations, and less work
	// for the garbage collector.
	nodes  []Node
	fields []Field
}

// parsePlain is the document, or nil when it is not plain enough.
func parsePlain(file string, data []byte) *Doc {
	if len(data) > maxPlainSize {
		return nil
	}
	text := unsafe.String(unsafe.SliceData(data), len(data)) //nolint:gosec // the data is not changed: Parse says so
	colons, dashes := 0, 0
	for i, c := range data {
		switch {
		case (c < ' ' || c > '~') && c != '\n':
			return nil
		case c == ':' && (i+1 == len(data) || data[i+1] == ' ' || data[i+1] == '\n'):
			colons++
		case c == '-' && i+1 < len(data) && data[i+1] == ' ':
			dashes++
		}
	}
	// Each key has a colon and a value, and each item of a block list has a dash. Other nodes
	// allocate room themselves.
	p := &plainParser{doc: &Doc{File: file}, text: text, to: -1, nodes: make([]Node, 0, 1+colons+dashes), fields: make([]Field, 0, colons)}
	p.next()
	if p.done || p.indent != 0 {
		return nil
	}
	root := p.mapping(0, 1)
	if p.bad || !p.done {
		return nil
	}
	p.doc.Root = root
	return p.doc
}

// next moves to the next line that is neither blank nor a comment.
func (p *plainParser) next() {
	for p.to+1 < len(p.text) {
		p.from = p.to + 1
		p.line++
		p.to = len(p.text)
		if i := strings.IndexByte(p.text[p.from:], '\n'); i >= 0 {
			p.to = p.from + i
		}
		at := p.from
		for at < p.to && p.text[at] == ' ' {
			at++
		}
		if at < p.to && p.text[at] != '#' {
			p.indent = at - p.from
			return
		}
	}
	p.done, p.indent = true, -1
}

// fail refuses the document.
func (p *plainParser) fail() *Node {
	p.bad = true
	return nil
}

// node is a new node at an offset of the line.
func (p *plainParser) node(kind Kind, at int, text string) *Node {
	if len(p.nodes) == cap(p.nodes) {
		p.nodes = make([]Node, 0, 8)
	}
	p.nodes = append(p.nodes, Node{Line: p.line, Column: int32(at - p.from + 1), Doc: p.doc}) //nolint:gosec // files are bounded
	n := &p.nodes[len(p.nodes)-1]
	n.setText(kind, text)
	return n
}

// blank reports whether nothing but spaces and a comment is left of the line. A comment needs a
// space before it.
func (p *plainParser) blank(at int) bool {
	for start := at; at < p.to; at++ {
		if p.text[at] == '#' {
			return at > start
		}
		if p.text[at] != ' ' {
			return false
		}
	}
	return true
}

// spaces is the offset behind spaces.
func (p *plainParser) spaces(at int) int {
	for at < p.to && p.text[at] == ' ' {
		at++
	}
	return at
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// keyEnd is the offset of the colon behind the key that starts at an offset, -1 if there is none.
// Closing are further characters that may stand behind the colon.
func (p *plainParser) keyEnd(at int) int {
	if at >= p.to || !isWord(p.text[at]) {
		return -1
	}
	end := at
	for end < p.to && (isWord(p.text[end]) || p.text[end] == '-' || p.text[end] == '.' || p.text[end] == '/') {
		end++
	}
	if end == p.to || p.text[end] != ':' || end-at > maxPlainKey || end+1 < p.to && p.text[end+1] != ' ' {
		return -1
	}
	return end
}

// key is the text of a key.
func (p *plainParser) key(at, end int) string {
	name := p.text[at:end]
	if plainIsText(name) {
		return name
	}
	key, err := resolveKey(name)
	if err != nil {
		p.bad = true
	}
	p.ambiguous(at, keyAmbiguity(name, key))
	return key
}

func (p *plainParser) ambiguous(at int, a *Ambiguity) {
	p.doc.ambiguous(a, problem.Pos{File: p.doc.File, Line: int(p.line), Column: at - p.from + 1})
}

// sorted are a map's fields; a key that is given twice is an error.
func (p *plainParser) sorted(n *Node, fields []Field) *Node {
	if p.bad {
		return nil
	}
	sortFields(fields)
	for i := 1; i < len(fields); i++ {
		if fields[i].Key == fields[i-1].Key {
			return p.fail()
		}
	}
	if len(p.fields)+len(fields) > cap(p.fields) {
		p.fields = make([]Field, 0, len(fields))
	}
	start := len(p.fields)
	p.fields = append(p.fields, fields...)
	n.setFields(p.fields[start:])
	return n
}

// mapping reads a block map whose keys start in a column; the line is at the first key.
func (p *plainParser) mapping(column, depth int) *Node {
	if depth > maxPlainDepth {
		return p.fail()
	}
	n := p.node(Map, p.from+column, "")
	var few [12]Field
	fields := few[:0]
	for {
		at := p.from + column
		end := p.keyEnd(at)
		if end < 0 {
			return p.fail()
		}
		f := Field{Key: p.key(at, end), Line: p.line, Column: int32(column + 1)} //nolint:gosec // files are bounded
		f.Value = p.value(end+1, column, depth)
		if p.bad {
			return nil
		}
		fields = append(fields, f)
		switch {
		case p.done || p.indent < column:
			return p.sorted(n, fields)
		case p.indent > column:
			return p.fail()
		}
	}
}

// isItem reports whether the line is at an item of a block list.
func (p *plainParser) isItem() bool {
	at := p.from + p.indent
	return !p.done && p.text[at] == '-' && at+1 < p.to && p.text[at+1] == ' '
}

// value reads a key's value, behind the colon or below it; then the line is the next unread one.
func (p *plainParser) value(at, column, depth int) *Node {
	if !p.blank(at) {
		n := p.inline(p.spaces(at), depth)
		return p.only(n, column)
	}
	line, behind := p.line, int32(at-p.from+1) //nolint:gosec // files are bounded
	p.next()
	switch {
	case p.indent > column && p.isItem(), p.indent == column && p.isItem():
		return p.list(p.indent, depth+1)
	case p.indent > column:
		return p.mapping(p.indent, depth+1)
	}
	null := p.node(Null, at, "") // empty: it stands right behind the colon
	null.Line, null.Column = line, behind
	return null
}

// only moves to the next line, which must not continue the value.
func (p *plainParser) only(n *Node, column int) *Node {
	p.next()
	if p.indent > column {
		return p.fail()
	}
	return n
}

// list reads a block list whose dashes are in a column.
func (p *plainParser) list(column, depth int) *Node {
	if depth > maxPlainDepth {
		return p.fail()
	}
	n := p.node(List, p.from+column, "")
	var items []*Node
	for {
		at := p.spaces(p.from + column + 1)
		if at == p.to || p.text[at] == '#' {
			return p.fail()
		}
		var item *Node
		if p.keyEnd(at) >= 0 {
			item = p.mapping(at-p.from, depth+1)
		} else {
			item = p.only(p.inline(at, depth), column)
		}
		if p.bad {
			return nil
		}
		items = append(items, item)
		switch {
		case p.indent > column:
			return p.fail()
		case p.indent < column || !p.isItem():
			n.setItems(items)
			return n
		}
	}
}

// inline reads a value on the line, which must end with it.
func (p *plainParser) inline(at, depth int) *Node {
	var n *Node
	switch c := p.text[at]; c {
	case '"', '\'', '{', '[':
		n, at = p.flow(at, depth+1)
		if p.bad || !p.blank(at) {
			return p.fail()
		}
		return n
	}
	end := at
	for end < p.to && (p.text[end] != '#' || p.text[end-1] != ' ') {
		if p.text[end] == ':' && (end+1 == p.to || p.text[end+1] == ' ') {
			return p.fail()
		}
		end++
	}
	return p.plain(at, strings.TrimRight(p.text[at:end], " "))
}

// plain is a plain scalar.
func (p *plainParser) plain(at int, text string) *Node {
	switch c := text[0]; {
	case isWord(c) || c == '/' || c == '.' || c == '+' || c == '~' || c == '$' || c == '(':
	case c == '-' && len(text) > 1 && isWord(text[1]):
	default:
		return p.fail()
	}
	if plainIsText(text) {
		return p.node(String, at, text)
	}
	s, err := resolve(text)
	if err != nil {
		return p.fail()
	}
	p.ambiguous(at, valueAmbiguity(text, s))
	n := p.node(s.kind, at, "")
	n.setScalar(s, text)
	return n
}
