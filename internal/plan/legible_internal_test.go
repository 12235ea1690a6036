package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/expand"
)

// What is told of an object that a chart makes is bounded, and never what a Secret holds.
func TestLegible(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("same\n", 200)
	fields := func(n int) expand.Tree {
		out := expand.Tree{}
		for i := range 60 {
			out[fmt.Sprint("f", i)] = n
		}
		return out
	}
	list := func(n int) any { return make([]any, n) }
	for _, tt := range []struct {
		kind          string
		before, after expand.Tree
		told, more    int
		old, updated  any
	}{
		{"Role", expand.Tree{"spec": fields(1)}, expand.Tree{"spec": fields(2)}, maxFields, 60 - maxFields, float64(1), float64(2)},
		{"ConfigMap", expand.Tree{"data": expand.Tree{"a": long + "old"}}, expand.Tree{"data": expand.Tree{"a": long + "new\nend"}}, 1, 0, "line 201 of 201: old", "line 201 of 202: new"},
		{"ConfigMap", expand.Tree{}, expand.Tree{"data": expand.Tree{"a": long}}, 1, 0, nil, "line 1 of 201: same"},
		{"Role", expand.Tree{"rules": list(1)}, expand.Tree{"rules": list(2000)}, 1, 0, []any{nil}, "10001 bytes"},
		{"Secret", expand.Tree{"data": expand.Tree{"tls.key": "b2xk"}}, expand.Tree{"data": expand.Tree{"tls.key": "bmV3"}}, 1, 0, Hidden, Hidden},
		{"Secret", expand.Tree{}, expand.Tree{"stringData": expand.Tree{"a.b": "plain"}}, 1, 0, nil, Hidden},
		{"Secret", expand.Tree{"type": "a"}, expand.Tree{"type": "b"}, 1, 0, "a", "b"},
	} {
		object := func(tree expand.Tree) *expand.Object {
			tree["apiVersion"], tree["kind"] = "v1", tt.kind
			return &expand.Object{Tree: tree}
		}
		b, a := object(tt.before), object(tt.after)
		told, more := legible(a, fieldsOf(b, a))
		if len(told) != tt.told || more != tt.more {
			t.Errorf("%s: %d told, %d more; want %d and %d", tt.kind, len(told), more, tt.told, tt.more)
			continue
		}
		side := func(s *Side) any {
			if s == nil {
				return nil
			}
			return s.Value
		}
		if old, updated := side(told[0].Old), side(told[0].New); fmt.Sprintf("%v|%v", old, updated) != fmt.Sprintf("%v|%v", tt.old, tt.updated) {
			t.Errorf("%s: %v -> %v; want %v -> %v", tt.kind, old, updated, tt.old, tt.updated)
		}
	}
}
