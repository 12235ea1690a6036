package yamldoc

import (
	"slices"
	"testing"
	"unsafe"
)

// A node gives out what it holds as what it is, and nothing as anything else.
func TestNodeHoldsOneKindOfValue(t *testing.T) {
	place := &Node{Doc: &Doc{File: "a.yaml"}, Line: 3, Column: 5}
	one, two := ScalarAt(place, Number, "1"), ScalarAt(place, String, "two")
	for name, tt := range map[string]struct {
		node   *Node
		kind   Kind
		text   string
		fields []Field
		items  []*Node
	}{
		"null":   {&Node{}, Null, "", nil, nil},
		"number": {one, Number, "1", nil, nil},
		"text":   {two, String, "two", nil, nil},
		"empty":  {ScalarAt(place, String, ""), String, "", nil, nil},
		"map":    {MapAt(place, []Field{{Key: "a", Value: one}, {Key: "b", Value: two}}), Map, "", []Field{{Key: "a", Value: one}, {Key: "b", Value: two}}, nil},
		"no key": {MapAt(place, nil), Map, "", nil, nil},
		"list":   {ListAt(place, []*Node{two, one}), List, "", nil, []*Node{two, one}},
		"none":   {ListAt(place, nil), List, "", nil, nil},
	} {
		n := tt.node
		if n.Kind != tt.kind || n.Text() != tt.text || !slices.Equal(n.Fields(), tt.fields) || !slices.Equal(n.Items(), tt.items) {
			t.Errorf("%s: %s %q, fields %v, items %v", name, n.Kind, n.Text(), n.Fields(), n.Items())
		}
		if name != "null" && n.Pos() != place.Pos() {
			t.Errorf("%s: at %s, expected %s", name, n.Pos(), place.Pos())
		}
	}
	var absent *Node
	if absent.Fields() != nil || absent.Items() != nil {
		t.Error("an absent node has fields or items")
	}
}

// A state is millions of nodes.
func TestNodeIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Node{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 32 {
		t.Errorf("a node has %d bytes, expected at most 32", size)
	}
}
