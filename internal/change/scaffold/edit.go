package scaffold

import (
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// setScalar sets a key of a catalog file to a value, written as YAML. Comments, order and quotes of
// everything else stay. It parses the result and checks that everything else is unchanged.
func setScalar(file, text string, keys []string, value string) (string, error) {
	byHand := problem.Usage([]string{"set it by hand: " + flow(keys, value), nothingWritten}, "%s has a form in which %s cannot be set", file, strings.Join(keys, "."))
	doc, err := yamldoc.Parse(file, []byte(text))
	if err != nil {
		return "", problem.FailureOf(err, problem.InvalidYAML, problem.Pos{File: file}, nothingWritten)
	}
	entries, path := doc.Root, keys
	if doc.Root.Get(catalog.ComponentsKey) != nil {
		path = append([]string{catalog.ComponentsKey}, keys...)
	}
	lines := strings.SplitAfter(text, "\n")
	out, ok := edit(lines, entries, path, value)
	if !ok {
		return "", byHand
	}
	after, err := yamldoc.Parse(file, []byte(out))
	if err != nil || !sameBut(doc.Root.Any(), after.Root.Any(), path, value) {
		return "", byHand
	}
	return out, nil
}

// flow returns a nested key in one line.
func flow(keys []string, value string) string {
	for _, key := range slices.Backward(keys) {
		value = "{" + scalar(key) + ": " + value + "}"
	}
	return strings.TrimSuffix(strings.TrimPrefix(value, "{"), "}")
}

// block returns a nested key with each key on a line.
func block(indent string, keys []string, value string) string {
	var b strings.Builder
	for i, key := range keys {
		b.WriteString(indent + strings.Repeat("  ", i) + scalar(key) + ":")
		if i < len(keys)-1 {
			b.WriteString("\n")
		}
	}
	return b.String() + " " + value + "\n"
}

// edit sets a key below a map. It returns false for a form that it does not know.
func edit(lines []string, root *yamldoc.Node, keys []string, value string) (string, bool) {
	if root.IsNull() {
		text := strings.Join(lines, "")
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + block("", keys, value), true
	}
	n, parent := root, yamldoc.Field{}
	for i, key := range keys {
		if !n.IsMap() {
			return "", false
		}
		at := slices.IndexFunc(n.Fields(), func(f yamldoc.Field) bool { return f.Key == key })
		if at < 0 {
			return insert(lines, n, parent, keys[i:], value)
		}
		parent = n.Fields()[at]
		if n = parent.Value; i == len(keys)-1 {
			return replace(lines, n, value)
		}
	}
	return "", false
}

// replace replaces a scalar of one line with a value.
func replace(lines []string, n *yamldoc.Node, value string) (string, bool) {
	if n.Kind == yamldoc.Map || n.Kind == yamldoc.List || n.Kind == yamldoc.Null {
		return "", false
	}
	before, rest, ok := cut(lines, n.Line, n.Column)
	if !ok {
		return "", false
	}
	end := strings.IndexAny(rest, " ,}\r\n")
	if quote := rest[:min(1, len(rest))]; quote == `"` || quote == "'" {
		end = strings.Index(rest[1:], quote) + 2
	}
	if end < 1 {
		end = len(rest)
	}
	return before + value + rest[end:], true
}

// insert adds a key to a map: at its beginning, or in the document's root map at its end.
func insert(lines []string, n *yamldoc.Node, parent yamldoc.Field, keys []string, value string) (string, bool) {
	before, rest, ok := cut(lines, n.Line, n.Column)
	switch {
	case !ok:
		return "", false
	case strings.HasPrefix(rest, "{"):
		comma := ", "
		if len(n.Fields()) == 0 {
			comma = ""
		}
		return before + "{" + flow(keys, value) + comma + rest[1:], true
	case parent.Line == 0:
		text := strings.Join(lines, "")
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + block(strings.Repeat(" ", int(n.Column)-1), keys, value), true
	case parent.Line >= n.Line:
		return "", false
	}
	at := int(parent.Line)
	return strings.Join(lines[:at], "") + block(strings.Repeat(" ", int(n.Column)-1), keys, value) + strings.Join(lines[at:], ""), true
}

// cut splits a text at a place.
func cut(lines []string, line, column int32) (before, after string, ok bool) {
	if line < 1 || int(line) > len(lines) || column < 1 || int(column) > len(lines[line-1]) {
		return "", "", false
	}
	at, of := int(line)-1, lines[line-1]
	return strings.Join(lines[:at], "") + of[:column-1], of[column-1:] + strings.Join(lines[at+1:], ""), true
}

// sameBut reports whether two contents differ only in one key, which has the value in the second.
func sameBut(was, is any, keys []string, value string) bool {
	want, err := yamldoc.Parse("", []byte("v: "+value))
	if err != nil {
		return false
	}
	before, _ := was.(map[string]any)
	return reflect.DeepEqual(withKey(before, keys, want.Root.Get("v").Any()), is)
}

// withKey returns a map with one key set.
func withKey(m map[string]any, keys []string, value any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	if len(keys) == 1 {
		out[keys[0]] = value
		return out
	}
	inner, _ := m[keys[0]].(map[string]any)
	out[keys[0]] = withKey(inner, keys[1:], value)
	return out
}
