package expand

import (
	"fmt"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
)

// batch limits how many Applications of an ApplicationSet are rendered before they are visited,
// which bounds the memory.
const batch = 256

// Walk visits every object, parents first, until visit returns false. It computes and visits
// objects that expansion does not follow only if all is set.
func (h *Hub) Walk(all bool, visit func(*object.Object) bool) {
	w := traversal{h: h, all: all, visit: visit, seen: map[object.Key]*object.Object{}}
	for _, o := range h.roots {
		w.object(o)
	}
}

type traversal struct {
	h       *Hub
	all     bool
	visit   func(*object.Object) bool
	stopped bool
	seen    map[object.Key]*object.Object
}

func (w *traversal) object(o *object.Object) {
	if w.stopped {
		return
	}
	if first := w.seen[o.Key()]; first != nil {
		w.h.again(o, first)
		return
	}
	if follows(o) {
		w.seen[o.Key()] = o.Stub()
	}
	if w.stopped = !w.visit(o); w.stopped {
		return
	}
	w.h.below(o, w.all, func(x *object.Object, _ func() *object.Object) bool {
		w.object(x)
		return !w.stopped
	})
}

// below visits the objects that an object makes: all of them, or only the ones that expansion
// follows. The function makes the object again. A failure is reported.
func (h *Hub) below(o *object.Object, all bool, visit func(x *object.Object, again func() *object.Object) bool) {
	made := func(objects []*object.Object, all bool) bool {
		for _, x := range objects {
			if (all || follows(x)) && !visit(x, func() *object.Object { return x }) {
				return false
			}
		}
		return true
	}
	switch owner := flux.ArtifactOwner(o); {
	case o.ApplicationSet():
		sets, _ := h.sets(o)
		for some := range slices.Chunk(sets, batch) {
			for i, x := range h.applications(o, some) {
				if x != nil && !visit(x, func() *object.Object { return h.application(o, some[i]) }) {
					return
				}
			}
		}
	case o.Deploys():
		for _, p := range h.parts(o) {
			if !all && !p.lives() {
				continue
			}
			if objects, _ := h.objects(o, p); !made(objects, all) {
				return
			}
		}
	case owner != nil:
		made(h.artifact(o, *owner), true)
	}
}

// applications renders several sets in parallel; a failed set is nil.
func (h *Hub) applications(o *object.Object, sets []set) []*object.Object {
	out := make([]*object.Object, len(sets))
	run.Each(len(sets), func(i int) { out[i] = h.application(o, sets[i]) })
	return out
}

// isTwin reports whether it is an error that another object has this object's name.
func isTwin(o *object.Object) bool {
	return follows(o) && o.Parent != nil && o.Flux == nil // Flux applies both, in turns
}

// again reports an object whose name another object has, unless both are the same: a root is also
// in the folder that its own Application reads.
func (h *Hub) again(o, first *object.Object) {
	if isTwin(o) && (o.Parent.IsSet() || o.Pos != first.Pos || first.Parent != nil && first.Parent.Key() != o.Parent.Key()) {
		h.duplicate(o, first)
	}
}

// duplicate reports a second object of the same name: Argo CD fails on its ApplicationSet.
func (h *Hub) duplicate(o, first *object.Object) {
	found, related := "is made twice", []problem.Pos{first.Pos}
	if o.Pos == first.Pos && o.Parent != nil && first.Parent != nil {
		found, related = fmt.Sprintf("is made twice, by %s and %s", first.Parent.Key(), o.Parent.Key()), nil
	}
	severity := problem.Error
	if h.o.HasNoFleet { // the roots may be of several hubs
		severity = problem.Warning
	}
	h.report(problem.Problem{
		Reason: problem.DuplicateName, Severity: severity, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()),
		Found: found, Expected: "one object of each name", Related: related, Cluster: o.Parameters,
	})
}

// All returns the followed objects, and with all set every other object of this repository's files
// and charts.
func (h *Hub) All(all bool) (out []*object.Object) {
	h.Walk(all, func(o *object.Object) bool { out = append(out, o); return true })
	return out
}
