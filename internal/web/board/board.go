package board

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/rings"
)

// Rollouts is a board of rings and revisions.
type Rollouts struct {
	Hub string `json:"hub"`
	// Revision is the newest accepted revision.
	Revision string  `json:"revision"`
	Rollouts []Board `json:"rollouts"`
}

// Board is one rollout policy.
type Board struct {
	Name     string      `json:"name"`
	Position problem.Pos `json:"position,omitzero"`
	// Scope is the policy's scope, as far as the reader may see it.
	Scope   rollout.Scope `json:"scope"`
	Paused  bool          `json:"paused,omitempty"`
	Problem string        `json:"problem,omitempty"`
	// InForce says that an earlier policy counts than the one in the newest files, and until when.
	InForce string `json:"inForce,omitempty"`
	// Revisions are the revisions that rings have or wait for, the newest first.
	Revisions []string        `json:"revisions"`
	Rings     []BoardRing     `json:"rings"`
	Approvals []BoardApproval `json:"approvals,omitempty"`
}

// BoardRing is one ring. Members counts the members that the reader sees.
type BoardRing struct {
	Name           string      `json:"name"`
	Position       problem.Pos `json:"position,omitzero"`
	Members        int         `json:"members"`
	MaxUnavailable string      `json:"maxUnavailable"`
	Soak           string      `json:"soak"`
	Since          *time.Time  `json:"since,omitempty"`
	// Cells hold the ring's state for each revision: one of the states below, or empty.
	Cells []string `json:"cells"`
	// Waits says in one line what the ring waits for; Reason, Cluster, Detail, WaitsSince and
	// Earliest are its parts.
	Waits      string             `json:"waits,omitempty"`
	Reason     rollout.WaitReason `json:"reason,omitempty"`
	Cluster    string             `json:"cluster,omitempty"`
	Detail     string             `json:"detail,omitempty"`
	WaitsSince *time.Time         `json:"waitsSince,omitempty"`
	Earliest   *time.Time         `json:"earliest,omitempty"`
	Rejection  string             `json:"rejection,omitempty"`
}

// The states of a ring's cell.
const (
	CellPassed    = "passed"    // its members are served from it, and it has passed
	CellSoaking   = "soaking"   // and are healthy, for less than the soak
	CellUnhealthy = "unhealthy" // and are not healthy
	CellFailed    = "failed"    // and it has failed, or the ring went back from it
	CellNext      = "next"      // the ring waits to take it
)

// BoardApproval lets a ring take a revision.
type BoardApproval struct {
	Ring     string      `json:"ring"`
	Revision string      `json:"revision"`
	Expires  string      `json:"expires"`
	Expired  bool        `json:"expired,omitempty"`
	Overtake bool        `json:"overtake,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
}

// Reader is the reader of a state.
type Reader struct {
	State *fleetstate.State
	Scope access.Reader
	Now   time.Time
}

// Rollouts returns the board of the rollouts that concern a cluster and a group of the reader's. It
// leaves out texts that name clusters outside of the reader's scope.
func (x Reader) Rollouts(report rings.Report) Rollouts {
	out := Rollouts{Hub: report.Hub, Revision: report.Revision, Rollouts: []Board{}}
	if !x.Scope.SeesEverything() {
		report = report.For(x.State, func(m *fleet.Member) bool {
			c := x.State.Cluster(m.Hub, m.Name)
			return c != nil && access.Visible(x.Scope, c)
		}, x.Scope.SeesGroup)
	}
	for _, one := range report.Rollouts {
		p := one.Policy
		if p == nil || !x.Scope.SeesEverything() && !access.SeesRollout(x.Scope, x.State.Fleet, p) {
			continue
		}
		b := Board{Name: one.Name, Position: p.Pos, Scope: one.Scope, Paused: one.Paused, Problem: one.Problem, Revisions: revisionsOf(report.Revision, one)}
		if one.InForce != nil {
			b.InForce = one.InForce.Text
		}
		for i, r := range one.Rings[:min(len(one.Rings), len(p.Rings))] {
			if !x.Scope.SeesEverything() && !x.Scope.SeesGroup("") { // a ring may wait for a component of any group
				r = r.Hidden(func(string) bool { return false })
			}
			b.Rings = append(b.Rings, boardRing(r, &p.Rings[i], b.Revisions))
		}
		for _, a := range p.Approvals {
			entry := BoardApproval{Ring: a.Ring, Revision: a.Revision, Expires: a.Expires.Format(time.DateOnly), Expired: !x.Now.Before(a.Expires.AddDate(0, 0, 1)), Overtake: a.Overtakes, Position: a.Pos}
			if x.Scope.SeesEverything() {
				entry.Reason = a.Reason
			}
			b.Approvals = append(b.Approvals, entry)
		}
		out.Rollouts = append(out.Rollouts, b)
	}
	return out
}

// revisionsOf returns the revisions that rings have or wait for, the newest first.
func revisionsOf(newest string, one rings.Rollout) []string {
	numbers := map[string]int{}
	note := func(revision string, train int) {
		if revision != "" {
			numbers[revision] = max(numbers[revision], train)
		}
	}
	for _, r := range one.Rings {
		note(r.Revision, r.Train)
		if r.Wait != nil {
			note(r.Wait.Train.Revision, r.Wait.Train.Number)
		}
	}
	out := []string{newest}
	for revision := range numbers {
		if revision != newest {
			out = append(out, revision)
		}
	}
	slices.SortFunc(out[1:], func(a, b string) int { return cmp.Or(cmp.Compare(numbers[b], numbers[a]), cmp.Compare(a, b)) })
	return out
}

// boardRing returns a ring of a board.
func boardRing(r rings.Ring, p *rollout.Ring, revisions []string) BoardRing {
	out := BoardRing{
		Name: r.Name, Position: p.Pos, Members: r.Members, MaxUnavailable: p.MaxUnavailable.String(), Soak: duration(p.Soak),
		Cells: make([]string, len(revisions)), Waits: r.Text, Rejection: r.Rejection, Since: moment(r.Since),
	}
	own := CellUnhealthy
	switch {
	case r.Passed:
		own = CellPassed
	case r.Wait != nil && r.Wait.Reason == rollout.Failed && r.Wait.Train.Revision == r.Revision:
		own = CellFailed
	case !r.HealthySince.IsZero():
		own = CellSoaking
	}
	set := func(revision, state string) {
		if i := slices.Index(revisions, revision); i >= 0 {
			out.Cells[i] = state
		}
	}
	if w := r.Wait; w != nil {
		out.Reason, out.Cluster, out.Detail, out.WaitsSince, out.Earliest = w.Reason, w.Cluster, w.Detail, moment(w.Since), moment(w.Earliest)
		if w.Reason == rollout.Failed {
			set(w.Train.Revision, CellFailed)
		} else {
			set(w.Train.Revision, CellNext)
		}
	}
	set(r.Revision, own)
	return out
}

// duration formats a duration as policies write it: 30m, not 30m0s.
func duration(d time.Duration) string {
	text := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d >= time.Hour && d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// moment returns a time, nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
