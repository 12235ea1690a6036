package factor

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// levelled are places of clusters named <environment>-<n>: all, the environment, the cluster.
func levelled(clusters ...string) []Place {
	var out []Place
	for _, c := range clusters {
		var environment string
		var n int
		if _, err := fmt.Sscanf(c, "%4s-%d", &environment, &n); err != nil {
			panic(err)
		}
		out = append(out, Place{c, []string{"all", environment, c}})
	}
	return out
}

// Values stand once, at the least specific level that they hold for (rules 1 and 2).
func TestByLevel(t *testing.T) {
	t.Parallel()
	type values = map[string]Tree
	tests := []struct {
		name         string
		values, want values
	}{
		{
			"what all have stands once",
			values{"prod-1": {"a": "1", "b": Tree{"c": true}}, "prod-2": {"a": "1", "b": Tree{"c": true}}, "devs-1": {"a": "1", "b": Tree{"c": true}}},
			values{"all": {"a": "1", "b": Tree{"c": true}}},
		},
		{
			"what an environment has stands there",
			values{"prod-1": {"a": "p", "x": "y"}, "prod-2": {"a": "p", "x": "y"}, "devs-1": {"a": "d", "x": "y"}},
			values{"all": {"x": "y"}, "prod": {"a": "p"}, "devs": {"a": "d"}},
		},
		{
			"an exception stands at its cluster",
			values{"prod-1": {"a": "p"}, "prod-2": {"a": "p"}, "prod-3": {"a": "other"}, "devs-1": {}},
			values{"prod": {"a": "p"}, "prod-3": {"a": "other"}},
		},
		{
			"where a cluster lacks a value, none is lifted over it: only null would take it away",
			values{"prod-1": {"a": "p"}, "prod-2": {"a": "p"}, "prod-3": {}, "devs-1": {}},
			values{"prod-1": {"a": "p"}, "prod-2": {"a": "p"}},
		},
		{
			"null is a value of its own",
			values{"prod-1": {"a": nil}, "prod-2": {"a": nil}, "devs-1": {"a": "1"}},
			values{"prod": {"a": nil}, "devs": {"a": "1"}},
		},
		{
			"lists are one value",
			values{"prod-1": {"a": []any{"x", "y"}}, "prod-2": {"a": []any{"x"}}, "devs-1": {"a": []any{"x", "y"}}},
			values{"prod-1": {"a": []any{"x", "y"}}, "prod-2": {"a": []any{"x"}}, "devs": {"a": []any{"x", "y"}}},
		},
		{
			"an empty map is not a map with something in it",
			values{"prod-1": {"a": Tree{}}, "prod-2": {"a": Tree{"x": "1"}}, "devs-1": {"a": Tree{}}},
			values{"prod-1": {"a": Tree{}}, "prod-2": {"a": Tree{"x": "1"}}, "devs": {"a": Tree{}}},
		},
		{
			"the name of the only cluster of an environment stays with it",
			values{"prod-1": {"a": "prod-1.example.com", "b": "x"}, "devs-1": {"b": "y"}},
			values{"prod": {"b": "x"}, "prod-1": {"a": "prod-1.example.com"}, "devs": {"b": "y"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ByLevel(levelled("prod-1", "prod-2", "prod-3", "devs-1"), tt.values)
			assert.Equal(t, tt.want, got)
		})
	}
}

// Along a cluster's levels, the hierarchy's merge (which is Helm's, H2) gives the cluster's own
// values again, whatever the values are; and what is written is never more than the copies.
func TestByLevelMergesBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		var names []string
		values := map[string]Tree{}
		base := randomTree(r, 3)
		for i := range 1 + r.IntN(7) {
			name := fmt.Sprintf("%s-%d", []string{"prod", "devs", "test"}[r.IntN(3)], i)
			names = append(names, name)
			if r.IntN(6) > 0 { // others do not run the component
				values[name] = Overlay(base, randomTree(r, 3))
			}
		}
		places := levelled(names...)
		before := manifest.Digest(values)
		written := ByLevel(places, values)
		if manifest.Digest(values) != before {
			t.Fatalf("seed %d: ByLevel has changed its input", seed)
		}
		for _, p := range places {
			own, runs := values[p.Cluster]
			if !runs {
				continue
			}
			var layers []hierarchy.Layer
			for _, folder := range p.Folders {
				layers = append(layers, hierarchy.Layer{Level: folder, Root: yamldoc.FromAny(nil, any(written[folder]))})
			}
			require.Equal(t, any(own), merged(layers), "seed %d, cluster %s (-want +merged)", seed, p.Cluster)
		}
		if a, b := leaves(values), leaves(written); b > a {
			t.Fatalf("seed %d: %d leaves are written of %d", seed, b, a)
		}
	}
}

func merged(layers []hierarchy.Layer) any {
	if root := hierarchy.Merge(layers, nil).Root; root.IsMap() {
		return root.Any()
	}
	return Tree{}
}

func leaves(all map[string]Tree) int {
	n := 0
	var count func(v any)
	count = func(v any) {
		if m, ok := v.(Tree); ok && len(m) > 0 {
			for _, below := range m {
				count(below)
			}
			return
		}
		n++
	}
	for _, t := range all {
		for _, v := range t {
			count(v)
		}
	}
	return n
}

// randomTree has few keys and values, so that clusters agree and disagree.
func randomTree(r *rand.Rand, depth int) Tree {
	out := Tree{}
	for range r.IntN(4) {
		var v any
		switch n := r.IntN(9); {
		case n == 0:
			v = nil
		case n == 1:
			v = []any{"x", Tree{"y": nil}}
		case n == 2:
			v = Tree{}
		case n < 6 && depth > 0:
			v = randomTree(r, depth-1)
		case n == 6:
			v = r.IntN(2) == 0
		default:
			v = fmt.Sprint("value-", r.IntN(3))
		}
		out[[]string{"a", "b", "c", "d"}[r.IntN(4)]] = v
	}
	return out
}

// What trees share and what is left of each are together the trees again, with null as a value: it
// removes a chart's default.
func TestUnifyKeepsNull(t *testing.T) {
	t.Parallel()
	clusters := Clusters{"a": {Name: "a"}, "b": {Name: "b"}}
	of := map[string]any{"a": Tree{"x": Tree{"gone": nil, "one": "1"}, "same": "s"}, "b": Tree{"x": Tree{"gone": nil, "one": "2"}, "same": "s"}}
	shared, rest := clusters.Unify(of, func([]string) bool { return false })
	assert.Equal(t, any(Tree{"x": Tree{"gone": nil}, "same": "s"}), shared)
	for cluster := range of {
		own, _ := rest[cluster].(Tree)
		common, _ := shared.(Tree)
		assert.Equal(t, of[cluster], any(Overlay(common, own)))
	}
}
