package pathpattern

import (
	"fmt"
	slashpath "path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// Glob is a pattern of paths: * and ? stand for text within a part, and ** for any number of
// parts.
type Glob struct {
	text  string
	parts []string
}

// NewGlob compiles a pattern.
func NewGlob(text string) (Glob, error) {
	if strings.Contains(text, "{{") {
		return Glob{}, fmt.Errorf("%q is a template", text)
	}
	clean, err := snapshot.CleanPath(text)
	if err != nil {
		return Glob{}, err
	}
	g := Glob{text: text}
	for _, part := range strings.Split(clean, "/") {
		if _, err := slashpath.Match(part, ""); err != nil {
			return Glob{}, fmt.Errorf("%q: %w", text, err)
		}
		if n := len(g.parts); part == "**" && n > 0 && g.parts[n-1] == part {
			continue // the same as one
		}
		g.parts = append(g.parts, part)
	}
	if g.parts[0] == "**" && len(g.parts) == 1 {
		return Glob{}, fmt.Errorf("%q is every path", text)
	}
	return g, nil
}

// String returns the pattern's text.
func (g Glob) String() string { return g.text }

// Match reports whether the pattern matches a path, or a folder above it.
func (g Glob) Match(path string) bool { return matchParts(g.parts, strings.Split(path, "/")) }

// matchParts keeps, part by part, the places of the pattern that may come next: its work is bounded
// by the product of both lengths.
func matchParts(pattern, path []string) bool {
	at := map[int]bool{0: true}
	skip := func(at map[int]bool) {
		for i := range pattern {
			if at[i] && pattern[i] == "**" {
				at[i+1] = true
			}
		}
	}
	skip(at)
	for _, part := range path {
		next := map[int]bool{}
		for i := range at {
			switch {
			case i == len(pattern): // the pattern matches a folder above
				return true
			case pattern[i] == "**":
				next[i] = true
			default:
				if ok, _ := slashpath.Match(pattern[i], part); ok {
					next[i+1] = true
				}
			}
		}
		skip(next)
		at = next
	}
	return at[len(pattern)]
}
