package provision

import (
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// Change returns the problems of changing the spec of a running cluster. Adding or removing the
// whole spec changes nothing: the cluster stays as it is.
func Change(before, after *Spec) []problem.Problem {
	if before == nil || after == nil {
		return nil
	}
	var out []problem.Problem
	add := func(key, found, expected string, hints ...string) {
		out = append(out, problem.Problem{
			Reason: problem.InvalidProvision, Severity: problem.Error, Pos: after.at(key), Subject: fmt.Sprintf("key %q", Key+"."+key),
			Found: found, Expected: expected, Hints: hints,
		})
	}
	for _, fixed := range []struct{ key, was, is string }{
		{keyClass, before.Class, after.Class}, {keyAccount, before.Account, after.Account}, {keyRegion, before.Region, after.Region},
	} {
		if fixed.was != fixed.is {
			add(fixed.key, fmt.Sprintf("changes from %q to %q, under a running cluster", fixed.was, fixed.is), fmt.Sprintf("%q", fixed.was),
				"another cluster beside this one, and this one retired when it has no work left")
		}
	}
	if before.Version.IsZero() || after.Version.IsZero() {
		return out
	}
	next := fmt.Sprintf("at most %d.%d", before.Version.Major, before.Version.Minor+1)
	switch minors := before.Version.minorsBehind(after.Version); {
	case after.Version.compare(before.Version) < 0:
		add(keyVersion, fmt.Sprintf("goes back from %s to %s", before.Version.Text, after.Version.Text), "at least "+before.Version.Text)
	case minors > 1:
		add(keyVersion, fmt.Sprintf("skips from %s to %s", before.Version.Text, after.Version.Text), next, "one minor version at a time")
	}
	return out
}
