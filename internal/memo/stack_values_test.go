package memo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/budget"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestStackIsMergedAsItsLayers: what is remembered of folders that clusters share is what is merged
// of their files level by level, with the same charges; where files, templates, folders or limits
// make problems, only that says so. Snapshots succeed each other, with one memo.
func TestStackIsMergedAsItsLayers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	texts := []string{"a: 1\n", "a: {b: 2, c: [1]}\n", "a: {b: null, d: x}\ne: [2]\n", "{}\n", "", "a:\n  b: {c: 3}\n", "- list\n", "a: [\n", "a: 1\na: 2\n"}
	rules, err := hierarchy.NewRules(hierarchy.Rule{Pattern: "e", Strategy: hierarchy.Append})
	require.NoError(t, err)
	m, documents := New(0), hierarchy.NewCache()
	var index *hierarchy.Index
	files := map[string]*snapshot.File{}
	merged, refused := 0, 0
	for step := range 400 {
		next := maps.Clone(files)
		for range 1 + random.IntN(6) {
			p := []string{"system", "region/a", "region/b", "tenant", "cluster/1", "cluster/2", "cluster/3"}[random.IntN(7)] + []string{"/x.yaml", "/y.yaml"}[random.IntN(2)]
			switch n := random.IntN(60); {
			case n == 0:
				p += hierarchy.TemplateSuffix
			case n == 1:
				next[p] = snapshot.TooLarge(p, 9, 8)
				continue
			case n < 25:
				delete(next, p+hierarchy.TemplateSuffix)
				delete(next, p)
				continue
			}
			text := texts[random.IntN(6)]
			if random.IntN(60) == 0 {
				text = texts[random.IntN(len(texts))]
			}
			next[p] = snapshot.NewFile(p, []byte(text), 1000)
		}
		files = next
		s := snapshot.New(fmt.Sprint(step), files)
		if index == nil {
			index = hierarchy.NewIndex(s)
		} else {
			index = index.Next(s)
		}
		for cluster := range 6 {
			isRequired := random.IntN(12) == 0
			dirs := []hierarchy.Dir{{Level: "system", Path: "system"}, {Level: "region", Path: []string{"region/a", "region/b"}[cluster%2]}, {Level: "tenant", Path: "tenant", Required: isRequired}, {Level: "cluster", Path: fmt.Sprint("cluster/", cluster/2+1)}}
			if cluster == 5 {
				dirs = slices.Delete(dirs, 1, 2)
			}
			folders := index.Folders(dirs)
			f := File{Path: []string{"x.yaml", "y.yaml"}[random.IntN(2)], Scope: "g/c"}
			if random.IntN(2) == 0 {
				f.Rules = rules
			}
			charged := budget.Cost{budget.Steps: random.IntN(8) / 7 * (4_000_000 - random.IntN(20))}
			got, want := budget.NewAccount("m"), budget.NewAccount("m")
			_, _ = got.Charge(problem.Pos{File: "before"}, charged), want.Charge(problem.Pos{File: "before"}, charged)
			onto := m.Merge([]hierarchy.Layer{{Level: "catalog", Path: "c", Root: layerRoot(t, documents)}}[:random.IntN(2)], f.Rules, f.Scope)
			tree, isDone := m.MergeStack(onto, index.Stack(folders), f, documents, got)
			layers, err := hierarchy.Resolve(folders, documents, func() any { return map[string]any{} }, want, f.Path)
			isTemplate := slices.ContainsFunc(layers, func(l hierarchy.Layer) bool { return hierarchy.IsTemplate(l.Path) })
			switch {
			case !isDone && err == nil && !isTemplate:
				t.Fatalf("step %d: %v are not merged", step, layers)
			case !isDone:
				refused++
				continue
			case err != nil || isTemplate:
				t.Fatalf("step %d: %v are merged: %v", step, layers, err)
			}
			merged++
			if plain := m.MergeOnto(onto, layers, f.Rules, f.Scope); plain != tree {
				t.Fatalf("step %d: another tree than that of %v", step, layers)
			}
			fresh := hierarchy.Merge(slices.Concat(onto.Layers(), slices.DeleteFunc(slices.Clone(layers), hierarchy.Layer.Missing)), f.Rules)
			require.Equal(t, fmt.Sprintf("%+v", text(t, m, fresh)), fmt.Sprintf("%+v", text(t, m, tree)), "step %d", step)
			require.Equal(t, fmt.Sprintf("%+v", *want), fmt.Sprintf("%+v", *got), "step %d: charged", step)
		}
	}
	if merged < 500 || refused < 200 {
		t.Errorf("%d merged, %d left to Resolve: too few to say anything", merged, refused)
	}
}

// layerRoot are a catalog's values.
func layerRoot(t *testing.T, documents *hierarchy.Cache) *yamldoc.Node {
	t.Helper()
	doc, err := documents.Doc(snapshot.NewFile("c", []byte("a: {z: 0}\ne: [0]\n"), 1000))
	require.NoError(t, err)
	return doc.Root
}

// text is a tree as YAML, with the places of its layers.
func text(t *testing.T, m *Memo, tree *hierarchy.Tree) []any {
	t.Helper()
	if tree == nil {
		return nil
	}
	out, err := m.Text(tree.Root)
	require.NoError(t, err)
	return []any{out, tree.Layers(), tree.Conflicts()}
}
