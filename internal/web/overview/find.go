package overview

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

const (
	// maxLooked bounds the components of clusters whose values one search reads.
	maxLooked = 20_000
	// maxFound bounds the findings.
	maxFound = 300
	// maxFoundClusters bounds the clusters that are listed for one finding.
	maxFoundClusters = 10
)

// Found says which levels set a value, and where it is not the default.
type Found struct {
	Selection
	// Path is a key, or the end of a path: replicas finds controller.replicas.
	Path string `json:"path"`
	// Values are sorted by component and path, the most frequent first.
	Values []FoundValue `json:"values"`
	Total  int          `json:"total"`
	// Partial reports that one search may not read everything; choose a filter.
	Partial bool `json:"partial,omitempty"`
}

// FoundValue is a value that some clusters have.
type FoundValue struct {
	Component
	Path string `json:"path"`
	PlacedValue
	// Default is the value that it overrides in the end; nil where it is the only one.
	Default *PlacedValue `json:"default,omitempty"`
	// Count counts the clusters that have it; Clusters lists the first of them.
	Count    int       `json:"count"`
	Clusters []Cluster `json:"clusters"`
}

// match is a leaf that a search finds in a tree.
type match struct {
	key   string
	value FoundValue
}

// Find looks for a path in the values of the clusters and components that a filter selects.
func (x *Index) Find(scope access.Reader, f Filter, path string) (Found, error) {
	out := Found{Selection: x.Select(scope, f), Path: path, Values: []FoundValue{}}
	want, err := hierarchy.ParsePath(path)
	if err != nil || len(want) == 0 {
		return out, err
	}
	found := map[string]*FoundValue{}
	looked := 0
	for _, name := range out.components {
		trees := map[*hierarchy.Tree][]match{} // clusters share trees
		for _, r := range out.rows {
			d, ok := r.of(name)
			if !ok || d.state != explain.Deployed {
				continue
			}
			if looked++; looked > maxLooked {
				out.Partial = true
				break
			}
			tree := x.values(r.cluster, name)
			matches, known := trees[tree]
			if !known {
				matches = matching(tree, name, want)
				trees[tree] = matches
			}
			for _, m := range matches {
				v := found[m.key]
				if v == nil {
					v = &FoundValue{}
					*v = m.value
					found[m.key] = v
				}
				if v.Count++; len(v.Clusters) < maxFoundClusters {
					v.Clusters = append(v.Clusters, x.cluster(r.cluster))
				}
			}
		}
	}
	for _, v := range found {
		out.Values = append(out.Values, *v)
	}
	slices.SortFunc(out.Values, func(a, b FoundValue) int {
		return cmp.Or(a.compare(b.Component), strings.Compare(a.Path, b.Path), cmp.Compare(b.Count, a.Count), strings.Compare(a.Position.String(), b.Position.String()))
	})
	out.Total = len(out.Values)
	out.Values = out.Values[:min(len(out.Values), maxFound)]
	return problem.Relocate(out, x.st.Resolver().Snapshot.Locate), nil
}

// matching returns the leaves of a tree whose paths end in a path.
func matching(t *hierarchy.Tree, of Component, want []string) (out []match) {
	if t == nil {
		return nil
	}
	for _, l := range t.Leaves(nil) {
		if !contains(l.Path, want) {
			continue
		}
		v := FoundValue{Component: of, Path: hierarchy.FormatPath(l.Path), PlacedValue: PlacedValue{l.Value.Any(), l.Level, l.Pos}, Clusters: []Cluster{}}
		if n := len(l.Replaced); n > 0 {
			o := l.Replaced[n-1]
			v.Default = &PlacedValue{o.Value.Any(), o.Level, o.Pos}
		}
		text, _ := json.Marshal(v) // values from YAML
		out = append(out, match{string(text), v})
	}
	return out
}

// contains reports whether a path contains another one: the values below a map count as found.
func contains(path, want []string) bool {
	for i := 0; i+len(want) <= len(path); i++ {
		if slices.Equal(path[i:i+len(want)], want) {
			return true
		}
	}
	return false
}
