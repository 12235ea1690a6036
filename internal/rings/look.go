package rings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/rollout"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/state"
)

// Look brings all policies up to date with the served state. Where a ring has moved, the state is
// published anew, so that caches by state are filled anew.
func (r *Rings) Look(ctx context.Context) {
	st := r.o.State()
	if st == nil || len(st.Fleet.Rollouts) == 0 {
		return
	}
	r.looking.Lock()
	defer r.looking.Unlock()
	moved := r.read(ctx, st)
	if agentOf(st) != "" {
		for _, policy := range st.Fleet.Rollouts {
			moved = r.follow(ctx, st, policy) || moved
		}
		r.o.Report(r.reports(r.viewOf(st)))
		if moved {
			r.o.Reconsider()
		}
		return
	}
	v := r.viewOf(st)
	health := r.health(ctx, v)
	for n, x := range v.rings {
		moved = r.advance(ctx, v, x.policy, health[n]) || moved
	}
	if moved {
		r.checking.Fire() // those of the new train
		r.o.Reconsider()
	}
}

// read reads the records that have not been read yet, and begins those that there are none of. It
// reports whether what the rings have is another now.
func (r *Rings) read(ctx context.Context, st *fleetstate.State) (changed bool) {
	for _, policy := range st.Fleet.Rollouts {
		r.mu.Lock()
		p := r.policies[policy.Name]
		r.mu.Unlock()
		if p == nil {
			continue
		}
		if p.isRead && p.record == nil {
			if p.isLost {
				changed = r.retry(p, st) || changed
			}
			continue
		}
		limited, cancel := context.WithTimeout(ctx, state.Timeout)
		log, isNew, err := p.record.Read(limited)
		if err == nil && log != nil && isNew {
			err = r.restore(limited, *log)
		}
		cancel()
		r.mu.Lock()
		p.problem = ""
		switch {
		case state.IsDamaged(err):
			p.isRead, p.isLost, p.problem = true, p.log.Rings == nil, err.Error()
			changed = true
		case err != nil:
			p.problem = err.Error()
		case log != nil && (isNew || !p.isRead):
			changed = changed || !p.isRead || !log.Equal(p.log)
			p.log, p.isRead, p.isLost, p.noted = *log, true, false, log.Seen()
		case log == nil && (!p.isRead || p.isLost):
			was := p.isRead
			p.isRead = true
			r.begin(p, st)
			changed = changed || !was || !p.isLost
		}
		r.mu.Unlock()
	}
	return changed
}

// retry tries to begin a policy whose records are lost.
func (r *Rings) retry(p *policyState, st *fleetstate.State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(p, st)
	return !p.isLost
}

// advance brings one policy up to date, and reports whether a ring has moved.
func (r *Rings) advance(ctx context.Context, v *view, policy *rollout.Policy, health map[string]rollout.RingHealth) bool {
	r.mu.Lock()
	p, before := r.logOf(policy.Name)
	if p == nil {
		r.mu.Unlock()
		return false
	}
	there := map[string]bool{}
	for rev := range r.revisions {
		there[rev] = true
	}
	checks := p.checks
	r.mu.Unlock()
	now := r.o.Now()
	next, waits := rollout.Advance(policy, before.Drain(v.draining(policy)), rollout.Facts{Newest: v.st.Revision, Health: health, Checks: checks, IsThere: func(rev string) bool { return there[rev] }}, now)
	if p.record != nil && (!next.Equal(before) || next.Soaks() && now.Sub(p.noted) >= rollout.NoteInterval) {
		if err := r.write(ctx, p, next); err != nil {
			r.noteFailedWrite(p, policy.Name, err)
			r.mu.Lock()
			p.waits = waits
			r.mu.Unlock()
			return false
		}
		p.noted = now
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.log, p.waits = next, waits
	hasMoved := !maps.Equal(before.Draining, next.Draining)
	for _, ring := range policy.Rings {
		from, to := before.Rings[ring.Name].Train, next.Rings[ring.Name].Train
		if from.Number > 0 && from == to || to.Number == 0 {
			continue
		}
		hasMoved, p.isLost = true, false
		r.o.Logger.Info("a ring takes a revision", "rollout", policy.Name, "ring", ring.Name, "from", from.Revision, "revision", to.Revision, "rejection", next.Rings[ring.Name].Rejection)
	}
	return hasMoved
}

// logOf is a policy whose records have been read, with its log; nil before that. A log that is lost
// is empty. The caller holds the lock.
func (r *Rings) logOf(policy string) (*policyState, rollout.Log) {
	p := r.policies[policy]
	switch {
	case p == nil || !p.isRead:
		return nil, rollout.Log{}
	case p.isLost:
		return p, rollout.Log{}
	}
	return p, p.log
}

// noteFailedWrite notes that the store has not taken a policy's records, and looks again.
func (r *Rings) noteFailedWrite(p *policyState, policy string, err error) {
	if !errors.Is(err, state.ErrConflict) { // a replica has been faster: its records are read at once
		r.o.Logger.Error("the store does not take the records of a rollout", "rollout", policy, "error", err)
	}
	r.mu.Lock()
	p.problem = err.Error()
	r.mu.Unlock()
	r.trigger.Fire()
}

// write writes the files of the revisions that a log names, and then the log.
func (r *Rings) write(ctx context.Context, p *policyState, log rollout.Log) error {
	ctx, cancel := context.WithTimeout(ctx, state.Timeout)
	defer cancel()
	names, err := r.o.Store.Names(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for rev := range log.Revisions() {
		name := recordOf(rev)
		needed[name] = true
		r.mu.Lock()
		var files *snapshot.Snapshot
		if known := r.revisions[rev]; known != nil {
			files = known.state.Resolver().Snapshot
		}
		r.mu.Unlock()
		if files == nil || slices.Contains(names, name) {
			continue
		}
		data, err := refresh.Archive(files)
		if err == nil {
			_, err = r.o.Store.Write(ctx, name, data, "")
		}
		if err != nil && !errors.Is(err, state.ErrConflict) { // a replica has written it
			return err
		}
	}
	if err := p.record.Write(ctx, log); err != nil {
		return err
	}
	r.mu.Lock()
	for _, other := range r.policies {
		for rev := range other.log.Revisions() {
			needed[recordOf(rev)] = true
		}
	}
	r.mu.Unlock()
	for _, name := range names {
		if strings.HasPrefix(name, snapshotKind+"-") && !needed[name] {
			err = errors.Join(err, r.o.Store.Remove(ctx, name))
		}
	}
	return err
}

// snapshotKind names the records of rings' revisions.
var snapshotKind = state.Name("rollout-files", 1)

func recordOf(revision string) string {
	sum := sha256.Sum256([]byte(revision))
	return snapshotKind + "-" + hex.EncodeToString(sum[:10])
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
		data, _, err := r.o.Store.Read(ctx, recordOf(rev))
		if errors.Is(err, state.ErrNotFound) || state.IsDamaged(err) {
			r.o.Logger.Error("the files of a ring's revision cannot be used", "revision", rev, "error", err)
			continue
		}
		if err != nil {
			return err
		}
		files, err := refresh.Unarchive(rev, data)
		if err == nil {
			var now *fleetstate.State
			if now, err = fleetstate.Build(st, files, st.Facts()); err == nil {
				r.mu.Lock()
				r.revisions[rev] = &revision{state: now, responses: new(response.Cache)}
				r.recent = append([]string{rev}, r.recent...)
				r.mu.Unlock()
			}
		}
		if err != nil {
			r.o.Logger.Error("the files of a ring's revision cannot be used", "revision", rev, "error", err)
		}
	}
	return nil
}

// draining are the members of a policy that drain, with the names of their rings.
func (v *view) draining(policy *rollout.Policy) map[string]string {
	out := map[string]string{}
	for i, m := range v.st.Fleet.Members(v.hub) {
		if v.st.ClustersOf(v.hub)[i].LastKnownGood == nil || v.st.DrainingRevision(m) == "" {
			continue
		}
		if i := ringIn(policy, m); i != none {
			out[m.Name] = policy.Rings[i].Name
		}
	}
	return out
}
