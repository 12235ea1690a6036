package expand

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/response"
)

// Pair is an object before and after, nil where there is none.
type Pair struct {
	Before, After *object.Object
	// Left tells that nobody makes the object any more, and that it stays: its Application does not
	// prune. What it makes goes on being made.
	Left bool
	// Implied tells that the object comes, goes or moves with its Application: Compare visits only
	// those of External Secrets.
	Implied bool
}

// Any is the object after, or the removed one before.
func (p Pair) Any() *object.Object {
	if p.After != nil {
		return p.After
	}
	return p.Before
}

// Compare returns the differences between two revisions of one hub, computed while they are read
// (rule 5). What an ApplicationSet makes is not compared if it cannot be expanded at one of them,
// which is a problem of that one. An object with another parent afterwards is still the same
// object.
func Compare(before, after *Hub) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		goesOn := true
		visit := func(p Pair) { goesOn = goesOn && yield(p) }
		c := &comparison{
			before: before, after: after, visit: visit, changed: map[string]bool{}, removed: map[object.Key]lazyObject{}, added: map[object.Key]lazyObject{},
			seen: map[object.Key]*object.Object{}, compared: map[bool]*response.Outlines{},
		}
		c.followed = c.followedFolders()
		c.lists(nil, before.roots, after.roots, false)
		c.finish()
	}
}

type comparison struct {
	before, after *Hub
	visit         func(Pair)
	// followed are the folders whose contents live or have changed: what names one of them is
	// looked into.
	followed map[string]bool
	// changed are the files that have changed.
	changed map[string]bool
	// gone and come are what one parent has no more, and another one may have.
	removed, added map[object.Key]lazyObject
	seen           map[object.Key]*object.Object // without trees
	// compared are the responses of both revisions, apart for sets that may bring objects.
	compared map[bool]*response.Outlines
	// silent is the base without problems: for what removed Applications read, of which whatever
	// fails is no fault of the change.
	silent *Hub
}

// lazyObject makes an object anew: a moved release removes and adds too many to hold them.
type lazyObject struct {
	make  func() *object.Object
	stays bool // it stays, if nobody else makes it
}

// lists pairs the objects of two parents, ap being the one afterwards. With followedOnly, the
// objects are equal and only objects below them may differ.
func (c *comparison) lists(ap *object.Object, before, after []*object.Object, followedOnly bool) {
	names := func(h *Hub, objects []*object.Object) (map[object.Key]*object.Object, []object.Key) {
		by, order := map[object.Key]*object.Object{}, []object.Key(nil)
		for _, o := range objects {
			if followedOnly && !follows(o) {
				continue
			}
			k := o.Key()
			switch first := by[k]; {
			case first == nil:
				order = append(order, k)
			case isTwin(o):
				h.duplicate(o, first)
			}
			by[k] = o // Argo CD applies the last one
		}
		return by, order
	}
	b, border := names(c.before, before)
	a, aorder := names(c.after, after)
	for _, k := range border {
		if a[k] == nil {
			o := b[k]
			byHand := ap == nil // nobody takes away what somebody has applied
			c.add(c.before, o, lazyObject{func() *object.Object { return o }, flux.Stays(o, ap) || byHand || ap.Application() && (!ap.Prunes() || o.KeepsItself())})
		}
	}
	var both []Pair
	for _, k := range aorder {
		if o := a[k]; b[k] == nil {
			c.add(c.after, o, lazyObject{make: func() *object.Object { return o }})
		} else {
			delete(c.removed, placeOf(b[k]))
			delete(c.added, placeOf(o))
			both = append(both, Pair{Before: b[k], After: o})
		}
	}
	c.pairs(both)
}

// placeOf is an object's key with the namespace that its Application or HelmRelease puts it into.
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

// objects compares an object that is in both revisions.
func (c *comparison) objects(b, a *object.Object) {
	if follows(a) {
		if c.seen[a.Key()] != nil {
			return
		}
		c.seen[a.Key()] = a.Stub()
	}
	switch {
	case b.Digest() != a.Digest():
		c.visit(Pair{Before: b, After: a})
	case a.OfExternalSecrets() && b.Parent != nil && a.Parent != nil:
		c.visitMoved(b, a)
	}
	switch {
	case a.ApplicationSet():
		c.sets(b, a)
	case a.Deploys() && b.Deploys():
		c.applications(b, a)
	default:
		before, after := flux.ArtifactOwner(b), flux.ArtifactOwner(a)
		if before != nil && after != nil {
			c.lists(a, c.before.artifact(b, *before), c.after.artifact(a, *after), false)
		}
	}
}

// applications compares the objects that two Applications make.
func (c *comparison) applications(b, a *object.Object) {
	before, after := c.before.parts(b), c.after.parts(a)
	if c.isHalfFollowed(b, a, before, after) {
		return
	}
	unchanged := map[string]bool{}
	for _, p := range before {
		if slices.ContainsFunc(after, func(q part) bool { return q.key == p.key }) {
			unchanged[p.key] = true
		}
	}
	if c.before.runsOn(b) != c.after.runsOn(a) || b.TargetNamespace() != a.TargetNamespace() {
		c.movedSecrets(b, a, before, after)
	}
	for _, same := range []bool{true, false} {
		gather := func(h *Hub, o *object.Object, parts []part) (out []*object.Object, complete bool) {
			complete = true
			for _, p := range parts {
				if unchanged[p.key] == same && (!same || p.lives()) {
					objects, ok := h.objects(o, p)
					out, complete = append(out, objects...), complete && ok
				}
			}
			return out, complete
		}
		old, had := gather(c.before, b, before)
		updated, has := gather(c.after, a, after)
		if had && has { // else it is named what is not known
			c.lists(a, old, updated, same)
		}
	}
}

// isHalfFollowed reports whether one of our own charts is followed at one revision alone: at the
// other it has a version that this program does not have, and that is not fetched. Then its objects
// are not compared, which is reported.
func (c *comparison) isHalfFollowed(b, a *object.Object, before, after []part) bool {
	unfollowed := func(h *Hub, o *object.Object, others []part) bool {
		for _, s := range o.Sources() {
			of := func(p part) bool { return p.source.Chart == s.Chart && p.folder != nil }
			if s.Chart == "" || ownChart(s) != nil || !slices.ContainsFunc(others, of) {
				continue
			}
			if snap, _ := h.local(s); snap == nil && !h.Renders() {
				h.reportAt(o, h.chartPos(o, s), problem.Warning, fmt.Sprintf("chart %s is not followed: what it changes is not in this plan", s.Name()), "--render fetches it")
				return true
			}
		}
		return false
	}
	return unfollowed(c.after, a, before) || unfollowed(c.before, b, after)
}

// movedSecrets visits the objects of External Secrets that two Applications make alike, each
// elsewhere.
func (c *comparison) movedSecrets(b, a *object.Object, before, after []part) {
	for _, p := range after {
		i := slices.IndexFunc(before, func(q part) bool { return q.key == p.key })
		if names, err := c.after.namesSecrets(p); i < 0 || !names || err != nil {
			continue // one that cannot be fetched is named where it is rendered
		}
		olds, _ := c.before.objects(b, before[i])
		news, _ := c.after.objects(a, p)
		for j := range min(len(olds), len(news)) { // in one order, as they are of the same files
			if news[j].OfExternalSecrets() {
				c.visitMoved(olds[j], news[j])
			}
		}
	}
}

// visitMoved visits an object if its Application deploys it elsewhere. It leaves its former place
// where the Application prunes, but never another cluster: Argo CD looks at the new one alone.
func (c *comparison) visitMoved(b, a *object.Object) {
	crosses := c.before.runsOn(b.Parent) != c.after.runsOn(a.Parent)
	if !crosses && placeOf(b) == placeOf(a) {
		return
	}
	p := Pair{Before: b, After: a, Implied: true}
	if crosses || a.Parent.Application() && !a.Parent.Prunes() {
		p.Before = nil
	}
	c.visit(p)
}

// sets compares the Applications that two ApplicationSets make.
func (c *comparison) sets(b, a *object.Object) {
	look, differing := true, responses(nil) // look into all of its Applications
	if b.Digest() == a.Digest() {
		var alike bool
		if alike, look, differing = c.sameResponses(a); alike && !look {
			return
		}
	}
	before, readable := c.before.setsOf(b, differing.query(0, c.before.query))
	after, ok := c.after.setsOf(a, differing.query(1, c.after.query))
	if !readable || !ok {
		return
	}
	old, was := bySetName(before)
	updated, is := bySetName(after)
	for _, name := range was {
		if _, stays := updated[name]; !stays {
			c.addSet(c.before, b, old[name])
		}
	}
	made := map[object.Key]*object.Object{}
	unique := func(o *object.Object) { // among Applications that differ, as no others are made
		if o == nil {
			return
		}
		if first := made[o.Key()]; first != nil {
			c.after.duplicate(o, first)
		}
		made[o.Key()] = o.Stub()
	}
	type pair struct{ b, a set }
	var both []pair
	for _, name := range is {
		s, ok := old[name]
		switch t := updated[name]; {
		case !ok:
			unique(c.addSet(c.after, a, t))
		case s.key != t.key || look:
			both = append(both, pair{s, t})
		}
	}
	for some := range slices.Chunk(both, batch) {
		olds, news := make([]*object.Object, len(some)), make([]*object.Object, len(some))
		run.Each(len(some), func(i int) {
			olds[i], news[i] = c.before.application(b, some[i].b), c.after.application(a, some[i].a)
		})
		var both []Pair
		for i := range some {
			x, y := olds[i], news[i]
			unique(y)
			switch {
			case x == nil || y == nil: // named
			case x.Key() == y.Key():
				both = append(both, Pair{Before: x, After: y})
			default:
				c.addSet(c.before, b, some[i].b)
				c.addSet(c.after, a, some[i].a)
			}
		}
		c.pairs(both)
	}
}

// addSet records an Application that one ApplicationSet has in one revision alone, and returns it.
func (c *comparison) addSet(h *Hub, parent *object.Object, s set) *object.Object {
	o := h.application(parent, s)
	if o != nil {
		c.add(h, o, lazyObject{make: func() *object.Object { return h.application(parent, s) }})
	}
	return o
}

// add records an object that one parent has in one revision alone.
func (c *comparison) add(h *Hub, o *object.Object, of lazyObject) {
	all := map[bool]map[object.Key]lazyObject{false: c.removed, true: c.added}[h == c.after]
	if first, known := all[placeOf(o)]; known && h == c.after {
		h.again(o, first.make())
	}
	all[placeOf(o)] = of // the last one, which Argo CD applies
}

// bySetName are the sets by unique names, and the names in order.
func bySetName(sets []set) (map[string]set, []string) {
	out, order := make(map[string]set, len(sets)), make([]string, 0, len(sets))
	for i, s := range sets {
		name := manifest.Text(s.parameters.Values, "applicationName") + " " + s.name
		if name == " " {
			name = fmt.Sprint(i)
		}
		if _, twin := out[name]; twin {
			name += fmt.Sprint(" ", i)
		}
		out[name] = s
		order = append(order, name)
	}
	return out, order
}

// finish pairs objects whose parent has changed, wherever below removed and added objects they are,
// and visits those without a pair. What stays is left behind once nothing else makes it.
func (c *comparison) finish() {
	opened := map[*Hub]map[object.Key]bool{c.before: {}, c.after: {}}
	for c.pairMoved() || c.open(c.before, c.removed, opened[c.before]) || c.open(c.after, c.added, opened[c.after]) || c.leaveBehind() {
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.removed), object.CompareKeys) {
		c.single(c.before, c.removed[k].make(), func(o *object.Object, implied bool) { c.visit(Pair{Before: o, Implied: implied}) })
	}
	for _, k := range slices.SortedFunc(maps.Keys(c.added), object.CompareKeys) {
		c.single(c.after, c.added[k].make(), func(o *object.Object, implied bool) { c.visit(Pair{After: o, Implied: implied}) })
	}
}

// pairMoved compares removed objects with added ones of their keys, and reports whether there are
// any.
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

// open adds the followed objects below those of one revision, and reports whether there are any of
// these that have not been opened.
func (c *comparison) open(h *Hub, all map[object.Key]lazyObject, opened map[object.Key]bool) bool {
	keys := slices.SortedFunc(maps.Keys(all), object.CompareKeys)
	keys = slices.DeleteFunc(keys, func(k object.Key) bool { return opened[k] || all[k].stays })
	if h == c.after {
		c.prefetchNew(all, keys)
	}
	for _, k := range keys {
		opened[k] = true
		if o := all[k].make(); o != nil && c.seen[o.Key()] == nil {
			c.below(h, o, func(x *object.Object, of lazyObject) {
				if first, known := all[x.Key()]; known {
					of = first
				}
				c.add(h, x, of)
			})
		}
	}
	return len(keys) > 0
}

// below are the followed objects that an object of one revision makes.
func (c *comparison) below(h *Hub, o *object.Object, add func(*object.Object, lazyObject)) {
	switch owner := flux.ArtifactOwner(o); {
	case o.ApplicationSet():
		sets, _ := h.sets(o)
		for _, s := range sets {
			if x := h.application(o, s); x != nil {
				add(x, lazyObject{make: func() *object.Object { return h.application(o, s) }})
			}
		}
	case o.Deploys():
		for _, p := range h.parts(o) {
			if !p.lives() {
				continue
			}
			objects, _ := h.objects(o, p) // what fails is named, of what is new whatever it makes
			for _, x := range objects {
				if follows(x) {
					add(x, lazyObject{func() *object.Object { return x }, h == c.before && !cascades(o)})
				}
			}
		}
	case owner != nil:
		for _, x := range h.artifact(o, *owner) {
			add(x, lazyObject{make: func() *object.Object { return x }})
		}
	}
}

// leaveBehind visits the removed objects that stay, and compares what they go on making. It reports
// whether there are any.
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
		if len(c.added) > 0 { // what it goes on making, something else may make from now on
			c.below(c.before, o, func(x *object.Object, _ lazyObject) {
				if is := c.added[x.Key()]; is.make != nil {
					delete(c.added, x.Key())
					if a := is.make(); a != nil {
						c.objects(x, a)
					}
				}
			})
		}
		c.objects(o, o)
	}
	return found
}

// cascades reports whether the deployed objects are removed with an Application, as Argo CD's
// finalizers say, in the background or not.
func cascades(o *object.Object) bool {
	if o.Flux != nil {
		return flux.Cascades(o)
	}
	return o.HasFinalizer("resources-finalizer.argocd.argoproj.io")
}

// single visits an object of one revision, and the objects of External Secrets that come and go
// with it.
func (c *comparison) single(h *Hub, o *object.Object, visit func(o *object.Object, implied bool)) {
	switch {
	case o == nil, h == c.before && c.seen[o.Key()] != nil:
		return
	case c.seen[o.Key()] != nil:
		h.again(o, c.seen[o.Key()]) // beside the one that is compared
		return
	}
	if follows(o) {
		c.seen[o.Key()] = o.Stub()
	}
	visit(o, false)
	if !o.Deploys() {
		return
	}
	for _, p := range h.parts(o) {
		if !p.lives() && h == c.before {
			for _, x := range c.removedSecrets(o, p) {
				visit(x, true)
			}
			continue
		}
		objects, _ := h.objects(o, p) // what fails is named, of what is new whatever it makes
		for _, x := range objects {
			if x.OfExternalSecrets() && (h == c.after || cascades(o)) {
				visit(x, true)
			}
		}
	}
}
