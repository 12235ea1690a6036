package budget

import (
	"fmt"
	"math"
	"runtime/debug"
)

// Kind is a kind of cost.
type Kind int

// The kinds of cost.
const (
	// Steps of templates, and one for each value that is read.
	Steps Kind = iota
	// Written are the bytes that templates write.
	Written
	// Text are the bytes that all values that are read take when they are written.
	Text
	// Kept are the values in catalogs and registrations of a tenant's levels, which the service
	// keeps in memory for each member.
	Kept
	// Own are the components of a tenant's own catalogs, each on each member.
	Own

	kinds
)

// limits are a member's, and a tenant's: base, and a share for each member.
var limits = [kinds]struct {
	noun                string
	member, base, share int
}{
	Steps:   {"steps", 4_000_000, 16_000_000, 200_000},
	Written: {"bytes of text by templates", 4 << 20, 16 << 20, 128 << 10},
	Text:    {"bytes of values", 4 << 20, 16 << 20, 384 << 10},
	Kept:    {"values in catalogs and registrations", 500_000, 500_000, 2_000},
	Own:     {"components of their own catalogs", 1_000, 1_000, 100},
}

// Cost is what something takes, by kind.
type Cost [kinds]int

// plus is the sum of two costs.
func (c Cost) plus(d Cost) Cost {
	for k := range c {
		c[k] += d[k]
	}
	return c
}

// memberLimit is what one member may take.
func memberLimit() (out Cost) {
	for k, l := range limits {
		out[k] = l.member
	}
	return out
}

// tenantLimit is what a tenant with a number of members may take.
func tenantLimit(members int) (out Cost) {
	for k, l := range limits {
		out[k] = l.base + members*l.share
	}
	return out
}

// use is the kind of which most of the limit is used, and how much of it, in percent.
func (c Cost) use(limit Cost) (most Kind, percent int) {
	for k := range kinds {
		if p := c[k] * 100 / limit[k]; p > percent {
			most, percent = k, p
		}
	}
	return most, percent
}

// exceeds is the first kind of which the cost is beyond the limit.
func (c Cost) exceeds(limit Cost) (Kind, bool) {
	for k := range kinds {
		if c[k] > limit[k] {
			return k, true
		}
	}
	return 0, false
}

// of is a number of a kind as text.
func (k Kind) of(n int) string { return fmt.Sprintf("%d %s", n, limits[k].noun) }

// MemoryShare is how many bytes something may take: at most a number, and at most a part in a
// hundred of the memory that the process may use (GOMEMLIMIT).
func MemoryShare(most, percent int) int {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		return most
	}
	return int(min(int64(most), limit/100*int64(percent)))
}
