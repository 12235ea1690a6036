package yamldoc

import "strings"

// The plain writer writes what most values are: maps and lists of short texts. It writes byte by
// byte what the library writes, which takes some 20 KB of memory for each; all else is the
// library's.
//
// It halves the processor time of a cold start with its first responses (1,000 clusters: 979
// instead of 1,848 ms; a commit of one cluster's file takes the same with and without it).

// plainYAML is a map as YAML, false when it is not plain.
func plainYAML(n *Node) ([]byte, bool) {
	if n.Kind != Map || len(n.Fields()) == 0 {
		return nil, false
	}
	return appendMap(make([]byte, 0, 512), n, 0)
}

// appendMap appends a map's fields. The first has been indented by the caller.
func appendMap(out []byte, n *Node, indent int) (_ []byte, ok bool) {
	for i, f := range n.Fields() {
		if i > 0 {
			out = appendIndent(out, indent)
		}
		if len(f.Key) > maxSimpleKey || strings.IndexByte(f.Key, ':') >= 0 {
			return nil, false
		}
		if out, ok = appendText(out, f.Key); !ok {
			return nil, false
		}
		out = append(out, ':')
		switch v := f.Value; {
		case v.Kind == Map && len(v.Fields()) > 0:
			out = appendIndent(append(out, '\n'), indent+2)
			out, ok = appendMap(out, v, indent+2)
		case v.Kind == List && len(v.Items()) > 0:
			out, ok = appendList(append(out, '\n'), v, indent)
		default:
			out, ok = appendScalar(append(out, ' '), v)
			out = append(out, '\n')
		}
		if !ok {
			return nil, false
		}
	}
	return out, true
}

// appendList appends a list below a key, indented as the key is.
func appendList(out []byte, n *Node, indent int) (_ []byte, ok bool) {
	for _, item := range n.Items() {
		out = append(appendIndent(out, indent), '-', ' ')
		switch {
		case item.Kind == Map && len(item.Fields()) > 0:
			out, ok = appendMap(out, item, indent+2)
		case item.Kind == List && len(item.Items()) > 0:
			return nil, false
		default:
			out, ok = appendScalar(out, item)
			out = append(out, '\n')
		}
		if !ok {
			return nil, false
		}
	}
	return out, true
}

func appendIndent(out []byte, indent int) []byte {
	for range indent {
		out = append(out, ' ')
	}
	return out
}

func appendScalar(out []byte, n *Node) ([]byte, bool) {
	switch n.Kind {
	case Map:
		return append(out, "{}"...), true
	case List:
		return append(out, "[]"...), true
	case Null:
		return append(out, "null"...), true
	case Bool:
		return append(out, n.Literal()...), true
	case Number:
		return append(out, n.Literal()...), isShortInteger(n.Literal())
	}
	return appendText(out, n.Text())
}

const (
	// maxSimpleKey is less than what the library takes for a simple key, in bytes.
	maxSimpleKey = 100
	// maxDigits is how many digits fit into 64 bits in any case.
	maxDigits = 18
)

func isShortInteger(text string) bool {
	return text == "0" || len(text) > 0 && len(text) <= maxDigits && text[0] != '0' && isDigits(text)
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) > 0
}

// wordsOfYAML11 are what YAML 1.1 takes for booleans and null, in small letters.
var wordsOfYAML11 = map[string]bool{"y": true, "yes": true, "on": true, "true": true, "n": true, "no": true, "off": true, "false": true, "null": true}

// appendText appends a text that is written as it is, or that only has to be put into quotes.
func appendText(out []byte, text string) ([]byte, bool) {
	switch {
	case text == "", isDigits(text):
		return append(append(append(out, '"'), text...), '"'), true
	case isLetter(text[0]):
	case isQuantity(text):
		return append(out, text...), true
	case !isVersion(text):
		return nil, false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c), c >= '0' && c <= '9', c == '.', c == '-', c == '_', c == '/':
		case c == ':' && i < len(text)-1:
		default:
			return nil, false
		}
	}
	if len(text) <= len("false") && wordsOfYAML11[strings.ToLower(text)] {
		if text != strings.ToLower(text) { // not all ways to write them are words
			return nil, false
		}
		return append(append(append(out, '"'), text...), '"'), true
	}
	return append(out, text...), true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isQuantity reports whether a text is digits and a unit of Kubernetes or of a time: no number, as
// none has these letters.
func isQuantity(text string) bool {
	digits := strings.TrimRight(text, "KMGTimshd")
	return digits != text && isDigits(digits)
}

// isVersion reports whether a text is digits and at least two dots between them: no number, and no
// date.
func isVersion(text string) bool {
	parts := strings.Split(text, ".")
	for _, p := range parts {
		if !isDigits(p) {
			return false
		}
	}
	return len(parts) > 2
}
