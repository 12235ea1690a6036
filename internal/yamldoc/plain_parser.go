package yamldoc

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/argosy-hub/argosy/internal/problem"
)

// Most files of a fleet are plain: block maps and lists, scalars on one line, perhaps a small
// {flow: map}. quick reads those in one go, many times faster than a parser of all of YAML. It
// gives up on whatever it does not know for sure (anchors, tags, escapes, block scalars, text over
// several lines, several documents, anything but ASCII, and everything that is wrong): Parse then
// asks the whole parser, which alone reports problems. What it accepts is the same document to the
// last column; tests compare the two on every file they find and on random ones.

const (
	// quickSize is the size up to which no document can be beyond the limits of nodes and text.
	quickSize = min(MaxNodes, MaxText) / 2
	// quickDepth bounds the recursion, far below MaxDepth.
	quickDepth = 40
	// quickKey is how long a key may be; YAML itself ends at 1024.
	quickKey = 128
)

// quick is one reading. Its place is always at a line with content, or at the end.
type quick struct {
	doc    *Doc
	text   string
	bad    bool // given up
	done   bool // no line is left
	line   int32
	from   int // where the line starts
	to     int // where it ends
	indent int // its spaces
	// nodes and fields are where the document's own are kept: all in one place, which costs two
	// allocations, and less to look at when garbage is collected.
	nodes  []Node
	fields []Field
}

// parseQuick is the document, or nil when it is not plain enough.
func parseQuick(file string, data []byte) *Doc {
	if len(data) > quickSize {
		return nil
	}
	text := unsafe.String(unsafe.SliceData(data), len(data)) //nolint:gosec // the data is not changed: Parse says so
	colons, dashes := 0, 0
	for i, c := range data {
		switch {
		case (c < ' ' || c > '~') && c != '\n':
			return nil
		case c == ':':
			colons++
		case c == '-' && i+1 < len(data) && data[i+1] == ' ':
			dashes++
		}
	}
	// Each key has a colon, and a value; so has each item of a block list its dash. What else there
	// is makes room itself.
	q := &quick{doc: &Doc{File: file}, text: text, to: -1, nodes: make([]Node, 0, 1+colons+dashes), fields: make([]Field, 0, colons)}
	q.next()
	if q.done || q.indent != 0 {
		return nil
	}
	root := q.mapping(0, 1)
	if q.bad || !q.done {
		return nil
	}
	q.doc.Root = root
	return q.doc
}

// next goes to the next line that is neither blank nor a comment.
func (q *quick) next() {
	for q.to+1 < len(q.text) {
		q.from = q.to + 1
		q.line++
		q.to = len(q.text)
		if i := strings.IndexByte(q.text[q.from:], '\n'); i >= 0 {
			q.to = q.from + i
		}
		at := q.from
		for at < q.to && q.text[at] == ' ' {
			at++
		}
		if at < q.to && q.text[at] != '#' {
			q.indent = at - q.from
			return
		}
	}
	q.done, q.indent = true, -1
}

// fail gives up.
func (q *quick) fail() *Node {
	q.bad = true
	return nil
}

// node is a new node at an offset of the line.
func (q *quick) node(kind Kind, at int, text string) *Node {
	if len(q.nodes) == cap(q.nodes) {
		q.nodes = make([]Node, 0, 8)
	}
	q.nodes = append(q.nodes, Node{Kind: kind, Text: text, Line: q.line, Column: int32(at - q.from + 1), Doc: q.doc}) //nolint:gosec // files are bounded
	return &q.nodes[len(q.nodes)-1]
}

// blank reports whether nothing but spaces and a comment is left of the line. A comment needs a
// space before it.
func (q *quick) blank(at int) bool {
	for start := at; at < q.to; at++ {
		if q.text[at] == '#' {
			return at > start
		}
		if q.text[at] != ' ' {
			return false
		}
	}
	return true
}

// spaces is the offset behind spaces.
func (q *quick) spaces(at int) int {
	for at < q.to && q.text[at] == ' ' {
		at++
	}
	return at
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// keyEnd is the offset of the colon behind the key that starts at an offset, -1 if there is none.
// Closing are further characters that may stand behind the colon.
func (q *quick) keyEnd(at int) int {
	if at >= q.to || !isWord(q.text[at]) {
		return -1
	}
	end := at
	for end < q.to && (isWord(q.text[end]) || q.text[end] == '-' || q.text[end] == '.' || q.text[end] == '/') {
		end++
	}
	if end == q.to || q.text[end] != ':' || end-at > quickKey || end+1 < q.to && q.text[end+1] != ' ' {
		return -1
	}
	return end
}

// key is the text of a key.
func (q *quick) key(at, end int) string {
	name := q.text[at:end]
	if plainIsText(name) {
		return name
	}
	key, err := resolveKey(name)
	if err != nil {
		q.bad = true
	}
	if isAmbiguousKey(name, key) {
		q.ambiguous(at, name, key, true)
	}
	return key
}

func (q *quick) ambiguous(at int, text, means string, key bool) {
	if len(q.doc.Ambiguous) < problem.OfFile {
		pos := problem.Pos{File: q.doc.File, Line: int(q.line), Column: at - q.from + 1}
		q.doc.Ambiguous = append(q.doc.Ambiguous, Ambiguity{Pos: pos, Text: text, Means: means, Key: key})
	}
}

// sorted are a map's fields; a key that is given twice is an error.
func (q *quick) sorted(n *Node, fields []Field) *Node {
	if q.bad {
		return nil
	}
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
	for i := 1; i < len(fields); i++ {
		if fields[i].Key == fields[i-1].Key {
			return q.fail()
		}
	}
	if len(q.fields)+len(fields) > cap(q.fields) {
		q.fields = make([]Field, 0, len(fields))
	}
	start := len(q.fields)
	q.fields = append(q.fields, fields...)
	n.Fields = q.fields[start:len(q.fields):len(q.fields)]
	return n
}

// mapping reads a block map whose keys stand in a column; the line is at the first of them.
func (q *quick) mapping(column, depth int) *Node {
	if depth > quickDepth {
		return q.fail()
	}
	n := q.node(Map, q.from+column, "")
	var few [12]Field
	fields := few[:0]
	for {
		at := q.from + column
		end := q.keyEnd(at)
		if end < 0 {
			return q.fail()
		}
		f := Field{Key: q.key(at, end), Line: q.line, Column: int32(column + 1)} //nolint:gosec // files are bounded
		f.Value = q.value(end+1, column, depth)
		if q.bad {
			return nil
		}
		fields = append(fields, f)
		switch {
		case q.done || q.indent < column:
			return q.sorted(n, fields)
		case q.indent > column:
			return q.fail()
		}
	}
}

// isItem reports whether the line is at an item of a block list.
func (q *quick) isItem() bool {
	at := q.from + q.indent
	return !q.done && q.text[at] == '-' && at+1 < q.to && q.text[at+1] == ' '
}

// value reads what stands behind a key's colon, and below it; then the line is one that has been
// looked at not at all.
func (q *quick) value(at, column, depth int) *Node {
	if !q.blank(at) {
		n := q.inline(q.spaces(at), depth)
		return q.only(n, column)
	}
	line, behind := q.line, int32(at-q.from+1) //nolint:gosec // files are bounded
	q.next()
	switch {
	case q.indent > column && q.isItem(), q.indent == column && q.isItem():
		return q.list(q.indent, depth+1)
	case q.indent > column:
		return q.mapping(q.indent, depth+1)
	}
	null := q.node(Null, at, "") // empty: it stands right behind the colon
	null.Line, null.Column = line, behind
	return null
}

// only goes to the next line, which must not go on with the value.
func (q *quick) only(n *Node, column int) *Node {
	q.next()
	if q.indent > column {
		return q.fail()
	}
	return n
}

// list reads a block list whose dashes stand in a column.
func (q *quick) list(column, depth int) *Node {
	if depth > quickDepth {
		return q.fail()
	}
	n := q.node(List, q.from+column, "")
	n.Items = []*Node{}
	for {
		at := q.spaces(q.from + column + 1)
		if at == q.to || q.text[at] == '#' {
			return q.fail()
		}
		var item *Node
		if q.keyEnd(at) >= 0 {
			item = q.mapping(at-q.from, depth+1)
		} else {
			item = q.only(q.inline(at, depth), column)
		}
		if q.bad {
			return nil
		}
		n.Items = append(n.Items, item)
		switch {
		case q.indent > column:
			return q.fail()
		case q.indent < column || !q.isItem():
			return n
		}
	}
}

// inline reads a value that stands on the line, behind which nothing else may be there.
func (q *quick) inline(at, depth int) *Node {
	var n *Node
	switch c := q.text[at]; c {
	case '"', '\'', '{', '[':
		n, at = q.flow(at, depth+1)
		if q.bad || !q.blank(at) {
			return q.fail()
		}
		return n
	}
	end := at
	for end < q.to && (q.text[end] != '#' || q.text[end-1] != ' ') {
		if q.text[end] == ':' && (end+1 == q.to || q.text[end+1] == ' ') {
			return q.fail()
		}
		end++
	}
	return q.plain(at, strings.TrimRight(q.text[at:end], " "))
}

// plain is a plain scalar.
func (q *quick) plain(at int, text string) *Node {
	switch c := text[0]; {
	case isWord(c) || c == '/' || c == '.' || c == '+' || c == '~' || c == '$' || c == '(':
	case c == '-' && len(text) > 1 && isWord(text[1]):
	default:
		return q.fail()
	}
	if plainIsText(text) {
		return q.node(String, at, text)
	}
	s, err := resolve(text)
	if err != nil {
		return q.fail()
	}
	if isAmbiguous(text, s) {
		q.ambiguous(at, text, s.text, false)
	}
	return q.node(s.kind, at, s.text)
}

// flow reads a quoted scalar, or a map or list in flow style, and returns the offset behind it.
func (q *quick) flow(at, depth int) (*Node, int) {
	if depth > quickDepth || at == q.to {
		return q.fail(), at
	}
	switch c := q.text[at]; c {
	case '"', '\'':
		end := strings.IndexByte(q.text[at+1:q.to], c)
		if end < 0 {
			return q.fail(), at
		}
		text, behind := q.text[at+1:at+1+end], at+end+2
		if strings.IndexByte(text, '\\') >= 0 && c == '"' || behind < q.to && q.text[behind] == '\'' {
			return q.fail(), at
		}
		return q.node(String, at, text), behind
	case '{':
		return q.flowMap(at, depth)
	case '[':
		return q.flowList(at, depth)
	}
	end := at
	for end < q.to && isFlowText(q.text[end]) {
		if q.text[end] == ':' && (end+1 == q.to || !isWord(q.text[end+1]) && q.text[end+1] != '/') {
			return q.fail(), at
		}
		end++
	}
	if end == at {
		return q.fail(), at
	}
	return q.plain(at, q.text[at:end]), end
}

// isFlowText are the characters of plain scalars in flow style that are surely nothing else there;
// no spaces.
func isFlowText(c byte) bool {
	return isWord(c) || c == '-' || c == '.' || c == '/' || c == '+' || c == ':' || c == '@' || c == '='
}

func (q *quick) flowMap(at, depth int) (*Node, int) {
	n := q.node(Map, at, "")
	var few [8]Field
	fields := few[:0]
	at = q.spaces(at + 1)
	if at < q.to && q.text[at] == '}' {
		return q.sorted(n, fields), at + 1
	}
	for {
		end := q.keyEnd(at)
		if end < 0 || end+1 >= q.to {
			return q.fail(), at
		}
		f := Field{Key: q.key(at, end), Line: q.line, Column: int32(at - q.from + 1)} //nolint:gosec // files are bounded
		f.Value, at = q.flow(q.spaces(end+1), depth+1)
		if q.bad {
			return nil, at
		}
		fields = append(fields, f)
		var more bool
		if at, more = q.more(at, '}'); !more {
			return q.sorted(n, fields), at
		}
	}
}

func (q *quick) flowList(at, depth int) (*Node, int) {
	n := q.node(List, at, "")
	n.Items = []*Node{}
	at = q.spaces(at + 1)
	if at < q.to && q.text[at] == ']' {
		return n, at + 1
	}
	for {
		var item *Node
		item, at = q.flow(at, depth+1)
		if q.bad {
			return nil, at
		}
		n.Items = append(n.Items, item)
		var more bool
		if at, more = q.more(at, ']'); !more {
			return n, at
		}
	}
}

// more goes on to the next entry of a map or list in flow style, or behind its end.
func (q *quick) more(at int, closing byte) (int, bool) {
	at = q.spaces(at)
	switch {
	case at < q.to && q.text[at] == closing:
		return at + 1, false
	case at < q.to && q.text[at] == ',':
		return q.spaces(at + 1), true
	}
	q.bad = true
	return at, false
}
