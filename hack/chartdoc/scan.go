package chartdoc

import (
	"regexp"
	"strings"
)

// key is a key of a values file with the comment directly above it.
type key struct {
	path    []string
	comment string
	line    int
}

var keyLine = regexp.MustCompile(`^( *)("[^"]*"|'[^']*'|[^\s#:'"\[\]{},-][^\s:]*):(?:\s+(.*))?$`)

// scan reads the keys of block maps, in the file's order. It reads lines, not YAML: YAML
// parsers keep comments by rules of their own, and the values themselves are looked up in the
// parsed file. Lists, block scalars and flow maps are values, not searched for keys.
func scan(text string) []key {
	type level struct {
		indent int
		name   string
	}
	var (
		keys    []key
		stack   []level
		comment []string
		skip    = -1 // lines indented more belong to the value above
	)
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if skip >= 0 && (trimmed == "" || indent > skip) {
			continue
		}
		switch {
		case trimmed == "":
			comment = nil
			continue
		case strings.HasPrefix(trimmed, "#"):
			comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(trimmed, "#"), " "))
			continue
		case strings.HasPrefix(trimmed, "-"):
			skip, comment = indent, nil
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			comment = nil
			continue
		}
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, level{indent, strings.Trim(m[2], `"'`)})
		path := make([]string, len(stack))
		for j, l := range stack {
			path[j] = l.name
		}
		keys = append(keys, key{path: path, comment: describe(comment), line: i + 1})
		comment, skip = nil, -1
		if strings.HasPrefix(m[3], "|") || strings.HasPrefix(m[3], ">") {
			skip = indent
		}
	}
	return keys
}

// describe is a comment as one line, from its last "-- " on.
func describe(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if text, ok := strings.CutPrefix(lines[i], "-- "); ok {
			lines = append([]string{text}, lines[i+1:]...)
			break
		}
	}
	return strings.TrimSpace(strings.Join(lines, " "))
}
