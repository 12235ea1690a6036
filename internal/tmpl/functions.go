package tmpl

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// impure are the functions of sprig that are not in its hermetic list's exceptions but still read
// the clock, the time zone or randomness (sprig v3.3.0, functions.go and crypto.go; bcrypt and AES
// draw a random salt).
var impure = []string{
	"ago", "toDate", "mustToDate", "mustDateModify", "must_date_modify",
	"randInt", "shuffle", "uuidv4",
	"bcrypt", "htpasswd", "encryptAES",
	"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
}

// mutating are the functions of sprig that change the map they are given: the facts are shared by
// all templates of a cluster, so that a result would depend on what was computed before. The merge
// functions are replaced by ones that merge into a copy.
var mutating = []string{"set", "unset"}

// Funcs are the functions a template may call.
func Funcs() template.FuncMap {
	f := sprig.HermeticTxtFuncMap()
	for _, name := range slices.Concat(impure, mutating) {
		delete(f, name)
	}
	merge, overwrite := onCopies(f["mustMerge"]), onCopies(f["mustMergeOverwrite"])
	f["merge"], f["mustMerge"], f["mergeOverwrite"], f["mustMergeOverwrite"] = merge, merge, overwrite, overwrite
	f["keys"], f["values"] = keys, values
	f["repeat"], f["until"], f["untilStep"], f["seq"] = repeat, until, untilStep, boundedSeq(f["seq"].(func(...int) string)) //nolint:errcheck // covered by a test: it is part of the program
	f["toYaml"] = func(v any) (string, error) {
		out, err := sigsyaml.Marshal(v)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	f["fromYaml"] = func(text string) (map[string]any, error) {
		var m map[string]any
		err := sigsyaml.Unmarshal([]byte(text), &m)
		return m, err
	}
	f["required"] = func(message string, v any) (any, error) {
		if v == nil || v == "" {
			return nil, errors.New(message)
		}
		return v, nil
	}
	f["index"] = index
	maps.Copy(f, printing())
	return f
}

type mergeFunc = func(map[string]any, ...map[string]any) (any, error)

// onCopies is one of sprig's merge functions working on deep copies of its arguments.
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

// copyMap is a deep copy of the maps in a map: the only values that merging changes.
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

// keys are sprig's, in order: sprig's own come as the map gives them, another way each time.
func keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

// values are a map's values in order of their keys.
func values(d map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(d)) {
		out = append(out, d[k])
	}
	return out
}

// maxElements bounds the lists that a template makes (H10).
const maxElements = 100_000

func repeat(count int, text string) (string, error) {
	if count < 0 || len(text) > 0 && count > MaxOutput/len(text) {
		return "", limitError{"a text is repeated too often", fmt.Sprintf("at most %d bytes", MaxOutput)}
	}
	return strings.Repeat(text, count), nil
}

func until(count int) ([]int, error) {
	step := 1
	if count < 0 {
		step = -1
	}
	return untilStep(0, count, step)
}

func untilStep(start, stop, step int) ([]int, error) {
	if err := checkElements(start, stop, step); err != nil {
		return nil, err
	}
	out := make([]int, 0, elements(start, stop, step))
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, i)
		if next := i + step; (next > i) != (step > 0) {
			break // beyond the largest integer
		}
	}
	return out, nil
}

// elements is how many numbers there are from start to stop, as a floating-point number's integer:
// the difference of two integers need not be one.
func elements(start, stop, step int) int {
	if step == 0 {
		return 0
	}
	return int(min(maxElements+1, max(0, math.Ceil((float64(stop)-float64(start))/float64(step)))))
}

func checkElements(start, stop, step int) error {
	if elements(start, stop, step) > maxElements {
		return limitError{"a list of numbers is too long", fmt.Sprintf("at most %d elements", maxElements)}
	}
	return nil
}

// boundedSeq is sprig's seq: of end; start and end; or start, step and end.
func boundedSeq(seq func(...int) string) func(...int) (string, error) {
	return func(params ...int) (string, error) {
		start, step, stop := 1, 1, 1
		switch len(params) {
		case 1:
			stop = params[0]
		case 2:
			start, stop = params[0], params[1]
		case 3:
			start, step, stop = params[0], params[1], params[2]
		}
		if len(params) < 3 && stop < start {
			step = -1
		}
		if err := checkElements(start, stop, step); err != nil {
			return "", err
		}
		return seq(params...), nil
	}
}

// index is text/template's index, but for maps of strings an absent key is "".
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

var funcs = Funcs()
