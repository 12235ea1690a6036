package expand

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Pair is an object before and after, nil where there is none.
type Pair struct {
	Before, After *Object
	// Left tells that nobody makes the object any more, and that it stays: its Application does not prune. What it makes
	// goes on being made.
	Left bool
}

// Any is the object after, or if it is gone before.
func (p Pair) Any() *Object {
	if p.After != nil {
		return p.After
	}
	return p.Before
}

// Compare returns the differences between two revisions of one hub, computed while they are read (rule 5). What an ApplicationSet makes that cannot be
// expanded at one of them is not compared: that is a problem of that one. An object that another one makes afterwards is
// still the same object.
func Compare(before, after *Hub) iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		goesOn := true
		visit := func(p Pair) { goesOn = goesOn && yield(p) }
		c := &comparison{before: before, after: after, visit: visit, gone: map[Key]once{}, come: map[Key]once{}, seen: map[Key]bool{}}
		c.followed = c.worthFollowing()
		c.lists(nil, before.roots, after.roots, false)
		c.finish()
	}
}

type comparison struct {
	before, after *Hub
	visit         func(Pair)
	// followed are the folders whose contents live or have changed: what names one of them is looked into.
	followed map[string]bool
	// gone and come are what one parent has no more, and another one may have.
	gone, come map[Key]once
	seen       map[Key]bool
}

// once makes an object anew: those that are gone or have come are many, when a release moves.
type once struct {
	again func() *Object
	left  bool // it stays, if nobody else makes it
}

// worthFollowing are all folders above files that live or have changed.
func (c *comparison) worthFollowing() map[string]bool {
	out := map[string]bool{}
	add := func(p string) {
		for dir := path.Dir(p); !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	for _, p := range snapshot.Changed(c.before.o.Snapshot, c.after.o.Snapshot) {
		add(p)
	}
	for _, s := range []*snapshot.Snapshot{c.before.o.Snapshot, c.after.o.Snapshot} {
		for _, p := range s.Paths() {
			if isManifest(p) || strings.HasSuffix(p, ".tpl") {
				if lives(s.File(p).Data) {
					add(p)
				}
			}
		}
	}
	return out
}

// lists pairs the objects of two parents, ap being the one afterwards. Of those that are the same, only what is below may differ.
func (c *comparison) lists(ap *Object, before, after []*Object, followedOnly bool) {
	names := func(objects []*Object) (map[Key]*Object, []Key) {
		by, order := map[Key]*Object{}, []Key(nil)
		for _, o := range objects {
			if _, twin := by[o.Key()]; !twin && (!followedOnly || follows(o)) {
				by[o.Key()] = o
				order = append(order, o.Key())
			}
		}
		return by, order
	}
	b, border := names(before)
	a, aorder := names(after)
	for _, k := range border {
		if a[k] == nil {
			o := b[k]
			byHand := ap == nil // nobody takes away what somebody has applied
			c.gone[k] = once{func() *Object { return o }, stays(o, ap) || follows(o) && (byHand || ap.Application() && !prunes(ap))}
		}
	}
	var both []Pair
	for _, k := range aorder {
		if o := a[k]; b[k] == nil {
			c.come[k] = once{again: func() *Object { return o }}
		} else {
			both = append(both, Pair{Before: b[k], After: o})
		}
	}
	c.pairs(both)
}

// objects compares an object that is in both revisions.
func (c *comparison) objects(b, a *Object) {
	if follows(a) {
		if c.seen[a.Key()] {
			return
		}
		c.seen[a.Key()] = true
	}
	if b.Digest() != a.Digest() {
		c.visit(Pair{Before: b, After: a})
	}
	switch {
	case a.ApplicationSet():
		c.sets(b, a)
	case a.Deploys() && b.Deploys():
		c.applications(b, a)
	default:
		before, after := fluxOwner(b), fluxOwner(a)
		if before != nil && after != nil {
			c.lists(a, c.before.artifact(b, *before), c.after.artifact(a, *after), false)
		}
	}
}

// applications compares what two Applications make.
func (c *comparison) applications(b, a *Object) {
	before, after := c.before.parts(b), c.after.parts(a)
	unchanged := map[string]bool{}
	for _, p := range before {
		if slices.ContainsFunc(after, func(q part) bool { return q.key == p.key }) {
			unchanged[p.key] = true
		}
	}
	for _, same := range []bool{true, false} {
		gather := func(h *Hub, o *Object, parts []part) (out []*Object, complete bool) {
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

// sets compares what two ApplicationSets make.
func (c *comparison) sets(b, a *Object) {
	look := true // into all of its Applications
	if b.Digest() == a.Digest() {
		var alike bool
		if alike, look = c.answers(a); alike && !look {
			return
		}
	}
	before, readable := c.before.sets(b)
	after, ok := c.after.sets(a)
	if !readable || !ok {
		return
	}
	old, was := bySetName(before)
	updated, is := bySetName(after)
	for _, name := range was {
		if _, stays := updated[name]; !stays {
			c.single(c.gone, c.before, b, old[name])
		}
	}
	type pair struct{ b, a set }
	var both []pair
	for _, name := range is {
		s, ok := old[name]
		switch t := updated[name]; {
		case !ok:
			c.single(c.come, c.after, a, t)
		case s.key != t.key || look:
			both = append(both, pair{s, t})
		}
	}
	for some := range slices.Chunk(both, batch) {
		olds, news := make([]*Object, len(some)), make([]*Object, len(some))
		parallel(len(some), func(i int) {
			olds[i], news[i] = c.before.application(b, some[i].b), c.after.application(a, some[i].a)
		})
		var both []Pair
		for i := range some {
			x, y := olds[i], news[i]
			switch {
			case x == nil || y == nil: // named
			case x.Key() == y.Key():
				both = append(both, Pair{Before: x, After: y})
			default:
				c.single(c.gone, c.before, b, some[i].b)
				c.single(c.come, c.after, a, some[i].a)
			}
		}
		c.pairs(both)
	}
}

// single puts down an Application that one ApplicationSet has in one revision alone.
func (c *comparison) single(in map[Key]once, h *Hub, parent *Object, s set) {
	o := h.application(parent, s)
	if o != nil {
		in[o.Key()] = once{again: func() *Object { return h.application(parent, s) }}
	}
}

// bySetName are sets by a name for each, and the names in order.
func bySetName(sets []set) (map[string]set, []string) {
	out, order := make(map[string]set, len(sets)), make([]string, 0, len(sets))
	for i, s := range sets {
		name := text(s.parameters.Values, "applicationName") + " " + s.name
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

// answers compares what the engine answers to an ApplicationSet that is the same in both revisions: whether that is alike, and
// whether its Applications are worth looking into, as they may name a folder that is followed. Paths stand in its template,
// or in the answers.
func (c *comparison) answers(o *Object) (alike, look bool) {
	if !onlyPlugin(o) || c.names(canonical(At(o.Tree, "spec", "template"))) {
		return false, true
	}
	alike, brings := !readsRevision(o), c.after.mayBring(o)
	for _, p := range questions(o) {
		r, err := c.after.request(o.Name(), p)
		if err != nil {
			return false, true
		}
		was, is, err := response.RespondBoth(c.before.o.State, c.after.o.State, r)
		if err != nil {
			return false, true
		}
		alike = alike && was.Fingerprint() == is.Fingerprint()
		for set := range is.Texts() {
			if lives(set) || c.names(set) || brings && sourceValue.Match(set) {
				return alike, true
			}
		}
	}
	return alike, false
}

// questions are what an ApplicationSet's own plugin generators send.
func questions(o *Object) []json.RawMessage {
	generators, _ := At(o.Tree, "spec", "generators").([]any)
	var out []json.RawMessage
	for _, g := range generators {
		if parameters := At(g, "plugin", "input", "parameters"); parameters != nil {
			out = append(out, canonical(parameters))
		}
	}
	return out
}

// pathValue is a folder that a source names, in JSON.
var pathValue = regexp.MustCompile(`"path":"((?:[^"\\]|\\.)*)"`)

// sourceValue is a chart or a folder that a source names, in JSON.
var sourceValue = regexp.MustCompile(`"(chart|path)":"[^"]`)

// names reports whether a text names a folder that is followed, or one that only the renderer knows.
func (c *comparison) names(text []byte) bool {
	for _, m := range pathValue.FindAllSubmatch(text, -1) {
		p := string(m[1])
		if strings.Contains(p, "{{") {
			if strings.Count(p, "{{") > 1 || !strings.HasPrefix(p, "{{") || !strings.HasSuffix(p, "}}") {
				return true
			}
			continue // the answer's own, which is looked at
		}
		if p != "" && c.reaches(path.Clean(p)) {
			return true
		}
	}
	return false
}

// reaches reports whether a folder is followed, or one that its kustomization is built of.
func (c *comparison) reaches(dir string) bool {
	changed := func(dir string) bool { return c.followed[dir] }
	return changed(dir) || slices.ContainsFunc(c.before.based(c.before.o.Snapshot, dir), changed) || slices.ContainsFunc(c.after.based(c.after.o.Snapshot, dir), changed)
}

// finish pairs what has another parent now, and visits what has none, with all that is below it.
func (c *comparison) finish() {
	for len(c.gone)+len(c.come) > 0 {
		gone, come := c.gone, c.come
		c.gone, c.come = map[Key]once{}, map[Key]once{}
		keys := slices.SortedFunc(maps.Keys(merged(gone, come)), compareKeys)
		c.prepareNew(gone, come, keys)
		for _, k := range keys {
			was, hasBeen := gone[k]
			is, stays := come[k]
			switch {
			case hasBeen && stays:
				if b, a := was.again(), is.again(); b != nil && a != nil {
					c.objects(b, a)
				}
			case hasBeen && was.left:
				o := was.again()
				c.visit(Pair{Before: o, Left: true})
				c.objects(o, o)
			case hasBeen:
				c.alone(c.before, was.again(), c.gone, func(o *Object) { c.visit(Pair{Before: o}) })
			default:
				c.alone(c.after, is.again(), c.come, func(o *Object) { c.visit(Pair{After: o}) })
			}
		}
	}
}

// prunes reports whether an Application removes what it makes no more by itself.
func prunes(o *Object) bool {
	prune, _ := At(o.unsteered().Tree, "spec", "syncPolicy", "automated", "prune").(bool)
	return prune
}

// cascades reports whether what an Application makes goes with it: Argo CD's finalizers say so, in the background or not.
func cascades(o *Object) bool {
	if o.flux != nil {
		return o.cascades()
	}
	all, _ := At(o.Tree, "metadata", "finalizers").([]any)
	return slices.ContainsFunc(all, func(f any) bool {
		name, _ := f.(string)
		return strings.HasPrefix(name, "resources-finalizer.argocd.argoproj.io")
	})
}

// alone visits an object of one revision; what is below it may be below another one in the other revision.
func (c *comparison) alone(h *Hub, o *Object, below map[Key]once, visit func(*Object)) {
	if o == nil || c.seen[o.Key()] {
		return
	}
	if follows(o) {
		c.seen[o.Key()] = true
	}
	visit(o)
	switch owner := fluxOwner(o); {
	case o.ApplicationSet():
		sets, _ := h.sets(o)
		for _, s := range sets {
			c.single(below, h, o, s)
		}
	case o.Deploys():
		for _, p := range h.parts(o) {
			if !p.lives() && h == c.before {
				continue
			}
			objects, _ := h.objects(o, p) // what fails is named, of what is new whatever it makes
			for _, x := range objects {
				if follows(x) {
					below[x.Key()] = once{func() *Object { return x }, h == c.before && !cascades(o)}
				}
			}
		}
	case owner != nil:
		for _, x := range h.artifact(o, *owner) {
			below[x.Key()] = once{again: func() *Object { return x }}
		}
	}
}

func merged(a, b map[Key]once) map[Key]once {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
