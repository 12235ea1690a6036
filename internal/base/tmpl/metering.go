package tmpl

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// emit is the name of the function that every action's result passes through before the output.
const emit = "argosyEmit"

// ranged is the name of the function that a loop's collection passes through.
const ranged = "argosyRange"

// slow are the functions that take about sixteen times as long for a byte as others.
var slow = strings.Fields(`toYaml fromYaml`)

const slowness = 16

// costVersion is the cost of parsing a version and a constraint.
const costVersion = 64 << 10

// function returns a template's function that charges the account.
func (a *account) function(name string) any {
	for _, own := range []func(string) any{a.lookup, a.comparison, a.search} {
		if f := own(name); f != nil {
			return f
		}
	}
	f := funcs[name]
	switch {
	case f == nil:
		return nil
	case name == "semverCompare":
		return a.bind(name, f, 1, costVersion)
	case slices.Contains(slow, name):
		return a.bind(name, f, slowness, 0)
	}
	return a.bind(name, f, 1, 0)
}

// bind wraps a function so that it charges the account for its arguments and result: times each of
// their bytes, and besides once.
func (a *account) bind(name string, f any, times, besides int) any {
	fn := reflect.ValueOf(f)
	t := fn.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	call := fn.Call
	if t.IsVariadic() {
		call = fn.CallSlice
	}
	result := reflect.Zero(t.Out(0))
	charge := func(does string, values ...reflect.Value) error {
		m := meter{left: MaxOutput}
		for _, v := range values {
			m.value(v, 0)
		}
		if m.left < 0 {
			return immense(fmt.Sprintf("function %q %s", name, does))
		}
		return a.charge((MaxOutput - m.left) * times)
	}
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		err := a.charge(besides)
		if err == nil {
			err = charge("is given", args...)
		}
		if err == nil {
			out := call(args)
			if len(out) == 2 && !out[1].IsNil() {
				return out
			}
			if err = charge("makes", out[0]); err == nil {
				return []reflect.Value{out[0], noError}
			}
		}
		return []reflect.Value{result, reflect.ValueOf(&err).Elem()}
	}).Interface()
}

var (
	errorType = reflect.TypeFor[error]()
	noError   = reflect.Zero(errorType)
)

// errNoValue is the error of an action that prints an absent value, for which text/template prints
// "<no value>".
var errNoValue = errors.New("a value it prints is not there")

// emit charges for the result of an action, and refuses an absent one. text/template makes the
// whole result before the writer sees any of it.
func (a *account) emit(v any) (any, error) {
	if v == nil {
		return nil, errNoValue
	}
	size, ok := deepSize(v)
	if !ok {
		return nil, immense("template writes")
	}
	return v, a.charge(size)
}

// costSorted is the cost of a map's entry in a loop: text/template sorts all entries before the
// first turn.
const costSorted = 512

// sorts charges for sorting the map of a loop.
func (a *account) sorts(v any) (any, error) {
	if m := reflect.ValueOf(v); m.Kind() == reflect.Map {
		return v, a.charge(costSorted * m.Len())
	}
	return v, nil
}

// lookup returns a function that looks up keys and charges for their texts, nil for any other
// function. The value that it finds is free.
func (a *account) lookup(name string) any {
	switch name {
	case "index":
		return func(item any, keys ...any) (any, error) {
			if err := a.texts(keys...); err != nil {
				return nil, err
			}
			return index(item, keys...)
		}
	case "get":
		return func(m map[string]any, key string) (any, error) {
			if v, ok := m[key]; ok {
				return v, a.texts(key)
			}
			return "", a.texts(key)
		}
	case "hasKey":
		return func(m map[string]any, key string) (bool, error) {
			_, ok := m[key]
			return ok, a.texts(key)
		}
	case "dig":
		dig := funcs[name].(func(...any) (any, error)) //nolint:errcheck // covered by a test: it is part of the program
		return func(args ...any) (any, error) {
			if err := a.texts(args...); err != nil {
				return nil, err
			}
			return dig(args...)
		}
	}
	return nil
}

// texts charges for the values that are texts.
func (a *account) texts(values ...any) error {
	size := 0
	for _, v := range values {
		if text, ok := v.(string); ok {
			size += len(text)
		}
	}
	return a.charge(size)
}
