package rings

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// A commit does not set the rules that it is judged by (rule 11): the policies that count are those
// in force, and not those of the newest files.

// newest returns the policies in a state's files that take part. On an agent, a policy that the hub
// announces covers the whole groups that it is announced for, if no file has it or the hub has
// another one of its name in force.
func newest(st *fleetstate.State) []*rollout.Policy {
	groups := map[string][]string{}
	grants, _ := st.Facts().Grants(agentOf(st))
	for _, g := range grants {
		for name := range rollout.ParseAnnouncement(g.Rings) {
			isFile := slices.ContainsFunc(st.Fleet.Rollouts, func(p *rollout.Policy) bool { return p.Name == name && takesPart(st, p) })
			if g.Held && !g.IsDeleted && (!isFile || isPending(st, name, g.Group)) {
				groups[name] = append(groups[name], g.Group)
			}
		}
	}
	out := slices.DeleteFunc(slices.Clone(st.Fleet.Rollouts), func(p *rollout.Policy) bool { return !takesPart(st, p) || groups[p.Name] != nil })
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, unknown(name, rollout.Scope{Groups: groups[name]}))
	}
	return out
}

// unknown returns a policy of which only the name and what it may be about are known.
func unknown(name string, scope rollout.Scope) *rollout.Policy {
	return &rollout.Policy{Name: name, Agents: true, Scope: scope, Rings: []rollout.Ring{{Name: "all"}}}
}

// newestOf returns the policy of a name among the newest, nil without one.
func newestOf(st *fleetstate.State, name string) *rollout.Policy {
	all := newest(st)
	if i := slices.IndexFunc(all, func(p *rollout.Policy) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// isWithoutFile reports whether no file has said what a policy is.
func isWithoutFile(p *rollout.Policy) bool { return p.Pos.File == "" }

// policiesOf returns the policies that count while a state is served: those in force, and those
// that nobody knows yet. A policy that covers what another one in force covers is not among them:
// it waits. The caller holds the lock.
func (r *Rings) policiesOf(st *fleetstate.State) []*rollout.Policy {
	out, all := r.inForce(st), newest(st)
	for _, p := range all {
		if r.policies[p.Name] == nil && (isWithoutFile(p) || !overlaps(out, p)) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *rollout.Policy) int {
		if isWithoutFile(a) != isWithoutFile(b) { // what a file says is more exact
			return cmp.Compare(b.Pos.File, a.Pos.File)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return out
}

// inForce returns the policies in force, as a state steers them. The caller holds the lock.
func (r *Rings) inForce(st *fleetstate.State) (out []*rollout.Policy) {
	for _, name := range slices.Sorted(maps.Keys(r.policies)) {
		if p := r.policies[name].inForce(newestOf(st, name)); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// overlaps reports whether a policy covers something that another one of several covers.
func overlaps(all []*rollout.Policy, p *rollout.Policy) bool {
	return slices.ContainsFunc(all, func(o *rollout.Policy) bool { return o.Name != p.Name && o.Scope.Overlaps(p.Scope) })
}

// inForce returns the policy that counts while the newest files have another, or none; nil where
// none does. It is the newest where both have one shape.
func (p *policyState) inForce(newest *rollout.Policy) *rollout.Policy {
	f := p.log.InForce
	switch {
	case p.isEnded || newest == nil && p.isLost:
		return nil
	case newest == nil && f == nil && !p.isRead:
		return p.policy
	case f == nil || p.isLost || f.HasShape(newest):
		return newest
	case p.steered == nil || p.steeredBy != newest || p.steeredFrom != f:
		p.steered, p.steeredBy, p.steeredFrom = f.With(newest), newest, f
	}
	return p.steered
}

// isPending reports whether the newest files have another policy than the one in force, or none.
func (p *policyState) isPending(newest *rollout.Policy) bool {
	return p.log.InForce != nil && !p.isLost && !p.isEnded && !p.log.InForce.HasShape(newest)
}

// change is a policy that comes into force, from a train on, in the place of what its name had. Nil
// stands for no policy.
type change struct {
	had, policy, newest *rollout.Policy
	from                rollout.Train
	// as is the other name under which the policy goes on, if the files have it under one.
	as string
	// after is the policy that a new one goes on from; empty for one that is not new.
	after string
}

// findNext finds what comes into force by the rings of a policy. The caller holds the lock.
func (r *Rings) findNext(st *fleetstate.State, p *policyState, c *change) {
	f, is := p.log.InForce, c.newest
	if !p.isRead || p.isStale || !p.isPending(is) || is != nil && isWithoutFile(is) {
		return
	}
	if agentOf(st) != "" {
		for _, revision := range announced(st, f.Name) {
			known := r.revisions[revision]
			if known == nil || !is.HasShape(newestOf(known.state, f.Name)) {
				return
			}
		}
		c.policy, c.from = is, p.log.Newest
		return
	}
	train := p.log.Rings[f.Rings[len(f.Rings)-1].Name].Train
	known, all := r.revisions[train.Revision], newest(st)
	if f.Until.Number > 0 && train.Number >= f.Until.Number && known != nil {
		c.policy, c.from = newestOf(known.state, f.Name), train
	} else if i := slices.IndexFunc(all, f.HasShape); is == nil && i >= 0 {
		c.policy, c.as = nil, all[i].Name
	}
}

// changing returns the policies that come into force now, by name. Policies that take over from
// each other change together: no two come to cover the same, and none lets go what a newest policy
// covers and nothing else.
func (r *Rings) changing(st *fleetstate.State) map[string]*change {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[string]*change{}
	for name, p := range r.policies {
		c := &change{newest: newestOf(st, name)}
		c.had = p.inForce(c.newest)
		c.policy = c.had
		r.findNext(st, p, c)
		all[name] = c
	}
	for _, q := range newest(st) {
		if all[q.Name] == nil { // it has waited
			all[q.Name] = &change{policy: q, newest: q, from: rollout.Train{Revision: st.Revision}}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	for i := 0; i < len(names); i++ {
		if c := all[names[i]]; c.policy != c.had && !c.fits(all) {
			c.policy, i = c.had, -1 // which others may not fit with
		}
	}
	for _, name := range names {
		for _, before := range names {
			if c, o := all[name], all[before]; c.had == nil && c.after == "" && o.policy != o.had && overlap(o.had, c.policy) {
				c.after = before
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, c *change) bool { return c.policy == c.had || c.had == nil && c.after == "" })
	return all
}

// fits reports whether a policy may come into force together with what all others have then.
func (c *change) fits(all map[string]*change) bool {
	if c.as != "" && all[c.as].policy != all[c.as].newest {
		return false
	}
	for _, o := range all {
		if o == c {
			continue
		}
		isCovered := func() bool { // what it lets go and the other wants
			for _, x := range all {
				if x != c && overlap(x.policy, c.had) && overlap(x.policy, o.newest) {
					return true
				}
			}
			return false
		}
		if overlap(c.policy, o.policy) && !overlap(c.had, o.had) || overlap(c.had, o.newest) && !overlap(c.policy, o.newest) && !isCovered() {
			return false
		}
	}
	return true
}

// overlap reports whether two policies cover the same.
func overlap(p, q *rollout.Policy) bool { return p != nil && q != nil && p.Scope.Overlaps(q.Scope) }

// succeed opens the policies that have waited, with the logs of those that they go on from. Their
// records are there before the others' end.
func (r *Rings) succeed(ctx context.Context, st *fleetstate.State) (map[string]*change, error) {
	changing := r.changing(st)
	for name, c := range changing {
		if c.after == "" {
			continue
		}
		r.mu.Lock()
		before := r.policies[c.after]
		next := &policyState{policy: c.policy, log: before.log.Put(c.policy, c.from, r.o.Now()), advanced: before.advanced, isRead: true}
		r.mu.Unlock()
		if r.o.Store != nil {
			next.record = newRecord(r.o.Store, name)
			theirs, _, err := next.record.Read(ctx)
			switch {
			case theirs != nil && !theirs.Ended: // a replica has been faster
				continue
			case err == nil, store.IsDamaged(err):
				err = r.write(ctx, name, next.record, next.log)
			}
			if err != nil {
				return nil, err
			}
		}
		r.locked(func() { r.policies[name] = next })
	}
	return changing, nil
}

// put puts a change into force, if there is one.
func (r *Rings) put(log rollout.Log, c *change) rollout.Log {
	if c == nil {
		return log
	}
	return log.Put(c.policy, c.from, r.o.Now())
}

// noteChange notes that a policy has changed, if it has. The caller holds the lock.
func (r *Rings) noteChange(name string, p *policyState, log rollout.Log, c *change) {
	if c == nil {
		return
	}
	if p.isEnded = log.Ended; p.isEnded {
		r.ended = "" // its files are not needed any more
	}
	r.o.Logger.Info("a changed rollout policy comes into force", "rollout", name, "ends", log.Ended)
}

// Await opens the policies whose records the store has: one may be in force whose file is gone. It
// returns false if the context ends before.
func (r *Rings) Await(ctx context.Context) bool {
	return r.o.Store == nil || store.Await(ctx, func(ctx context.Context) error {
		names, err := r.o.Store.Names(ctx)
		for _, name := range names {
			policy, is := policyOfRecord(name)
			if !is {
				continue
			}
			log, _, err := newRecord(r.o.Store, policy).Read(ctx)
			switch {
			case err != nil && !store.IsDamaged(err): // it may be about everything
				r.locked(func() {
					r.policies[policy] = &policyState{policy: unknown(policy, rollout.Scope{}), record: newRecord(r.o.Store, policy)}
				})
			case log != nil && !log.Ended && log.InForce != nil:
				r.locked(func() { r.policies[policy] = r.recorded(policy, log.InForce) })
			}
		}
		return err
	}, func(err error) { r.o.Logger.Error("the records of rollouts cannot be read yet", "error", err) })
}

// recorded is a policy in force whose record is still to be read.
func (r *Rings) recorded(name string, f *rollout.InForce) *policyState {
	return &policyState{policy: f.Policy, log: rollout.Log{InForce: f}, record: newRecord(r.o.Store, name)}
}

// knows reports whether a policy is known.
func (r *Rings) knows(policy string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.policies[policy] != nil
}

// counting is policiesOf for a caller without the lock.
func (r *Rings) counting(st *fleetstate.State) []*rollout.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.policiesOf(st)
}

// HasPolicies reports whether a policy may count while a state is served.
func (r *Rings) HasPolicies(st *fleetstate.State) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasPolicies(st)
}

// hasPolicies is HasPolicies for a caller that holds the lock.
func (r *Rings) hasPolicies(st *fleetstate.State) bool {
	return len(r.policies) > 0 || len(st.Fleet.Rollouts) > 0 || agentOf(st) != "" && len(newest(st)) > 0
}
