package checkout

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Pattern is a Git pattern without magic. "" matches everything; a pattern that ends in a slash
// matches the contents of that folder.
//
// Source: git 2.47, dir.c, match_pathspec_item.
type Pattern struct {
	text string
	wild *regexp.Regexp // nil matches nothing
}

// Parse reads a pattern as `git ls-files` does by default: * matches slashes, too, and the name of
// a folder matches everything in it.
func Parse(pattern string) (Pattern, error) {
	clean := path.Clean(pattern)
	switch {
	case strings.HasPrefix(pattern, ":"):
		return Pattern{}, source.NotFollowed{Text: fmt.Sprintf("generator git is not followed: its path %q is magic of git's", pattern)}
	case strings.HasPrefix(clean, "/"), clean == "..", strings.HasPrefix(clean, "../"):
		return Pattern{}, fmt.Errorf("path %q is outside the repository", pattern)
	case clean == ".":
		return Pattern{}, nil
	}
	switch pattern[strings.LastIndexByte(pattern, '/')+1:] {
	case "", ".", "..":
		clean += "/"
	}
	return Pattern{clean, wildmatch(clean)}, nil
}

// Within returns the folder or file at or below which all matches are.
func (s Pattern) Within() string {
	i := strings.IndexAny(s.text, `*?[\`)
	if i < 0 {
		return path.Clean(s.text)
	}
	return path.Dir(s.text[:i] + "x")
}

// Matches reports whether a path matches.
func (s Pattern) Matches(p string) bool {
	rest, below := strings.CutPrefix(p, s.text)
	return below && (s.text == "" || rest == "" || strings.HasSuffix(s.text, "/") || rest[0] == '/') || s.wild != nil && s.wild.MatchString(bytesOf(p))
}

// wildmatch returns a pattern of Git's (wildmatch.c, without WM_PATHNAME) as a regular expression
// over bytes: a * matches slashes, too. It returns nil for a class or an escape without an end.
func wildmatch(pattern string) *regexp.Regexp {
	var out strings.Builder
	for pattern = bytesOf(pattern); pattern != ""; {
		token := wildToken.FindString(pattern)
		pattern = pattern[len(token):]
		switch {
		case token == "":
			return nil
		case token == "*":
			out.WriteString(".*")
		case token == "?":
			out.WriteString(".")
		case token[0] == '[':
			if strings.Contains(token, "[:word:]") { // Go's own
				return nil
			}
			set, negated := token[1:len(token)-1], ""
			if set[0] == '!' || set[0] == '^' {
				set, negated = set[1:], "^"
			}
			out.WriteString("[" + negated + inClass.ReplaceAllStringFunc(set, classItem) + nothing + "]")
		default:
			out.WriteString(regexp.QuoteMeta(strings.TrimPrefix(token, `\`)))
		}
	}
	found, err := regexp.Compile("(?s)^" + out.String() + "$")
	if err != nil { // a class of characters that does not exist
		return nil
	}
	return found
}

// The parts of a pattern, and of a class in it: [a-z], [!a-z] or [^a-z], with [:alpha:] in it.
var (
	wildToken = regexp.MustCompile(`(?s)^(?:\[(?:[!^]?\[:\w+:\]|[!^]?\\.|[!^][^\\]|[^!^\\])(?:\[:\w+:\]|\\.|[^\]\\])*\]|\\.|[^\[\\])`)
	inClass   = regexp.MustCompile(`(?s)\[:\w+:\]|(\\.|[^\\])-(\\.|[^\\])|\\.|[^\\]`)
)

// nothing is a part of a class that no byte is.
const nothing = `\x{10ffff}`

// classItem returns a part of Git's class as one of a regular expression's.
func classItem(item string) string {
	if strings.HasPrefix(item, "[:") {
		return item
	}
	quote := func(c string) string {
		r, _ := utf8.DecodeRuneInString(strings.TrimPrefix(c, `\`))
		return fmt.Sprintf(`\x{%x}`, r)
	}
	if ends := inClass.FindStringSubmatch(item); ends[1] != "" {
		from, to := quote(ends[1]), quote(ends[2])
		if len(from) > len(to) || len(from) == len(to) && from > to {
			return "" // Git's range of nothing
		}
		return from + "-" + to
	}
	return quote(item)
}

// bytesOf returns a text with a character for each byte.
func bytesOf(text string) string {
	out := make([]rune, len(text))
	for i := range len(text) {
		out[i] = rune(text[i])
	}
	return string(out)
}
