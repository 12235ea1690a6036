package tmpl

import (
	"fmt"
	"regexp"
	"strings"
	"text/template"
)

// unfit are verbs that print an address, another one in each process (G6), and widths that nobody
// has counted (H10).
var unfit = regexp.MustCompile(`%[^a-zA-Z%]*(?:p|\*|[0-9]{5,})`)

// printing are text/template's functions that write texts, so that they are charged as all others
// are, and sprig's cat as it is written without the others' spaces.
func printing() template.FuncMap {
	return template.FuncMap{
		"print":   fmt.Sprint,
		"println": fmt.Sprintln,
		"printf": func(format string, args ...any) (string, error) {
			if bad := unfit.FindString(strings.ReplaceAll(format, "%%", "")); bad != "" {
				return "", fmt.Errorf("printf: %q prints an address or is too wide", bad)
			}
			return fmt.Sprintf(format, args...), nil
		},
		"cat": func(args ...any) string {
			parts := make([]string, 0, len(args))
			for _, arg := range args {
				if arg != nil { // sprig v3.3.0, strings.go, cat
					parts = append(parts, fmt.Sprint(arg))
				}
			}
			return strings.Join(parts, " ")
		},
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	}
}
