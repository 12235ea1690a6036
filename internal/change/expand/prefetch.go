package expand

import (
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// pairsAtOnce limits the pairs of Applications that are rendered ahead, which bounds the memory.
// fetchesAtOnce limits parallel fetches, which mostly wait for servers.
const (
	pairsAtOnce   = 32
	fetchesAtOnce = 8
)

// pairs compares objects that are in both revisions, in order.
func (c *comparison) pairs(both []Pair) {
	if !c.after.Renders() {
		for _, p := range both {
			c.objects(p.Before, p.After)
		}
		return
	}
	for some := range slices.Chunk(both, pairsAtOnce) {
		c.prerender(some)
		for _, p := range some {
			c.objects(p.Before, p.After)
		}
	}
}

// rendering is a part to be rendered.
type rendering struct {
	h *Hub
	p part
}

// prerender renders the charts of differing Applications in parallel, so that the comparison finds
// them in the cache. The comparison repeats and reports a failure. The base comes first: what it
// reads, the head may read.
func (c *comparison) prerender(pairs []Pair) {
	todo := map[*Hub][]rendering{}
	for _, x := range pairs {
		if !x.Before.Deploys() || !x.After.Deploys() {
			continue
		}
		before, after := c.before.parts(x.Before), c.after.parts(x.After)
		for _, side := range []struct {
			h           *Hub
			own, others []part
		}{{c.before, before, after}, {c.after, after, before}} {
			for _, p := range side.own {
				if !slices.ContainsFunc(side.others, func(q part) bool { return q.key == p.key }) {
					todo[side.h] = append(todo[side.h], rendering{side.h, p})
				}
			}
		}
	}
	render(todo[c.before])
	render(todo[c.after])
}

// prefetchNew fetches the charts of Applications that only the head has.
func (c *comparison) prefetchNew(come map[object.Key]lazyObject, fresh []object.Key) {
	if !c.after.Renders() {
		return
	}
	for some := range slices.Chunk(fresh, pairsAtOnce) {
		var todo []rendering
		for _, k := range some {
			if o := come[k].make(); o != nil && o.Deploys() {
				for _, p := range c.after.parts(o) {
					todo = append(todo, rendering{c.after, p})
				}
			}
		}
		prefetch(todo)
	}
}

// render fetches all charts, then renders them.
func render(todo []rendering) {
	todo = slices.DeleteFunc(todo, func(r rendering) bool { return r.p.chart == nil || r.p.err != nil })
	prefetch(todo)
	run.Each(len(todo), func(i int) { _, _ = todo[i].h.manifests(todo[i].p) })
}

// prefetch fetches everything remote once. Rendering finds it in the cache.
func prefetch(todo []rendering) {
	questions := map[any]func(){}
	for _, r := range todo {
		r.h.fetches(r.p, questions)
	}
	slots := make(chan struct{}, fetchesAtOnce)
	var wg sync.WaitGroup
	for _, question := range questions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			question()
		})
	}
	wg.Wait()
}

// mayBring reports whether an ApplicationSet's Applications may be remote charts that deploy to
// where their own engine finds Applications.
func (h *Hub) mayBring(o *object.Object) bool {
	made := manifest.Tree{
		"metadata": manifest.At(o.Tree, "metadata"),
		"spec":     manifest.Tree{"destination": manifest.At(o.Tree, "spec", "template", "spec", "destination")},
	}
	return h.Renders() && h.deploysToEngine(&object.Object{Engine: o.Engine, Tree: made})
}
