package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
)

// again and againMax are the first and the longest pause before a failed patch is repeated.
const (
	again    = time.Second
	againMax = time.Minute
	// healthPause is how long an unchanged health text waits before it replaces another replica's.
	healthPause = 20 * time.Second
)

// grantsPermission is the permission that OwnershipGrants needs.
const grantsPermission = "list, watch and patch on configmaps"

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
	client   metadata.ResourceInterface
	follower *follower
	log      *slog.Logger
	dirty    run.Trigger
	state    atomic.Pointer[OwnershipGrantsState]

	mu       sync.Mutex
	released []facts.OwnershipGrant
	health   map[string]string // RingsHealthAnnotation by group

	// These belong to Run.
	logged string // the last logged failure
	delay  time.Duration
	retry  *time.Timer     // repeats a failed request, nil before the first
	said   map[string]word // by the UID of a grant
}

// word is the last health text that was written to a grant, and when.
type word struct {
	text string
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
	client, err := metadataClient(o.Config)
	if err != nil {
		return nil, err
	}
	return newOwnershipGrants(client.Resource(configMaps).Namespace(o.Namespace), o, member)
}

func newOwnershipGrants(client metadata.ResourceInterface, o Options, member string) (*OwnershipGrants, error) {
	g := &OwnershipGrants{member: member, client: client, log: o.Log, dirty: run.NewTrigger(), said: map[string]word{}}
	g.state.Store(&OwnershipGrantsState{})
	var err error
	g.follower, err = newFollower(g.client, followed{
		what: "grants", permission: grantsPermission, namespace: o.Namespace, log: o.Log, selector: facts.GrantLabel + "," + clusterLabel + "=" + member,
		expected: &metav1.PartialObjectMetadata{},
		trim:     trimGrant,
		changed:  g.dirty.Fire,
	})
	return g, err
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

// Report sets the health texts of groups in rollouts, by group, for the grants' ConfigMaps
// (facts.RingsHealthAnnotation). It does not wait. The map must not be changed afterwards.
func (g *OwnershipGrants) Report(health map[string]string) {
	g.mu.Lock()
	same := maps.Equal(g.health, health)
	g.health = health
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
// health texts of held ones. Replicas may disagree on the text: after another replica's write, an
// unchanged text has to wait.
func (g *OwnershipGrants) act(ctx context.Context) {
	g.mu.Lock()
	released, health := g.released, g.health
	g.mu.Unlock()
	var failure error
	var wait time.Duration
	before := g.said
	g.said = map[string]word{}
	for _, o := range g.follower.objects() {
		m, ok := o.(*metav1.PartialObjectMetadata)
		if !ok {
			continue
		}
		f := grantOf(m)
		finalizers := m.Finalizers
		switch {
		case !f.Held && !f.IsDeleted:
			finalizers = append(slices.Clone(finalizers), facts.GrantFinalizer)
		case f.Held && f.IsDeleted && slices.ContainsFunc(released, func(r facts.OwnershipGrant) bool { return r.UID == f.UID }):
			finalizers = slices.DeleteFunc(slices.Clone(finalizers), func(s string) bool { return s == facts.GrantFinalizer })
		default:
			text, was := health[f.Group], before[f.UID]
			g.said[f.UID] = was
			if !f.Held || f.IsDeleted || text == "" || text == m.Annotations[facts.RingsHealthAnnotation] {
				continue
			}
			if left := healthPause - time.Since(was.at); was.text == text && left > 0 {
				wait = max(wait, left)
				continue
			}
			written, err := g.patch(ctx, m, map[string]any{"annotations": map[string]string{facts.RingsHealthAnnotation: text}})
			if written {
				g.said[f.UID] = word{text, time.Now()}
			}
			failure = errors.Join(failure, err)
			continue
		}
		if finalizers == nil {
			finalizers = []string{}
		}
		if _, err := g.patch(ctx, m, map[string]any{"finalizers": finalizers}); err != nil {
			failure = err
			continue
		}
		g.log.Info("grant", "group", f.Group, "held", !f.Held)
	}
	g.note(ctx, failure, wait)
}

// patch writes metadata of a ConfigMap, unless the ConfigMap has changed since.
func (g *OwnershipGrants) patch(ctx context.Context, m *metav1.PartialObjectMetadata, metadata map[string]any) (written bool, _ error) {
	metadata["uid"], metadata["resourceVersion"] = m.UID, m.ResourceVersion
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	_, err = g.client.Patch(ctx, m.Name, mergePatch, patch, metav1.PatchOptions{FieldManager: "argosy"})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // the watch will deliver its new version
	}
	return err == nil, g.follower.short(err, grantsPermission)
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

// trimGrant keeps the metadata of a grant that facts need, and other controllers' finalizers, which
// are written back with ours.
func trimGrant(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil // a tombstone
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Labels: only(m.Labels, clusterLabel, facts.GrantLabel),
		Annotations: only(m.Annotations, facts.RingsAnnotation, facts.RingsHealthAnnotation), Finalizers: m.Finalizers, DeletionTimestamp: m.DeletionTimestamp,
	}}, nil
}

// grantOf makes a fact of a grant.
func grantOf(m *metav1.PartialObjectMetadata) facts.OwnershipGrant {
	return facts.OwnershipGrant{
		Group: m.Labels[facts.GrantLabel], UID: string(m.UID), Held: slices.Contains(m.Finalizers, facts.GrantFinalizer), IsDeleted: m.DeletionTimestamp != nil,
		Rings: m.Annotations[facts.RingsAnnotation],
	}
}

// readGrants makes facts of all grants, sorted by group.
func readGrants(objects []any) []facts.OwnershipGrant {
	out := make([]facts.OwnershipGrant, 0, len(objects))
	for _, o := range objects {
		if m, ok := o.(*metav1.PartialObjectMetadata); ok {
			out = append(out, grantOf(m))
		}
	}
	slices.SortFunc(out, func(a, b facts.OwnershipGrant) int {
		return strings.Compare(a.Group+" "+a.UID, b.Group+" "+b.UID)
	})
	return out
}
