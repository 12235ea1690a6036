package tmpl

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/Masterminds/semver/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// own returns functions that sprig does not have, and replacements for functions of sprig whose
// result or time may be many times their arguments' size.
func own(sprig template.FuncMap) template.FuncMap {
	toStrings := sprig["toStrings"].(func(any) []string) //nolint:errcheck // covered by a test: it is part of the program
	merge, overwrite := onCopies(sprig["mustMerge"]), onCopies(sprig["mustMergeOverwrite"])
	out := template.FuncMap{
		"merge": merge, "mustMerge": merge, "mergeOverwrite": overwrite, "mustMergeOverwrite": overwrite,
		"keys": keys, "values": values, "index": index, "uniq": uniq, "mustUniq": uniq, "without": without, "mustWithout": without,
		"repeat": repeat, "until": until,
		"trimAll": trimAll, "trimall": trimAll, "replace": replace, "indent": indent,
		"nindent": func(spaces int, text string) (string, error) {
			out, err := indent(spaces, text)
			return "\n" + out, err
		},
		"join": func(separator string, list any) (string, error) {
			parts := toStrings(list)
			size := 0
			for _, part := range parts {
				size += len(part)
			}
			if err := fits("join", size, len(parts), len(separator)); err != nil {
				return "", err
			}
			return strings.Join(parts, separator), nil
		},
		"toYaml": func(v any) (string, error) {
			out, err := sigsyaml.Marshal(v)
			return strings.TrimSuffix(string(out), "\n"), err
		},
		"fromYaml": func(text string) (map[string]any, error) {
			if err := aliases("fromYaml", text); err != nil {
				return nil, err
			}
			var m map[string]any
			err := sigsyaml.Unmarshal([]byte(text), &m)
			return m, err
		},
		"required": func(message string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(message)
			}
			return v, nil
		},
		"semverCompare": semverCompare,
		"print":         fmt.Sprint, "println": fmt.Sprintln, "printf": printf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	}
	for _, name := range searches {
		out["regex"+name], out["mustRegex"+name] = noSearch, noSearch
	}
	return out
}

type mergeFunc = func(map[string]any, ...map[string]any) (any, error)

// onCopies returns one of sprig's merge functions that works on deep copies of its arguments.
func onCopies(f any) mergeFunc {
	merge := f.(mergeFunc) //nolint:errcheck // covered by a test: it is part of the program
	return func(into map[string]any, from ...map[string]any) (any, error) {
		parts := make([]map[string]any, len(from))
		for i, m := range from {
			parts[i] = copyMap(m)
		}
		return merge(copyMap(into), parts...)
	}
}

// copyMap returns a deep copy of the maps in a map: merging changes no other values.
func copyMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if inner, ok := v.(map[string]any); ok {
			v = copyMap(inner)
		}
		out[k] = v
	}
	return out
}

// keys returns what sprig's function does, sorted: sprig's order differs from call to call.
func keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

// values returns a map's values in the order of their keys.
func values(d map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(d)) {
		out = append(out, d[k])
	}
	return out
}

// maxElements bounds the lists that a template makes.
const maxElements = 100_000

func repeat(count int, text string) (string, error) {
	if count < 0 || len(text) > 0 && count > MaxOutput/len(text) {
		return "", limitError{"a text is repeated too often", fmt.Sprintf("at most %d bytes", MaxOutput)}
	}
	return strings.Repeat(text, count), nil
}

// until returns the numbers from 0 to a count, which may be negative, without the count itself.
func until(count int) ([]int, error) {
	if count > maxElements || count < -maxElements {
		return nil, limitError{"a list of numbers is too long", fmt.Sprintf("at most %d elements", maxElements)}
	}
	out := []int{}
	for i := range max(0, count) {
		out = append(out, i)
	}
	for i := 0; i > count; i-- {
		out = append(out, i)
	}
	return out, nil
}

// index does what text/template's index does, but returns "" for an absent key of a map of strings.
func index(item any, keys ...any) (any, error) {
	for _, key := range keys {
		v := reflect.ValueOf(item)
		switch v.Kind() {
		case reflect.Map:
			k := reflect.ValueOf(key)
			if !k.IsValid() || !k.Type().AssignableTo(v.Type().Key()) {
				return nil, fmt.Errorf("cannot look up a %T in a map with keys of type %s", key, v.Type().Key())
			}
			found := v.MapIndex(k)
			if !found.IsValid() {
				return "", nil
			}
			item = found.Interface()
		case reflect.Slice, reflect.Array, reflect.String:
			i, ok := key.(int)
			if !ok || i < 0 || i >= v.Len() {
				return nil, fmt.Errorf("no such element in a list of %d", v.Len())
			}
			item = v.Index(i).Interface()
		default:
			return nil, fmt.Errorf("cannot look up a %T in %T", key, item)
		}
	}
	return item, nil
}

// fits returns an error if size bytes, and each bytes several times, are beyond the limit.
func fits(name string, size, times, each int) error {
	if each > 0 && times > 0 && float64(size)+float64(times)*float64(each) > MaxOutput {
		return tooLarge(name, "makes a text of", int(min(math.MaxInt64/2, float64(size)+float64(times)*float64(each))))
	}
	return nil
}

// atMost returns an error if there is more of something than a limit.
func atMost(name string, n, limit int, what string) error {
	if n > limit {
		return limitError{fmt.Sprintf("function %q is given %d %s", name, n, what), fmt.Sprintf("at most %d %s", limit, what)}
	}
	return nil
}

func replace(before, after, text string) (string, error) {
	if err := fits("replace", len(text), strings.Count(text, before), len(after)-len(before)); err != nil {
		return "", err
	}
	return strings.ReplaceAll(text, before, after), nil
}

func indent(spaces int, text string) (string, error) {
	if spaces < 0 {
		return "", fmt.Errorf("%d spaces", spaces)
	}
	if err := fits("indent", len(text), 1+strings.Count(text, "\n"), spaces); err != nil {
		return "", err
	}
	pad := strings.Repeat(" ", spaces)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad), nil
}

// maxCutset bounds the letters of trimAll, which compares each with each place of the text.
const maxCutset = 64

func trimAll(cutset, text string) (string, error) {
	return strings.Trim(text, cutset), atMost("trimAll", len(cutset), maxCutset, "bytes to trim")
}

// uniq returns a list without repeated elements.
func uniq(list any) ([]any, error) {
	seen := map[string]bool{}
	return filtered("uniq", list, func(v string) bool {
		was := seen[v]
		seen[v] = true
		return !was
	})
}

// without returns a list without some values.
func without(list any, omitted ...any) ([]any, error) {
	isOmitted := map[string]bool{}
	for _, v := range omitted {
		isOmitted[identity(reflect.ValueOf(v))] = true
	}
	return filtered("without", list, func(v string) bool { return !isOmitted[v] })
}

// filtered returns the elements of a list whose identity may stay. It is linear, where sprig
// compares each element with all others.
func filtered(name string, list any, stays func(identity string) bool) ([]any, error) {
	l := reflect.ValueOf(list)
	if l.Kind() != reflect.Slice && l.Kind() != reflect.Array {
		return nil, fmt.Errorf("%s of %T; expected a list", name, list)
	}
	out := []any{}
	for i := range l.Len() {
		if stays(identity(l.Index(i))) {
			out = append(out, l.Index(i).Interface())
		}
	}
	return out, nil
}

// identity returns a text that two values share if reflect.DeepEqual finds them equal.
func identity(v reflect.Value) string {
	var b strings.Builder
	writeIdentity(&b, v)
	return b.String()
}

func writeIdentity(b *strings.Builder, v reflect.Value) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil;")
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(b, "%s %d %t[", v.Type(), v.Len(), v.Kind() == reflect.Slice && v.IsNil())
		for i := range v.Len() {
			writeIdentity(b, v.Index(i))
		}
	case reflect.Map:
		fmt.Fprintf(b, "%s %d %t{", v.Type(), v.Len(), v.IsNil())
		entries := make([]string, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			entries = append(entries, identity(it.Key())+identity(it.Value()))
		}
		slices.Sort(entries)
		for _, entry := range entries {
			b.WriteString(entry)
		}
	default:
		fmt.Fprintf(b, "%s %q;", v.Type(), fmt.Sprint(v))
	}
}

// maxVersion bounds the texts of versions and constraints, whose parser takes a microsecond a byte.
const maxVersion = 100

func semverCompare(constraint, text string) (bool, error) {
	if err := atMost("semverCompare", max(len(constraint), len(text)), maxVersion, "bytes"); err != nil {
		return false, err
	}
	c, err := semver.NewConstraint(constraint)
	if err != nil {
		return false, err
	}
	v, err := semver.NewVersion(text)
	if err != nil {
		return false, err
	}
	return c.Check(v), nil
}

// unfit are verbs that print an address, which differs in each process, and widths from an argument
// or of five digits and more.
var unfit = regexp.MustCompile(`%[^a-zA-Z%]*(?:p|\*|[0-9]{5,})`)

// verb is a verb of a format without its letter. The index of an argument may stand before the
// width, before the precision and behind them (fmt, print.go, doPrintf).
var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?(\d*)(?:\.(\[\d+\])?(\d*))?(\[\d+\])?`)

// printf does what fmt.Sprintf does, and bounds the widths of the format and arguments that it
// prints several times.
func printf(format string, args ...any) (string, error) {
	if bad := unfit.FindString(strings.ReplaceAll(format, "%%", "")); bad != "" {
		return "", errors.New("a verb prints an address, or is too wide")
	}
	given, _ := deepSize(args)
	size, again := len(format), 0
	for _, m := range verb.FindAllStringSubmatch(format, -1) {
		width, _ := strconv.Atoi(m[2])
		precision, _ := strconv.Atoi(m[4])
		size += width + precision
		if m[1]+m[3]+m[5] != "" {
			again++
		}
	}
	for _, err := range []error{fits("printf", 0, 1, size), fits("printf", size, again, given)} {
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(format, args...), nil
}

// before matches what may precede an anchor or alias: the parser's line breaks and byte order
// marks. As the parser also reads UTF-16, any first half of a letter may, too.
const before = `(^|[\s\x00\x{85}\x{2028}\x{2029}\x{FEFF}\x{FFFD}\[{,:?-])`

var (
	anchor = regexp.MustCompile(`(?m)` + before + `&[^\s\[\]{},]`)
	alias  = regexp.MustCompile(`(?m)` + before + `\*[^\s\[\]{},]`)
)

// aliases refuses a YAML text whose aliases could expand beyond the limit. n uses of anchors
// multiply a value by at most 3^(n/3), three to a level.
func aliases(name, text string) error {
	if !anchor.MatchString(text) {
		return nil
	}
	n := len(alias.FindAllStringIndex(text, -1))
	times := math.Pow(3, math.Ceil(float64(n)/3))
	return fits(name, 0, len(text), int(min(math.MaxInt32, times)))
}
