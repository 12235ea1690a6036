package hub

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// oneGrant is the API of a namespace with one grant, in memory. It writes into the followers of its
// replicas, which do not run: client-go's reflectors cannot be waited for in virtual time.
type oneGrant struct {
	// refuses is called before each patch, with its number; its error is the patch's.
	refuses func(context.Context, int) error

	mu       sync.Mutex
	grant    object
	patches  int
	said     map[string]bool
	replicas []*OwnershipGrants
}

func newOneGrant(finalizers ...string) *oneGrant {
	return &oneGrant{
		grant:   object{ObjectMeta: arrivedGrant("addons", "a", finalizers...)},
		said:    map[string]bool{},
		refuses: func(context.Context, int) error { return nil },
	}
}

// patch changes annotations and finalizers.
func (o *oneGrant) patch(ctx context.Context, _ string, data []byte) error {
	o.mu.Lock()
	o.patches++
	count := o.patches
	o.mu.Unlock()
	if err := o.refuses(ctx, count); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var patch object
	if err := json.Unmarshal(data, &patch); err != nil {
		return err
	}
	o.grant.Annotations = maps.Clone(o.grant.Annotations)
	if o.grant.Annotations == nil {
		o.grant.Annotations = map[string]string{}
	}
	maps.Copy(o.grant.Annotations, patch.Annotations)
	o.said[patch.Annotations[facts.RingsHealthAnnotation]] = true
	if patch.Finalizers != nil {
		o.grant.Finalizers = patch.Finalizers
	}
	for _, g := range o.replicas {
		receive(g.follower, o.grant)
	}
	return nil
}

func (o *oneGrant) patched() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.patches
}

// replica has a replica act until the context ends.
func (o *oneGrant) replica(ctx context.Context, t *testing.T, running *sync.WaitGroup) *OwnershipGrants {
	t.Helper()
	g, err := NewOwnershipGrants(Options{Config: &rest.Config{}}, "one")
	require.NoError(t, err)
	g.patch = o.patch
	o.replicas = append(o.replicas, g)
	receive(g.follower, o.grant)
	running.Go(func() {
		update(ctx, g.dirty, func() bool {
			g.act(ctx)
			return false
		}, func() {})
	})
	return g
}

// TestReplicasThatDisagreeOnHealthWriteInIntervals: the facts of one replica stand still, so it
// sees another health than the other. They do not write over each other's word without a pause.
func TestReplicasThatDisagreeOnHealthWriteInIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newOneGrant(facts.GrantFinalizer)
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		first, second := api.replica(ctx, t, &running), api.replica(ctx, t, &running)
		first.Report(map[string]facts.GroupReport{"addons": {Rings: "Healthy prod=1"}})
		second.Report(map[string]facts.GroupReport{"addons": {Rings: "Progressing prod=1"}})
		time.Sleep(time.Minute)
		if n, most := api.patched(), 2+2*int(time.Minute/healthPause); n < 2 || n > most {
			t.Errorf("%d patches in a minute; expected 2 to %d", n, most)
		}
		second.Report(map[string]facts.GroupReport{"addons": {Rings: "Degraded prod=1"}})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		api.mu.Lock()
		defer api.mu.Unlock()
		if !api.said["Degraded prod=1"] {
			t.Error("news have to wait")
		}
	})
}

// TestRefusedPatchesAreRepeatedWithGrowingPauses: however often something else changes meanwhile,
// one patch that is refused is repeated with growing pauses, and not once for each of the changes.
func TestRefusedPatchesAreRepeatedWithGrowingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newOneGrant()
		api.refuses = func(context.Context, int) error { return errors.New("forbidden") }
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		g := api.replica(ctx, t, &running)
		const changes = 100
		for n := range changes {
			time.Sleep(10 * time.Second)
			g.Report(map[string]facts.GroupReport{"another": {Rings: strconv.Itoa(n)}})
		}
		before := api.patched()
		time.Sleep(10 * time.Minute)
		if n, most := api.patched()-before, int(10*time.Minute/againMax)+1; n < most-2 || n > most {
			t.Errorf("%d patches in ten minutes; expected at most %d", n, most)
		}
	})
}

// TestPatchThatHangsEnds: an API server that takes a patch and never responds does not stop the
// service from acting on grants.
func TestPatchThatHangsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := newOneGrant()
		api.refuses = func(ctx context.Context, number int) error {
			if number == 1 {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer end()
		api.replica(ctx, t, &running)
		time.Sleep(time.Minute)
		if n := api.patched(); n != 2 {
			t.Errorf("%d patches in a minute; expected one that hangs, and one that goes through", n)
		}
	})
}
