// Package succession tells whether one of the states that followed one another is an earlier one.
//
// A memory that outlives a state changes by the newest state alone: a question about an earlier one
// may come late.
package succession

import (
	"slices"
	"weak"
)

// MaxKnown is how many of the last values are known: more than requests under way are about.
const MaxKnown = 32

// Of are the last values that followed one another. It keeps none of them in memory. The zero value
// is ready; callers hold a lock.
type Of[T any] struct {
	known []weak.Pointer[T] // the newest last
}

// Add adds a value that is not known yet behind all others. It reports whether the value is the
// newest, and returns the one that is not known any more; the zero pointer for none.
func (o *Of[T]) Add(value *T) (isNewest bool, forgotten weak.Pointer[T]) {
	if i := o.index(value); i >= 0 {
		return i == len(o.known)-1, forgotten
	}
	if o.known = append(o.known, weak.Make(value)); len(o.known) > MaxKnown {
		forgotten = o.known[0]
		o.known = slices.Delete(o.known, 0, 1)
	}
	return true, forgotten
}

// IsEarlier reports whether a value is known, and a newer one, too.
func (o *Of[T]) IsEarlier(value *T) bool {
	i := o.index(value)
	return i >= 0 && i < len(o.known)-1
}

func (o *Of[T]) index(value *T) int { return slices.Index(o.known, weak.Make(value)) }
