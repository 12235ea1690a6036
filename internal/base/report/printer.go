package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Style formats text for a terminal. The zero value is plain.
type Style struct {
	// Color adds ANSI colours.
	Color bool
}

func (s Style) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns bold text.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim returns dimmed text, for details.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red returns red text, for errors and removals.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green returns green text, for success and creations.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow returns yellow text, for warnings and changes.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan returns cyan text, for names.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Printer writes lines until the first error, which Err keeps.
type Printer struct {
	Style
	Err error
	w   io.Writer
}

// NewPrinter returns a Printer that writes to w.
func NewPrinter(w io.Writer, s Style) *Printer { return &Printer{Style: s, w: w} }

// Line prints a line without trailing spaces and unprintable characters.
func (p *Printer) Line(format string, args ...any) {
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	p.Write(Printable(text) + "\n")
}

// Write prints text unchanged.
func (p *Printer) Write(text string) {
	if p.Err == nil {
		_, p.Err = io.WriteString(p.w, text)
	}
}

// Printable escapes control characters, with which a repository's file could forge output on a
// terminal. It also escapes invisible characters and marks that change the direction of writing.
// The escape sequences of Style stay.
func Printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case unicode.IsGraphic(r), r == '\x1b' && isStyle(text[i:]):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// isStyle reports whether an escape sequence is one of Style's.
func isStyle(text string) bool {
	return slices.ContainsFunc([]string{"0", "1", "2", "31", "32", "33", "36"}, func(code string) bool { return strings.HasPrefix(text, "\x1b["+code+"m") })
}

// PrintableWriter makes every line Printable.
type PrintableWriter struct{ W io.Writer }

// Write implements io.Writer. A character must not be split over two writes.
func (p PrintableWriter) Write(data []byte) (int, error) {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		text, ended := strings.CutSuffix(line, "\n")
		b.WriteString(Printable(text))
		if ended {
			b.WriteByte('\n')
		}
	}
	if _, err := io.WriteString(p.W, b.String()); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Count returns a number and its noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxValue bounds the part of a value that text shows, in characters.
const maxValue = 160

// Value returns a value as JSON on one line, truncated if it is long.
func Value(v any) string {
	text := JSON(v)
	if n := utf8.RuneCountInString(text); n > maxValue {
		return string([]rune(text)[:maxValue]) + "..." + size(n)
	}
	return text
}

// Pair shortens two long texts, keeps the first difference visible, and adds their lengths.
func Pair(old, updated string) (oldText, newText string) {
	a, b := problem.Differing(old, updated, maxValue)
	if a != old {
		a += size(utf8.RuneCountInString(old))
	}
	if b != updated {
		b += size(utf8.RuneCountInString(updated))
	}
	return a, b
}

func size(characters int) string { return fmt.Sprintf(" (%d characters)", characters) }

// JSON returns a value as JSON on one line.
func JSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
