package yamldoc

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// places are where the parser's lines start in the file: by number of the line, from 0. The two
// differ in a text that a template has written, and after U+0085, U+2028 and U+2029, which end a
// line in YAML 1.1 and in no editor.
type places []place

// place is the line of a file, and the characters of it that belong to the parser's lines before.
type place struct{ line, column int }

// placesOf are nil where they are the parser's own. Lines are those of ParseLines.
func placesOf(data []byte, lines []int) places {
	if lines == nil && !bytes.ContainsAny(data, "\u0085\u2028\u2029") {
		return nil
	}
	at := place{line: 1}
	fileLine := func() place {
		if at.line <= len(lines) {
			return place{lines[at.line-1], at.column}
		}
		return at
	}
	out := places{fileLine()}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		i += size
		at.column++
		switch r {
		case '\r':
			if i < len(data) && data[i] == '\n' {
				continue
			}
			at = place{line: at.line + 1}
		case '\n':
			at = place{line: at.line + 1}
		case '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		out = append(out, fileLine())
	}
	return out
}

// of is the file's line and column of the parser's.
func (ps places) of(line, column int) (int, int) {
	if line < 1 || line > len(ps) {
		return line, column
	}
	p := ps[line-1]
	if column > 0 {
		column += p.column
	}
	return p.line, column
}

func (ps places) relocate(n *yaml.Node) {
	if n == nil {
		return
	}
	n.Line, n.Column = ps.of(n.Line, n.Column)
	for _, child := range n.Content {
		ps.relocate(child)
	}
}
