package rollout

import (
	"fmt"
	"regexp"
	"strconv"
)

// Limit is a number of members, or a share of them in percent.
type Limit struct {
	Count   int
	Percent int
}

var limitForm = regexp.MustCompile(`^(\d{1,9})(%?)$`)

// UnmarshalText reads a number, or a whole percentage.
func (l *Limit) UnmarshalText(text []byte) error {
	m := limitForm.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q", text)
	}
	n, _ := strconv.Atoi(string(m[1])) // digits
	switch {
	case len(m[2]) == 0:
		*l = Limit{Count: n}
	case n > 100:
		return fmt.Errorf("%q", text)
	default:
		*l = Limit{Percent: n}
	}
	return nil
}

// Of returns the limit for a number of members; a share is rounded down.
func (l Limit) Of(members int) int {
	if l.Percent > 0 {
		return members * l.Percent / 100
	}
	return l.Count
}

// String returns the limit as a file has it.
func (l Limit) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(l.Count)
}
