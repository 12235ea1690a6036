package tmpl

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// free are the functions whose cost does not depend on the size of their arguments, and which make
// no more than a template's text holds. All other functions are charged, so that a function that
// sprig adds is too.
var free = strings.Fields(`default empty coalesce ternary list tuple first mustFirst last mustLast
	kindOf kindIs typeOf typeIs all any hello required and or not len`)

// shallow are the functions that do not read the elements of a list or a map.
var shallow = strings.Fields(`append mustAppend push mustPush prepend mustPrepend concat rest mustRest initial mustInitial
	slice mustSlice reverse mustReverse chunk mustChunk keys values pick omit pluck dict typeIsLike`)

// emit is the name of the function that every action's result goes through on its way to the
// output.
const emit = "argosyEmit"

// ranged is the name of the function that what a loop goes over passes through.
const ranged = "argosyRange"

// function is a function of a template as the account charges for it.
func (a *account) function(name string) any {
	f := funcs[name]
	if own := a.lookup(name); own != nil {
		return own
	}
	if own := a.comparison(name); own != nil {
		return own
	}
	if own := a.search(name); own != nil {
		f = own
	}
	if f == nil || slices.Contains(free, name) {
		return f
	}
	return a.bind(name, f)
}

// bind wraps a function so that it charges the account for what it reads and makes.
func (a *account) bind(name string, f any) any {
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
	size := deepOf
	if slices.Contains(shallow, name) {
		size = shallowOf
	}
	check := prechecks[name]
	result := reflect.Zero(t.Out(0))
	fail := func(err error) []reflect.Value { return []reflect.Value{result, reflect.ValueOf(&err).Elem()} }
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{t.Out(0), errorType}, t.IsVariadic()), func(args []reflect.Value) []reflect.Value {
		if err := a.enter(name, size, check, args, t.IsVariadic()); err != nil {
			return fail(err)
		}
		out := call(args)
		if len(out) == 2 && !out[1].IsNil() {
			return out
		}
		made, err := size(name, "makes", out[0])
		if err == nil {
			err = a.charge(made)
		}
		if err != nil {
			return fail(err)
		}
		return []reflect.Value{out[0], noError}
	}).Interface()
}

var (
	errorType = reflect.TypeFor[error]()
	noError   = reflect.Zero(errorType)
)

// enter charges for a function's arguments, and refuses a result that is known to be too large
// before the function makes it.
func (a *account) enter(name string, size sizeFunc, check precheck, args []reflect.Value, variadic bool) error {
	given := 0
	count := len(args)
	for i, arg := range args {
		if variadic && i == len(args)-1 {
			count += arg.Len() - 1
			for j := range arg.Len() {
				n, err := size(name, "is given", arg.Index(j))
				if err != nil {
					return err
				}
				given += n
			}
			continue
		}
		n, err := size(name, "is given", arg)
		if err != nil {
			return err
		}
		given += n
	}
	if given > MaxOutput {
		return tooLarge(name, "is given", given)
	}
	if err := a.charge(given + count*count); err != nil { // with many arguments some functions take quadratic time
		return err
	}
	if check == nil {
		return nil
	}
	return check(a, name, args)
}

type sizeFunc func(name, does string, v reflect.Value) (int, error)

func deepOf(name, does string, v reflect.Value) (int, error) {
	if v.Kind() == reflect.Interface && v.IsNil() {
		return costValue, nil
	}
	size, ok := deepSize(v.Interface())
	if !ok {
		return 0, immense(fmt.Sprintf("function %q %s", name, does))
	}
	return size, nil
}

func shallowOf(name, does string, v reflect.Value) (int, error) {
	size := shallowSize(v)
	if size > MaxOutput {
		return 0, tooLarge(name, does, size)
	}
	return size, nil
}

// errNoValue is the error of an action that prints a value that is not there: text/template would
// print "<no value>".
var errNoValue = errors.New("a value it prints is not there")

// emit charges for the result of an action, which text/template puts together as a whole before the
// writer sees any of it, and refuses one that is not there.
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

// costSorted is what an entry of a map costs in a loop: text/template sorts them all before the
// first turn.
const costSorted = 512

// sorts charges for a map that a loop goes over.
func (a *account) sorts(v any) (any, error) {
	if m := reflect.ValueOf(v); m.Kind() == reflect.Map {
		return v, a.charge(costSorted * m.Len())
	}
	return v, nil
}

// lookup is a function that looks up keys, and charges for their texts; nil for any other function.
// The value that it finds is free.
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

// texts charges for those of the values that are texts.
func (a *account) texts(values ...any) error {
	size := 0
	for _, v := range values {
		if text, ok := v.(string); ok {
			size += len(text)
		}
	}
	return a.charge(size)
}
