package yamldoc

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// places are the starts of the parser's lines in the file, by line number from 0. The lines differ
// in a text that a template has written. They also differ after U+0085, U+2028 and U+2029, which
// end a line in YAML 1.1 but in no editor.
type places []place

// place is a line of the file, and how many of its characters belong to earlier lines of the
// parser.
type place struct{ line, column int }

// placesOf returns the places of a text, nil where the parser's lines are the file's. lines has the
// meaning of ParseLines' parameter.
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

// of converts the parser's line and column to the file's.
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
