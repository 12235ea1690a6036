package yamldoc

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// NodeReader is implemented by types that read their own value. The error says what was found.
type NodeReader interface{ ReadNode(n *Node) error }

// Extender is implemented by structs with keys that fields cannot describe. They read these keys
// themselves.
type Extender interface{ MoreKeys() []string }

// Checker is implemented by structs with rules that tags cannot describe. Check is called when all
// keys have been read.
type Checker interface{ Check(at At) }

// At is a map that is being decoded. It reports problems with the map's keys.
type At struct {
	*Reader
	Node   *Node
	reason problem.Reason
	path   string // the map's path of keys in the file
}

// Decode reads a map into a struct, by the tags that the package's comment describes. what names
// the map in errors, and reason is the code of values that break a tag's rule.
func (r *Reader) Decode(n *Node, what string, reason problem.Reason, into any) At {
	at := At{Reader: r, reason: reason}
	return at.structure(n, what, reflect.ValueOf(into).Elem())
}

// Has reports whether the map has a key that is not null.
func (a At) Has(key string) bool { return !a.Node.Get(key).IsNull() }

// Pos returns the place of a key, or the map's if it has no such key.
func (a At) Pos(key string) problem.Pos { return (&MapReader{r: a.Reader, node: a.Node}).KeyPos(key) }

// Text returns the text of a key; "" for absent and null.
func (a At) Text(key string) string { return (&MapReader{r: a.Reader, node: a.Node}).String(key) }

// Flag returns the boolean of a key, also from its text in quotes; false if the key is absent.
func (a At) Flag(key string) bool { return a.flag(a.Node.Get(key), a.key(key)) }

func (a At) flag(n *Node, path string) bool {
	is, ok := n.Truth()
	if !ok && !n.IsNull() {
		a.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", path), n.describe(), "true or false")
	}
	return is
}

// Below reads the map under a key into another struct, and reports its wrong values with another
// reason.
func (a At) Below(key string, reason problem.Reason, into any) At {
	return At{a.Reader, nil, reason, a.key(key)}.structure(a.Node.Get(key), fmt.Sprintf("key %q", a.key(key)), reflect.ValueOf(into).Elem())
}

// Wrong reports the value of a key or of a path of keys, or the map if the value is absent. An
// empty key means the map itself.
func (a At) Wrong(key, found, expected string, hints ...string) {
	a.wrong(a.find(key), a.key(key), found, expected, hints...)
}

func (a At) find(key string) *Node {
	n := a.Node
	for _, k := range strings.Split(key, ".") {
		if below := n.Get(k); below != nil {
			n = below
		}
	}
	return n
}

// Fail reports err as the reason why the value of a key is wrong, unless err is nil. An error that
// is a problem may have its own place, subject and expectation.
func (a At) Fail(key string, err error) { a.fail(err, a.find(key), a.key(key), "") }

func (a At) fail(err error, n *Node, path, expected string) {
	for _, p := range problem.From(err, a.reason, a.pos(n)) {
		if p.Pos.File == "" || p.Pos.Line == 0 {
			p.Pos = a.pos(n)
		}
		if p.Subject == "" || p.Subject == "template" {
			p.Subject = fmt.Sprintf("key %q", path)
		}
		a.AddAt(a.reason, p.Pos, p.Subject, p.Found, cmp.Or(p.Expected, expected), p.Hints...)
	}
}

// In returns the map under a key.
func (a At) In(key string) At { return At{a.Reader, a.Node.Get(key), a.reason, a.key(key)} }

// Item returns an element of a list of maps.
func (a At) Item(key string, i int) At {
	return At{a.Reader, a.Node.Get(key).Items()[i], a.reason, fmt.Sprintf("%s[%d]", a.key(key), i)}
}

// key returns the path of one of the map's keys.
func (a At) key(key string) string {
	if a.path == "" || key == "" {
		return a.path + key
	}
	return a.path + "." + key
}

func (a At) wrong(n *Node, path, found, expected string, hints ...string) {
	a.Add(a.reason, n, fmt.Sprintf("key %q", path), found, expected, hints...)
}

// structure reads the keys of a struct, and calls its Check.
func (a At) structure(n *Node, what string, v reflect.Value) At {
	m := a.Map(n, what)
	if a.Node = m.node; !n.IsNull() && n.Kind != Map {
		return a
	}
	all := fieldsOf(v.Type())
	var known []string
	isOpen := false
	for _, f := range all {
		if isOpen = isOpen || f.isOpen; !f.isPlace && !f.isOpen {
			known = append(known, f.key)
		}
	}
	if e, ok := v.Addr().Interface().(Extender); ok {
		known = append(known, e.MoreKeys()...)
	}
	before := len(a.problems)
	if !isOpen {
		m.Known(known...)
	}
	isMisspelt := len(a.problems) > before // a missing key may be a misspelt one
	for i := range all {
		f := &all[i]
		switch n := a.Node.Get(f.key); {
		case f.isOpen:
			v.FieldByIndex(f.index).Set(reflect.ValueOf(a.Node))
		case f.isPlace:
			v.FieldByIndex(f.index).Set(reflect.ValueOf(a.pos(a.Node)))
		case !n.IsNull():
			a.value(f, n, a.key(f.key), v.FieldByIndex(f.index))
		case f.required && !isMisspelt:
			a.missing(f, a.Pos(f.key), a.key(f.key))
		}
	}
	if c, ok := v.Addr().Interface().(Checker); ok {
		c.Check(a)
	}
	return a
}

func (a At) missing(f *field, pos problem.Pos, path string) {
	expected := cmp.Or(f.expect, f.choices())
	if f.isName {
		expected = cmp.Or(f.expect, nameForm)
	}
	a.AddAt(a.reason, pos, fmt.Sprintf("key %q", path), "missing or empty", expected)
}

// value reads a value that is not null.
func (a At) value(f *field, n *Node, path string, v reflect.Value) {
	switch into := v.Addr().Interface().(type) {
	case **Node:
		*into = n
		return
	case NodeReader:
		a.fail(into.ReadNode(n), n, path, f.expect)
		return
	case *time.Time, encoding.TextUnmarshaler:
		a.scalar(f, n, path, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		a.value(f, n, path, v.Elem())
	case reflect.Struct:
		what := path
		if !strings.HasSuffix(path, "]") {
			what = fmt.Sprintf("key %q", path)
		}
		At{a.Reader, nil, a.reason, path}.structure(n, what, v)
	case reflect.Map:
		a.entries(f, n, path, v)
	case reflect.Slice:
		a.items(f, n, path, v)
	default:
		a.scalar(f, n, path, v)
	}
}

// entries reads a map whose keys are names. A null removes an entry that is declared elsewhere.
func (a At) entries(f *field, n *Node, path string, v reflect.Value) {
	below := At{a.Reader, a.Map(n, fmt.Sprintf("key %q", path)).node, a.reason, path}
	v.Set(reflect.MakeMap(v.Type()))
	element := f.element()
	element.isName, element.required = false, false
	for _, e := range below.Node.Fields() {
		if f.isName && !IsName(e.Key) {
			a.AddAt(a.reason, below.Node.KeyPos(e.Key), fmt.Sprintf("key %q", below.key(e.Key)), "is not a DNS-1123 label", nameForm)
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		switch {
		case !e.Value.IsNull():
			a.value(element, e.Value, below.key(e.Key), value)
		case value.Kind() == reflect.Struct:
			continue
		}
		v.SetMapIndex(reflect.ValueOf(e.Name()), value)
	}
}

// items reads a list.
func (a At) items(f *field, n *Node, path string, v reflect.Value) {
	items := n.Items()
	switch {
	case f.orOne && n.Kind == String:
		items = []*Node{n}
	case n.Kind != List:
		a.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", path), "is a "+n.Kind.String(), "a list")
		return
	case len(items) == 0 && f.required:
		a.missing(f, a.Pos(f.key), path)
	case f.most > 0 && len(items) > f.most:
		a.Add(problem.LimitExceeded, n, fmt.Sprintf("key %q", path), fmt.Sprintf("%d elements", len(items)), fmt.Sprintf("at most %d", f.most))
		return
	}
	seen := map[string]bool{}
	for i, item := range items {
		at := path
		if item != n {
			at = fmt.Sprintf("%s[%d]", path, i)
		}
		value := reflect.New(v.Type().Elem()).Elem()
		if _, isOwn := value.Addr().Interface().(NodeReader); item.IsNull() && value.Kind() == reflect.Struct && !isOwn {
			item = MapAt(item, nil)
		}
		before := len(a.problems) + a.unlisted
		a.value(f.element(), item, at, value)
		isRight := len(a.problems)+a.unlisted == before
		if f.once && isRight && seen[value.String()] {
			a.wrong(item, at, fmt.Sprintf("%q is given again", shorten(value.String())), "each once")
			continue
		}
		if seen[value.String()] = true; isRight || value.Kind() == reflect.Struct {
			v.Set(reflect.Append(v, value))
		}
	}
}

// scalar reads a text, a number or a boolean.
func (a At) scalar(f *field, n *Node, path string, v reflect.Value) {
	subject, text := fmt.Sprintf("key %q", path), n.Text()
	_, isOwn := v.Addr().Interface().(encoding.TextUnmarshaler)
	if v.Kind() == reflect.String && !isOwn {
		v.SetString(text) // also a wrong text: it may tell whose file it is
	}
	switch {
	case v.Kind() == reflect.Bool && f.words == nil:
		v.SetBool(a.flag(n, path))
		return
	case n.IsNull() || n.Kind == Map || n.Kind == List:
		a.Add(problem.InvalidValue, n, subject, "is a "+n.Kind.String(), "text")
		return
	case f.isQuoted && n.Kind != String:
		hint := "put it in quotes"
		if n.Literal() != text {
			hint += fmt.Sprintf(": YAML reads %s as %s", text, n.Literal())
		}
		a.wrong(n, path, "is a "+n.Kind.String(), "text", hint)
		return
	case strings.TrimSpace(text) == "" && (f.required || f.isName):
		pos := a.pos(n)
		if path == a.key(f.key) {
			pos = a.Pos(f.key)
		}
		a.missing(f, pos, path)
		return
	case text == "" && f.pattern == nil && !isOwn && !f.isPath:
		return
	case f.isName && !IsName(text):
		a.wrong(n, path, fmt.Sprintf("%q is not a DNS-1123 label", shorten(text)), nameForm)
		return
	case f.words != nil && !slices.Contains(f.words, text):
		if len(f.words) == 1 { // another version or kind of file
			a.Add(problem.InvalidValue, n, subject, fmt.Sprintf("%q", shorten(text)), f.choices())
			return
		}
		a.wrong(n, path, fmt.Sprintf("%q", shorten(text)), f.choices(), problem.Nearest(text, f.words)...)
		return
	case f.pattern != nil && !f.pattern.MatchString(text):
		a.wrong(n, path, fmt.Sprintf("%q", shorten(text)), f.expect)
		return
	}
	if err := f.set(v, text); err != nil {
		expected := f.expect
		if f.longest > 0 {
			expected = fmt.Sprintf("a duration such as 30m or 24h, at most %s", f.longest)
		}
		a.fail(err, n, path, expected)
	}
}

// set parses the text as the value's type. The error says what was found.
func (f *field) set(v reflect.Value, text string) error {
	wrong := fmt.Errorf("%q", shorten(text))
	switch into := v.Addr().Interface().(type) {
	case *time.Time:
		var err error
		if *into, err = time.Parse(time.DateOnly, text); err != nil {
			return wrong
		}
		return nil
	case encoding.TextUnmarshaler:
		return into.UnmarshalText([]byte(text))
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > f.longest {
			return wrong
		}
		*into = d
		return nil
	}
	switch v.Kind() { //nolint:exhaustive // files have no other kinds
	case reflect.String:
		if f.isPath {
			clean, err := snapshot.CleanPath(text)
			v.SetString(clean)
			return err
		}
	case reflect.Bool:
		v.SetBool(text == f.words[len(f.words)-1])
	case reflect.Int:
		v.SetInt(int64(slices.Index(f.words, text)))
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return wrong
		}
		v.SetFloat(n)
	}
	return nil
}

// nameForm is the form of a DNS-1123 label.
const nameForm = "lower case letters, digits and inner hyphens, at most 63"

// IsName reports whether a text is a DNS-1123 label. It uses no regular expression, because it is
// called for every component of every cluster.
func IsName(text string) bool {
	if text == "" || len(text) > 63 || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// field is a key of a struct, as the tags describe it.
type field struct {
	index                      []int
	key, expect                string
	words                      []string
	pattern                    *regexp.Regexp
	required, isName, isQuoted bool
	isPath                     bool
	isPlace, isOpen            bool // the field holds the map's place, or the map, not a key
	once, orOne                bool // for a list: its elements are unique; a single one needs no list
	most                       int  // elements
	longest                    time.Duration
}

// element returns the rules of the tags for an element of a list or map.
func (f *field) element() *field {
	return &field{key: f.key, expect: f.expect, words: f.words, pattern: f.pattern, isName: f.isName, isQuoted: f.isQuoted, isPath: f.isPath, longest: f.longest, required: true}
}

// choices returns the allowed words of a key for an error.
func (f *field) choices() string {
	switch {
	case len(f.words) == 1:
		return strconv.Quote(f.words[0])
	case len(f.words) > 3:
		return "one of " + strings.Join(f.words, ", ")
	}
	return strings.Join(f.words, " or ")
}

var knownFields sync.Map // fields by the type of the struct

// fieldsOf returns the keys of a struct.
func fieldsOf(t reflect.Type) []field {
	if known, ok := knownFields.Load(t); ok {
		return known.([]field) //nolint:errcheck // nothing else is stored
	}
	var out []field
	for _, sf := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		f := field{index: sf.Index, key: name, expect: sf.Tag.Get("expect"), required: !strings.HasPrefix(options, "omit")}
		f.read(sf.Tag)
		if name != "" && name != "-" && sf.Tag.Get("is") != "internal" || f.isPlace || f.isOpen {
			out = append(out, f)
		}
	}
	knownFields.Store(t, out)
	return out
}

// read reads the other tags.
func (f *field) read(tag reflect.StructTag) {
	for _, word := range strings.Split(tag.Get("jsonschema"), ",") {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "enum":
			f.words = append(f.words, value)
		case "maxItems":
			f.most, _ = strconv.Atoi(value)
		case "minItems":
			f.required = true
		case "uniqueItems":
			f.once = true
		case "oneof_type":
			f.orOne = value == "string;array"
		}
	}
	for _, word := range strings.Fields(tag.Get("is")) {
		switch word {
		case "name":
			f.isName = true
		case "quoted":
			f.isQuoted = true
		case "path":
			f.isPath = true
		case "place":
			f.isPlace = true
		case "open":
			f.isOpen = true
		}
	}
	f.longest, _ = time.ParseDuration(tag.Get("longest"))
	if p := tag.Get("pattern"); p != "" {
		f.pattern = regexp.MustCompile(p)
	}
}
