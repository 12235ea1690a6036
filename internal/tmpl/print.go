package tmpl

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// unfit are verbs that print an address, another one in each process (G6), and widths that alone could use up the
// memory (H10).
var unfit = regexp.MustCompile(`%[^a-zA-Z%]*(?:p|\*|[0-9]{5,})`)

// printing are text/template's and sprig's functions that put texts together, with a bound: doubling a text in a loop
// would use up the memory (H10).
func printing() template.FuncMap {
	return template.FuncMap{
		"print":   func(args ...any) (string, error) { return bounded(fmt.Sprint(args...)) },
		"println": func(args ...any) (string, error) { return bounded(fmt.Sprintln(args...)) },
		"printf": func(format string, args ...any) (string, error) {
			if bad := unfit.FindString(strings.ReplaceAll(format, "%%", "")); bad != "" {
				return "", fmt.Errorf("printf: %q prints an address or is too wide", bad)
			}
			return bounded(fmt.Sprintf(format, args...))
		},
		"cat": func(args ...any) (string, error) {
			parts := make([]string, 0, len(args))
			for _, arg := range args {
				if arg != nil { // sprig v3.3.0, strings.go, cat
					parts = append(parts, fmt.Sprint(arg))
				}
			}
			return bounded(strings.Join(parts, " "))
		},
	}
}

func bounded(text string) (string, error) {
	if len(text) > MaxOutput {
		return "", fmt.Errorf("a text of %d bytes; at most %d", len(text), MaxOutput)
	}
	return text, nil
}
