package hierarchy

import (
	"fmt"
	"strconv"
	"strings"
)

// ParsePath splits a path such as `controller.args[0]` or `metadata.annotations["a.b/c"]` into its
// parts. Dots inside a key are written `\.` or the key is put into brackets and quotes.
func ParsePath(p string) ([]string, error) {
	var parts []string
	var b strings.Builder
	started := false // a part has begun since the last dot
	flush := func() {
		if started {
			parts = append(parts, b.String())
		}
		b.Reset()
		started = false
	}
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c == '\\' && i+1 < len(p):
			b.WriteByte(p[i+1])
			started = true
			i += 2
		case c == '.':
			if !started && (i == 0 || p[i-1] != ']') {
				return nil, fmt.Errorf("path %q: empty part at %d", p, i+1)
			}
			flush()
			i++
			if i == len(p) {
				return nil, fmt.Errorf("path %q ends in a dot", p)
			}
		case c == '[':
			flush()
			part, n, err := bracket(p[i:])
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", p, err)
			}
			parts = append(parts, part)
			i += n
		default:
			b.WriteByte(c)
			started = true
			i++
		}
	}
	flush()
	return parts, nil
}

// bracket reads `[3]` or `["key"]` at the start of s and returns its content and length.
func bracket(s string) (part string, length int, err error) {
	if strings.HasPrefix(s, `["`) {
		quoted, err := strconv.QuotedPrefix(s[1:])
		if err != nil || !strings.HasPrefix(s[1+len(quoted):], "]") {
			return "", 0, fmt.Errorf("bracket without its closing \"]")
		}
		text, err := strconv.Unquote(quoted)
		return text, len(quoted) + 2, err
	}
	end := strings.IndexByte(s, ']')
	if end < 2 {
		return "", 0, fmt.Errorf("bracket without content or end")
	}
	return s[1:end], end + 1, nil
}

// FormatPath returns the text that ParsePath splits into the parts. The caller gives indexes of
// lists as numbers; they are written like keys: `args.0`.
func FormatPath(parts []string) string {
	var b strings.Builder
	for i, part := range parts {
		if part == "" || strings.ContainsAny(part, ".[]\\\" ") {
			b.WriteString("[" + strconv.Quote(part) + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return b.String()
}
