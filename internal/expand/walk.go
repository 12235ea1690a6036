package expand

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/argosy-hub/argosy/internal/problem"
)

// batch is how many Applications of an ApplicationSet are rendered before they are visited: what bounds the memory.
const batch = 256

// Walk visits every object, parents before what is below them, until there is nothing new or visit returns false. What
// charts make that is not followed any further (rule 1) is computed and visited only if all is set.
func (h *Hub) Walk(all bool, visit func(*Object) bool) {
	w := walker{h: h, all: all, visit: visit, seen: map[Key]*Object{}}
	for _, o := range h.roots {
		w.object(o)
	}
}

type walker struct {
	h       *Hub
	all     bool
	visit   func(*Object) bool
	stopped bool
	seen    map[Key]*Object
}

func (w *walker) object(o *Object) {
	if w.stopped {
		return
	}
	if first := w.seen[o.Key()]; first != nil {
		if follows(o) && o.Parent != nil && o.flux == nil { // Flux applies both, in turns
			w.h.duplicate(o, first)
		}
		return
	}
	if follows(o) {
		w.seen[o.Key()] = &Object{Engine: o.Engine, Pos: o.Pos, Parent: o.Parent} // without its tree
	}
	if w.stopped = !w.visit(o); w.stopped {
		return
	}
	switch owner := fluxOwner(o); {
	case o.ApplicationSet():
		sets, _ := w.h.sets(o)
		for some := range slices.Chunk(sets, batch) {
			for _, a := range w.h.applications(o, some) {
				if a != nil {
					w.object(a)
				}
			}
		}
	case o.Deploys():
		for _, p := range w.h.parts(o) {
			if !w.all && !p.lives() {
				continue
			}
			objects, _ := w.h.objects(o, p)
			for _, x := range objects {
				if w.all || follows(x) {
					w.object(x)
				}
			}
		}
	case owner != nil:
		for _, x := range w.h.artifact(o, *owner) {
			w.object(x)
		}
	}
}

// applications renders several sets at once; what fails is nil.
func (h *Hub) applications(o *Object, sets []set) []*Object {
	out := make([]*Object, len(sets))
	parallel(len(sets), func(i int) { out[i] = h.application(o, sets[i]) })
	return out
}

// duplicate names a second object of one name: Argo CD fails on the ApplicationSet that makes it.
func (h *Hub) duplicate(o, first *Object) {
	h.fault(problem.Problem{
		Reason: problem.DuplicateName, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()),
		Found: "is made twice", Expected: "one object of each name", Related: []problem.Pos{first.Pos}, Cluster: o.Parameters,
	})
}

// All is every object of a kind that expansion follows, and with all set every other that this repository's files and
// charts make.
func (h *Hub) All(all bool) []*Object {
	var out []*Object
	h.Walk(all, func(o *Object) bool {
		out = append(out, o)
		return true
	})
	return out
}

// parallel calls f for 0 to n-1 on all processors and returns when all are done.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}
