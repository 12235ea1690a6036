package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/argosy-hub/argosy/test/e2e/internal/hub"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// quiet is how long nothing must have happened before the states are summed up.
const quiet = 700 * time.Millisecond

// show prints what happens on the hub, a line an event, and sums up when it has become quiet, until
// the context ends.
func show(ctx context.Context, out io.Writer, h *hub.Hub) error {
	b := &board{out: out, states: map[string]string{}, members: map[string]bool{}, changed: make(chan struct{}, 1)}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(h.Kube.Dynamic, 0, hub.Namespace, nil)
	for resource, saw := range map[string]func(o *unstructured.Unstructured, gone bool){"applications": b.application, "secrets": b.secret} {
		r := kube.Applications
		if resource == "secrets" {
			r = kube.Secrets
		}
		_, err := factory.ForResource(r).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { object(o, false, saw) },
			UpdateFunc: func(_, o any) { object(o, false, saw) },
			DeleteFunc: func(o any) { object(o, true, saw) },
		})
		if err != nil {
			return err
		}
	}
	factory.Start(ctx.Done())
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			factory.Shutdown()
			return nil
		case <-b.changed:
			timer.Reset(quiet)
		case <-timer.C:
			b.summary()
		}
	}
}

func object(o any, gone bool, saw func(*unstructured.Unstructured, bool)) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		saw(u, gone)
	}
}

// board is what has been printed of the hub's state.
type board struct {
	out     io.Writer
	changed chan struct{}

	mu      sync.Mutex
	states  map[string]string // of Applications
	members map[string]bool
	last    string
}

func (b *board) application(o *unstructured.Unstructured, gone bool) {
	sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
	health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
	state := cmp.Or(sync, "new") + ", " + cmp.Or(health, "new")
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known := b.states[o.GetName()]
	switch {
	case gone:
		delete(b.states, o.GetName())
		b.say(o.GetName(), "gone")
	case !known:
		b.states[o.GetName()] = state
		b.say(o.GetName(), "created")
	case before != state:
		b.states[o.GetName()] = state
		b.say(o.GetName(), state)
	}
}

func (b *board) secret(o *unstructured.Unstructured, gone bool) {
	if o.GetLabels()["argocd.argoproj.io/secret-type"] != "cluster" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch name := o.GetName(); {
	case gone:
		delete(b.members, name)
		b.say(name, "cluster Secret gone")
	case !b.members[name]:
		b.members[name] = true
		b.say(name, "registered with Argo CD")
	}
}

func (b *board) say(name, what string) {
	fmt.Fprintf(b.out, "%s  %-52s %s\n", time.Now().Format(time.TimeOnly), name, what)
	select {
	case b.changed <- struct{}{}:
	default: // one is due already
	}
}

// summary counts clusters and Applications, if that differs from what was said last.
func (b *board) summary() {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := map[string]int{}
	for _, s := range b.states {
		count[s]++
	}
	parts := make([]string, 0, len(count))
	for _, s := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
	}
	line := fmt.Sprintf("%d clusters registered; %d Applications: %s", len(b.members), len(b.states), strings.Join(parts, "; "))
	if line != b.last {
		b.last = line
		fmt.Fprintf(b.out, "%s  == %s\n", time.Now().Format(time.TimeOnly), line)
	}
}
