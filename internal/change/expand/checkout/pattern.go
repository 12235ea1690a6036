package checkout

import (
	"fmt"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Pattern is a Git pattern without magic. "" matches everything; a pattern that ends in a slash
// matches the contents of that folder.
//
// Source: git 2.47, dir.c, match_pathspec_item.
type Pattern string

// Parse reads a pattern as `git ls-files` does by default: * matches slashes, too, and the name of
// a folder matches everything in it.
func Parse(pattern string) (Pattern, error) {
	clean := path.Clean(pattern)
	switch {
	case strings.HasPrefix(pattern, ":"):
		return "", source.NotFollowed{Text: fmt.Sprintf("generator git is not followed: its path %q is magic of git's", pattern)}
	case strings.HasPrefix(clean, "/"), clean == "..", strings.HasPrefix(clean, "../"):
		return "", fmt.Errorf("path %q is outside the repository", pattern)
	case clean == ".":
		return "", nil
	}
	switch pattern[strings.LastIndexByte(pattern, '/')+1:] {
	case "", ".", "..":
		clean += "/"
	}
	return Pattern(clean), nil
}

// Within returns the folder or file at or below which all matches are.
func (s Pattern) Within() string {
	i := strings.IndexAny(string(s), `*?[\`)
	if i < 0 {
		return path.Clean(string(s))
	}
	return path.Dir(string(s[:i]) + "x")
}

// Matches reports whether a path matches.
func (s Pattern) Matches(p string) bool {
	rest, below := strings.CutPrefix(p, string(s))
	return below && (s == "" || rest == "" || strings.HasSuffix(string(s), "/") || rest[0] == '/') || wildmatch(string(s), p)
}

// wildmatch is Git's (wildmatch.c, without WM_PATHNAME): ** is a * and matches slashes, too.
func wildmatch(pattern, text string) bool {
	p, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			star, from = p, t
			p++
			continue
		}
		if width, ok := wildOne(pattern[p:], text[t]); ok {
			p, t = p+width, t+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, t = star+1, from
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// wildOne matches a character with the beginning of a pattern that does not begin with a star. It
// returns how long that beginning is.
func wildOne(pattern string, c byte) (width int, ok bool) {
	switch {
	case pattern == "":
		return 0, false
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '\\':
		return 2, len(pattern) > 1 && pattern[1] == c
	case pattern[0] == '[':
		return wildClass(pattern, c)
	}
	return 1, pattern[0] == c
}

// wildClass matches a character with a class: [a-z], [!a-z] or [^a-z], with [:alpha:] in it. A
// class without an end matches nothing.
func wildClass(pattern string, c byte) (width int, ok bool) {
	i, negated := 1, false
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i, negated = i+1, true
	}
	var last byte
	for first := true; ; first = false {
		switch {
		case i >= len(pattern):
			return 0, false
		case pattern[i] == ']' && !first:
			return i + 1, ok != negated
		case pattern[i] == '-' && last != 0 && i+1 < len(pattern) && pattern[i+1] != ']':
			i++
			if pattern[i] == '\\' {
				i++
			}
			if i >= len(pattern) {
				return 0, false
			}
			ok = ok || last <= c && c <= pattern[i]
			last = 0
		case strings.HasPrefix(pattern[i:], "[:"):
			name, _, ends := strings.Cut(pattern[i+2:], ":]")
			in := classes[name]
			if !ends || in == nil {
				return 0, false
			}
			ok, last = ok || in(c), 0
			i += len(name) + 3
		default:
			if pattern[i] == '\\' {
				i++
			}
			if i >= len(pattern) {
				return 0, false
			}
			last = pattern[i]
			ok = ok || last == c
		}
		i++
	}
}

// classes are Git's character classes, for ASCII.
var classes = map[string]func(byte) bool{
	"alnum": func(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }, "alpha": func(c byte) bool { return isLower(c) || isUpper(c) },
	"blank": func(c byte) bool { return c == ' ' || c == '\t' }, "cntrl": func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit": isDigit, "graph": func(c byte) bool { return '!' <= c && c <= '~' }, "lower": isLower,
	"print": func(c byte) bool { return ' ' <= c && c <= '~' }, "punct": func(c byte) bool { return '!' <= c && c <= '~' && !isLower(c) && !isUpper(c) && !isDigit(c) },
	"space": func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }, "upper": isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
