package rings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hold"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/roster"
)

// A hold freezes cells: each stays at the revision that it is served from when the first hold of it
// begins, until the last one ends. A cell that is not served then stays absent. The record of
// frozen cells names these revisions, so that a restart and replicas keep them. Files in
// fleet/holds hold cells, and so does the guard, which does not let them go.

// cell is a component of a member. Component fleet.Any stands for all components of the group that
// have no cell of their own.
type cell struct{ cluster, group, component string }

func (c cell) String() string { return c.cluster + " " + c.group + "/" + c.component }

// frozenCells has the revision of each frozen cell; absent for one that nothing is served of.
type frozenCells map[cell]string

const (
	// absent is the revision of a cell that was not served when its hold began.
	absent = ""
	// unknownRevision is that of a cell that may not be removed and was served before a restart:
	// nobody here knows from where. No record has it.
	unknownRevision = "?"
)

// find returns the revision of a component of a member, and whether it is frozen.
func find[T any](cells map[cell]T, cluster, group, component string) (T, bool) {
	if out, is := cells[cell{cluster, group, component}]; is {
		return out, true
	}
	out, is := cells[cell{cluster, group, fleet.Any}]
	return out, is
}

// holdsRecord is the name of the record of frozen cells beside those of policies. No policy has it.
const holdsRecord = "_holds"

// frozenView is what holds keep while a state is served.
type frozenView struct {
	cells frozenCells
	// reasons are those of the cells, manual the files that cover them, and places where their
	// parameter sets come from.
	reasons map[cell]string
	manual  map[cell][]*fleet.Hold
	places  map[cell]int
	// groups have frozen cells; split are those of them in which components differ.
	groups, split map[string]bool
	// lacks is why there is no response about anything that may be frozen; empty if there is one.
	lacks string
	// lacksRows reports that something is to stay that there is no parameter set of.
	lacksRows bool
}

// activeHolds returns the holds of a state that have not ended.
func activeHolds(st *fleetstate.State, now time.Time) []*fleet.Hold {
	return slices.DeleteFunc(slices.Clone(st.Fleet.Holds), func(h *fleet.Hold) bool { return h.EndedAt(now) })
}

// freeze decides which cells are frozen in a view, and takes their revisions in. The caller holds
// the lock.
func (r *Rings) freeze(v *view) {
	v.holds = activeHolds(v.st, r.o.Now())
	kept := r.o.Kept(v.st)
	if !r.keepsCells(v.st) {
		return
	}
	f := &v.frozen
	f.groups, f.split, f.places, f.reasons, f.manual = map[string]bool{}, map[string]bool{}, map[cell]int{}, map[cell]string{}, map[cell][]*fleet.Hold{}
	f.cells = r.frozenBy(v, kept)
	for at := range f.cells {
		f.groups[at.group] = true
		f.split[at.group] = f.split[at.group] || at.component != fleet.Any
	}
	if !r.holdsRead {
		f.lacks, v.isUnread = "the record of holds has not been read yet", true
		return
	}
	for at, revision := range f.cells {
		place := r.placeFrozen(v, revision, f.reasons[at])
		if place == lost {
			f.lacks = fmt.Sprintf("no replica has the files of revision %s, which a hold (%s) keeps for %s: end the hold", revision, f.reasons[at], at)
			return
		}
		f.places[at] = place
	}
}

// frozenBy returns the cells that the holds of a view and the guard keep, each with the revision
// that it is served from. It notes their reasons in the view.
func (r *Rings) frozenBy(v *view, kept []lifecycle.Item) frozenCells {
	out := frozenCells{}
	freeze := func(reason string, at cell) {
		if _, is := find(v.frozen.reasons, at.cluster, at.group, at.component); !is {
			r.freezeCell(v, out, at, reason)
		}
	}
	for _, i := range kept {
		at := cell{i.Cluster, i.Group, i.Component}
		freeze(string(hold.Removal), at)
		if _, was := find(r.cells, at.cluster, at.group, at.component); !was && r.served == nil {
			out[at] = unknownRevision
		}
	}
	held := freezeMembers(v, freeze)
	add := func(h *fleet.Hold, cluster string) {
		for _, pattern := range h.Components {
			for _, at := range cellsOf(v.st, cluster, pattern) {
				if freeze(string(hold.Manual), at); !slices.Contains(v.frozen.manual[at], h) {
					v.frozen.manual[at] = append(v.frozen.manual[at], h)
				}
			}
		}
	}
	members := roster.Served(v.st, v.hub)
	if len(v.holds) > 0 { // what a member's file says now does not end a hold
		members = slices.Concat(members, r.frozenMembers())
	}
	for _, h := range v.holds {
		for _, m := range members {
			if h.CoversMember(m) {
				add(h, m.Name)
			}
		}
	}
	for at := range r.cells { // the policy of a member that is held may be gone
		if reason, is := held[at.cluster]; is {
			freeze(reason, at)
		}
	}
	for known, revision := range r.cells {
		all := cell{known.cluster, known.group, fleet.Any}
		if others, is := out[all]; is && others != revision && v.frozen.reasons[known] == "" {
			out[known], v.frozen.reasons[known] = revision, v.frozen.reasons[all]
		}
	}
	return out
}

// freezeMembers freezes what rings have of members that are held as a whole, and returns why each
// is held. Outside of rings the state itself has them as they were.
func freezeMembers(v *view, freeze func(reason string, at cell)) (held map[string]string) {
	members := v.st.HeldMembers(v.hub)
	if len(members) == 0 {
		return nil
	}
	parts := map[cell]bool{}
	for _, x := range v.rings {
		for _, part := range partsOf(v.st, x.policy.Scope) {
			parts[cell{"", part.group, cmp.Or(part.component, fleet.Any)}] = true
		}
	}
	held = map[string]string{}
	for _, c := range members {
		held[c.Member.Name] = c.Hold
		for part := range parts {
			freeze(c.Hold, cell{c.Member.Name, part.group, part.component})
		}
	}
	return held
}

// frozenMembers returns the members of frozen cells, by their files at the revisions that the cells
// are served from.
func (r *Rings) frozenMembers() (out []*fleet.Member) {
	seen := map[*fleet.Member]bool{}
	for at, revision := range r.cells {
		if known := r.revisions[revision]; known != nil {
			if m := known.state.Fleet.Member(r.o.Hub, at.cluster); m != nil && !seen[m] {
				seen[m] = true
				out = append(out, m)
			}
		}
	}
	return out
}

// cellsOf returns the cells of a member that an element of a hold's components names.
func cellsOf(st *fleetstate.State, cluster, pattern string) []cell {
	if pattern != fleet.Any {
		group, component, _ := strings.Cut(pattern, "/")
		return []cell{{cluster, group, component}}
	}
	out := []cell{{cluster, fleetstate.FleetGroup, fleet.Any}}
	for _, group := range st.Groups() {
		if group != fleetstate.FleetGroup {
			out = append(out, cell{cluster, group, fleet.Any})
		}
	}
	return out
}

// freezeCell adds a cell with the revision that it is served from. Where components of a group are
// served from different revisions, it adds them one by one as well.
func (r *Rings) freezeCell(v *view, out frozenCells, at cell, reason string) {
	newest := v.st
	out[at], v.frozen.reasons[at] = r.servedFrom(newest, at), reason
	if at.component != fleet.Any {
		return
	}
	if r.served == nil || r.served == newest || !r.viewBy(r.served).splits(at.group) {
		return
	}
	for _, st := range r.viewBy(r.served).states() {
		for _, component := range st.ComponentsOf(r.o.Hub, at.cluster, at.group) {
			its := cell{at.cluster, at.group, component}
			if revision := r.servedFrom(newest, its); revision != out[at] && v.frozen.reasons[its] == "" {
				out[its], v.frozen.reasons[its] = revision, reason
			}
		}
	}
}

// servedFrom returns the revision that a cell is served from before a state: the one that it is
// frozen at, or that of the state that is served.
func (r *Rings) servedFrom(newest *fleetstate.State, at cell) string {
	if revision, is := find(r.cells, at.cluster, at.group, at.component); is {
		return revision
	}
	component := at.component
	if component == fleet.Any {
		component = ""
	}
	if r.served == nil || r.served == newest { // nothing has been served since the start
		return newest.Revision
	}
	v := r.viewBy(r.served)
	if i, is := v.roster.Index(at.cluster); is {
		return v.revision(v.placesOf(at.group, component)[i])
	}
	return absent
}

// placeFrozen is the place of a revision in a view for cells that a hold keeps, which has a place
// of its own: their parameter sets name the hold. It is lost if no replica has the files. The
// caller holds the lock.
func (r *Rings) placeFrozen(v *view, name, reason string) int {
	key := reason + " " + name
	if place, known := v.at[key]; known {
		return place
	}
	held := &revision{state: v.st, responses: r.o.Responses}
	if name != v.st.Revision && name != absent && name != unknownRevision {
		if held = r.at(name, v.st); held == nil {
			return lost
		}
	}
	held.hold, held.isAbsent = reason, name == absent || name == unknownRevision
	v.frozen.lacksRows = v.frozen.lacksRows || name == unknownRevision
	v.held = append(v.held, held)
	v.at[key] = len(v.held)
	return len(v.held)
}

// placeOfFrozen returns the place of a frozen component of a member. A group that changes hands is
// not frozen, as one engine has it at any moment (M1); nor is a member that moves to another hub.
func (v *view) placeOfFrozen(cluster, group, component string) (int, bool) {
	place, is := find(v.frozen.places, cluster, group, component)
	if !is || v.held[place-1].isAbsent {
		return place, is
	}
	then, now := v.held[place-1].state.Cluster(v.hub, cluster), v.st.Cluster(v.hub, cluster)
	if now == nil { // the guard keeps nothing that moves
		return place, v.held[place-1].hold == string(hold.Removal) || v.st.MovedCluster(v.hub, cluster) == nil
	}
	return place, then == nil || then.Member.Owner(group) == now.Member.Owner(group)
}

// lookAtHolds brings the record of frozen cells up to date with the served state. It reports
// whether what is frozen is different now.
func (r *Rings) lookAtHolds(ctx context.Context, st *fleetstate.State) (changed bool) {
	keeps := r.keepsCells(st)
	if r.o.Store == nil || r.hasNoFrozen && !keeps {
		return r.holdsEnded(st)
	}
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	log, isNew, err := r.holds.Read(ctx)
	isNew = isNew || !r.holdsRead
	if err == nil && log != nil && isNew && keeps {
		changed = r.takeFrozen(log.Frozen)
		err = r.restore(ctx, *log)
	}
	if err != nil && !store.IsDamaged(err) {
		r.hasStarted.Store(true)
		r.o.Logger.Warn("the record of holds cannot be read yet", "error", err)
		return false
	}
	if err != nil {
		r.o.Logger.Error("the record of holds cannot be used: their cells stay at the revision that is served now", "error", err)
	}
	r.locked(func() { changed, r.holdsRead = changed || !r.holdsRead, true })
	if changed && keeps {
		return true
	}
	r.writeHolds(ctx, log)
	return r.holdsEnded(st)
}

// takeFrozen takes in the cells of the record, and reports whether any was not known: what a
// replica has frozen first counts.
func (r *Rings) takeFrozen(cells map[string]map[string][]string) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.cells)
	if all == nil {
		all = frozenCells{}
	}
	for revision, parts := range cells {
		for part, clusters := range parts {
			group, component, _ := strings.Cut(part, "/")
			for _, cluster := range clusters {
				at := cell{cluster, group, component}
				if known, is := all[at]; !is || known != revision {
					all[at], changed = revision, true
				}
			}
		}
	}
	r.cells = all
	return changed
}

// writeHolds writes the frozen cells, if the record has others. Where a replica has written it
// meanwhile, the next look takes in what that froze.
func (r *Rings) writeHolds(ctx context.Context, before *rollout.Log) {
	next := rollout.Log{Frozen: map[string]map[string][]string{}}
	r.locked(func() {
		for at, revision := range r.cells {
			if revision == unknownRevision {
				continue
			}
			if next.Frozen[revision] == nil {
				next.Frozen[revision] = map[string][]string{}
			}
			part := at.group + "/" + at.component
			next.Frozen[revision][part] = append(next.Frozen[revision][part], at.cluster)
		}
	})
	for _, parts := range next.Frozen {
		for _, clusters := range parts {
			slices.Sort(clusters)
		}
	}
	if before != nil {
		next.Kept = before.Kept
	}
	next = next.Keep(r.kept)
	r.hasNoFrozen = false
	if before == nil && len(next.Frozen) == 0 || before != nil && next.Equal(*before) {
		r.hasNoFrozen = len(next.Frozen) == 0
		return
	}
	err := r.write(ctx, holdsRecord, r.holds, next)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		r.o.Logger.Error("the store does not take the record of holds", "error", err)
	}
	if errors.Is(err, store.ErrConflict) {
		r.trigger.Fire()
	}
}

// holdsEnded reports whether a hold has ended since the view of a state was made.
func (r *Rings) holdsEnded(st *fleetstate.State) bool {
	if len(st.Fleet.Holds) == 0 {
		return false
	}
	return len(r.viewOf(st).holds) != len(activeHolds(st, r.o.Now()))
}

// frozenHolds returns the holds of frozen cells: one for each file that covers a cell. The state
// and the guard list the others.
func (v *view) frozenHolds() (out []hold.Hold) {
	for at, files := range v.frozen.manual {
		one := hold.Hold{Reason: hold.Manual, Hub: v.hub, Cluster: at.cluster, Group: at.group, Component: at.component}
		one.Revision, _ = find(v.frozen.cells, at.cluster, at.group, at.component)
		if at.component == fleet.Any {
			one.Component = ""
		}
		if m := roster.ServedMember(v.st, v.hub, at.cluster); m != nil {
			one.Tenant = m.Tenant
		}
		for _, h := range files {
			one.Detail, one.Position, one.Until = fmt.Sprintf("%s (%s)", h.Reason, h.Owner), h.Pos, h.Ends()
			out = append(out, one)
		}
	}
	return out
}

// note is a text that differs where other cells of a query are frozen: Argo CD has to ask again.
func (f frozenView) note(group, component string) string {
	var out []string
	for at := range f.places {
		if at.group == group && (component == "" || at.component == component || at.component == fleet.Any) {
			out = append(out, at.String())
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}
