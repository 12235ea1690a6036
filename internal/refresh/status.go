package refresh

import (
	"errors"
	"fmt"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
)

// Cause is the input that is refused.
type Cause string

const (
	// Source means that the repository cannot be read.
	Source Cause = "source"
	// Commit means that the newest revision brings errors.
	Commit Cause = "commit"
	// Facts means that facts cannot be read, or bring errors.
	Facts Cause = "facts"
)

// maxText bounds the text of a refusal, in bytes.
const maxText = 600

// Refusal is why the newest of one input is not served.
type Refusal struct {
	Cause Cause `json:"cause"`
	// Reason is a stable code: a problem's, a source's, or "unreadable".
	Reason string `json:"reason"`
	// Problem is the first problem's text, Problems the number of all.
	Problem  string `json:"problem"`
	Problems int    `json:"problems"`
	// Revision is the refused one; of facts and of an unreadable source, empty.
	Revision string `json:"revision,omitempty"`
	// Since is when this refusal was first seen.
	Since time.Time `json:"since"`
}

func (r Refusal) same(q Refusal) bool {
	r.Since, q.Since = time.Time{}, time.Time{}
	return r == q
}

// Quarantined is a member with an error (G2).
type Quarantined struct {
	Hub    string `json:"hub"`
	Member string `json:"member"`
	// Standing says how it is served: kept, left-out or refused.
	Standing fleetstate.Standing `json:"standing"`
	// Revision is its last known good one; empty unless it is served from that.
	Revision string `json:"revision,omitempty"`
	// Reason is a stable code, Problem the first problem's text and Problems the number of all.
	Reason   string `json:"reason"`
	Problem  string `json:"problem"`
	Problems int    `json:"problems"`
	// Since is when this was first seen.
	Since time.Time `json:"since"`
}

func (q Quarantined) same(p Quarantined) bool {
	q.Since, p.Since = time.Time{}, time.Time{}
	return q == p
}

// quarantined lists the quarantined members of a hub. Since goes back to the status before.
func quarantined(st *fleetstate.State, hub string, before []Quarantined, now time.Time) []Quarantined {
	known := make(map[fleetstate.ID]Quarantined, len(before))
	for _, q := range before {
		known[fleetstate.ID{Hub: q.Hub, Name: q.Member}] = q
	}
	var out []Quarantined
	for _, q := range st.Quarantined(hub) {
		one := Quarantined{
			Hub: q.Hub, Member: q.Name, Standing: q.Standing, Revision: q.Revision, Reason: string(q.First().Reason),
			Problem: shorten(q.First().Error()), Problems: len(q.Problems), Since: now,
		}
		if old, ok := known[q.ID]; ok && old.same(one) {
			one.Since = old.Since
		}
		out = append(out, one)
	}
	return out
}

// Status says what is served, and why it is not the newest.
type Status struct {
	// Source names the repository, without credentials.
	Source string
	// Revision is the served one, "" before the first state; Since is when serving it began.
	Revision string
	Since    time.Time
	// LastSuccess is the last poll with nothing to refuse.
	LastSuccess time.Time
	// Refused is empty when the newest of everything is served. It has at most one for each cause,
	// in their order.
	Refused []Refusal
	// Quarantined are the members of Options.Hub with errors in Revision, by hub and name.
	Quarantined []Quarantined
	// Mounts are the repositories that the served layout mounts, by path.
	Mounts []Mount
	// Store names the place of what a restart goes on from, "" without one. StoreProblem is what of
	// it cannot be used or written.
	Store, StoreProblem string
	// Waiting is what the service waits for before the first state.
	Waiting string
	// Computing is when the computation under way began, of which nobody knows yet whether it is
	// served; zero while there is none. Changed does not tell it.
	Computing time.Time
}

// Ready reports whether there is a state.
func (s Status) Ready() bool { return s.Revision != "" }

// Err is why there is no state, "not ready: ...", or nil.
func (s Status) Err() error {
	if s.Ready() {
		return nil
	}
	return errors.New(shorten("not ready: " + s.Waiting))
}

// refusalOf makes a refusal of problems, of which there is at least one.
func refusalOf(cause Cause, revision string, ps []problem.Problem) Refusal {
	ps = problem.Sorted(ps)
	return Refusal{Cause: cause, Reason: string(ps[0].Reason), Problem: shorten(text(ps[0])), Problems: len(ps), Revision: revision}
}

// refusalOfSource makes a refusal of a source's error.
func refusalOfSource(err error) Refusal {
	return Refusal{Cause: Source, Reason: string(source.ReasonOf(err)), Problem: shorten(err.Error()), Problems: 1}
}

// refusalOfFacts makes a refusal of facts that cannot be read.
func refusalOfFacts(err error) Refusal {
	ps := problem.From(err, "unreadable", problem.Pos{})
	if len(ps) == 0 {
		return Refusal{Cause: Facts, Reason: "unreadable", Problem: shorten(err.Error()), Problems: 1}
	}
	return refusalOf(Facts, "", ps)
}

func text(p problem.Problem) string {
	if p.Cluster == "" {
		return p.Error()
	}
	return fmt.Sprintf("member %q of hub %q: %s", p.Cluster, p.Hub, p.Error())
}

// shorten bounds a text of Status.
func shorten(s string) string { return problem.Truncate(s, maxText) }
