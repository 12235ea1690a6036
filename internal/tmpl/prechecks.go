package tmpl

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// precheck estimates what a function would make of its arguments, or what it would cost, and
// refuses a call beyond the limits. Functions without one make at most some ten times of what they
// are given.
type precheck func(a *account, name string, args []reflect.Value) error

var prechecks = map[string]precheck{
	"dict": dictKeys,
	"replace": func(_ *account, name string, args []reflect.Value) error {
		before, after, text := args[0].String(), args[1].String(), args[2].String()
		return makes(name, len(text), strings.Count(text, before), len(after)-len(before))
	},
	"indent": indents, "nindent": indents,
	"join": func(_ *account, name string, args []reflect.Value) error {
		size, _ := deepSize(args[1].Interface()) // has been found small
		return makes(name, size, shallowSize(args[1])/costValue, args[0].Len())
	},
	"wrap": func(_ *account, name string, args []reflect.Value) error {
		return makes(name, args[1].Len(), args[1].Len(), 1)
	},
	"wrapWith": func(_ *account, name string, args []reflect.Value) error {
		return makes(name, args[2].Len(), 1+args[2].Len()/int(max(1, args[0].Int())), args[1].Len())
	},
	"printf": printfGrows,
	"split":  parts, "splitn": parts,
	"semver": short, "semverCompare": short,
	"trimAll": cutset, "trimall": cutset,
	"uniq": uniq, "mustUniq": uniq, "without": without, "mustWithout": without,
	"derivePassword": func(a *account, _ string, _ []reflect.Value) error { return a.charge(maxWork / 4) }, // scrypt takes 32 MiB each time
	"fromYaml":       func(_ *account, name string, args []reflect.Value) error { return aliases(name, args[0].String()) },
}

// makes refuses a text of size bytes that grows several times by each bytes.
func makes(name string, size, times, each int) error {
	if each > 0 && times > 0 && float64(size)+float64(times)*float64(each) > MaxOutput {
		return tooLarge(name, "makes a text of", int(min(math.MaxInt64/2, float64(size)+float64(times)*float64(each))))
	}
	return nil
}

func indents(_ *account, name string, args []reflect.Value) error {
	text := args[1].String()
	return makes(name, len(text), 1+strings.Count(text, "\n"), int(args[0].Int()))
}

// dictKeys measures the keys of a map, which are written as texts; the values are not read.
func dictKeys(_ *account, name string, args []reflect.Value) error {
	for i := 0; i < args[0].Len(); i += 2 {
		if _, err := deepOf(name, "is given", args[0].Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// maxParts bounds the maps that split makes.
const maxParts = 10_000

func parts(_ *account, name string, args []reflect.Value) error {
	if n := 1 + strings.Count(args[len(args)-1].String(), args[0].String()); n > maxParts {
		return limitError{fmt.Sprintf("function %q makes %d parts", name, n), fmt.Sprintf("at most %d", maxParts)}
	}
	return nil
}

const maxShort = 256

// costText is what parsing a byte costs.
const costText = 64

// short bounds texts whose parsers keep more than they are given and take some microseconds a byte.
func short(a *account, name string, args []reflect.Value) error {
	for _, arg := range args {
		if arg.Len() > maxShort {
			return limitError{fmt.Sprintf("function %q is given %d bytes", name, arg.Len()), fmt.Sprintf("at most %d bytes", maxShort)}
		}
		if err := a.charge(costText * arg.Len()); err != nil {
			return err
		}
	}
	return nil
}

// cutset charges for each character of the text being looked for in the set.
func cutset(a *account, _ string, args []reflect.Value) error {
	return a.charge(args[0].Len() * args[1].Len() / 16)
}

// uniq charges for each element being compared with all before it.
func uniq(a *account, _ string, args []reflect.Value) error {
	size, _ := deepSize(args[0].Interface())
	return a.charge(size * (shallowSize(args[0]) / costValue) / 4)
}

func without(a *account, _ string, args []reflect.Value) error {
	size, _ := deepSize(args[0].Interface())
	omitted, _ := deepSize(args[1].Interface())
	return a.charge((size + omitted) * (1 + args[1].Len()))
}

// verb is a verb of a format without its letter. The index of an argument may stand before the
// width, before the precision and behind them (fmt, print.go, doPrintf).
var verb = regexp.MustCompile(`%[-+# 0]*(\[\d+\])?(\d*)(?:\.(\[\d+\])?(\d*))?(\[\d+\])?`)

// printfGrows sums up the widths of a format, and what it prints several times.
func printfGrows(_ *account, name string, args []reflect.Value) error {
	format := args[0].String()
	given, _ := deepSize(args[1].Interface())
	size, again := len(format), 0
	for _, m := range verb.FindAllStringSubmatch(format, -1) {
		width, _ := strconv.Atoi(m[2])
		precision, _ := strconv.Atoi(m[4])
		size += width + precision
		if m[1]+m[3]+m[5] != "" {
			again++
		}
	}
	if err := makes(name, 0, 1, size); err != nil {
		return err
	}
	return makes(name, size, again, given)
}

// before is what may stand before an anchor and an alias: line breaks as the parser has them, marks
// of the byte order, and, as it also reads UTF-16, any first half of a letter.
const before = `(^|[\s\x00\x{85}\x{2028}\x{2029}\x{FEFF}\x{FFFD}\[{,:?-])`

var (
	anchor = regexp.MustCompile(`(?m)` + before + `&[^\s\[\]{},]`)
	alias  = regexp.MustCompile(`(?m)` + before + `\*[^\s\[\]{},]`)
)

// aliases refuses a YAML text whose aliases could stand for more than the limit: of so many uses of
// anchors at most 3^(n/3) can multiply, three to a level.
func aliases(name, text string) error {
	if !anchor.MatchString(text) {
		return nil
	}
	n := len(alias.FindAllStringIndex(text, -1))
	times := math.Pow(3, math.Ceil(float64(n)/3))
	return makes(name, 0, len(text), int(min(math.MaxInt32, times)))
}
