package problem

import "strings"

// Truncate shortens a text to at most limit bytes. A shortened text ends in "...".
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Prefix(text, limit-len("...")) + "..."
}

// Prefix is the beginning of a text, of at most limit bytes. It never cuts a character in two.
func Prefix(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}
