package hub

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// followed describes the resource that a follower watches.
type followed struct {
	what       string // in texts: "cluster secrets"
	permission string // in texts: the permission to grant
	of         string // in texts: whose resource it is; "" for Argo CD
	namespace  string
	selector   string
	expected   runtime.Object
	trim       cache.TransformFunc
	// same reports whether a change of a trimmed object can be ignored. It may be nil.
	same func(old, updated any) bool
	// changed is called after each change. It does not block.
	changed func()
	log     *slog.Logger
}

// follower keeps a copy of one resource's objects, and the result of the last request for them.
type follower struct {
	followed
	informer cache.SharedIndexInformer
	stop     context.CancelFunc // ends requests in progress

	mu     sync.Mutex
	err    error     // short
	since  time.Time // when requests began to fail
	denied bool
}

// objectsOf lists and watches a resource, whose list has its own type.
type objectsOf[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

func newFollower[L runtime.Object](from objectsOf[L], what followed) (*follower, error) {
	requests, stop := context.WithCancel(context.Background())
	f := &follower{followed: what, stop: stop}
	f.informer = cache.NewSharedIndexInformer(&cache.ListWatch{
		ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = f.selector
			list, err := from.List(requests, o)
			f.report(err)
			return list, err
		},
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = f.selector
			w, err := from.Watch(requests, o)
			f.report(err)
			return w, err
		},
	}, f.expected, 0, cache.Indexers{})
	_, handled := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { f.changed() },
		UpdateFunc: func(old, updated any) {
			if f.same == nil || !f.same(old, updated) {
				f.changed()
			}
		},
		DeleteFunc: func(any) { f.changed() },
	})
	return f, errors.Join(handled,
		f.informer.SetTransform(f.trim),
		f.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
			f.log.Debug("kubernetes watch ended", "what", f.what, "error", err)
		}),
	)
}

// run watches until the context ends.
func (f *follower) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, f.stop)()
	wg.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), f.informer.HasSynced) {
			f.changed() // also when there are no objects at all
		}
	})
	f.informer.Run(ctx.Done())
}

// synced reports whether the first list is complete.
func (f *follower) synced() bool { return f.informer.HasSynced() }

// objects returns all objects, in no order.
func (f *follower) objects() []any { return f.informer.GetStore().List() }

// failure returns the short error of the last request. denied reports that only the permission or
// the resource is missing.
func (f *follower) failure() (denied bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.denied, f.err
}

// report records the result of the last request.
func (f *follower) report(err error) {
	if errors.Is(err, context.Canceled) { // the follower is stopping
		return
	}
	if isExpired(err) {
		err = nil
	}
	short := f.short(err, f.permission)
	f.mu.Lock()
	changed := textOf(short) != textOf(f.err)
	if f.err == nil {
		f.since = time.Now()
	}
	f.err, f.denied = short, apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
	f.mu.Unlock()
	if !changed {
		return
	}
	if short != nil {
		f.log.Warn("kubernetes cannot be asked", "problem", short, "error", err)
	}
	f.changed()
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
