package expand

import (
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// Objects that only one revision's parent makes: they come, go, move to another parent, or stay
// behind.

// lazyObject makes an object again when it is needed: a moved release removes and adds too many to
// hold them.
type lazyObject struct {
	make  func() *object.Object
	stays bool // it stays if nothing else makes it
}

// placeOf returns an object's key with the namespace into which its Application or HelmRelease puts
// it.
func placeOf(o *object.Object) object.Key {
	k := o.Key()
	switch {
	case k.Namespace != "" || o.Parent == nil || follows(o) || object.HasNoNamespace(k.Kind):
	case o.Parent.Application():
		k.Namespace = manifest.Text(o.Parent.Tree, "spec", "destination", "namespace")
	case o.Parent.Flux != nil:
		k.Namespace = manifest.Text(o.Parent.Flux.Source.Helm, "namespace")
	}
	return k
}

// add records an object that a parent has in only one revision.
func (c *comparison) add(h *Hub, o *object.Object, of lazyObject) {
	all := map[bool]map[object.Key]lazyObject{false: c.removed, true: c.added}[h == c.after]
	if first, known := all[placeOf(o)]; known && h == c.after {
		h.again(o, first.make())
	}
	all[placeOf(o)] = of // the last one, which Argo CD applies
}

// finish pairs objects whose parent has changed, however deep they are below removed and added
// objects, and visits objects without a pair. A removed object that stays is left behind once
// nothing else makes it.
func (c *comparison) finish() {
	opened := map[*Hub]map[object.Key]bool{c.before: {}, c.after: {}}
	for c.pairMoved() || c.open(c.before, c.removed, opened[c.before]) || c.open(c.after, c.added, opened[c.after]) || c.leaveBehind() {
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.removed), object.CompareKeys) {
		if o := c.removed[k].make(); c.isFirst(c.before, o) {
			c.visit(Pair{Before: o})
		}
	}
	for some := range slices.Chunk(slices.SortedFunc(maps.Keys(c.added), object.CompareKeys), pairsAtOnce) {
		c.prerenderNew(some)
		for _, k := range some {
			if o := c.added[k].make(); c.isFirst(c.after, o) {
				c.visit(Pair{After: o})
				c.newSecrets(o)
			}
		}
	}
}

// pairMoved compares removed objects with added objects of the same keys, and reports whether there
// are any.
func (c *comparison) pairMoved() (found bool) {
	for _, k := range slices.SortedFunc(maps.Keys(c.removed), object.CompareKeys) {
		was, is := c.removed[k], c.added[k]
		if is.make == nil {
			continue
		}
		found = true
		delete(c.removed, k)
		delete(c.added, k)
		if b, a := was.make(), is.make(); b != nil && a != nil {
			c.objects(b, a)
		}
	}
	return found
}

// open adds the followed objects below the removed or added objects of one revision. It reports
// whether it opened any for the first time.
func (c *comparison) open(h *Hub, all map[object.Key]lazyObject, opened map[object.Key]bool) bool {
	keys := slices.SortedFunc(maps.Keys(all), object.CompareKeys)
	keys = slices.DeleteFunc(keys, func(k object.Key) bool { return opened[k] || all[k].stays })
	for _, k := range keys {
		opened[k] = true
		if o := all[k].make(); o != nil && c.seen[o.Key()] == nil {
			h.below(o, false, func(x *object.Object, again func() *object.Object) bool {
				of, known := all[x.Key()]
				if !known {
					of = lazyObject{again, h == c.before && o.Deploys() && !cascades(o)}
				}
				c.add(h, x, of)
				return true
			})
		}
	}
	return len(keys) > 0
}

// leaveBehind visits the removed objects that stay, and compares the objects that they keep making.
// It reports whether there are any.
func (c *comparison) leaveBehind() (found bool) {
	for _, k := range slices.SortedFunc(maps.Keys(c.removed), object.CompareKeys) {
		was := c.removed[k]
		if !was.stays {
			continue
		}
		found = true
		delete(c.removed, k)
		o := was.make()
		if o == nil || c.seen[o.Key()] != nil {
			continue
		}
		c.visit(Pair{Before: o, Left: true})
		if len(c.added) > 0 { // something else may make its objects now
			c.before.below(o, false, func(x *object.Object, _ func() *object.Object) bool {
				if is := c.added[x.Key()]; is.make != nil {
					delete(c.added, x.Key())
					if a := is.make(); a != nil {
						c.objects(x, a)
					}
				}
				return true
			})
		}
		c.objects(o, o)
	}
	return found
}

// cascades reports whether the deployed objects are removed with an Application. Argo CD does so by
// its finalizer, in the background or not.
func cascades(o *object.Object) bool {
	if o.Flux != nil {
		return flux.Cascades(o)
	}
	return o.HasFinalizer("resources-finalizer.argocd.argoproj.io")
}

// isFirst reports whether an object of one revision has not been compared yet.
func (c *comparison) isFirst(h *Hub, o *object.Object) bool {
	switch {
	case o == nil, h == c.before && c.seen[o.Key()] != nil:
		return false
	case c.seen[o.Key()] != nil:
		h.again(o, c.seen[o.Key()]) // beside the compared object
		return false
	}
	if follows(o) {
		c.seen[o.Key()] = o.Stub()
	}
	return true
}

// newSecrets visits the objects of External Secrets that come with a new Application.
func (c *comparison) newSecrets(o *object.Object) {
	if !o.Deploys() {
		return
	}
	for _, p := range c.after.parts(o) {
		objects, _ := c.after.objects(o, p) // reports a failure
		for _, x := range objects {
			if x.OfExternalSecrets() {
				c.visit(Pair{After: x, Implied: true})
			}
		}
	}
}
