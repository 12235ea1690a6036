package expand

import (
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// pairsAtOnce limits the Applications that are rendered ahead, which bounds the memory.
// rendersAtOnce limits parallel renderings, which mostly wait for servers.
const (
	pairsAtOnce   = 32
	rendersAtOnce = 8
)

// pairs compares objects that are in both revisions, in order.
func (c *comparison) pairs(both []Pair) {
	for some := range slices.Chunk(both, pairsAtOnce) {
		c.prerender(some)
		for _, p := range some {
			c.objects(p.Before, p.After)
		}
	}
}

// prerender renders the charts of differing Applications in parallel, so that the comparison finds
// them in the cache. The comparison repeats and reports a failure. The base comes first: what it
// reads, the head may read.
func (c *comparison) prerender(pairs []Pair) {
	if !c.after.Renders() {
		return
	}
	var base, head []part
	for _, x := range pairs {
		if x.Before.Deploys() && x.After.Deploys() {
			before, after := c.before.parts(x.Before), c.after.parts(x.After)
			base, head = append(base, without(before, after)...), append(head, without(after, before)...)
		}
	}
	c.before.render(base)
	c.after.render(head)
}

// without returns the parts that are not among others.
func without(parts, others []part) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return slices.ContainsFunc(others, func(q part) bool { return q.key == p.key })
	})
}

// prerenderNew renders the charts of Applications that only the head has.
func (c *comparison) prerenderNew(some []object.Key) {
	if !c.after.Renders() {
		return
	}
	var todo []part
	for _, k := range some {
		if o := c.added[k].make(); o != nil && o.Deploys() {
			todo = append(todo, c.after.parts(o)...)
		}
	}
	c.after.render(todo)
}

// render renders the charts among some parts into the cache.
func (h *Hub) render(todo []part) {
	var all errgroup.Group
	all.SetLimit(rendersAtOnce)
	for _, p := range todo {
		if p.chart != nil && p.err == nil {
			all.Go(func() error {
				_, _ = h.manifests(p)
				return nil
			})
		}
	}
	_ = all.Wait() // none fails
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
