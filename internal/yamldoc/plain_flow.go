package yamldoc

import (
	"strings"
)

// flow reads a quoted scalar, or a map or list in flow style, and returns the offset behind it.
func (p *plainParser) flow(at, depth int) (*Node, int) {
	if depth > maxPlainDepth || at == p.to {
		return p.fail(), at
	}
	switch c := p.text[at]; c {
	case '"', '\'':
		end := strings.IndexByte(p.text[at+1:p.to], c)
		if end < 0 {
			return p.fail(), at
		}
		text, behind := p.text[at+1:at+1+end], at+end+2
		if strings.IndexByte(text, '\\') >= 0 && c == '"' || behind < p.to && p.text[behind] == '\'' {
			return p.fail(), at
		}
		return p.node(String, at, text), behind
	case '{':
		return p.flowMap(at, depth)
	case '[':
		return p.flowList(at, depth)
	}
	end := at
	for end < p.to && isFlowText(p.text[end]) {
		if p.text[end] == ':' && (end+1 == p.to || !isWord(p.text[end+1]) && p.text[end+1] != '/') {
			return p.fail(), at
		}
		end++
	}
	if end == at {
		return p.fail(), at
	}
	return p.plain(at, p.text[at:end]), end
}

// isFlowText reports whether a character is part of a plain scalar in flow style and cannot be
// anything else. Spaces are not.
func isFlowText(c byte) bool {
	return isWord(c) || c == '-' || c == '.' || c == '/' || c == '+' || c == ':' || c == '@' || c == '='
}

func (p *plainParser) flowMap(at, depth int) (*Node, int) {
	n := p.node(Map, at, "")
	var few [8]Field
	fields := few[:0]
	at = p.spaces(at + 1)
	if at < p.to && p.text[at] == '}' {
		return p.sorted(n, fields), at + 1
	}
	for {
		end := p.keyEnd(at)
		if end < 0 || end+1 >= p.to {
			return p.fail(), at
		}
		f := Field{Key: p.key(at, end), Line: p.line, Column: int32(at - p.from + 1)} //nolint:gosec // files are bounded
		f.Value, at = p.flow(p.spaces(end+1), depth+1)
		if p.bad {
			return nil, at
		}
		fields = append(fields, f)
		var more bool
		if at, more = p.more(at, '}'); !more {
			return p.sorted(n, fields), at
		}
	}
}

func (p *plainParser) flowList(at, depth int) (*Node, int) {
	n := p.node(List, at, "")
	var items []*Node
	at = p.spaces(at + 1)
	if at < p.to && p.text[at] == ']' {
		return n, at + 1
	}
	for {
		var item *Node
		item, at = p.flow(at, depth+1)
		if p.bad {
			return nil, at
		}
		items = append(items, item)
		var more bool
		if at, more = p.more(at, ']'); !more {
			n.setItems(items)
			return n, at
		}
	}
}

// more moves to the next entry of a map or list in flow style, or behind its end.
func (p *plainParser) more(at int, closing byte) (int, bool) {
	at = p.spaces(at)
	switch {
	case at < p.to && p.text[at] == closing:
		return at + 1, false
	case at < p.to && p.text[at] == ',':
		return p.spaces(at + 1), true
	}
	p.bad = true
	return at, false
}
