package expand

import (
	"slices"
	"sync"
)

// What is done ahead with charts from elsewhere: so many pairs of Applications at once, which bounds the memory, and so many
// charts are asked for at once, which mostly waits for servers.
const (
	ahead    = 32
	askAhead = 8
)

// pairs compares objects that are in both revisions, in order.
func (c *comparison) pairs(both []Pair) {
	if !c.after.Renders() {
		for _, p := range both {
			c.objects(p.Before, p.After)
		}
		return
	}
	for some := range slices.Chunk(both, ahead) {
		c.prepare(some)
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

// prepare renders the charts of Applications that differ, several at once: comparing then finds them in the Memo. What fails
// is found again, and named there.
func (c *comparison) prepare(pairs []Pair) {
	var todo []rendering
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
					todo = append(todo, rendering{side.h, p})
				}
			}
		}
	}
	render(todo)
}

// prepareNew renders the charts of Applications that are in the head alone.
func (c *comparison) prepareNew(gone, come map[Key]once, keys []Key) {
	if !c.after.Renders() {
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return gone[k].again != nil || come[k].again == nil })
	for some := range slices.Chunk(fresh, ahead) {
		var todo []rendering
		for _, k := range some {
			if o := come[k].again(); o != nil && o.Deploys() {
				for _, p := range c.after.parts(o) {
					todo = append(todo, rendering{c.after, p})
				}
			}
		}
		ask(todo)
	}
}

// render asks for all charts, then renders them.
func render(todo []rendering) {
	todo = slices.DeleteFunc(todo, func(r rendering) bool { return r.p.chart == nil || r.p.err != nil })
	ask(todo)
	parallel(len(todo), func(i int) { _, _ = todo[i].h.manifests(todo[i].p) })
}

// ask asks for all that comes from elsewhere, each once: whoever renders finds the answers there.
func ask(todo []rendering) {
	questions := map[any]func(){}
	for _, r := range todo {
		r.h.wants(r.p, questions)
	}
	slots := make(chan struct{}, askAhead)
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

// mayBring reports whether an ApplicationSet's Applications deploy to where their own engine finds Applications, and may be
// charts from elsewhere.
func (h *Hub) mayBring(o *Object) bool {
	destination := At(o.Tree, "spec", "template", "spec", "destination")
	return h.Renders() && text(destination, "server") == inCluster && text(destination, "namespace") == text(o.Tree, "metadata", "namespace")
}
