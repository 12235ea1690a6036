package scaffold

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleetstate"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
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
	before, _, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range before.Under(rollout.Folder) {
		if name, is := rollout.PolicyName(p); is {
			names = append(names, name)
		}
	}
	if c.Name == "" && len(names) == 1 {
		c.Name = names[0]
	}
	file := before.File(path.Join(rollout.Folder, c.Name+".yaml"))
	switch {
	case len(names) == 0:
		return nil, problem.Usage([]string{"docs/how-to/roll-out-in-rings.md has one", nothingWritten}, "there is no rollout policy in %s", rollout.Folder)
	case c.Name == "":
		return nil, problem.Usage([]string{nothingWritten}, "NAME is missing; expected one of the rollouts %s", strings.Join(names, ", "))
	case file == nil:
		return nil, problem.Usage(append(problem.Nearest(c.Name, names), nothingWritten), "rollout %q is none of %s", c.Name, strings.Join(names, ", "))
	}
	was := string(file.Data)
	lines := strings.SplitAfter(was, "\n")
	d := &Draft{Files: map[string]string{}}
	if !strings.HasSuffix(was, "\n") {
		lines[len(lines)-1] += "\n"
	}
	switch {
	case c.Pause:
		lines = setTop(lines, "paused", "true")
	case c.Resume:
		if c.Ring == "" {
			lines = setTop(lines, "paused", "false")
		}
		lines = c.withoutPins(lines)
	case c.Approval != nil:
		a := c.Approval
		text := fmt.Sprintf("{ring: %s, revision: %s, expires: %s", a.Ring, strconv.Quote(a.Revision), c.Expires)
		if a.Overtakes {
			text += ", overtake: true"
		}
		lines, err = addItem(lines, "approvals", text+", reason: "+strconv.Quote(a.Reason)+"}", file.Path)
	default:
		p := c.Pin
		lines = RolloutChange{Ring: p.Ring}.withoutPins(lines)
		lines, err = addItem(lines, "pins", fmt.Sprintf("{ring: %s, revision: %s, reason: %s}", p.Ring, strconv.Quote(p.Revision), strconv.Quote(p.Reason)), file.Path)
	}
	if err != nil {
		return nil, err
	}
	is := strings.Join(lines, "")
	if strings.TrimSuffix(is, "\n") == strings.TrimSuffix(was, "\n") {
		return nil, c.unchanged(r, before, file.Path)
	}
	if _, err := yamldoc.Parse(file.Path, []byte(is)); err != nil {
		if _, broken := yamldoc.Parse(file.Path, file.Data); broken == nil {
			return nil, byHand(file.Path)
		}
	}
	d.Changes = []Change{{Path: file.Path, Was: was, Is: is}}
	st, err := r.try(before, d)
	if err != nil {
		return nil, err
	}
	if err := c.verify(st); err != nil {
		return nil, err
	}
	d.Next = []string{"git add . && git commit -m \"" + c.title() + "\" && git push"}
	return d, nil
}

// unchanged returns the error of a change that leaves the file as it was. Either the file has the
// value already, or its form is not supported.
func (c RolloutChange) unchanged(r Repository, before *snapshot.Snapshot, file string) error {
	st, err := r.state(before)
	if err != nil {
		return err
	}
	if err := c.verify(st); err != nil {
		return err
	}
	return problem.Usage([]string{nothingWritten}, "%s says so already", file)
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

// verify checks that the file has the changed value, whatever its form.
func (c RolloutChange) verify(st *fleetstate.State) error {
	i := slices.IndexFunc(st.Fleet.Rollouts, func(p *rollout.Policy) bool { return p.Name == c.Name })
	ok := i >= 0
	if ok {
		p := st.Fleet.Rollouts[i]
		if err := checkRing(p, c.Ring); err != nil {
			return err
		}
		isPinned := func(ring, revision string) bool {
			return slices.ContainsFunc(p.Pins, func(x rollout.Pin) bool {
				return (ring == "" || x.Ring == ring) && (revision == "" || x.Revision == revision)
			})
		}
		switch {
		case c.Pause:
			ok = p.Paused
		case c.Resume:
			ok = !isPinned(c.Ring, "") && (c.Ring != "" || !p.Paused)
		case c.Approval != nil:
			ok = slices.ContainsFunc(p.Approvals, func(x rollout.Approval) bool { return x.Ring == c.Approval.Ring && x.Revision == c.Approval.Revision })
		default: // the last pin of a ring counts
			for _, x := range p.Pins {
				if x.Ring == c.Pin.Ring {
					ok = x.Revision == c.Pin.Revision
				}
			}
		}
	}
	if !ok {
		return byHand(path.Join(rollout.Folder, c.Name+".yaml"))
	}
	return nil
}

// checkRing refuses the name of a ring that the policy does not have.
func checkRing(p *rollout.Policy, name string) error {
	var names []string
	for _, r := range p.Rings {
		names = append(names, r.Name)
	}
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	return problem.Usage(append(problem.Nearest(name, names), nothingWritten), "--ring: %q is no ring of rollout %q; expected one of %s", name, p.Name, strings.Join(names, ", "))
}

// byHand returns the error of a file in a form that is not changed here.
func byHand(file string) error {
	return problem.Usage([]string{nothingWritten, "edit the file by hand"}, "%s is in a form that this command does not change", file)
}

// trailingComment matches a comment behind a value without quotes.
var trailingComment = regexp.MustCompile(`\s+#.*$`)

// setTop sets a key of the file's first level, and keeps a comment behind it.
func setTop(lines []string, key, value string) []string {
	for i, line := range lines {
		if strings.HasPrefix(line, key+":") {
			comment := trailingComment.FindString(strings.TrimRight(line, "\r\n"))
			lines[i] = key + ": " + value + comment + "\n"
			return lines
		}
	}
	if value == "false" {
		return lines
	}
	return append(lines, key+": "+value+"\n")
}

// addItem adds an element to a list of the file's first level.
func addItem(lines []string, key, item, file string) ([]string, error) {
	for i, line := range lines {
		if !strings.HasPrefix(line, key+":") {
			continue
		}
		if rest := strings.TrimSpace(strings.TrimPrefix(line, key+":")); rest != "" && !strings.HasPrefix(rest, "#") {
			return nil, byHand(file)
		}
		indent := "  "
		if i+1 < len(lines) && strings.HasPrefix(strings.TrimLeft(lines[i+1], " "), "- ") {
			indent, _, _ = strings.Cut(lines[i+1], "-")
		}
		return slices.Insert(lines, i+1, indent+"- "+item+"\n"), nil
	}
	return append(lines, key+":\n", "  - "+item+"\n"), nil
}

// ringOfPin returns the ring of a pin that has a line of its own; empty for any other line.
func ringOfPin(line string) string {
	doc, err := yamldoc.Parse("", []byte(strings.TrimSpace(line)))
	if err != nil || len(doc.Root.Items()) != 1 {
		return ""
	}
	pin := doc.Root.Items()[0]
	if pin.Get("ring").IsNull() || pin.Get("revision").IsNull() || pin.Get("reason").IsNull() {
		return "" // the rest is on the following lines
	}
	return pin.Get("ring").Text()
}

// withoutPins removes the pins of the ring, or of all rings, that have a line of their own.
func (c RolloutChange) withoutPins(lines []string) []string {
	var out []string
	inPins, left, at := false, 0, -1
	for _, line := range lines {
		if line != "" && !strings.ContainsAny(line[:1], " -#\n") {
			inPins = strings.HasPrefix(line, "pins:")
			if inPins {
				at = len(out)
			}
		} else if inPins && strings.HasPrefix(strings.TrimLeft(line, " "), "- ") {
			if c.Ring == "" || ringOfPin(line) == c.Ring {
				continue
			}
			left++
		}
		out = append(out, line)
	}
	if at >= 0 && left == 0 && strings.TrimSpace(out[at]) == "pins:" {
		out = slices.Delete(out, at, at+1)
	}
	return out
}
