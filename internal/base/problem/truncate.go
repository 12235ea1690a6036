package problem

import "strings"

// Truncate shortens a text to at most limit bytes. A shortened text ends in "...".
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Prefix(text, limit-len("...")) + "..."
}

// OneLine replaces line breaks in a text by spaces, and truncates it.
func OneLine(text string, limit int) string {
	return Truncate(strings.Join(strings.Fields(text), " "), limit)
}

// Prefix returns at most limit bytes of the beginning of a text. It never splits a character.
func Prefix(text string, limit int) string {
	return strings.ToValidUTF8(text[:min(len(text), limit)], "")
}

// contextBefore is how much Differing shows before the first difference, in bytes.
const contextBefore = 30

// Differing shortens two texts to at most limit bytes and keeps the first difference visible: it
// cuts the common beginning, then the ends. "..." marks a cut.
func Differing(a, b string, limit int) (shortA, shortB string) {
	if len(a) <= limit && len(b) <= limit {
		return a, b
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-contextBefore)
	if longest := max(len(a), len(b)); from < len("...") || longest <= limit {
		from = 0
	}
	window := func(s string) string {
		if from == 0 {
			return Truncate(s, limit)
		}
		return "..." + Truncate(strings.ToValidUTF8(s[min(from, len(s)):], ""), limit-len("..."))
	}
	return window(a), window(b)
}
