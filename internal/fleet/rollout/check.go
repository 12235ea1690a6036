package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// CheckOutcome is the outcome of one look at a check.
type CheckOutcome struct {
	// Why says why the check does not hold; empty if it does.
	Why string
	// Fails reports that the endpoint itself said so, such as by a value beyond the bounds. An
	// endpoint that cannot be reached does not fail the check.
	Fails bool
}

// CheckResult is the outcome of the looks at all checks of a ring at a train.
type CheckResult struct {
	// Train is the number of the ring's train when the newest look began, at At, and Checks the
	// Ring.ChecksText of the checks.
	Train  int
	Checks string
	At     time.Time
	// Why says which check does not hold first; empty if all do.
	Why string
	// Broken is when the checks last did not all hold, zero if they always did.
	Broken time.Time
	// Failures is how many looks in a row a check has failed.
	Failures int
}

// Limits of checks.
const (
	// maxCheckAge is how long a result counts: a look takes maxTimeout at most.
	maxCheckAge = 2 * maxTimeout
	// maxCheckFailures is how many looks in a row a check may fail before its ring does.
	maxCheckFailures = 3
)

// Add records a look at a train, which began at a time: one outcome a check. Outcomes at another
// train, or of other checks, are forgotten.
func (c CheckResult) Add(train int, checks string, at time.Time, found []CheckOutcome) CheckResult {
	if c.Train != train || c.Checks != checks {
		c = CheckResult{}
	}
	c.Train, c.Checks, c.At, c.Why = train, checks, at, ""
	fails := false
	for _, f := range found {
		if c.Why == "" || f.Fails && !fails {
			c.Why = f.Why
		}
		fails = fails || f.Fails
	}
	if c.Failures++; !fails {
		c.Failures = 0
	}
	if c.Why != "" {
		c.Broken = at
	}
	return c
}

// ChecksText returns a text that differs for other checks.
func (r *Ring) ChecksText() string {
	var b strings.Builder
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%q %q %q %s %s\n", c.Name, c.URL, c.Query, bound(c.Min), bound(c.Max))
	}
	return b.String()
}

// checks returns the result that counts for a ring's train. A result of another train does not
// count, nor one older than the train or than maxCheckAge.
func (a *advance) checks(ring *Ring, r Record) CheckResult {
	if len(ring.Checks) == 0 {
		return CheckResult{}
	}
	c, known := a.facts.Checks[ring.Name]
	switch {
	case !known || c.Train != r.Train.Number || c.Checks != ring.ChecksText() || !c.At.After(r.Since):
		return CheckResult{Why: fmt.Sprintf("its checks have not run at %s yet", Short(r.Train.Revision))}
	case a.now.Sub(c.At) > maxCheckAge:
		return CheckResult{Why: "its checks were carried out last at " + c.At.UTC().Format(time.RFC3339)}
	}
	return c
}
