package yamldoc

import (
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Node is a value with its place. Nodes are shared and must not be changed.
//
// A fleet has millions of nodes, most of them texts. So a text, fields or items are held as a
// pointer and a length, and a node has room for only one of the three. It takes 32 bytes instead of
// 88, which saves a fifth of a state's memory.
type Node struct {
	// Doc is the document that the node was read from; nil for a node that code has made.
	Doc     *Doc
	held    unsafe.Pointer // the first byte of a text, field of a Map or item of a List
	size    int32          // how many of them
	Line    int32
	Column  int32
	literal uint16 // the bytes of a literal that differs from the text and follows it in memory
	Kind    Kind
}

// Field is one entry of a Map.
type Field struct {
	Key    string
	Line   int32 // the key's place
	Column int32
	Value  *Node
}

// Name returns the key as the file writes it: 0123, where Key is 83.
func (f Field) Name() string {
	if f.Value != nil && f.Value.Doc != nil {
		for _, a := range f.Value.Doc.Ambiguous {
			if a.Key && a.Pos.Line == int(f.Line) && a.Pos.Column == int(f.Column) {
				return a.Text
			}
		}
	}
	return f.Key
}

// Text returns the text of a String, and a Number or Bool as the file writes it: the names 0123 and
// 1.10 keep all digits. It is empty for nil and other kinds.
func (n *Node) Text() string {
	if n == nil || n.Kind >= Map {
		return ""
	}
	return unsafe.String((*byte)(n.held), n.size) //nolint:gosec // set by setText
}

// Literal returns a scalar as JSON has it: 83 for the Number 0123, true for the Bool yes. For a
// String it returns the text.
func (n *Node) Literal() string {
	if n == nil || n.literal == 0 {
		return n.Text()
	}
	return unsafe.String((*byte)(unsafe.Add(n.held, n.size)), n.literal) //nolint:gosec // set by setScalar
}

// Fields returns a Map's entries, sorted by key; none for nil and other kinds.
func (n *Node) Fields() []Field {
	if n == nil || n.Kind != Map {
		return nil
	}
	return unsafe.Slice((*Field)(n.held), n.size) //nolint:gosec // set by setFields
}

// Items returns a List's elements; none for nil and other kinds.
func (n *Node) Items() []*Node {
	if n == nil || n.Kind != List {
		return nil
	}
	return unsafe.Slice((**Node)(n.held), n.size) //nolint:gosec // set by setItems
}

// ScalarAt makes a Bool, Number or String at the place of another node.
func ScalarAt(place *Node, kind Kind, text string) *Node {
	n := nullAt(place)
	n.setText(kind, text)
	return n
}

// MapAt makes a Map at the place of another node, of fields with distinct keys. It sorts them in
// place.
func MapAt(place *Node, fields []Field) *Node {
	sortFields(fields)
	n := nullAt(place)
	n.setFields(fields)
	return n
}

func sortFields(fields []Field) {
	byKey := func(a, b Field) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(fields, byKey) { // a merge's fields are sorted
		slices.SortFunc(fields, byKey)
	}
}

// ListAt makes a List at the place of another node.
func ListAt(place *Node, items []*Node) *Node {
	n := nullAt(place)
	n.setItems(items)
	return n
}

func nullAt(place *Node) *Node { return &Node{Doc: place.Doc, Line: place.Line, Column: place.Column} }

// setScalar sets a scalar and its text in the file.
func (n *Node) setScalar(s scalar, written string) {
	if s.text == written || s.kind == Null || s.kind == String {
		n.setText(s.kind, s.text)
		return
	}
	n.setText(s.kind, written+s.text)
	n.size, n.literal = int32(len(written)), uint16(len(s.text)) //nolint:gosec // documents are bounded, and JSON's literals short
}

func (n *Node) setText(kind Kind, text string) {
	n.Kind, n.literal = kind, 0
	n.hold(unsafe.Pointer(unsafe.StringData(text)), len(text)) //nolint:gosec // kept with its length
}

func (n *Node) setFields(fields []Field) {
	n.Kind = Map
	n.hold(unsafe.Pointer(unsafe.SliceData(fields)), len(fields)) //nolint:gosec // kept with its length
}

func (n *Node) setItems(items []*Node) {
	n.Kind = List
	n.hold(unsafe.Pointer(unsafe.SliceData(items)), len(items)) //nolint:gosec // kept with its length
}

func (n *Node) hold(first unsafe.Pointer, size int) {
	n.held, n.size = first, int32(size) //nolint:gosec // documents are bounded
}

// Pos returns the place that the node was read from; zero for a node that code has made.
func (n *Node) Pos() problem.Pos {
	if n == nil || n.Doc == nil {
		return problem.Pos{}
	}
	return n.Doc.Pos(n)
}

// Get returns the value of a Map's key, nil if there is none or the node is not a Map.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	if i, ok := n.index(key); ok {
		return n.Fields()[i].Value
	}
	return nil
}

// KeyPos returns the place of a Map's key, or the map's if there is none.
func (n *Node) KeyPos(key string) problem.Pos {
	if i, ok := n.index(key); ok {
		f := n.Fields()[i]
		doc := f.Value.Doc // a merged map holds fields of several documents: the value knows its own
		if doc == nil {
			doc = n.Doc
		}
		if doc != nil {
			return problem.Pos{File: doc.File, Line: int(f.Line), Column: int(f.Column)}
		}
	}
	return n.Pos()
}

// NodeMemory is about how many bytes of memory a node without a text takes.
const NodeMemory = 96

// Memory estimates how many bytes of memory a node takes with all that is in it.
func (n *Node) Memory() int {
	nodes, text := n.Size()
	return nodes*NodeMemory + text
}

// Size returns the number of nodes, and the bytes of their texts and keys. Each use of an alias
// counts.
func (n *Node) Size() (nodes, text int) {
	if n == nil {
		return 0, 0
	}
	nodes, text = 1, len(n.Text())
	for _, f := range n.Fields() {
		below, t := f.Value.Size()
		nodes, text = nodes+below, text+len(f.Key)+t
	}
	for _, item := range n.Items() {
		below, t := item.Size()
		nodes, text = nodes+below, text+t
	}
	return nodes, text
}

// WrittenSize returns an upper estimate of the node's bytes as block YAML in a JSON string. Each
// line is indented by its depth: a short file may be deep, and long when it is written.
func (n *Node) WrittenSize() int { return n.writtenAt(0) }

func (n *Node) writtenAt(depth int) int {
	if n == nil {
		return 0
	}
	size := 2*depth + writtenLine + writtenText(n.Literal(), depth)
	for _, f := range n.Fields() {
		size += writtenText(f.Key, depth+1) + f.Value.writtenAt(depth+1)
	}
	for _, item := range n.Items() {
		size += item.writtenAt(depth + 1)
	}
	return size
}

// How the library writes texts (yaml.v2, emitterc.go).
const (
	writtenLine = 4   // a dash or a colon, a space, and the line's end as JSON has it
	foldedAt    = 80  // the column beyond which a text is folded, at its next space
	longKey     = 128 // bytes from which a key has its own line
)

// writtenText estimates the bytes of a key or text.
func writtenText(text string, depth int) int {
	indented := 2*depth + writtenLine
	folds := strings.Count(text, " ")
	if room := foldedAt - 2*depth; room > 0 {
		folds = min(folds, len(text)/room)
	}
	size := len(text) + folds*indented
	if len(text) > longKey {
		size += indented
	}
	for _, c := range []byte(text) {
		switch {
		case c == '\n':
			size += indented
		case c >= 0xf0: // a character of four bytes is written as \U and eight digits
			size += 7
		case c < ' ', c == '"', c == '\\', c == 0x7f, c == 0xc2, c == 0xef:
			size += writtenLine
		}
	}
	return size
}

// WithoutNulls removes the keys of maps that are null. In a merged value such a key has removed the
// values of lower layers. A decoder must not read it as an empty value.
func (n *Node) WithoutNulls() *Node {
	if n == nil || !slices.ContainsFunc(n.Fields(), holdsNulls) && !slices.ContainsFunc(n.Items(), (*Node).nullBelow) {
		return n
	}
	if n.Kind == List {
		items := make([]*Node, len(n.Items()))
		for i, item := range n.Items() {
			items[i] = item.WithoutNulls()
		}
		return ListAt(n, items)
	}
	var fields []Field
	for _, f := range n.Fields() {
		if !f.Value.IsNull() {
			f.Value = f.Value.WithoutNulls()
			fields = append(fields, f)
		}
	}
	return MapAt(n, fields)
}

func holdsNulls(f Field) bool { return f.Value.IsNull() || f.Value.nullBelow() }

// nullBelow reports whether any map at or below the node has a key that is null.
func (n *Node) nullBelow() bool {
	return slices.ContainsFunc(n.Fields(), holdsNulls) || slices.ContainsFunc(n.Items(), (*Node).nullBelow)
}

func (n *Node) index(key string) (int, bool) {
	fields := n.Fields()
	i := sort.Search(len(fields), func(i int) bool { return fields[i].Key >= key })
	return i, i < len(fields) && fields[i].Key == key
}

// IsMap reports whether the node is a Map; false for nil.
func (n *Node) IsMap() bool { return n != nil && n.Kind == Map }

// IsNull reports whether the node is absent or null.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Null }
