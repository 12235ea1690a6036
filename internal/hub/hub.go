package hub

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/problem"
)

const (
	// clusterSecrets selects what Argo CD takes for clusters (argo-cd docs/operator-manual/declarative-setup.md).
	clusterSecrets   = "argocd.argoproj.io/secret-type=cluster"
	defaultNamespace = "argocd"
	// quiet is how long changes are collected, and patience for how long at most if they go on.
	quiet    = 100 * time.Millisecond
	patience = time.Second
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Options say which API server to watch. Config is required.
type Options struct {
	Config    *rest.Config
	Namespace string // of the cluster Secrets; default "argocd"
	// Log gets the full text of failures, which State.Err tells shortly. Default: nowhere.
	Log *slog.Logger
}

// State is what is known at one time.
type State struct {
	// Facts are closed: a cluster without a Secret is not registered.
	Facts facts.Set
	// Synced tells that the first list has been complete. Before, Facts are empty and must not be acted upon.
	Synced bool
	// Err says why the API server cannot be asked at present, nil if it can.
	Err error
	// Problems are clusters that several Secrets claim (problem.DuplicateSecret), sorted.
	Problems []problem.Problem
}

// Hub watches the cluster Secrets of one namespace.
type Hub struct {
	namespace string
	log       *slog.Logger
	informer  cache.SharedIndexInformer
	dirty     chan struct{}
	stop      context.CancelFunc // ends requests under way

	state atomic.Pointer[State]
	known map[string]facts.Cluster // all clusters ever seen; belongs to Run

	mu       sync.Mutex
	err      error
	watchers map[chan struct{}]bool
}

// New makes a Hub; nothing is asked of the API server until Run.
func New(o Options) (*Hub, error) {
	if o.Config == nil {
		return nil, errors.New("kubernetes: no configuration given")
	}
	client, err := metadata.NewForConfig(metadataOnly(o.Config))
	if err != nil {
		return nil, err
	}
	h := &Hub{
		namespace: cmp.Or(o.Namespace, defaultNamespace),
		log:       cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		dirty:     make(chan struct{}, 1),
		known:     map[string]facts.Cluster{},
		watchers:  map[chan struct{}]bool{},
	}
	h.state.Store(&State{Facts: facts.NewSet(true)})
	requests, stop := context.WithCancel(context.Background())
	h.stop = stop
	resource := client.Resource(secrets).Namespace(h.namespace)
	h.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = clusterSecrets
			list, err := resource.List(requests, o)
			h.told(err)
			return list, err
		},
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = clusterSecrets
			w, err := resource.Watch(requests, o)
			h.told(err)
			return w, err
		},
	}, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	mark := func() { poke(h.dirty) }
	err = errors.Join(
		h.informer.SetTransform(trim),
		h.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { h.log.Debug("kubernetes watch ended", "error", err) }),
	)
	if err != nil {
		return nil, err
	}
	_, err = h.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { mark() }, UpdateFunc: func(_, _ any) { mark() }, DeleteFunc: func(any) { mark() },
	})
	return h, err
}

// State is what is known now; its contents must not be changed.
func (h *Hub) State() State { return *h.state.Load() }

// Run watches until the context ends. It may be called once.
func (h *Hub) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer h.stop()
	wg.Go(func() { h.informer.Run(ctx.Done()) })
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), h.informer.HasSynced) {
			poke(h.dirty) // also when there are no Secrets at all
		}
	})
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.dirty:
		}
		if !h.settle(ctx) {
			return
		}
		h.update()
	}
}

// settle waits until no change has come for a moment.
func (h *Hub) settle(ctx context.Context) bool {
	end := time.After(patience)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-end:
			return true
		case <-time.After(quiet):
			return true
		case <-h.dirty:
		}
	}
}

// update makes the new state, and tells the watchers if it differs.
func (h *Hub) update() {
	old := h.state.Load()
	next := &State{Facts: old.Facts, Synced: old.Synced || h.informer.HasSynced(), Problems: old.Problems}
	h.mu.Lock()
	next.Err = h.err
	h.mu.Unlock()
	changed := next.Synced != old.Synced || textOf(next.Err) != textOf(old.Err)
	if next.Synced {
		clusters, problems := read(h.informer.GetStore().List())
		if !slices.EqualFunc(problems, old.Problems, func(a, b problem.Problem) bool { return problem.Compare(a, b) == 0 }) {
			next.Problems, changed = problems, true
		}
		if h.learn(clusters) {
			next.Facts, changed = facts.NewSet(true, slices.Collect(maps.Values(h.known))...), true
		}
	}
	if !changed {
		return
	}
	h.state.Store(next)
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		poke(w)
	}
}

// learn adds what is there now to what was known; it tells whether that is new.
func (h *Hub) learn(clusters map[string]facts.Cluster) bool {
	changed := false
	for name, c := range clusters {
		if old, ok := h.known[name]; !ok || !old.Equal(c) {
			h.known[name], changed = c, true
		}
	}
	return changed
}

// told notes how the last request went.
func (h *Hub) told(err error) {
	short := h.short(err)
	h.mu.Lock()
	changed := textOf(short) != textOf(h.err)
	h.err = short
	h.mu.Unlock()
	if !changed {
		return
	}
	if short != nil {
		h.log.Warn("kubernetes cannot be asked", "namespace", h.namespace, "error", err)
	}
	poke(h.dirty)
}

// Watch calls changed at once, and after each change of State until the context ends. Calls do not overlap; several
// changes may be told by one.
func (h *Hub) Watch(ctx context.Context, changed func(State)) {
	w := make(chan struct{}, 1)
	h.mu.Lock()
	h.watchers[w] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}()
	for {
		changed(h.State())
		select {
		case <-ctx.Done():
			return
		case <-w:
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // one is due already
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
