package rollout

import (
	"fmt"
	"strconv"
	"strings"
)

// Limit is a number of members, or a share of them in percent.
type Limit struct {
	Count   int
	Percent int
}

// UnmarshalText reads a number, or a percentage.
func (l *Limit) UnmarshalText(text []byte) error {
	digits, isPercent := strings.CutSuffix(string(text), "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || isPercent && n > 100 {
		return fmt.Errorf("%q is not a number of members", text)
	}
	if *l = (Limit{Count: n}); isPercent {
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

// String returns the limit as a policy has it.
func (l Limit) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(l.Count)
}
