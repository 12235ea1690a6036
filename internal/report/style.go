package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Style is how text looks. The zero value is plain.
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

func (s Style) bold(text string) string   { return s.paint("1", text) }
func (s Style) dim(text string) string    { return s.paint("2", text) }
func (s Style) red(text string) string    { return s.paint("31", text) }
func (s Style) green(text string) string  { return s.paint("32", text) }
func (s Style) yellow(text string) string { return s.paint("33", text) }
func (s Style) cyan(text string) string   { return s.paint("36", text) }

// printer writes lines until the first error.
type printer struct {
	Style
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err != nil {
		return
	}
	text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	_, p.err = io.WriteString(p.w, printable(text)+"\n")
}

// printable is text without control characters, which a repository's file could use to forge output on a terminal, and without
// those that turn the direction of writing or cannot be seen; the escape sequences of Style are let through.
func printable(text string) string {
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

// isStyle reports whether an escape sequence is one of Style's: ESC [ digits m.
func isStyle(text string) bool {
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return false
	}
	code := strings.TrimLeft(rest, "0123456789")
	return len(rest)-len(code) <= 2 && strings.HasPrefix(code, "m")
}
