package response

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// Merging says how responses to one query become one.
type Merging struct {
	// Others are the responses beside the one that is merged. Their sets keep their revisions byte
	// for byte (G7).
	Others []*Response
	// Pick says by what a set is about which response it comes from: 0 for the one that is merged,
	// else the place among the others plus one. It depends on the cluster, the group and the
	// component alone, and is called in the order of clusters.
	Pick func(*lifecycle.Item) int
	// Places are what Pick says of each cluster, whatever the component, where it says the same of
	// all components and all responses are of the same clusters; else nil.
	Places []int
	// Holds is a text about the sets that manual holds keep, which Fingerprint takes in: a hold
	// changes no digest.
	Holds string
	// Like is any other merge for the query, with which this one shares the parts that are the
	// same; nil for none.
	Like *Response
}

// Merge returns the response with parameter sets of others. A set that is picked from a response
// that lacks it is left out. Each cluster is picked anew, so that sharing needs no other condition
// than being the same: a part is a list of clusters, each with a revision.
func (t *Response) Merge(m Merging) *Response {
	merge := merger{Merging: m, responses: slices.Concat([]*Response{t}, m.Others), isOwn: true}
	merge.at, merge.atOf = make([]*encodedCluster, len(merge.responses)), make([]*fleetstate.Cluster, len(merge.responses))
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to, holds: m.Holds}
	add := func(p *part) {
		out.parts = append(out.parts, p)
		out.add(p.total)
	}
	merge.cursors = make([]clusterCursor, len(merge.responses))
	for i, r := range merge.responses {
		merge.cursors[i].parts = r.parts
	}
	for merge.areAligned() && len(out.parts) < len(t.parts) {
		merge.pickPart(len(out.parts))
		add(merge.part(len(out.parts)))
	}
	for merge.Places == nil && merge.next() {
		if merge.cluster(); len(merge.clusters) == partSize {
			add(merge.part(len(out.parts)))
		}
	}
	if len(merge.clusters) > 0 {
		add(merge.part(len(out.parts)))
	}
	if merge.isOwn {
		return t
	}
	return out
}

// merger is a merge under way.
type merger struct {
	Merging
	responses []*Response
	cursors   []clusterCursor
	at        []*encodedCluster     // what each response says of the cluster
	atOf      []*fleetstate.Cluster // which it is there
	first     *fleetstate.Cluster   // any of them
	// clusters and revisions become the next part.
	of        []*fleetstate.Cluster
	clusters  []*encodedCluster
	revisions [][]byte
	isOwn     bool // all is from the response that is merged
}

// part makes a part of the last clusters: that of the earlier merge, if it is the same.
func (m *merger) part(i int) *part {
	defer func() { m.of, m.clusters, m.revisions = m.of[:0], m.clusters[:0], m.revisions[:0] }()
	clusters, revisions := m.clusters, m.revisions
	if m.Like == nil || i >= len(m.Like.parts) {
		return newPart(m.of, slices.Clone(clusters), slices.Clone(revisions), nil)
	}
	like := m.Like.parts[i]
	if slices.Equal(like.clusters, clusters) {
		if clusters = like.clusters; slices.EqualFunc(like.revisions, revisions, bytes.Equal) {
			return like
		}
	} else {
		clusters = slices.Clone(clusters)
	}
	return newPart(m.of, clusters, slices.Clone(revisions), like)
}

// areAligned reports whether the places of all clusters are known. If they are not, the clusters
// are picked one by one.
func (m *merger) areAligned() bool {
	if m.Places != nil && slices.ContainsFunc(m.responses, func(r *Response) bool { return !r.isOf(len(m.Places)) }) {
		m.Places = nil
	}
	return m.Places != nil
}

// isOf reports whether the response is of so many clusters.
func (t *Response) isOf(clusters int) bool {
	n := len(t.parts)
	return n == (clusters+partSize-1)/partSize && (n == 0 || len(t.parts[n-1].of) == clusters-(n-1)*partSize)
}

// pickPart picks the clusters of a part by their places.
func (m *merger) pickPart(i int) {
	from := i * partSize
	for k, place := range m.Places[from:min(from+partSize, len(m.Places))] {
		from := m.responses[place].parts[i]
		m.add(from.of[k], from.clusters[k], place)
	}
}

// add adds a cluster to the next part, with the revision of the response that it comes from.
func (m *merger) add(of *fleetstate.Cluster, c *encodedCluster, place int) {
	m.of, m.clusters, m.revisions = append(m.of, of), append(m.clusters, c), append(m.revisions, m.responses[place].revision)
	m.isOwn = m.isOwn && place == 0
}

// clusterCursor goes through the clusters of a response, which are sorted by name.
type clusterCursor struct {
	parts []*part
	next  int // in the first of the parts
}

// cluster is the next cluster, nil at the end.
func (c *clusterCursor) cluster() *fleetstate.Cluster {
	for len(c.parts) > 0 && c.next == len(c.parts[0].of) {
		c.parts, c.next = c.parts[1:], 0
	}
	if len(c.parts) == 0 {
		return nil
	}
	return c.parts[0].of[c.next]
}

// next sets what each response says of the next cluster, nil for nothing. It reports false at the
// end.
func (m *merger) next() bool {
	m.first = nil
	for i := range m.cursors {
		if c := m.cursors[i].cluster(); c != nil && (m.first == nil || c.Member.Name < m.first.Member.Name) {
			m.first = c
		}
	}
	for i := range m.cursors {
		m.at[i], m.atOf[i] = nil, nil
		if c := m.cursors[i].cluster(); c != nil && c.Member.Name == m.first.Member.Name {
			m.at[i], m.atOf[i] = m.cursors[i].parts[0].clusters[m.cursors[i].next], c
			m.cursors[i].next++
		}
	}
	return m.first != nil
}

// Apart returns what two responses to one query are about where they differ: sets that only one of
// them has, and sets with different digests.
func Apart(a, b *Response) (out []lifecycle.Item) {
	m := merger{cursors: []clusterCursor{{parts: a.parts}, {parts: b.parts}}, at: make([]*encodedCluster, 2), atOf: make([]*fleetstate.Cluster, 2)}
	for m.next() {
		if m.at[0] != m.at[1] {
			out = append(m.at[0].without(m.at[1], out), m.at[1].without(m.at[0], nil)...)
		}
	}
	return out
}

// without appends what a cluster's sets are about, except for sets that another one has with the
// same digest. Both may be nil.
func (c *encodedCluster) without(other *encodedCluster, out []lifecycle.Item) []lifecycle.Item {
	if c == nil {
		return out
	}
	for _, e := range c.sets {
		isSame := func(o encodedSet) bool {
			return o.subject.Name == e.subject.Name && bytes.Equal(o.digest(), e.digest())
		}
		if other == nil || !slices.ContainsFunc(other.sets, isSame) {
			out = append(out, e.subject.Item)
		}
	}
	return out
}

// None is a response without parameter sets, of a state that knows nothing of what is asked for.
func (t *Response) None(st *fleetstate.State) *Response {
	return newResponse(st, t.opening, nil, t.closing)
}

// noSets is a cluster of which nothing is said.
var noSets = &encodedCluster{}

// cluster adds what the merged response says of the cluster. One that no response has as it is here
// is a cluster of its own, which nobody else shares.
func (m *merger) cluster() {
	place, isMixed := m.place()
	own := &fleetstate.Cluster{Member: m.first.Member}
	switch {
	case isMixed:
		m.add(own, m.mixed(), 0)
		m.isOwn = false
	case m.at[place] == nil:
		m.add(own, noSets, place)
	default:
		m.add(m.atOf[place], m.at[place], place)
	}
}

// place is the response from which all sets of the cluster are picked, 0 without any; or they are
// mixed.
func (m *merger) place() (place int, isMixed bool) {
	var last *lifecycle.Item
	for i, c := range m.at {
		if c == nil || i > 0 && c == m.at[0] {
			continue
		}
		for k := range c.sets {
			item := &c.sets[k].subject.Item
			if last != nil && item.Component == last.Component && item.Group == last.Group {
				continue
			}
			picked := m.Pick(item)
			if last != nil && picked != place {
				return 0, true
			}
			last, place = item, picked
		}
	}
	return place, false
}

// mixed is what the merged response says of a cluster that comes from several responses.
func (m *merger) mixed() *encodedCluster {
	var sets []encodedSet
	var tally paramset.Tally
	for i, c := range m.at {
		if c == nil {
			continue
		}
		tally.Add(c.rest())
		for _, e := range c.sets {
			if m.Pick(&e.subject.Item) != i {
				continue
			}
			if e.hole > 0 {
				e.revision = m.responses[i].revision
			}
			sets = append(sets, e)
		}
	}
	slices.SortStableFunc(sets, func(a, b encodedSet) int { return strings.Compare(a.subject.Component, b.subject.Component) })
	return newEncodedCluster(sets, tally)
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
	var all []encodedSet
	for _, name := range order {
		all = append(all, sets[name])
	}
	one := newEncodedCluster(all, paramset.Tally{})
	out := &Response{opening: t.opening, closing: t.closing, revision: t.revision, to: t.to, parts: []*part{newPart(nil, []*encodedCluster{one}, nil, nil)}}
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
