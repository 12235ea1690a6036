package refresh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

const (
	acceptedRecord = "accepted"
	acceptedFormat = "accepted/2"
)

// checkpoint keeps what a restart goes on from: the accepted snapshot and the last known good
// snapshots of quarantined and draining members. Snapshots are written first, each in a record of
// its own; then, in one step, the record that names them.
type checkpoint struct {
	store    state.Store
	accepted *state.Document[accepted]
	// damaged are the snapshots that could not be read: they are written anew if they are needed.
	damaged map[string]bool
}

// accepted is the record that names all others.
type accepted struct {
	Revision      string          `json:"revision"`
	LastKnownGood []lastKnownGood `json:"lastKnownGood,omitempty"`
}

// lastKnownGood names the snapshot that some members are served from. Members that are left out
// have no revision.
type lastKnownGood struct {
	Revision string      `json:"revision,omitempty"`
	Members  [][2]string `json:"members"` // hub and name
}

func newCheckpoint(s state.Store) *checkpoint {
	return &checkpoint{
		store: s, accepted: state.NewDocument(s, acceptedRecord, acceptedFormat, accepted.check), damaged: map[string]bool{},
	}
}

// check refuses lists in which a revision or a member is listed twice, or has no name.
func (a accepted) check() error {
	revisions, members := map[string]bool{}, map[[2]string]bool{}
	for _, l := range a.LastKnownGood {
		if revisions[l.Revision] || len(l.Members) == 0 {
			return fmt.Errorf("revision %q is listed twice or without members", l.Revision)
		}
		revisions[l.Revision] = true
		for _, m := range l.Members {
			if members[m] || m[0] == "" || m[1] == "" {
				return fmt.Errorf("member %q of hub %q is listed twice or without a name", m[1], m[0])
			}
			members[m] = true
		}
	}
	return nil
}

func (a accepted) equal(b accepted) bool {
	return a.Revision == b.Revision && slices.EqualFunc(a.LastKnownGood, b.LastKnownGood, func(l, m lastKnownGood) bool {
		return l.Revision == m.Revision && slices.Equal(l.Members, m.Members)
	})
}

// listLastKnownGood lists last known good snapshots by revision.
func listLastKnownGood(all fleetstate.LastKnownGood) []lastKnownGood {
	members := map[string][][2]string{}
	for id, s := range all {
		revision := ""
		if s != nil {
			revision = s.Revision
		}
		members[revision] = append(members[revision], [2]string{id.Hub, id.Name})
	}
	var out []lastKnownGood
	for _, revision := range slices.Sorted(maps.Keys(members)) {
		slices.SortFunc(members[revision], func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		out = append(out, lastKnownGood{revision, members[revision]})
	}
	return out
}

// read returns what was written last, nil if there is nothing. A *state.Damaged error beside a
// snapshot is about last known good ones: their members are as at a first start.
func (c *checkpoint) read(ctx context.Context) (*snapshot.Snapshot, fleetstate.LastKnownGood, error) {
	a, _, err := c.accepted.Read(ctx)
	if err != nil || a == nil {
		return nil, nil, err
	}
	s, err := c.snapshot(ctx, a.Revision)
	if err != nil {
		return nil, nil, err
	}
	lkg, err := c.lastKnownGood(ctx, *a)
	if err != nil && !state.IsDamaged(err) {
		return nil, nil, err
	}
	return s, lkg, err
}

// lastKnownGood reads the snapshots that a record names. A *state.Damaged error comes with those
// that can be used.
func (c *checkpoint) lastKnownGood(ctx context.Context, a accepted) (fleetstate.LastKnownGood, error) {
	out := fleetstate.LastKnownGood{}
	var damaged error
	for _, l := range a.LastKnownGood {
		var s *snapshot.Snapshot
		if l.Revision != "" {
			var err error
			if s, err = c.snapshot(ctx, l.Revision); err != nil {
				if !state.IsDamaged(err) {
					return nil, err
				}
				damaged = errors.Join(damaged,
					fmt.Errorf("revision %s, the last known good one of %d members: %w", l.Revision, len(l.Members), err))
				continue
			}
		}
		for _, m := range l.Members {
			out[fleetstate.ID{Hub: m[0], Name: m[1]}] = s
		}
	}
	return out, damaged
}

// snapshot reads that of a revision, which a record names: if it is missing, it is damaged.
func (c *checkpoint) snapshot(ctx context.Context, revision string) (*snapshot.Snapshot, error) {
	saved, _, err := snapshotDocument(c.store, revision).Read(ctx)
	if err == nil && saved == nil {
		err = &state.Damaged{Record: snapshotRecord(revision), Why: "it is missing"}
	}
	if err != nil {
		if state.IsDamaged(err) {
			c.damaged[snapshotRecord(revision)] = true
		}
		return nil, err
	}
	return saved.snapshot(), nil
}

// write writes a snapshot and the last known good ones. If a replica has written the same snapshot
// with other last known good ones, it returns those instead.
func (c *checkpoint) write(ctx context.Context, s *snapshot.Snapshot, lkg fleetstate.LastKnownGood) (theirs fleetstate.LastKnownGood, err error) {
	next := accepted{s.Revision, listLastKnownGood(lkg)}
	err = state.Retry(func() error {
		theirs = nil
		now, changed, err := c.accepted.Read(ctx)
		if err != nil && !state.IsDamaged(err) {
			return err
		}
		if now != nil && now.Revision == next.Revision && len(c.damaged) == 0 {
			if now.equal(next) {
				return nil
			}
			if changed {
				if theirs, err = c.lastKnownGood(ctx, *now); !state.IsDamaged(err) {
					return err
				}
				theirs = nil
			}
		}
		return c.replace(ctx, s, lkg, next)
	})
	if err != nil {
		return nil, err
	}
	return theirs, nil
}

// replace writes the missing snapshots and the record, and then removes the snapshots that the
// record does not name. A replica may have removed a snapshot before the record named it, so it
// looks for them once more.
func (c *checkpoint) replace(ctx context.Context, s *snapshot.Snapshot, lkg fleetstate.LastKnownGood, next accepted) error {
	needed := map[string]*snapshot.Snapshot{snapshotRecord(s.Revision): s}
	for _, l := range lkg {
		if l != nil {
			needed[snapshotRecord(l.Revision)] = l
		}
	}
	if _, err := c.writeSnapshots(ctx, needed); err != nil {
		return err
	}
	if err := c.accepted.Write(ctx, next); err != nil {
		return err
	}
	names, err := c.writeSnapshots(ctx, needed)
	for _, name := range names {
		if strings.HasPrefix(name, snapshotPrefix) && needed[name] == nil {
			err = errors.Join(err, c.store.Remove(ctx, name))
		}
	}
	return err
}

// writeSnapshots writes those that are missing or damaged, and returns the names of all records
// before.
func (c *checkpoint) writeSnapshots(ctx context.Context, needed map[string]*snapshot.Snapshot) ([]string, error) {
	names, err := c.store.Names(ctx)
	if err != nil {
		return nil, err
	}
	for name, s := range needed {
		if slices.Contains(names, name) && !c.damaged[name] {
			continue
		}
		d := snapshotDocument(c.store, s.Revision)
		if _, _, err := d.Read(ctx); err != nil && !state.IsDamaged(err) {
			return nil, err
		}
		if err := d.Write(ctx, saveSnapshot(s)); err != nil && !errors.Is(err, state.ErrConflict) { // a replica has written it
			return nil, err
		}
	}
	clear(c.damaged)
	return names, nil
}
