package response

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Merging says how responses to one query become one.
type Merging struct {
	// Others keep their revisions byte for byte (G7).
	Others []*Response
	// Pick says by what a set is about which response it comes from: 0 for the one that is merged,
	// else the place among the others plus one. It depends on the cluster, the group and the
	// component alone.
	Pick func(lifecycle.Item) int
	// Like is an earlier merge for the query, of which all is shared that stays; nil for none.
	// Stays names of each cluster the revision that Pick picks for all sets, if it picked that one
	// then, too; empty where it may be another one. It is nil where that holds for none.
	Like  *Merged
	Stays func([]*fleetstate.Cluster) []string
}

// Merged is a merged response, and what it has been made of.
type Merged struct {
	*Response
	from []mergedPart // by part; nil where the parts of its responses are not of the same clusters
}

// mergedPart is what a part has been made of: of all responses, and of those that it has sets of.
type mergedPart struct {
	all, used []*part
	revisions [][]byte // of those used
}

// Merge returns the response with parameter sets of others. A set that is picked from a response
// that lacks it is left out. What nothing differs in is shared.
func (t *Response) Merge(m Merging) *Merged {
	out := &Merged{Response: &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to}}
	responses := slices.Concat([]*Response{t}, m.Others)
	if out.mergeParts(responses, m) {
		if slices.Equal(out.parts, t.parts) {
			out.Response = t
		}
		return out
	}
	out.parts, out.from = nil, nil
	all := make([]clusterCursor, len(responses))
	for i, r := range responses {
		all[i].parts = r.parts
	}
	changed := false
	var clusters []*encodedCluster
	var revisions [][]byte
	at := make([]*encodedCluster, len(all))
	for nextCluster(all, at) {
		merged, place := mergeCluster(at, responses, m.Pick)
		changed = changed || place != 0
		clusters, revisions = append(clusters, merged), append(revisions, revisionOf(responses, place))
	}
	if !changed {
		out.Response = t
		return out
	}
	for i := 0; i < len(clusters); i += partSize {
		end := min(i+partSize, len(clusters))
		out.parts = append(out.parts, newPart(nil, clusters[i:end], revisions[i:end]))
	}
	for _, p := range out.parts {
		out.add(p.total)
	}
	return out
}

// revisionOf is what belongs into the holes of a cluster that comes whole from one response: nil
// for the one that is merged, and for a cluster of several.
func revisionOf(responses []*Response, place int) []byte {
	if place > 0 {
		return responses[place].revision
	}
	return nil
}

// mergeParts merges part by part, and takes over those of the earlier merge that stay. It reports
// false where the parts of the responses are not of the same clusters.
func (t *Merged) mergeParts(responses []*Response, m Merging) bool {
	count := len(responses[0].parts)
	if slices.ContainsFunc(responses, func(r *Response) bool { return len(r.parts) != count }) {
		return false
	}
	t.parts, t.from = make([]*part, count), make([]mergedPart, count)
	for i := range count {
		all := make([]*part, len(responses))
		for j, r := range responses {
			all[j] = r.parts[i]
		}
		if p := m.shared(i, responses, all); p != nil {
			t.parts[i], t.from[i] = p, mergedPart{all, m.Like.from[i].used, m.Like.from[i].revisions}
		} else if !t.mergePart(i, responses, all, m) {
			return false
		}
	}
	for _, p := range t.parts {
		t.add(p.total)
	}
	return true
}

// shared is a part of the earlier merge that stays as it is, nil for none: the parts that it is
// made of are there, with their revisions, picks are the same, and nothing is picked from a part
// that has come since.
func (m Merging) shared(i int, responses []*Response, all []*part) *part {
	if m.Like == nil || i >= len(m.Like.from) || len(m.Like.from[i].used) == 0 {
		return nil
	}
	was := m.Like.from[i]
	for j, used := range was.used {
		isThere := false
		for k, p := range all {
			isThere = isThere || p == used && bytes.Equal(responses[k].revision, was.revisions[j])
		}
		if !isThere {
			return nil
		}
	}
	old := m.partLike(i, was.used[0])
	if old == nil {
		return nil
	}
	for k, c := range old.clusters {
		if len(c.sets) > 0 && !old.isExpected(k) {
			return nil
		}
	}
	for k, p := range all {
		if !slices.Contains(was.all, p) && (!isOfSame(p, was.used[0]) || p.hasPicked(k, m.Pick)) {
			return nil
		}
	}
	return m.Like.parts[i]
}

// hasPicked reports whether anything is picked from a part of a response.
func (p *part) hasPicked(place int, pick func(lifecycle.Item) int) bool {
	return slices.ContainsFunc(p.clusters, func(c *encodedCluster) bool {
		return slices.ContainsFunc(c.sets, func(e encodedSet) bool { return pick(e.subject.Item) == place })
	})
}

// isOfSame reports whether two parts are of the same clusters, in the same order.
func isOfSame(a, b *part) bool {
	return slices.EqualFunc(a.of, b.of, func(a, b *fleetstate.Cluster) bool { return a.Member.Name == b.Member.Name })
}

// earlierPart is a part of an earlier merge, of the same clusters.
type earlierPart struct {
	*part
	from  mergedPart
	stays []string // by cluster: Merging.Stays
}

// isExpected reports whether a cluster comes whole from the revision that is picked then and now.
func (p *earlierPart) isExpected(cluster int) bool {
	is, want := p.revisions[cluster], p.stays[cluster]
	return want != "" && len(is) == len(want)+len(`"revision":"",`) && string(is[len(`"revision":"`):len(is)-len(`",`)]) == want
}

// partLike is the part of the earlier merge that is of the clusters of another part, nil for none.
func (m Merging) partLike(i int, p *part) *earlierPart {
	if m.Like == nil || i >= len(m.Like.from) || m.Like.parts[i].revisions == nil || !isOfSame(p, m.Like.from[i].all[0]) {
		return nil
	}
	stays := m.Stays(p.of)
	if stays == nil {
		return nil
	}
	return &earlierPart{m.Like.parts[i], m.Like.from[i], stays}
}

// keeps is what the earlier merge says of a cluster, and the response that it comes from whole, if
// that is what is picked now, too; else mixed.
func (p *earlierPart) keeps(cluster int, at []*encodedCluster, responses []*Response) (*encodedCluster, int) {
	if p == nil || !p.isExpected(cluster) {
		return nil, mixed
	}
	place, was := mixed, p.clusters[cluster]
	for j, c := range at {
		if c == was {
			if bytes.Equal(responses[j].revision, p.revisions[cluster]) {
				place = j
			}
		} else if !slices.ContainsFunc(p.from.all, func(q *part) bool { return q.clusters[cluster] == c }) {
			return nil, mixed
		}
	}
	return was, place
}

// mergePart merges a part. It reports false for parts that are not of the same clusters.
func (t *Merged) mergePart(i int, responses []*Response, all []*part, m Merging) bool {
	for _, p := range all[1:] {
		if p != all[0] && !isOfSame(p, all[0]) || len(p.of) == 0 {
			return false
		}
	}
	clusters, revisions := make([]*encodedCluster, len(all[0].of)), make([][]byte, len(all[0].of))
	isOwn, isUsed := true, make([]bool, len(all))
	at := make([]*encodedCluster, len(all))
	old := m.partLike(i, all[0])
	for k := range clusters {
		for j, p := range all {
			at[j] = p.clusters[k]
		}
		var place int
		if clusters[k], place = old.keeps(k, at, responses); place == mixed {
			clusters[k], place = mergeCluster(at, responses, m.Pick)
		}
		isOwn = isOwn && place == 0
		if place >= 0 {
			isUsed[place] = true
			revisions[k] = responses[place].revision
			continue
		}
		for j := range isUsed {
			isUsed[j] = true
		}
	}
	from := mergedPart{all: all}
	for j, is := range isUsed {
		if is {
			from.used, from.revisions = append(from.used, all[j]), append(from.revisions, responses[j].revision)
		}
	}
	t.from[i] = from
	if t.parts[i] = all[0]; !isOwn {
		t.parts[i] = newPart(nil, clusters, revisions)
		if old != nil {
			t.parts[i].shareKey(old.part)
		}
	} else {
		t.from[i].used, t.from[i].revisions = nil, nil // it says no revision: no other merge shares it
	}
	return true
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

// mergeCluster is what the merged response says of a cluster, and the response from which all of
// that comes: mixed for a cluster of several.
func mergeCluster(at []*encodedCluster, responses []*Response, pick func(lifecycle.Item) int) (*encodedCluster, int) {
	var last *lifecycle.Item
	place, first, isMixed := mixed, mixed, false
	each := func(at []*encodedCluster, f func(i int, e *encodedSet)) {
		for i, c := range at {
			if c == nil {
				continue
			}
			for k := range c.sets {
				e := &c.sets[k]
				if item := &e.subject.Item; last == nil || item.Component != last.Component || item.Group != last.Group {
					last, place = item, pick(*item)
				}
				f(i, e)
			}
		}
	}
	different := at
	if !slices.ContainsFunc(at, func(c *encodedCluster) bool { return c != at[0] }) {
		different = at[:1]
	}
	each(different, func(int, *encodedSet) {
		isMixed = isMixed || first != mixed && first != place
		first = place
	})
	switch {
	case !isMixed && (first == mixed || first == 0) && at[0] != nil:
		return at[0], 0
	case !isMixed && first > 0 && at[first] != nil:
		return at[first], first
	}
	out := &encodedCluster{}
	for _, c := range at {
		if c != nil {
			out.tally.Add(c.tally)
		}
	}
	each(at, func(i int, e *encodedSet) {
		if place != i {
			return
		}
		out.sets = append(out.sets, *e)
		if e.hole > 0 {
			out.sets[len(out.sets)-1].revision = responses[i].revision
		}
	})
	out.sum()
	slices.SortStableFunc(out.sets, func(a, b encodedSet) int { return strings.Compare(a.subject.Component, b.subject.Component) })
	return out, mixed
}

// mixed is the place of a cluster that comes from several responses.
const mixed = -1

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
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to, parts: []*part{newPart(nil, []*encodedCluster{one.sum()}, nil)}}
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
