package refresh

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// internal is the reason of a failure of the service itself.
const internal problem.Reason = "internal"

// candidate is a state, and what it was built from.
type candidate struct {
	state    *fleetstate.State
	snapshot *snapshot.Snapshot
	facts    facts.Set
}

// candidate builds a state on top of the serving one. Problems are why it cannot replace that one
// (rule 3).
func (r *Refresher) candidate(s *snapshot.Snapshot, known facts.Set) (*candidate, []problem.Problem) {
	var previous *fleetstate.State
	if r.serving != nil {
		previous = r.serving.state
	}
	st, err := caught(r, func() (*fleetstate.State, error) { return fleetstate.Build(previous, s, known) })
	if err != nil {
		return nil, problem.From(err, internal, problem.Pos{})
	}
	if p, is := unknownHub(st, r.o.Hub); is {
		return nil, []problem.Problem{p}
	}
	if previous != nil {
		problems := slices.Concat(
			newProblems(withoutMembers(previous.Errors(r.o.Hub)), withoutMembers(st.Errors(r.o.Hub))),
			st.Lost(previous, r.o.Hub), missingFolders(previous, st))
		if len(problems) > 0 {
			return nil, problems
		}
	}
	if st, err = caught(r, func() (*fleetstate.State, error) { return r.held(previous, st), nil }); err != nil {
		return nil, problem.From(err, internal, problem.Pos{})
	}
	return &candidate{state: st, snapshot: s, facts: known}, nil
}

// held is a state with the tenants held that the judge refuses, and those whose last known good
// snapshots take too much (rules 11 and 13).
func (r *Refresher) held(previous, desired *fleetstate.State) *fleetstate.State {
	holds := keptHolds(desired, r.o.MaxKept)
	if r.o.Judge != nil {
		holds = mergeHolds(holds, r.o.Judge.Holds(previous, desired))
	}
	return desired.Hold(previous, holds)
}

// unknownHub is the problem of a repository without any member of the hub: the name is misspelt, or
// a commit has moved all of its member files.
func unknownHub(st *fleetstate.State, hub string) (problem.Problem, bool) {
	hubs, members := st.Fleet.Hubs(), st.Fleet.Layout.Members
	return problem.Problem{
		Reason: problem.NoMembers, Severity: problem.Error, Pos: problem.Pos{File: members.Folder()}, Subject: fmt.Sprintf("hub %q", hub),
		Found: "no member file; the repository has the hubs " + strings.Join(hubs, ", "), Expected: "files named " + members.String(), Hints: problem.Nearest(hub, hubs),
	}, !slices.Contains(hubs, hub)
}

// restoredCandidate builds the state from before the restart, with the last known good snapshots of
// its members and the same tenants held.
func (r *Refresher) restoredCandidate(known facts.Set) (*candidate, []problem.Problem) {
	st, err := caught(r, func() (*fleetstate.State, error) {
		return fleetstate.Restore(nil, r.restored, known, r.lastKnownGood, r.holds...)
	})
	if err != nil {
		return nil, problem.From(err, internal, problem.Pos{})
	}
	return &candidate{state: st, snapshot: r.restored, facts: known}, nil
}

// caught turns a panic into an error: a repository must not be able to stop the service. The error
// has no stack, which varies.
func caught[T any](r *Refresher, compute func() (T, error)) (out T, err error) {
	if run.Caught(r.o.Logger, "refreshing the state", func() { out, err = compute() }) {
		err = errors.New("internal error: the resolver panicked; see the log")
	}
	return out, err
}

// withoutMembers leaves out the problems of single members, which are quarantined.
func withoutMembers(ps []problem.Problem) []problem.Problem {
	return slices.DeleteFunc(ps, func(p problem.Problem) bool { return p.Cluster != "" })
}

// identity is a problem without lines and columns: editing a file above an error moves it, and it
// stays the same one. Some texts name lines too ("first at line 3"), or how many problems are not
// listed; those are left out as well.
type identity struct {
	reason                         problem.Reason
	file, subject, found, expected string
	hub, cluster                   string
}

var lines = regexp.MustCompile(`\bline \d+|:\d+(:\d+)?\b|^\d+ more\b`)

func identityOf(p problem.Problem) identity {
	return identity{p.Reason, p.Pos.File, p.Subject, lines.ReplaceAllString(p.Found, ""), p.Expected, p.Hub, p.Cluster}
}

// newProblems returns the problems of now that were not there before.
func newProblems(before, now []problem.Problem) []problem.Problem {
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
