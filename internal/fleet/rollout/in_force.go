package rollout

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// InForce is the policy that counts. A commit that changes or deletes the policy's file goes
// through the rings that were there before it, so no commit sets the rules for itself.
type InForce struct {
	*Policy
	// From is the train that brought the policy into force. A policy that began with the log, or
	// with the log of another, has a revision alone: it counts for all trains.
	From Train
	// Until is the first train of which the file has another shape, or is gone; zero for none. The
	// policy is in force until its last ring has taken that train or a newer one.
	Until Train
}

// inForceRecord is an InForce as a record has it. File is the text of the policy's file, so that a
// restart reads it as it reads any policy.
type inForceRecord struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	From  Train  `json:"from"`
	Until Train  `json:"until,omitzero"`
}

// MarshalJSON writes the policy as the text of its file.
func (f InForce) MarshalJSON() ([]byte, error) {
	return json.Marshal(inForceRecord{f.Name, string(f.text), f.From, f.Until})
}

// UnmarshalJSON reads what MarshalJSON has written.
func (f *InForce) UnmarshalJSON(data []byte) error {
	var r inForceRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	file := snapshot.NewFile(Folder+"/"+r.Name+".yaml", []byte(r.File), snapshot.MaxFileSize)
	doc, err := yamldoc.ParseLenient(file.Path, file.Data, nil)
	p, problems := Parse(file, doc, err)
	if wrong := problem.Errors(problems); len(wrong) > 0 {
		return problem.List(wrong)
	}
	*f = InForce{p, r.From, r.Until}
	return nil
}

// Equal reports whether two records have the same policy in force.
func (f *InForce) Equal(g *InForce) bool {
	if f == nil || g == nil {
		return f == g
	}
	return f.From == g.From && f.Until == g.Until && f.Name == g.Name && f.digest == g.digest
}

// HasShape reports whether a policy has the same scope, rings, order and gates. Pins, approvals and
// paused steer a policy, and are not part of its shape.
func (p *Policy) HasShape(q *Policy) bool { return q != nil && p.shape == q.shape }

// shapeOf returns the same text for files of policies of the same shape.
func shapeOf(file *snapshot.File, doc *yamldoc.Doc) string {
	keys, _ := doc.Root.AnyAsWritten().(map[string]any)
	for _, key := range []string{"apiVersion", "kind", "paused", "approvals", "pins"} {
		delete(keys, key)
	}
	text, err := json.Marshal(keys)
	if err != nil { // such as of .inf
		return string(file.Data)
	}
	return string(text)
}

// Precedes reports whether a train is not older than the one that brought the policy into force.
func (f *InForce) Precedes(t Train) bool { return f != nil && t.Number >= f.From.Number }

// With returns the policy in force as the newest file steers it: by its pins and approvals of rings
// that are in force, and by paused. Freezes of both count. A file that is gone steers nothing.
func (f *InForce) With(newest *Policy) *Policy {
	out := *f.Policy
	out.Paused, out.Approvals, out.Pins = false, nil, nil
	if newest == nil {
		return &out
	}
	out.Paused = newest.Paused
	out.Approvals = slices.DeleteFunc(slices.Clone(newest.Approvals), func(a Approval) bool { return out.Ring(a.Ring) == nil })
	out.Pins = slices.DeleteFunc(slices.Clone(newest.Pins), func(p Pin) bool { return out.Ring(p.Ring) == nil })
	out.Rings = slices.Clone(out.Rings)
	for i := range out.Rings {
		ring := &out.Rings[i]
		if r := newest.Ring(ring.Name); r != nil {
			ring.Freezes = slices.Concat(ring.Freezes, slices.DeleteFunc(slices.Clone(r.Freezes), func(x Freeze) bool {
				return slices.ContainsFunc(ring.Freezes, func(y Freeze) bool { return x.From.Equal(y.From) && x.To.Equal(y.To) })
			}))
		}
	}
	return &out
}

// Begins returns an agent's log with a policy in force from the next train on, which is of a
// revision.
func (l Log) Begins(p *Policy, revision string) Log {
	return l.Put(p, Train{Number: l.Newest.Number + 1, Revision: revision}, time.Time{})
}

// Put returns the log with another policy in force from a train on, and its rings. Nil ends the
// log.
func (l Log) Put(p *Policy, from Train, now time.Time) Log {
	if p == nil {
		return Log{Ended: true}
	}
	if _, isOfAgent := l.Rings[ofAllGroups]; !isOfAgent {
		l = l.withRings(p, now)
	}
	l.InForce = &InForce{Policy: p, From: from}
	return l
}

// judge compares the file of the newest train with the policy in force; nil for a file that is
// gone. A replica that lags has no say.
func (a *advance) judge() {
	f, newest := a.log.InForce, a.facts.Policy
	switch {
	case a.log.Newest.Revision != a.facts.Newest:
	case f == nil && newest != nil: // a record of an earlier version
		a.log = a.log.Put(newest, a.log.Newest, a.now)
	case f != nil && f.HasShape(newest) && f.Until.Number > 0:
		a.log.InForce = &InForce{Policy: f.Policy, From: f.From}
	case f != nil && !f.HasShape(newest) && f.Until.Number == 0:
		a.log.InForce = &InForce{f.Policy, f.From, a.log.Newest}
	}
}
