package tmpl

import (
	"fmt"
	"reflect"
)

// Limits of one execution. They count work, not time: a response is the same on every machine.
const (
	// maxSteps bounds the executed parts of a template. A loop's body counts in each turn.
	maxSteps = 1_000_000
	// maxWork bounds the bytes that functions read and produce.
	maxWork = 64 << 20
	// workOfStep is how many bytes that functions read and produce count as a step.
	workOfStep = 64
	// maxNesting bounds the depth of the values that functions read.
	maxNesting = 100
)

// limitError names the limit that an execution exceeds.
type limitError struct{ found, expected string }

func (e limitError) Error() string { return e.found + "; " + e.expected }

// tooLarge returns the error of a text or list whose known size is beyond the limit of every value.
func tooLarge(name, does string, size int) error {
	return limitError{fmt.Sprintf("function %q %s %d bytes", name, does, size), fmt.Sprintf("at most %d bytes", MaxOutput)}
}

// immense returns the error of a value beyond the limit that was not counted to its end. The order
// of a map decides whether it is found too large or too deep first, so the text says both.
func immense(subject string) error {
	return limitError{
		fmt.Sprintf("%s a value of more than %d bytes, or nested more than %d levels deep", subject, MaxOutput, maxNesting),
		fmt.Sprintf("at most %d bytes and %d levels", MaxOutput, maxNesting),
	}
}

// account counts the work of the functions of one execution, and keeps the expressions that they
// have compiled.
type account struct {
	work     int
	compiled map[string]*expression
}

func (a *account) charge(bytes int) error {
	if a.work += min(bytes, maxWork+1); a.work > maxWork {
		return limitError{fmt.Sprintf("template's functions go through %d bytes and more", a.work), fmt.Sprintf("at most %d bytes in one execution", maxWork)}
	}
	return nil
}

// Costs of values in memory, in bytes, roughly.
const (
	costNumber = 8
	costValue  = 16
	costEntry  = 48
)

// deepSize returns the size of a value with everything in it. A part that is in it twice counts
// twice, as a function writes it twice. It stops counting beyond the limit, so that its own cost is
// bounded.
func deepSize(v any) (size int, ok bool) {
	m := meter{left: MaxOutput}
	m.value(reflect.ValueOf(&v).Elem(), 0)
	return MaxOutput - m.left, m.left >= 0
}

// meter counts bytes down to the limit.
type meter struct{ left int }

// take counts bytes, and reports whether the limit is not yet reached.
func (m *meter) take(bytes int) bool {
	if m.left -= bytes; m.left < 0 {
		m.left = -1
	}
	return m.left >= 0
}

func (m *meter) nests(depth int) bool {
	if depth > maxNesting {
		m.left = -1
	}
	return m.left >= 0
}

func (m *meter) value(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		m.take(costValue + v.Len())
	case reflect.Interface:
		if v.IsNil() {
			m.take(costValue)
			return
		}
		m.value(v.Elem(), depth)
	case reflect.Pointer:
		if m.take(costValue) && m.nests(depth) && !v.IsNil() {
			m.value(v.Elem(), depth+1)
		}
	case reflect.Map:
		m.take(costEntry)
		for it := v.MapRange(); m.nests(depth) && it.Next(); {
			if !m.take(costEntry - costValue) {
				return
			}
			m.value(it.Key(), depth+1)
			m.value(it.Value(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		m.take(costValue)
		if v.Type().Elem().Kind() == reflect.Int {
			m.take(costNumber * v.Len())
			return
		}
		for i := 0; i < v.Len() && m.nests(depth); i++ {
			m.value(v.Index(i), depth+1)
		}
	case reflect.Struct:
		m.take(costValue)
		for i := 0; i < v.NumField() && m.nests(depth); i++ {
			m.value(v.Field(i), depth+1)
		}
	default:
		m.take(costValue)
	}
}
