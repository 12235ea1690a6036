package rings

import (
	"context"
	"errors"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// A policy's record outlives its file. A policy of that name begins anew (rule 5), as all members
// have had the newest revision meanwhile. So the record of one that is gone is ended.

const recordKind, recordFormat = "rollout-", 1

func newRecord(s *store.Store, policy string) *store.Document[rollout.Log] {
	return store.NewDocument[rollout.Log](s, recordKind+policy, recordFormat)
}

// policyOfRecord is the policy that a record of the store is about.
func policyOfRecord(name string) (policy string, is bool) {
	rest, is := strings.CutPrefix(name, recordKind)
	policy = strings.TrimSuffix(rest, store.Name("", recordFormat))
	return policy, is && policy != rest
}

// endOthers ends the records of policies that the served state does not have, unless a replica may
// serve a later one, and removes the files that no record names. It is done once for each revision.
func (r *Rings) endOthers(ctx context.Context, st *fleetstate.State) {
	if r.o.Store == nil || r.ended == st.Revision {
		return
	}
	r.ended = "" // a revision that comes back may have had another policy in between
	ctx, cancel := context.WithTimeout(ctx, store.Timeout)
	defer cancel()
	names, err := r.o.Store.Names(ctx)
	isDone := err == nil
	for _, name := range names {
		policy, is := policyOfRecord(name)
		if !is || policy == holdsRecord || newestOf(st, policy) != nil || r.knows(policy) {
			continue
		}
		record := newRecord(r.o.Store, policy)
		log, _, readErr := record.Read(ctx)
		switch {
		case store.IsDamaged(readErr) && !r.o.ReadAt(st.Revision).IsZero(): // it says nothing to go on from
			err = errors.Join(err, record.Write(ctx, rollout.Log{Ended: true}))
		case readErr != nil:
			err = errors.Join(err, readErr)
		case log == nil || log.Ended:
		case r.o.ReadAt(st.Revision).IsZero():
			isDone = false
		case log.IsOlderThan(rollout.Facts{Newest: st.Revision, Before: r.looked, ReadAt: r.o.ReadAt(st.Revision)}):
			if log.InForce != nil { // a replica has seen its file
				r.locked(func() { r.policies[policy] = r.recorded(policy, log.InForce) })
				r.o.Reconsider()
				continue
			}
			err = errors.Join(err, record.Write(ctx, rollout.Log{Ended: true}))
			r.o.Logger.Info("a rollout has ended, as the fleet has no such policy any more", "rollout", policy, "revision", st.Revision)
		default:
			isDone = false
		}
	}
	if err == nil && isDone && !r.HasPolicies(st) {
		err = r.removeFiles(ctx, names, map[string]*snapshot.Snapshot{})
	}
	if err != nil {
		r.o.Logger.Warn("the records of rollouts that the fleet does not have cannot be ended yet", "error", err)
		return
	}
	if isDone {
		r.ended = st.Revision
	}
}
