package tmpl

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"text/template"
)

// unfit are verbs that print an address, another one in each process (G6), and widths that nobody
// has counted (H10).
var unfit = regexp.MustCompile(`%[^a-zA-Z%]*(?:p|\*|[0-9]{5,})`)

// verbs are those of a format, with their flags.
var verbs = regexp.MustCompile(`%([-+# 0]*)[0-9.\[\]]*(.|$)`)

// byAddress is a verb that prints a pointer in a list or a map by its address, empty for none:
// package fmt asks a Stringer only for %s, %q, %x, %X, and for %v without #.
func byAddress(format string) string {
	for _, verb := range verbs.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if flags, letter := verb[1], verb[2]; !strings.ContainsAny(letter, "sqxXv") || letter == "v" && strings.Contains(flags, "#") {
			return verb[0]
		}
	}
	return ""
}

// holdsPointer reports whether a value is a pointer, as the versions of semver are, or holds one.
func holdsPointer(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Interface:
		return !v.IsNil() && holdsPointer(v.Elem())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if holdsPointer(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if holdsPointer(it.Value()) {
				return true
			}
		}
	}
	return false
}

// printing are text/template's functions that write texts, so that they are charged as all others
// are, and sprig's cat as it is written without the others' spaces.
func printing() template.FuncMap {
	return template.FuncMap{
		"print":   fmt.Sprint,
		"println": fmt.Sprintln,
		"printf": func(format string, args ...any) (string, error) {
			if bad := unfit.FindString(strings.ReplaceAll(format, "%%", "")); bad != "" {
				return "", errors.New("a verb prints an address, or is too wide")
			}
			if bad := byAddress(format); bad != "" && holdsPointer(reflect.ValueOf(args)) {
				return "", errors.New("a verb prints an address")
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
