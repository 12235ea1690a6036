package rings

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/response"
)

// write writes the files of the revisions that a policy's log names, and then the log.
func (r *Rings) write(ctx context.Context, policy string, record *store.Document[rollout.Log], log rollout.Log) error {
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	needed := map[string]*snapshot.Snapshot{}
	for rev := range log.Revisions() {
		if r.tookJoined(rev) {
			r.files.Renew(rev)
		}
		needed[r.files.Record(rev)] = r.snapshotOf(rev)
	}
	names, err := r.files.Write(ctx, needed)
	if err != nil {
		return err
	}
	if err := record.Write(ctx, log); err != nil {
		return err
	}
	if err := r.removeFiles(ctx, names, needed); err != nil { // the next record tries again
		r.o.Logger.Warn("files that no ring needs any more are not removed yet", "rollout", policy, "error", err)
	}
	return nil
}

// tookJoined reports whether members have joined a revision since its files were written. A restart
// reads the files that they have joined with, and not those of a later commit.
func (r *Rings) tookJoined(rev string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.revisions[rev]
	if known == nil || !known.hasJoined {
		return false
	}
	known.hasJoined = false
	return true
}

// restore reads the files of the revisions that a log names and nobody here has.
func (r *Rings) restore(ctx context.Context, log rollout.Log) error {
	st := r.o.State()
	for rev := range log.Revisions() {
		r.mu.Lock()
		known := r.revisions[rev] != nil
		r.mu.Unlock()
		if known || st == nil {
			continue
		}
		now, err := r.stateOf(ctx, st, rev, log.Kept[rev])
		if err != nil && !store.IsDamaged(err) { // to be read again
			return err
		}
		if err != nil {
			r.o.Logger.Error("the files of a ring's revision cannot be used", "revision", rev, "error", err)
			continue
		}
		r.restored(rev, now)
	}
	return nil
}

// restored takes in the state of a revision whose files have been read. Where the revision has been
// served meanwhile, its own state stays: that one has the last known good snapshots of members.
func (r *Rings) restored(name string, st *fleetstate.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tried, name)
	if r.revisions[name] != nil {
		return
	}
	r.revisions[name] = &revision{state: st, responses: new(response.Cache)}
	r.recent = slices.Insert(r.recent, 0, name)
}

// stateOf computes the state of a revision as it was before a restart; a *store.Damaged error says
// that this is not possible. The newest state knows of later values, which members must not get by
// it.
func (r *Rings) stateOf(ctx context.Context, newest *fleetstate.State, rev string, kept rollout.Kept) (*fleetstate.State, error) {
	files, err := r.files.Read(ctx, rev)
	if err != nil {
		return nil, err
	}
	var accepted refresh.Accepted
	if len(kept.State) > 0 {
		if err := json.Unmarshal(kept.State, &accepted); err != nil {
			return nil, &store.Damaged{Record: r.files.Record(rev), Why: err.Error()}
		}
	}
	lkg, err := accepted.Members(func(revision string) (*snapshot.Snapshot, error) { return r.files.Read(ctx, revision) })
	if err != nil && !store.IsDamaged(err) {
		return nil, err
	}
	if err != nil { // those members are as at a first start
		r.o.Logger.Error("last known good files of a ring's revision cannot be used", "revision", rev, "error", err)
	}
	out, err := fleetstate.Restore(newest, files, newest.Facts(), lkg, accepted.Holds...)
	if err != nil {
		return nil, &store.Damaged{Record: r.files.Record(rev), Why: err.Error()}
	}
	return out, nil
}

// kept is what a restart needs of a revision besides its files; false where that is nothing.
func (r *Rings) kept(rev string) (rollout.Kept, bool) {
	st := r.knownState(rev)
	if st == nil {
		return rollout.Kept{}, false
	}
	lkg, holds := st.LastKnownGood(), st.Holds("")
	if len(lkg) == 0 && len(holds) == 0 {
		return rollout.Kept{}, false
	}
	out := rollout.Kept{Revisions: []string{}}
	for _, good := range lkg {
		if good != nil && !slices.Contains(out.Revisions, good.Revision) {
			out.Revisions = append(out.Revisions, good.Revision)
		}
	}
	slices.Sort(out.Revisions)
	var err error
	out.State, err = json.Marshal(refresh.AcceptedOf(rev, lkg, holds))
	return out, err == nil
}

// knownState is the state of a revision; nil if it is not at hand.
func (r *Rings) knownState(rev string) *fleetstate.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.revisions[rev]; known != nil {
		return known.state
	}
	return nil
}

// snapshotOf are the files of a revision, of a ring or that a member is served from; nil if they
// are not at hand.
func (r *Rings) snapshotOf(rev string) *snapshot.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.revisions[rev]; known != nil {
		return known.state.Resolver().Snapshot
	}
	for _, known := range r.revisions {
		for _, good := range known.state.LastKnownGood() {
			if good != nil && good.Revision == rev {
				return good
			}
		}
	}
	return nil
}

// removeFiles removes the files of revisions that are not needed and that no record names. All
// records are read for it: a replica may have written one, or one of a policy not known here.
func (r *Rings) removeFiles(ctx context.Context, names []string, needed map[string]*snapshot.Snapshot) error {
	if len(r.files.Unneeded(names, needed)) == 0 {
		return nil
	}
	for _, name := range names {
		policy, is := policyOfRecord(name)
		if !is {
			continue
		}
		log, _, err := newRecord(r.o.Store, policy).Read(ctx)
		if err != nil {
			return err
		}
		if log == nil {
			continue
		}
		for rev := range log.Revisions() {
			needed[r.files.Record(rev)] = nil
		}
	}
	var err error
	for _, name := range r.files.Unneeded(names, needed) {
		err = errors.Join(err, r.o.Store.Remove(ctx, name))
	}
	return err
}
