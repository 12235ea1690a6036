package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// again and againMax are the first and the longest pause before a failed patch is repeated.
const (
	again    = time.Second
	againMax = time.Minute
	// healthPause is how long an unchanged report waits before it replaces another replica's.
	healthPause = 20 * time.Second
	// reportPause is how long a report on components waits after the one before: Argo CD on the hub
	// looks at the grant after each.
	reportPause = 10 * time.Second
)

// grants are the ConfigMaps of ownership grants.
var grants = configMaps("grants", true)

// OwnershipGrantsState is a snapshot of a member's ownership grants at one time.
type OwnershipGrantsState struct {
	// Grants are sorted by group.
	Grants []facts.OwnershipGrant
	// Synced reports that the first list is complete. Callers must not act before.
	Synced bool
	// Err is why the API server does not answer now, nil if it does.
	Err error
}

// OwnershipGrants watches the ownership grants of one member in one namespace, and holds them with
// a finalizer until they are released.
type OwnershipGrants struct {
	member   string
	follower *follower[grant]
	patch    func(ctx context.Context, name string, patch []byte) error
	log      *slog.Logger
	dirty    run.Trigger
	state    atomic.Pointer[OwnershipGrantsState]

	mu       sync.Mutex
	released []facts.OwnershipGrant
	reports  map[string]facts.GroupReport // by group

	// These belong to Run.
	logged string // the last logged failure
	delay  time.Duration
	retry  *time.Timer     // repeats a failed request, nil before the first
	said   map[string]word // by the UID of a grant
}

// word is the last report that was written to a grant, and when.
type word struct {
	text facts.GroupReport
	at   time.Time
}

// NewOwnershipGrants watches the grants of a member. The member and the namespace are required. It
// sends no request before Run.
func NewOwnershipGrants(o Options, member string) (*OwnershipGrants, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	if member == "" {
		return nil, errors.New("kubernetes: no member whose grants are to be watched")
	}
	g := &OwnershipGrants{member: member, log: o.Log, dirty: run.NewTrigger(), said: map[string]word{}}
	g.state.Store(&OwnershipGrantsState{})
	var err error
	if g.follower, err = follow(o, grants, facts.GrantLabel+","+clusterLabel+"="+member, reduceGrant); err != nil {
		return nil, err
	}
	g.follower.verbs, g.follower.changed, g.patch = "list, watch and patch", g.dirty.Fire, g.follower.patch
	return g, nil
}

// Member returns the member of the grants.
func (g *OwnershipGrants) Member() string { return g.member }

// State returns the current state; its contents must not be changed.
func (g *OwnershipGrants) State() OwnershipGrantsState { return *g.state.Load() }

// Release sets the grants under deletion that may go, because the engine has no objects of their
// groups any more. It does not wait.
func (g *OwnershipGrants) Release(released []facts.OwnershipGrant) {
	g.mu.Lock()
	same := slices.Equal(g.released, released)
	g.released = slices.Clone(released)
	g.mu.Unlock()
	if !same {
		g.dirty.Fire()
	}
}

// Report sets the reports on groups, by group, for the grants' ConfigMaps. It does not wait. The
// map must not be changed afterwards.
func (g *OwnershipGrants) Report(reports map[string]facts.GroupReport) {
	g.mu.Lock()
	same := maps.Equal(g.reports, reports)
	g.reports = reports
	g.mu.Unlock()
	if !same {
		g.dirty.Fire()
	}
}

// Run watches and holds grants until the context ends, and calls changed, which must not block,
// after each change of State. It may be called once.
func (g *OwnershipGrants) Run(ctx context.Context, changed func()) {
	step := func() bool {
		if g.update() {
			changed()
		}
		g.act(ctx)
		return false
	}
	update(ctx, g.dirty, step, changed, g.follower.run)
}

// update makes the new state and reports whether it differs.
func (g *OwnershipGrants) update() bool {
	old := g.state.Load()
	_, err := g.follower.failure()
	next := &OwnershipGrantsState{Grants: old.Grants, Synced: g.follower.synced(), Err: err}
	if next.Synced {
		next.Grants = readGrants(g.follower.objects())
	}
	if next.Synced == old.Synced && textOf(next.Err) == textOf(old.Err) && slices.Equal(next.Grants, old.Grants) {
		return false
	}
	g.state.Store(next)
	return true
}

// act adds our finalizer to grants that lack it, removes it from released ones, and writes the
// reports of held ones. Replicas may disagree on a report: after another replica's write, an
// unchanged one has to wait.
func (g *OwnershipGrants) act(ctx context.Context) {
	g.mu.Lock()
	released, reports := g.released, g.reports
	g.mu.Unlock()
	var failure error
	var wait time.Duration
	before := g.said
	g.said = map[string]word{}
	for _, m := range slices.Collect(g.follower.objects()) {
		f := m.fact
		finalizers := m.finalizers
		switch {
		case !f.Held && !f.IsDeleted:
			finalizers = append(slices.Clone(finalizers), facts.GrantFinalizer)
		case f.Held && f.IsDeleted && slices.ContainsFunc(released, func(r facts.OwnershipGrant) bool { return r.UID == f.UID }):
			finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(s string) bool { return s == facts.GrantFinalizer })
		default:
			text, was := reports[f.Group], before[f.UID]
			g.said[f.UID] = was
			if !f.Held || f.IsDeleted {
				continue
			}
			news, left := m.news(text, time.Now())
			if pause := healthPause - time.Since(was.at); was.text == text && len(news) > 0 && pause > 0 {
				news, left = nil, pause
			}
			if left > 0 && (wait == 0 || left < wait) {
				wait = left
			}
			if len(news) == 0 {
				continue
			}
			written, err := g.write(ctx, m, map[string]any{"annotations": news})
			if written {
				g.said[f.UID] = word{text, time.Now()}
			}
			failure = errors.Join(failure, err)
			continue
		}
		if finalizers == nil {
			finalizers = []string{}
		}
		if _, err := g.write(ctx, m, map[string]any{"finalizers": finalizers}); err != nil {
			failure = err
			continue
		}
		g.log.Info("grant", "group", f.Group, "held", !f.Held)
	}
	g.note(ctx, failure, wait)
}

// write changes metadata of a ConfigMap, unless the ConfigMap has changed since.
func (g *OwnershipGrants) write(ctx context.Context, of grant, metadata map[string]any) (written bool, _ error) {
	metadata["uid"], metadata["resourceVersion"] = of.fact.UID, of.version
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	err = g.patch(ctx, of.name, patch)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // the watch will deliver its new version
	}
	return err == nil, g.follower.short(err, grants.permission(g.follower.verbs))
}

// note logs a failure once, and repeats the request later; texts that wait are written after that
// time.
func (g *OwnershipGrants) note(ctx context.Context, failure error, wait time.Duration) {
	if ctx.Err() != nil {
		return
	}
	if text := textOf(failure); text != g.logged {
		g.logged = text
		if failure != nil {
			g.log.Warn("a grant cannot be held or released; it is tried again", "problem", failure)
		}
	}
	g.delay = min(max(2*g.delay, again), againMax)
	if failure == nil {
		g.delay = 0
	}
	if g.retry != nil { // otherwise each change would repeat the request for itself
		g.retry.Stop()
	}
	if next := cmp.Or(g.delay, wait); next > 0 {
		g.retry = time.AfterFunc(next, g.dirty.Fire)
	}
}

// grant is what is stored of a grant's ConfigMap. The finalizers of other controllers are written
// back with ours.
type grant struct {
	name, version string
	finalizers    []string
	rings, report string // RingsHealthAnnotation and ReportAnnotation
	fact          facts.OwnershipGrant
}

// news returns the annotations to write for a report, none while it has to wait or nothing is to be
// written. left is when that changes, 0 for never.
func (m grant) news(of facts.GroupReport, now time.Time) (annotations map[string]string, left time.Duration) {
	annotations = map[string]string{}
	if of.Rings != "" && of.Rings != m.rings {
		annotations[facts.RingsHealthAnnotation] = of.Rings
	}
	if of.Components == "" {
		return annotations, 0
	}
	is, at, _, _ := facts.OpenReport(m.report)
	until := reportInterval
	if is != of.Components {
		until = reportPause
	}
	if age := now.Sub(at).Abs(); age < until && len(annotations) == 0 {
		return annotations, until - age
	}
	annotations[facts.ReportAnnotation] = facts.SealReport(of.Components, now)
	return annotations, reportInterval
}

// reduceGrant returns what is stored of a grant.
func reduceGrant(o *object, _ *grant, _ time.Time) grant {
	return grant{o.Name, o.ResourceVersion, o.Finalizers, o.Annotations[facts.RingsHealthAnnotation], o.Annotations[facts.ReportAnnotation], facts.OwnershipGrant{
		Group: o.Labels[facts.GrantLabel], UID: string(o.UID), Held: slices.Contains(o.Finalizers, facts.GrantFinalizer), IsDeleted: o.DeletionTimestamp != nil,
		Rings: o.Annotations[facts.RingsAnnotation],
	}}
}

// readGrants makes facts of all grants, sorted by group.
func readGrants(objects iter.Seq[grant]) []facts.OwnershipGrant {
	out := []facts.OwnershipGrant{}
	for o := range objects {
		out = append(out, o.fact)
	}
	slices.SortFunc(out, func(a, b facts.OwnershipGrant) int {
		return strings.Compare(a.Group+" "+a.UID, b.Group+" "+b.UID)
	})
	return out
}
