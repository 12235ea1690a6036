package refresh

import (
	"regexp"
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

// identity is a problem without lines and columns: editing a file above an error moves it, and it stays the same one.
// Some texts name lines too ("first at line 3"); those are left out as well.
type identity struct {
	reason                         problem.Reason
	file, subject, found, expected string
	hub, cluster                   string
}

var lines = regexp.MustCompile(`\bline \d+|:\d+(:\d+)?\b`)

func identityOf(p problem.Problem) identity {
	return identity{p.Reason, p.Pos.File, p.Subject, lines.ReplaceAllString(p.Found, ""), p.Expected, p.Hub, p.Cluster}
}

// added are the problems of now that were not there before.
func added(before, now []problem.Problem) []problem.Problem {
	known := make(map[identity]bool, len(before))
	for _, p := range before {
		known[identityOf(p)] = true
	}
	var out []problem.Problem
	for _, p := range now {
		if !known[identityOf(p)] {
			out = append(out, p)
		}
	}
	return out
}

// sameFacts reports whether two sets say the same of the same clusters.
func sameFacts(a, b facts.Set) bool {
	names := a.Names()
	if a.Closed != b.Closed || !slices.Equal(names, b.Names()) {
		return false
	}
	return !slices.ContainsFunc(names, func(name string) bool {
		x, _ := a.Of(name)
		y, _ := b.Of(name)
		return !x.Equal(y)
	})
}

// keep is the new set, but for the clusters named what the old one says of them (nothing, if it does not know them).
func keep(old, updated facts.Set, clusters map[string]bool) facts.Set {
	var out []facts.Cluster
	for _, name := range updated.Names() {
		if !clusters[name] {
			c, _ := updated.Of(name)
			out = append(out, c)
		}
	}
	for _, name := range old.Names() {
		if clusters[name] {
			c, _ := old.Of(name)
			out = append(out, c)
		}
	}
	return facts.NewSet(updated.Closed, out...)
}
