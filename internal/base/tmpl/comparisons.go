package tmpl

import (
	"errors"
	"strings"
	"text/template"
)

// comparisons are text/template's functions that compare two values. The package does not export
// them, so they are called through templates.
var comparisons = func() *template.Template {
	all := template.New("")
	for _, name := range strings.Fields("eq ne lt le gt ge") {
		template.Must(all.New(name).Parse("{{ " + name + " .X .Y }}"))
	}
	return all
}()

// comparison returns one of text/template's functions that compare, nil for any other function. It
// charges for both values: texts are compared byte by byte, and an error prints values that cannot
// be compared.
func (a *account) comparison(name string) any {
	t := comparisons.Lookup(name)
	if t == nil {
		return nil
	}
	compare := func(x, y any) (bool, error) {
		for _, v := range []any{x, y} {
			size, ok := deepSize(v)
			if !ok {
				return false, immense("template compares")
			}
			if err := a.charge(size); err != nil {
				return false, err
			}
		}
		return compared(t, x, y)
	}
	if name != "eq" {
		return compare
	}
	return func(x any, others ...any) (bool, error) {
		for _, y := range others {
			if is, err := compare(x, y); is || err != nil {
				return is, err
			}
		}
		if len(others) == 0 {
			return false, errors.New("missing argument for comparison")
		}
		return false, nil
	}
}

func compared(t *template.Template, x, y any) (bool, error) {
	if x, ok := x.(string); ok && (t.Name() == "eq" || t.Name() == "ne") {
		if y, ok := y.(string); ok {
			return (x == y) == (t.Name() == "eq"), nil
		}
	}
	var b strings.Builder
	err := t.Execute(&b, struct{ X, Y any }{x, y})
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner // without the place in t
	}
	return b.String() == "true", err
}
