package hierarchy

import (
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
)

// lists merges lists into the list below them by a rule's strategy.
func (m *merger) lists(a *yamldoc.Node, rule *Rule, later ...*yamldoc.Node) *yamldoc.Node {
	l := list{items: slices.Clone(a.Items()), rule: rule}
	again := map[int][]*yamldoc.Node{} // what an element merges with after the first merge, by its place
	for _, b := range later {
		for _, item := range b.Items() {
			switch i := l.find(item); {
			case i < 0:
				l.append(item)
			case rule.Strategy != ByKey: // the list has it
			case again[i] != nil:
				again[i] = append(again[i], item)
			default:
				if l.replace(i, m.element(i, l.items[i], item)) {
					again[i] = []*yamldoc.Node{} // further elements with the key merge with this one, too
				}
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(again)) {
		l.items[i] = m.element(i, l.items[i], again[i]...)
	}
	out := yamldoc.ListAt(later[len(later)-1], l.items)
	m.replaced.note(out, a)
	return out
}

// element merges maps into an element of a list.
func (m *merger) element(i int, a *yamldoc.Node, later ...*yamldoc.Node) *yamldoc.Node {
	m.path = append(m.path, strconv.Itoa(i))
	defer func() { m.path = m.path[:len(m.path)-1] }()
	if len(later) == 1 {
		return m.maps(a, later[0])
	}
	return m.fold(a, later)
}

// list finds its elements by what a rule compares, each in constant time.
type list struct {
	items  []*yamldoc.Node
	rule   *Rule
	places map[uint64][]int // places of elements, ascending, by the hash of what is compared
}

// compared returns the part of an element that a rule compares: all of it or its key, nil for
// nothing.
func (l *list) compared(item *yamldoc.Node) *yamldoc.Node {
	switch l.rule.Strategy {
	case Unique:
		return item
	case ByKey:
		return item.Get(l.rule.Key)
	}
	return nil
}

// find returns the place of the first element that equals item by the rule, -1 if there is none.
func (l *list) find(item *yamldoc.Node) int {
	value := l.compared(item)
	if value == nil {
		return -1
	}
	if l.places == nil {
		l.places = make(map[uint64][]int, len(l.items))
		for i := range l.items {
			l.note(i)
		}
	}
	for _, i := range l.places[hash(value)] {
		if Equal(l.compared(l.items[i]), value) {
			return i
		}
	}
	return -1
}

func (l *list) append(item *yamldoc.Node) {
	l.items = append(l.items, item)
	if l.places != nil {
		l.note(len(l.items) - 1)
	}
}

// replace replaces an element that find has found, and reports whether its key is the same. The key
// may differ: a list may have grown by the merge.
func (l *list) replace(i int, item *yamldoc.Node) bool {
	before := hash(l.compared(l.items[i]))
	l.items[i] = item
	if value := l.compared(item); value != nil && hash(value) == before {
		return true
	}
	at, _ := slices.BinarySearch(l.places[before], i)
	if at == 0 {
		l.places[before] = l.places[before][1:] // without a copy: there may be many
	} else {
		l.places[before] = slices.Delete(l.places[before], at, at+1)
	}
	l.note(i)
	return false
}

// note adds an element to the places.
func (l *list) note(i int) {
	value := l.compared(l.items[i])
	if value == nil {
		return
	}
	h := hash(value)
	at, _ := slices.BinarySearch(l.places[h], i)
	l.places[h] = slices.Insert(l.places[h], at, i)
}

// seed differs in each process: no file can be written so that its values have one hash.
var seed = maphash.MakeSeed()

// hash returns the same hash for values that are Equal.
func hash(n *yamldoc.Node) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	write(&h, n)
	return h.Sum64()
}

func write(h *maphash.Hash, n *yamldoc.Node) {
	maphash.WriteComparable(h, n.Kind)
	maphash.WriteComparable(h, n.Literal())
	maphash.WriteComparable(h, len(n.Fields())+len(n.Items()))
	for _, f := range n.Fields() {
		maphash.WriteComparable(h, f.Key)
		write(h, f.Value)
	}
	for _, item := range n.Items() {
		write(h, item)
	}
}
