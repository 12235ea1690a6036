package scaffold

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// RolloutChange is a change of a rollout policy, which becomes effective as a commit. One of Pause,
// Resume, Approval and Pin is set.
type RolloutChange struct {
	// Name is the policy's name; empty for the only one.
	Name string
	// Pause stops all rings. Resume lets them continue and removes all pins; with Ring it removes
	// only the pins of that ring.
	Pause, Resume bool
	Approval      *rollout.Approval
	Pin           *rollout.Pin
	// Expires is the last day of Approval.
	Expires string
	// Ring is the ring that Resume affects; empty for all.
	Ring string
}

// ChangeRollout drafts a change of a rollout policy. The rest of the file stays as it is.
func ChangeRollout(ctx context.Context, r Repository, c RolloutChange) (*Draft, error) {
	d, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range d.before.Under(rollout.Folder) {
		if name, is := rollout.PolicyName(p); is {
			names = append(names, name)
		}
	}
	if c.Name == "" && len(names) == 1 {
		c.Name = names[0]
	}
	file := path.Join(rollout.Folder, c.Name+".yaml")
	switch {
	case len(names) == 0:
		return nil, problem.Usage([]string{"docs/how-to/roll-out-in-rings.md has one", nothingWritten}, "there is no rollout policy in %s", rollout.Folder)
	case c.Name == "":
		return nil, refuse("NAME is missing; expected one of the rollouts %s", strings.Join(names, ", "))
	}
	if err := oneOf("NAME", c.Name, "rollouts", names); err != nil {
		return nil, err
	}
	d.edit(file, "edit the file by hand", c.apply)
	if d.err == nil && len(d.changed) == 0 {
		st, err := r.state(d.before)
		if err != nil {
			return nil, err
		}
		if err := c.checkRing(st); err != nil {
			return nil, err
		}
		return nil, refuse("%s says so already", file)
	}
	return d.ready(commit(c.title()))
}

// apply changes the policy's file.
func (c RolloutChange) apply(e *yamldoc.Editor) error {
	switch {
	case c.Pause:
		return e.Set("true", "paused")
	case c.Resume:
		if c.Ring == "" && e.Doc().Root.Get("paused") != nil {
			if err := e.Set("false", "paused"); err != nil {
				return err
			}
		}
		return removePins(e, c.Ring, 0)
	case c.Approval != nil:
		a, expires, overtake := c.Approval, c.Expires, ""
		if _, err := time.Parse(time.DateOnly, expires); err != nil {
			expires = strconv.Quote(expires)
		}
		if a.Overtakes {
			overtake = ", overtake: true"
		}
		return e.Insert(fmt.Sprintf("{ring: %s, revision: %q, expires: %s%s, reason: %q}", yamldoc.Scalar(a.Ring), a.Revision, expires, overtake, a.Reason), true, "approvals")
	}
	p := c.Pin
	if err := e.Insert(fmt.Sprintf("{ring: %s, revision: %q, reason: %q}", yamldoc.Scalar(p.Ring), p.Revision, p.Reason), true, "pins"); err != nil {
		return err
	}
	return removePins(e, p.Ring, 1)
}

// removePins removes the pins of a ring, or of all rings, from an index on.
func removePins(e *yamldoc.Editor, ring string, from int) error {
	pins := e.Doc().Root.Get("pins").Items()
	isOf := func(pin *yamldoc.Node) bool { return ring == "" || pin.Get("ring").Text() == ring }
	if from == 0 && len(pins) > 0 && !slices.ContainsFunc(pins, func(pin *yamldoc.Node) bool { return !isOf(pin) }) {
		return e.Remove("pins")
	}
	for i := len(pins) - 1; i >= from; i-- {
		if isOf(pins[i]) {
			if err := e.Remove("pins", strconv.Itoa(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// title returns the first line of a commit's message.
func (c RolloutChange) title() string {
	switch {
	case c.Pause:
		return "Pause rollout " + c.Name
	case c.Resume && c.Ring != "":
		return "Unpin ring " + c.Ring + " of rollout " + c.Name
	case c.Resume:
		return "Resume rollout " + c.Name
	case c.Approval != nil:
		return "Promote " + c.Approval.Revision + " to ring " + c.Approval.Ring
	}
	return "Roll ring " + c.Pin.Ring + " back to " + c.Pin.Revision
}

// checkRing refuses to resume a ring that the policy does not have.
func (c RolloutChange) checkRing(st *fleetstate.State) error {
	var names []string
	for _, p := range st.Fleet.Rollouts {
		for _, r := range p.Rings {
			if p.Name == c.Name {
				names = append(names, r.Name)
			}
		}
	}
	if c.Ring == "" {
		return nil
	}
	return oneOf("--ring", c.Ring, fmt.Sprintf("rings of rollout %q", c.Name), names)
}
