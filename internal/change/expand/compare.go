package expand

import (
	"fmt"
	"iter"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand/flux"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/response"
)

// Pair is an object before and after; a side without the object is nil.
type Pair struct {
	Before, After *object.Object
	// Left means that nothing makes the object any more, but it stays because its Application does
	// not prune. It keeps making its own objects.
	Left bool
	// Implied means that the object comes or moves with its Application. Compare visits such
	// objects only of External Secrets.
	Implied bool
}

// Any returns the object after, or the removed object before.
func (p Pair) Any() *object.Object {
	if p.After != nil {
		return p.After
	}
	return p.Before
}

// Compare returns the differences between two revisions of one hub, computed while they are read.
// It skips an ApplicationSet that cannot be expanded at one of them, which is a problem of that
// revision. An object that has another parent afterwards is still the same object.
func Compare(before, after *Hub) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		goesOn := true
		after.breaks(before)
		visit := func(p Pair) { goesOn = goesOn && (isFolderRoot(p.Any()) || yield(p)) }
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
	// followed holds the folders that make followed objects or have changed. Compare looks into
	// whatever names one of them.
	followed map[string]bool
	// changed holds the files that have changed.
	changed map[string]bool
	// removed and added hold what one parent no longer makes, and what another parent makes now.
	removed, added map[object.Key]lazyObject
	seen           map[object.Key]*object.Object // without trees
	// compared holds the responses of both revisions, apart for sets that may bring objects.
	compared map[bool]*response.Outlines
}

// lists pairs the objects of two parents; ap is the parent afterwards. With followedOnly, the
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
		if o := b[k]; a[k] == nil && (ap != nil || !c.after.unread[o.Pos.File]) {
			stays := flux.Stays(o, ap) || ap == nil && !isFolderRoot(o) || // no engine removes what a user applied
				ap != nil && ap.Application() && (!ap.Prunes() || o.KeepsItself())
			c.add(c.before, o, lazyObject{func() *object.Object { return o }, stays})
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

// objects compares an object that is in both revisions.
func (c *comparison) objects(b, a *object.Object) {
	if follows(a) {
		if c.seen[a.Key()] != nil {
			return
		}
		c.seen[a.Key()] = a.Stub()
	}
	var before, after []part
	if a.Deploys() && b.Deploys() {
		before, after = c.before.parts(b), c.after.parts(a)
	}
	switch {
	case b.Digest() != a.Digest(), c.changesValues(b, a, before, after):
		c.visit(Pair{Before: b, After: a})
	case a.OfExternalSecrets() && b.Parent != nil && a.Parent != nil:
		c.visitMoved(b, a)
	}
	switch {
	case a.ApplicationSet():
		c.sets(b, a)
	case a.Deploys() && b.Deploys():
		c.applications(b, a, before, after)
	default:
		before, after := flux.ArtifactOwner(b), flux.ArtifactOwner(a)
		if before != nil && after != nil {
			c.lists(a, c.before.artifact(b, *before), c.after.artifact(a, *after), false)
		}
	}
}

// applications compares the objects that two Applications make of their parts.
func (c *comparison) applications(b, a *object.Object, before, after []part) {
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
		if had && has { // else the failure is reported
			c.lists(a, old, updated, same)
		}
	}
}

// isHalfFollowed reports whether one of our own charts is followed at only one revision: at the
// other it has a version that this program does not have and does not fetch. Its objects are then
// not compared, which is reported.
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

// movedSecrets visits the objects of External Secrets that two Applications make alike in different
// places.
func (c *comparison) movedSecrets(b, a *object.Object, before, after []part) {
	for _, p := range after {
		i := slices.IndexFunc(before, func(q part) bool { return q.key == p.key })
		if i < 0 || p.err != nil {
			continue
		}
		if p.chart != nil || p.built != nil {
			if _, err := c.after.manifests(p); err != nil {
				continue // nothing else of the change renders it
			}
		}
		olds, _ := c.before.objects(b, before[i])
		news, _ := c.after.objects(a, p)
		for j := range min(len(olds), len(news)) { // in the same order, from the same files
			if news[j].OfExternalSecrets() {
				c.visitMoved(olds[j], news[j])
			}
		}
	}
}

// visitMoved visits an object if its Application deploys it elsewhere. The object leaves its former
// place where the Application prunes, but never another cluster: Argo CD looks only at the new one.
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
	look, differing := true, responses(nil) // look into all Applications
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
	unique := func(o *object.Object) { // only Applications that differ are made
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
			case x == nil || y == nil: // reported
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

// addSet records an Application that an ApplicationSet has in only one revision, and returns it.
func (c *comparison) addSet(h *Hub, parent *object.Object, s set) *object.Object {
	o := h.application(parent, s)
	if o != nil {
		c.add(h, o, lazyObject{make: func() *object.Object { return h.application(parent, s) }})
	}
	return o
}

// bySetName returns the sets by unique names, and the names in order.
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
