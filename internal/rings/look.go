package rings

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/roster"
)

// Look brings all policies up to date with the served state. Where a ring has moved, the state is
// published anew, so that caches by state are filled anew.
func (r *Rings) Look(ctx context.Context) {
	st := r.o.State()
	if st == nil {
		return
	}
	r.looking.Lock()
	defer r.looking.Unlock()
	defer func() { // a policy that goes on under another name has a record by then
		r.endOthers(ctx, st)
		r.looked = st.Revision
	}()
	isAgent := agentOf(st) != ""
	moved := r.lookAtHolds(ctx, st)
	if !r.HasPolicies(st) && !isAgent {
		if moved {
			r.o.Reconsider()
		}
		return
	}
	moved = r.read(ctx, st) || moved
	changing, err := r.succeed(ctx, st)
	if err != nil {
		r.o.Logger.Error("the store does not take the records of new rollouts", "error", err)
	}
	if isAgent {
		for _, policy := range r.counting(st) {
			moved = r.follow(ctx, st, policy, changing[policy.Name]) || moved
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
		moved = r.advance(ctx, v, x.policy, health[n], changing[x.policy.Name]) || moved
	}
	if moved {
		r.checking.Fire() // those of the new train
		r.o.Reconsider()
	}
}

// read reads the records that have not been read yet, and begins those that there are none of. It
// reports whether what the rings have is another now.
func (r *Rings) read(ctx context.Context, st *fleetstate.State) (changed bool) {
	r.mu.Lock()
	known := maps.Clone(r.policies)
	r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		p := known[name]
		if p.isRead && p.record == nil {
			if p.isLost {
				changed = r.retry(p, st) || changed
			}
			continue
		}
		limited, cancel := context.WithTimeout(ctx, store.Timeout)
		log, isNew, err := p.record.Read(limited)
		isNew = isNew || p.isStale
		isEnded := log != nil && log.Ended
		if isEnded {
			log = nil
		}
		if err == nil && log != nil && isNew {
			r.mu.Lock()
			p.needs = log.Revisions() // another state may be served while they are read
			r.mu.Unlock()
			err = r.restore(limited, *log)
		}
		cancel()
		r.locked(func() {
			p.problem, p.isStale = "", err != nil && !store.IsDamaged(err)
			switch {
			case store.IsDamaged(err):
				isLost := p.log.Rings == nil
				changed = changed || !p.isRead || p.isLost != isLost
				p.isRead, p.isLost, p.problem = true, isLost, err.Error()
			case err != nil:
				p.problem = err.Error()
				r.hasStarted.Store(true)
			case log == nil && newestOf(st, name) == nil && (isEnded || !p.isRead && p.before == ""):
				p.isEnded, changed = true, true
			case isEnded && p.isRead && !p.isLost:
				p.isStale, p.problem = true, "a replica serves a commit without this policy: this one waits until it serves a later one"
			case log != nil && (isNew || !p.isRead):
				changed = changed || !p.isRead || !haveSame(*log, p.log)
				p.log, p.isRead, p.isLost, p.noted, p.needs = *log, true, false, log.Seen(), nil
			case log == nil && (!p.isRead || p.isLost):
				was := p.isRead
				r.begin(p, st)
				p.isRead = true // not before: a panic leaves a log that is empty
				changed = changed || !was || !p.isLost
			}
		})
	}
	return changed
}

// haveSame reports whether rings and agents' groups have the same by two logs, and the same policy
// is in force.
func haveSame(a, b rollout.Log) bool {
	return a.InForce.Equal(b.InForce) && maps.EqualFunc(a.Rings, b.Rings, func(x, y rollout.Record) bool {
		return x.Train == y.Train && x.Released == y.Released
	})
}

// retry tries to begin a policy whose records are lost.
func (r *Rings) retry(p *policyState, st *fleetstate.State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(p, st)
	return !p.isLost
}

// advance brings one policy up to date, and reports whether a ring has moved. Of a lost policy,
// nothing is written before a pin: what runs may turn out to be known. Where another revision is
// served by now, its policy decides, at the next look.
func (r *Rings) advance(ctx context.Context, v *view, policy *rollout.Policy, health map[string]rollout.RingHealth, c *change) bool {
	r.mu.Lock()
	p, before := r.logOf(policy.Name)
	if p == nil || p.isStale || p.isEnded || r.recent[len(r.recent)-1] != v.st.Revision {
		r.mu.Unlock()
		return false
	}
	there := map[string]bool{}
	for rev := range r.revisions {
		there[rev] = true
	}
	checks, needs := p.checks, p.needs
	p.needs = there // other states may be served while the log is written
	r.mu.Unlock()
	defer r.locked(func() { p.needs = needs })
	now := r.o.Now()
	next, waits := rollout.Advance(policy, before, rollout.Facts{
		Newest: v.st.Revision, Before: p.advanced, ReadAt: r.o.ReadAt(v.st.Revision), Policy: newestOf(v.st, policy.Name), Health: health, Checks: checks, IsThere: func(rev string) bool { return there[rev] },
		MayFollow: func(ring, from, to string) bool {
			return v.mayFollow(policy, ring, r.knownState(from), r.knownState(to))
		},
	}, now)
	if next = r.put(next, c); p.record != nil {
		next = next.Keep(r.kept)
	}
	if p.record != nil && !(p.isLost && next.IsLost()) && (!next.Equal(before) || next.Soaks(policy) && now.Sub(p.noted) >= rollout.NoteInterval) {
		if err := r.write(ctx, policy.Name, p.record, next); err != nil {
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
	r.noteChange(policy.Name, p, next, c)
	p.log, p.waits, p.advanced = next, waits, v.st.Revision
	hasMoved := c != nil
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

// noteFailedWrite notes that the store has not taken a policy's records. The next look tries again,
// at the latest after an interval.
func (r *Rings) noteFailedWrite(p *policyState, policy string, err error) {
	if !errors.Is(err, store.ErrConflict) { // a replica has been faster: its records are read then
		r.o.Logger.Error("the store does not take the records of a rollout", "rollout", policy, "error", err)
	}
	r.mu.Lock()
	p.problem = err.Error()
	r.mu.Unlock()
}

// mayFollow reports whether the clusters of a ring that the hub makes may become what another
// revision asks for (C2). Of a revision that is not at hand nothing is known.
func (v *view) mayFollow(p *rollout.Policy, ring string, from, to *fleetstate.State) bool {
	if from == nil || to == nil || !p.Scope.CoversPart(provision.Group) {
		return true
	}
	for _, m := range v.roster.Members {
		if i := roster.RingIn(p, m); i == roster.None || p.Rings[i].Name != ring {
			continue
		}
		was, is := from.Fleet.Member(v.hub, m.Name), to.Fleet.Member(v.hub, m.Name)
		if was != nil && is != nil && len(provision.Change(was.Provision, is.Provision)) > 0 {
			return false
		}
	}
	return true
}
