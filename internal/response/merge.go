package response

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Merge returns the response with parameter sets of other responses to the same query, which keep
// their revisions byte for byte (G7). Pick says by what a set is about which response it comes
// from: 0 for this one, else the place among the others plus one. A set that pick wants from a
// response that lacks it is left out. What nothing differs in is shared.
func (t *Response) Merge(others []*Response, pick func(lifecycle.Item) int) *Response {
	all := make([]map[string]*encodedCluster, 1+len(others))
	names := map[string]bool{}
	for i := range all {
		r := t
		if i > 0 {
			r = others[i-1]
		}
		all[i] = map[string]*encodedCluster{}
		for _, p := range r.parts {
			for j, c := range p.of {
				all[i][c.Member.Name], names[c.Member.Name] = p.clusters[j], true
			}
		}
	}
	changed := false
	var clusters []*encodedCluster
	for _, name := range slices.Sorted(maps.Keys(names)) {
		merged := mergeCluster(name, all, others, pick)
		changed = changed || merged != all[0][name]
		clusters = append(clusters, merged)
	}
	if !changed {
		return t
	}
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to}
	for of := range slices.Chunk(clusters, partSize) {
		p := newPart(nil, of)
		out.parts = append(out.parts, p)
		out.add(p.total)
	}
	return out
}

// None is a response without parameter sets, of a state that knows nothing of what is asked for.
func (t *Response) None(st *fleetstate.State) *Response {
	return newResponse(st, t.opening, nil, t.closing)
}

// mergeCluster is what the merged response says of a cluster.
func mergeCluster(name string, all []map[string]*encodedCluster, others []*Response, pick func(lifecycle.Item) int) *encodedCluster {
	out, isOwn := &encodedCluster{}, all[0][name] != nil
	for i := range all {
		c := all[i][name]
		if c == nil {
			continue
		}
		out.tally.Add(c.tally)
		for _, e := range c.sets {
			if pick(e.subject.Item) != i {
				isOwn = isOwn && i > 0
				continue
			}
			if i > 0 {
				isOwn = false
				if e.hole > 0 {
					e.revision = others[i-1].revision
				}
			}
			out.sets = append(out.sets, e)
		}
	}
	if isOwn {
		return all[0][name]
	}
	slices.SortStableFunc(out.sets, func(a, b encodedSet) int { return strings.Compare(a.subject.Component, b.subject.Component) })
	return out
}

// MergeReleases returns the response of view releases with what other responses have beside it:
// releases that clusters in later rings are on still, and components that run there.
func (t *Response) MergeReleases(others []*Response) *Response {
	sets, order := map[string]encodedSet{}, []string{}
	changed := false
	for i, r := range slices.Concat([]*Response{t}, others) {
		for e := range r.all() {
			known, there := sets[e.subject.Name]
			switch {
			case !there:
				if i > 0 {
					changed, e.revision = true, r.revision
				}
				sets[e.subject.Name] = e
				order = append(order, e.subject.Name)
			case i > 0:
				if more, ok := withComponents(known, e); ok {
					changed, sets[e.subject.Name] = true, more
				}
			}
		}
	}
	if !changed {
		return t
	}
	slices.Sort(order)
	one := &encodedCluster{}
	for _, name := range order {
		one.sets = append(one.sets, sets[name])
	}
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to, parts: []*part{newPart(nil, []*encodedCluster{one})}}
	out.add(out.parts[0].total)
	return out
}

// withComponents is a release's set with the components and clusters that another one has beside
// it; false if there are none.
func withComponents(e, other encodedSet) (encodedSet, bool) {
	var a, b paramset.ReleaseSet
	if json.Unmarshal(e.text, &a) != nil || json.Unmarshal(other.text, &b) != nil {
		return e, false
	}
	values, components, ok := releaseValues(a.HelmValues)
	_, more, okOther := releaseValues(b.HelmValues)
	if !ok || !okOther {
		return e, false
	}
	isMore := false
	for name, entry := range more {
		if _, there := components[name]; !there {
			components[name], isMore = entry, true
		}
	}
	clusters := slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Clusters, b.Clusters))))
	if !isMore && len(clusters) == len(a.Clusters) {
		return e, false
	}
	text, err := yamldoc.FromAny(nil, values).YAML()
	if err != nil {
		return e, false
	}
	a.HelmValues, a.Clusters = string(text), clusters
	if e.hole == 0 {
		own := struct{ Revision string }{}
		_ = json.Unmarshal(e.text, &own) // it has been read
		a.Revision = own.Revision
	}
	out, failure := encode(&a)
	out.revision = e.revision
	return out, failure == nil
}

// releaseValues are the values of charts/application-sets, and the components in them.
func releaseValues(text string) (values, components map[string]any, ok bool) {
	doc, err := yamldoc.ParseLenient("values", []byte(text), nil)
	if err != nil {
		return nil, nil, false
	}
	values, _ = doc.Root.Any().(map[string]any)
	components, ok = values[catalog.ComponentsKey].(map[string]any)
	return values, components, ok
}
