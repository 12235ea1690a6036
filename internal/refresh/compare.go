package refresh

import (
	"regexp"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

// identity is a problem without lines and columns: editing a file above an error moves it, and it stays the same one.
// Some texts name lines too ("first at line 3"), or how many problems are not listed; those are left out as well.
type identity struct {
	reason                         problem.Reason
	file, subject, found, expected string
	hub, cluster                   string
}

var lines = regexp.MustCompile(`\bline \d+|:\d+(:\d+)?\b|^\d+ more\b`)

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

// keep is the new set, but for the clusters named what the old one says of them (nothing, if it does not know them). The
// Applications are those of the new one: they are what the engine has done, and whether a removal or a move can go on.
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
	return updated.WithClusters(out...)
}
