package hub

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// follower watches the objects of a resource, and stores a T of each. client-go's informers would
// store a list's whole objects before they reduce the first, and report a change after they store
// it. A follower reduces each page as it comes, and sees each change in order.
type follower[T any] struct {
	*client
	selector string
	verbs    string // in texts: the permission to grant
	// reduce returns what is stored of an object. was is what was stored of the same object before,
	// nil for none. at is the time, zero during the first list, which shows no changes.
	reduce func(o *object, was *T, at time.Time) T
	// changed is called after each change of a T. It does not block.
	changed func()
	log     *slog.Logger

	mu      sync.RWMutex
	all     map[string]stored[T] // by name
	changes uint64
	err     error     // of the last request, short
	since   time.Time // when requests began to fail
	denied  bool
}

// stored is a T of an object. An object that is created again has another UID.
type stored[T any] struct {
	uid  types.UID
	what T
}

// follow makes a follower. It sends no request.
func follow[T any](o Options, r resource, selector string, reduce func(*object, *T, time.Time) T) (*follower[T], error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	c, err := newClient(o, r)
	return &follower[T]{client: c, selector: selector, verbs: "list and watch", reduce: reduce, changed: func() {}, log: o.Log}, err
}

// run watches until the context ends.
func (f *follower[T]) run(ctx context.Context) {
	to := &sink[T]{follower: f}
	r := cache.NewReflectorWithOptions(&cache.ListWatch{
		ListFunc: func(metav1.ListOptions) (out runtime.Object, err error) {
			var version string
			to.listed, version, err = f.list(ctx)
			f.report(err)
			return &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: version}}, err
		},
		WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
			w, err := f.watch(ctx, f.selector, o)
			f.report(err)
			return w, err
		},
	}, &object{}, to, cache.ReflectorOptions{Name: f.what})
	r.UseWatchList = new(bool) // not every API server streams lists
	for pause := pauses; ctx.Err() == nil; {
		began := time.Now()
		if err := r.ListAndWatch(ctx.Done()); err != nil { // Run would log it as an error each time
			f.log.Debug("kubernetes watch ended", "what", f.what, "error", err)
		}
		if time.Since(began) > calm {
			pause = pauses
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause.Step()):
		}
	}
}

// pauses are the pauses between attempts, at most a minute with the jitter, as in client-go's
// reflector. They begin again after an attempt that lasted longer than calm.
var pauses = wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 10, Cap: 30 * time.Second}

const calm = 2 * time.Minute

// list requests all objects.
func (f *follower[T]) list(ctx context.Context) (all map[string]stored[T], version string, err error) {
	all = map[string]stored[T]{}
	version, err = list(ctx, f.client, f.selector, func(o *object) { all[o.Name] = f.stored(o) })
	return all, version, err
}

// stored reduces an object.
func (f *follower[T]) stored(o *object) stored[T] {
	f.mu.RLock()
	before, known := f.all[o.Name]
	var at time.Time
	if f.all != nil {
		at = time.Now()
	}
	f.mu.RUnlock()
	var was *T
	if known && before.uid == o.UID {
		was = &before.what
	}
	return stored[T]{o.UID, f.reduce(o, was, at)}
}

// change changes what is stored, and reports it if it differs.
func (f *follower[T]) change(differs func() bool) {
	f.mu.Lock()
	isChanged := differs()
	if isChanged {
		f.changes++
	}
	f.mu.Unlock()
	if isChanged {
		f.changed()
	}
}

// sink takes what client-go's reflector receives, from one goroutine.
type sink[T any] struct {
	cache.Store // nil: a reflector calls the methods below and no others
	*follower[T]
	listed map[string]stored[T] // the last list
}

// Add stores an object.
func (s *sink[T]) Add(of any) error {
	if o, is := of.(*object); is {
		now := s.stored(o)
		s.change(func() bool {
			was, known := s.all[o.Name]
			s.all[o.Name] = now
			return !known || !reflect.DeepEqual(was, now)
		})
	}
	return nil
}

// Update stores an object.
func (s *sink[T]) Update(of any) error { return s.Add(of) }

// Delete removes an object.
func (s *sink[T]) Delete(of any) error {
	if o, is := of.(*object); is {
		s.change(func() bool {
			delete(s.all, o.Name)
			return true
		})
	}
	return nil
}

// Replace stores the last list. The reflector receives it without objects: it would collect them.
func (s *sink[T]) Replace([]any, string) error {
	s.change(func() bool {
		s.all, s.listed = s.listed, nil
		return true
	})
	return nil
}

// synced reports whether the first list is complete.
func (f *follower[T]) synced() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.all != nil
}

// objects returns what is stored of all objects, in no order.
func (f *follower[T]) objects() iter.Seq[T] {
	return func(yield func(T) bool) {
		f.mu.RLock()
		defer f.mu.RUnlock()
		for _, o := range f.all {
			if !yield(o.what) {
				return
			}
		}
	}
}

// failure returns the short error of the last request. denied reports that only the permission or
// the resource is missing.
func (f *follower[T]) failure() (denied bool, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.denied, f.err
}

// report records the result of the last request.
func (f *follower[T]) report(err error) {
	if errors.Is(err, context.Canceled) || isExpired(err) { // it is stopping, or begins again: the next request tells
		return
	}
	short := f.short(err, f.permission(f.verbs))
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
