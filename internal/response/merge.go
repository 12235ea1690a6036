package response

import (
	"encoding/json"
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
// from: 0 for this one, else the place among the others plus one. It depends on the cluster, the
// group and the component alone. A set that pick wants from a response that lacks it is left out.
// What nothing differs in is shared.
func (t *Response) Merge(others []*Response, pick func(lifecycle.Item) int) *Response {
	all := make([]clusterCursor, 1+len(others))
	all[0].parts = t.parts
	for i, r := range others {
		all[i+1].parts = r.parts
	}
	changed := false
	var clusters []*encodedCluster
	at := make([]*encodedCluster, len(all))
	for nextCluster(all, at) {
		merged := mergeCluster(at, others, pick)
		changed = changed || merged != at[0]
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

// clusterCursor goes through the clusters of a response, which are sorted by name.
type clusterCursor struct {
	parts []*part
	next  int // in the first of the parts
}

// name is that of the next cluster; false at the end.
func (c *clusterCursor) name() (string, bool) {
	for len(c.parts) > 0 && c.next == len(c.parts[0].of) {
		c.parts, c.next = c.parts[1:], 0
	}
	if len(c.parts) == 0 {
		return "", false
	}
	return c.parts[0].of[c.next].Member.Name, true
}

// nextCluster sets what each response says of the next cluster, nil for nothing. It reports false
// at the end.
func nextCluster(all []clusterCursor, at []*encodedCluster) bool {
	first, found := "", false
	for i := range all {
		if name, ok := all[i].name(); ok && (!found || name < first) {
			first, found = name, true
		}
	}
	for i := range all {
		at[i] = nil
		if name, ok := all[i].name(); ok && name == first {
			at[i] = all[i].parts[0].clusters[all[i].next]
			all[i].next++
		}
	}
	return found
}

// None is a response without parameter sets, of a state that knows nothing of what is asked for.
func (t *Response) None(st *fleetstate.State) *Response {
	return newResponse(st, t.opening, nil, t.closing)
}

// mergeCluster is what the merged response says of a cluster.
func mergeCluster(at []*encodedCluster, others []*Response, pick func(lifecycle.Item) int) *encodedCluster {
	out, isOwn := &encodedCluster{}, at[0] != nil
	var last lifecycle.Item
	place := -1
	for i, c := range at {
		if c == nil {
			continue
		}
		out.tally.Add(c.tally)
		for _, e := range c.sets {
			if item := e.subject.Item; place < 0 || item.Component != last.Component || item.Group != last.Group {
				last, place = item, pick(item)
			}
			if place != i {
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
		return at[0]
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
