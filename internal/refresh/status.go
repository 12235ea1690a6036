package refresh

import (
	"errors"
	"fmt"
	"time"

	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/source"
)

// Cause is the input that a refusal is about.
type Cause string

const (
	// Source means that the repository cannot be read.
	Source Cause = "source"
	// Commit means that the newest revision brings errors.
	Commit Cause = "commit"
	// Facts means that what is known of clusters cannot be read, or brings errors.
	Facts Cause = "facts"
)

// maxText bounds the text of a refusal, in bytes.
const maxText = 600

// Refusal is why the newest of one input is not being served.
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

// Quarantined is a member that cannot be computed (rule G2 of the design).
type Quarantined struct {
	Hub    string `json:"hub"`
	Member string `json:"member"`
	// Standing is what becomes of it: kept, left-out or refused.
	Standing generator.Standing `json:"standing"`
	// Revision is what its sets are computed from; empty unless they are kept.
	Revision string `json:"revision,omitempty"`
	// Reason is a stable code, Problem the first problem's text and Problems the number of all.
	Reason   string `json:"reason"`
	Problem  string `json:"problem"`
	Problems int    `json:"problems"`
	// Since is when it was first seen as it is.
	Since time.Time `json:"since"`
}

func (q Quarantined) same(p Quarantined) bool {
	q.Since, p.Since = time.Time{}, time.Time{}
	return q == p
}

// quarantined are the members of a hub that a state cannot compute. Those that were so before are so since then.
func quarantined(st *generator.State, hub string, before []Quarantined, now time.Time) []Quarantined {
	known := make(map[generator.ID]Quarantined, len(before))
	for _, q := range before {
		known[generator.ID{Hub: q.Hub, Name: q.Member}] = q
	}
	var out []Quarantined
	for _, q := range st.Quarantined(hub) {
		one := Quarantined{
			Hub: q.Hub, Member: q.Name, Standing: q.Standing, Revision: q.Revision, Reason: string(q.First().Reason),
			Problem: limit(q.First().Error()), Problems: len(q.Problems), Since: now,
		}
		if old, ok := known[q.ID]; ok && old.same(one) {
			one.Since = old.Since
		}
		out = append(out, one)
	}
	return out
}

// Status is what is being served, and why it is not the newest.
type Status struct {
	// Source names the repository, without credentials.
	Source string
	// Revision is what is being served, "" before the first state; Since is when serving it began.
	Revision string
	Since    time.Time
	// LastSuccess is when the source was last looked at with nothing to refuse.
	LastSuccess time.Time
	// Refused is empty when the newest of everything is being served; at most one for each cause, in order of causes.
	Refused []Refusal
	// Quarantined are the members of Options.Hub that cannot be computed as they are in Revision, by hub and name.
	Quarantined []Quarantined
	// Store names the place of what a restart goes on from, "" without one. StoreProblem is what of it cannot be used or
	// written.
	Store, StoreProblem string
	// Waiting tells, before the first state, what is being waited for.
	Waiting string
}

// Ready reports whether there is a state to serve.
func (s Status) Ready() bool { return s.Revision != "" }

// Err is why there is nothing to serve: "not ready: ...", or nil when there is.
func (s Status) Err() error {
	if s.Ready() {
		return nil
	}
	return errors.New(limit("not ready: " + s.Waiting))
}

// refusalOf makes a refusal of problems, of which there is at least one.
func refusalOf(cause Cause, revision string, ps []problem.Problem) Refusal {
	ps = problem.Sorted(ps)
	return Refusal{Cause: cause, Reason: string(ps[0].Reason), Problem: limit(text(ps[0])), Problems: len(ps), Revision: revision}
}

// refusalOfSource makes a refusal of a source's error.
func refusalOfSource(err error) Refusal {
	return Refusal{Cause: Source, Reason: string(source.ReasonOf(err)), Problem: limit(err.Error()), Problems: 1}
}

// refusalOfFacts makes a refusal of facts that cannot be read.
func refusalOfFacts(err error) Refusal {
	ps := problem.From(err, "unreadable", problem.Pos{})
	if len(ps) == 0 {
		return Refusal{Cause: Facts, Reason: "unreadable", Problem: limit(err.Error()), Problems: 1}
	}
	return refusalOf(Facts, "", ps)
}

func text(p problem.Problem) string {
	if p.Cluster == "" {
		return p.Error()
	}
	return fmt.Sprintf("member %q of hub %q: %s", p.Cluster, p.Hub, p.Error())
}

func limit(s string) string {
	if len(s) <= maxText {
		return s
	}
	return s[:maxText-3] + "..."
}
