package refresh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// checkpoint keeps what a restart goes on from: the accepted snapshot and the last known good
// snapshots of quarantined and draining members. Snapshots are written first, each in a record of
// its own; then, in one step, the record that names them.
type checkpoint struct {
	store     *store.Store
	accepted  *store.Document[Accepted]
	snapshots *Snapshots
	// serving shares its files with the snapshots that are read.
	serving *snapshot.Snapshot
	// isNews reports that a replica has written the record, and that this was not taken in yet.
	isNews bool
}

// Accepted names a snapshot and what its state cannot be computed from it alone: the record of a
// checkpoint, which names all others.
type Accepted struct {
	Revision string `json:"revision"`
	// LastKnownGood has the revision that a member is served from, by hub and name; "" for one that
	// is left out.
	LastKnownGood map[string]map[string]string `json:"lastKnownGood,omitempty"`
	// Holds are the held tenants, whose members are among those.
	Holds []fleetstate.Hold `json:"holds,omitempty"`
}

// keptMembers are the members that are not served from the accepted snapshot.
type keptMembers struct {
	lastKnownGood fleetstate.LastKnownGood
	holds         []fleetstate.Hold
}

func newCheckpoint(s *store.Store) *checkpoint {
	return &checkpoint{store: s, accepted: store.NewDocument[Accepted](s, "accepted", 3), snapshots: NewSnapshots(s, "snapshots", 3)}
}

func (a Accepted) equal(b Accepted) bool {
	return a.Revision == b.Revision && slices.EqualFunc(a.Holds, b.Holds, fleetstate.Hold.Equal) &&
		maps.EqualFunc(a.LastKnownGood, b.LastKnownGood, maps.Equal[map[string]string, map[string]string])
}

// AcceptedOf names a snapshot and the members that are not served from it.
func AcceptedOf(revision string, lkg fleetstate.LastKnownGood, holds []fleetstate.Hold) Accepted {
	out := Accepted{Revision: revision, LastKnownGood: map[string]map[string]string{}, Holds: holds}
	for id, good := range lkg {
		if out.LastKnownGood[id.Hub] == nil {
			out.LastKnownGood[id.Hub] = map[string]string{}
		}
		revision := ""
		if good != nil {
			revision = good.Revision
		}
		out.LastKnownGood[id.Hub][id.Name] = revision
	}
	return out
}

// read returns what was written last, nil if there is nothing. A *store.Damaged error beside a
// snapshot is about last known good ones: their members are as at a first start.
func (c *checkpoint) read(ctx context.Context) (*snapshot.Snapshot, *keptMembers, error) {
	a, _, err := c.accepted.Read(ctx)
	if err != nil || a == nil {
		return nil, nil, err
	}
	s, err := c.snapshots.Read(ctx, a.Revision)
	if err != nil {
		return nil, nil, err
	}
	c.serving = s
	kept, err := c.keptMembers(ctx, *a)
	if err != nil && !store.IsDamaged(err) {
		return nil, nil, err
	}
	return s, kept, err
}

// keptMembers reads the snapshots that a record names. A *store.Damaged error comes with those that
// can be used.
func (c *checkpoint) keptMembers(ctx context.Context, a Accepted) (*keptMembers, error) {
	lkg, err := a.Members(func(revision string) (*snapshot.Snapshot, error) { return c.snapshots.Read(ctx, revision, c.serving) })
	if lkg == nil {
		return nil, err
	}
	return &keptMembers{lkg, a.Holds}, err
}

// Members are the last known good snapshots of members, read by their revisions. A *store.Damaged
// error comes with those that can be used, any other one with none.
func (a Accepted) Members(snapshotOf func(revision string) (*snapshot.Snapshot, error)) (fleetstate.LastKnownGood, error) {
	out := fleetstate.LastKnownGood{}
	read := map[string]*snapshot.Snapshot{"": nil}
	damaged := map[string]error{}
	for hub, members := range a.LastKnownGood {
		for name, revision := range members {
			if _, is := read[revision]; !is && damaged[revision] == nil {
				s, err := snapshotOf(revision)
				switch {
				case store.IsDamaged(err):
					damaged[revision] = fmt.Errorf("the last known good revision %s of members: %w", revision, err)
				case err != nil:
					return nil, err
				default:
					read[revision] = s
				}
			}
			if s, is := read[revision]; is {
				out[fleetstate.ID{Hub: hub, Name: name}] = s
			}
		}
	}
	return out, errors.Join(slices.SortedFunc(maps.Values(damaged), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })...)
}

// write writes a snapshot and the last known good ones. If a replica has written the same snapshot
// with others, it returns those instead.
func (c *checkpoint) write(ctx context.Context, s *snapshot.Snapshot, kept keptMembers) (theirs *keptMembers, err error) {
	c.serving = s
	next := AcceptedOf(s.Revision, kept.lastKnownGood, kept.holds)
	err = store.Retry(func() error {
		theirs = nil
		now, changed, err := c.accepted.Read(ctx)
		if err != nil && !store.IsDamaged(err) {
			return err
		}
		c.isNews = c.isNews || changed
		if now != nil && now.Revision == next.Revision && len(c.snapshots.damaged) == 0 {
			if now.equal(next) {
				c.isNews = false
				return nil
			}
			if c.isNews {
				if theirs, err = c.keptMembers(ctx, *now); !store.IsDamaged(err) {
					if err == nil && theirs.complete(kept.lastKnownGood) {
						err = c.replace(ctx, s, theirs.lastKnownGood, AcceptedOf(s.Revision, theirs.lastKnownGood, theirs.holds))
					}
					c.isNews = err != nil
					return err
				}
				theirs = nil
			}
		}
		c.isNews = false
		return c.replace(ctx, s, kept.lastKnownGood, next)
	})
	if err != nil {
		return nil, err
	}
	return theirs, nil
}

// complete adds the snapshots that another replica lacks, as it may have missed a commit or lost a
// record. It reports whether there are any.
func (k *keptMembers) complete(ours fleetstate.LastKnownGood) (isMore bool) {
	for id, good := range ours {
		if good != nil && k.lastKnownGood[id] == nil {
			k.lastKnownGood[id], isMore = good, true
		}
	}
	return isMore
}

// replace writes the missing snapshots and the record, and then removes the snapshots that the
// record does not name. A replica may have removed a snapshot before the record named it, so it
// looks for them once more; and it removes none once a replica has replaced the record.
func (c *checkpoint) replace(ctx context.Context, s *snapshot.Snapshot, lkg fleetstate.LastKnownGood, next Accepted) error {
	needed := map[string]*snapshot.Snapshot{c.snapshots.Record(s.Revision): s}
	for _, good := range lkg {
		if good != nil {
			needed[c.snapshots.Record(good.Revision)] = good
		}
	}
	if _, err := c.snapshots.Write(ctx, needed); err != nil {
		return err
	}
	if err := c.accepted.Write(ctx, next); err != nil {
		return err
	}
	names, err := c.snapshots.Write(ctx, needed)
	for _, name := range c.snapshots.Unneeded(names, needed) {
		if c.accepted.IsCurrent(ctx) {
			err = errors.Join(err, c.store.Remove(ctx, name))
		}
	}
	return err
}
