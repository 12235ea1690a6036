// Package succession tells whether a state was followed by a newer one. A cache that outlives
// states accepts changes only from the newest: a request for an earlier state may arrive late.
//
//	var served succession.Of[State]
//	served.Add(older)
//	served.Add(newer)
//	served.IsEarlier(older) // true
package succession

import (
	"slices"
	"weak"
)

// MaxKnown is how many of the last values are known: more than requests in progress can be about.
const MaxKnown = 32

// Of records the last values that followed one another. It keeps none of them in memory. The zero
// value is ready; callers hold a lock.
type Of[T any] struct {
	known []weak.Pointer[T] // the newest last
}

// Add adds an unknown value as the newest. It reports whether the value is the newest, and returns
// the value that it forgets; the zero pointer for none.
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

// IsEarlier reports whether a value is known and a newer one is known, too.
func (o *Of[T]) IsEarlier(value *T) bool {
	i := o.index(value)
	return i >= 0 && i < len(o.known)-1
}

func (o *Of[T]) index(value *T) int { return slices.Index(o.known, weak.Make(value)) }
