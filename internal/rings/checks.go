package rings

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet/rollout"
)

// checkInterval is how often a ring's checks are carried out, maxLooks how many at once.
const (
	checkInterval = 10 * time.Second
	maxLooks      = 8
)

// runChecks carries out the checks of all rings, until the context ends.
func (r *Rings) runChecks(ctx context.Context) {
	repeat(ctx, r.o.CheckInterval, r.checking, func() {
		if r.Check(ctx) {
			r.trigger.Fire()
		}
	})
}

// Check carries out the checks of all rings once, and reports whether there are any.
func (r *Rings) Check(ctx context.Context) bool {
	st := r.o.State()
	if st == nil {
		return false
	}
	slots := make(chan struct{}, maxLooks)
	var running sync.WaitGroup
	found := false
	for _, policy := range r.counting(st) {
		for i := range policy.Rings {
			ring := &policy.Rings[i]
			if len(ring.Checks) == 0 {
				continue
			}
			found = true
			train, is := r.trainOf(policy.Name, ring.Name)
			if !is {
				continue
			}
			running.Go(func() { r.check(ctx, policy.Name, ring, train, slots) })
		}
	}
	running.Wait()
	return found
}

// trainOf is the number of a ring's train; false where nobody knows it.
func (r *Rings) trainOf(policy, ring string) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.policies[policy]
	if p == nil || !p.isRead || p.isLost {
		return 0, false
	}
	record, is := p.log.Rings[ring]
	return record.Train.Number, is && record.Train.Number > 0
}

// check carries out the checks of one ring once.
func (r *Rings) check(ctx context.Context, policy string, ring *rollout.Ring, train int, slots chan struct{}) {
	began := r.o.Now()
	outcomes := make([]rollout.CheckOutcome, len(ring.Checks))
	var looking sync.WaitGroup
	for i, c := range ring.Checks {
		looking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			outcomes[i] = r.o.Check(ctx, c)
		})
	}
	looking.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.policies[policy]
	if p == nil || ctx.Err() != nil {
		return
	}
	results := maps.Clone(p.checks)
	if results == nil {
		results = map[string]rollout.CheckResult{}
	}
	results[ring.Name] = results[ring.Name].Add(train, ring.ChecksText(), began, outcomes)
	p.checks = results
}

// noChecks is the outcome of a check where the service carries out none.
func noChecks(_ context.Context, c rollout.Check) rollout.CheckOutcome {
	return rollout.CheckOutcome{Why: "check \"" + c.Name + "\": the service carries out no checks"}
}
