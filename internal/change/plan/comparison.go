package plan

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/query"
)

// Requested reports whether an ApplicationSet queries for an Application of a hub, at the base and
// at the head; nil means that all are requested.
type Requested func(hub string, a inventory.Application) (base, head bool)

// Compare returns the plan from base to head. Applications that are not requested are counted
// apart, because nothing makes them. Members that cannot be computed are Broken. A broken member
// that keeps its base state does so in the plan; any other is left out, because one of its sides is
// unknown.
func Compare(base, head *fleetstate.State, requested Requested) *Plan {
	var broken []Broken
	without := map[fleetstate.ID]bool{}
	for _, st := range []*fleetstate.State{base, head} {
		for _, q := range st.Quarantined("") {
			b := Broken{Hub: q.Hub, Cluster: q.Name, Revision: Head, Kept: q.Standing == fleetstate.Kept, Problems: q.Problems}
			if st == base {
				b.Revision = Base
			}
			if !b.Kept {
				without[q.ID] = true
			}
			broken = append(broken, b)
		}
	}
	c := comparison{base: base, head: head, requested: requested, before: map[string]*fleetOf{}, after: map[string]*fleetOf{}}
	for _, inv := range inventory.Of(base) {
		c.before[inv.Hub] = index(inv, without)
	}
	after := inventory.Of(head)
	for _, inv := range after {
		c.after[inv.Hub] = index(inv, without)
	}
	p := &Plan{Broken: broken}
	for _, hub := range union(c.before, c.after) {
		p.Hubs = append(p.Hubs, c.hub(hub))
	}
	for _, inv := range after {
		for i := range p.Hubs {
			if p.Hubs[i].Name == inv.Hub {
				p.Hubs[i].Waiting = waiting(inv, c.after[inv.Hub])
			}
		}
	}
	return p
}

// StateError is a state that cannot be compared.
type StateError struct {
	Base bool // the base's, else the head's
	Err  error
}

func (e *StateError) Error() string {
	which := "head"
	if e.Base {
		which = "base"
	}
	return fmt.Sprintf("%s: %v", which, e.Err)
}

// Unwrap returns the state's own error.
func (e *StateError) Unwrap() error { return e.Err }

// comparison is one Compare.
type comparison struct {
	base, head    *fleetstate.State
	requested     Requested
	before, after map[string]*fleetOf // by hub
}

// fleetOf is a hub's inventory by names.
type fleetOf struct {
	inventory inventory.Inventory
	clusters  map[string]inventory.Cluster
	without   map[fleetstate.ID]bool
}

// key identifies an Application of a cluster. twin counts the Applications of one name, which lint
// reports.
type key struct {
	view query.View
	name string
	twin int
}

// index leaves out retired members, and the members in without.
func index(inv inventory.Inventory, without map[fleetstate.ID]bool) *fleetOf {
	f := &fleetOf{inventory: inv, clusters: map[string]inventory.Cluster{}, without: without}
	for _, c := range inv.Clusters {
		if c.Member.Lifecycle != fleet.Retired && !f.lacks(c.Member.Name) {
			f.clusters[c.Member.Name] = c
		}
	}
	return f
}

func (f *fleetOf) lacks(cluster string) bool {
	return f.without[fleetstate.ID{Hub: f.inventory.Hub, Name: cluster}]
}

// names returns all clusters that exist or have Applications (a hub without a member file).
func (f *fleetOf) names() map[string]bool {
	out := map[string]bool{}
	for _, name := range f.inventory.Names() {
		if !f.lacks(name) {
			out[name] = true
		}
	}
	return out
}

// applications returns a cluster's Applications, by key.
func (f *fleetOf) applications(cluster string) map[key]inventory.Application {
	if f.lacks(cluster) {
		return nil
	}
	return byKey(f.inventory.Applications(cluster))
}

func byKey(all []inventory.Application) map[key]inventory.Application {
	out := make(map[key]inventory.Application, len(all))
	for _, a := range all {
		k := key{view: a.View, name: a.Name}
		for _, taken := out[k]; taken; _, taken = out[k] {
			k.twin++
		}
		out[k] = a
	}
	return out
}

// hub compares cluster by cluster: a hub's clusters run many Applications, but few change.
func (c *comparison) hub(name string) Hub {
	h := Hub{Name: name, Clusters: []Cluster{}}
	before, after := c.before[name], c.after[name]
	if before == nil {
		before = &fleetOf{}
	}
	if after == nil {
		after = &fleetOf{}
	}
	names := union(before.names(), after.names())
	clusters, tallies := make([]Cluster, len(names)), make([]tally, len(names))
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i, cluster := range names {
		all.Go(func() error {
			t := &tallies[i]
			*t = tally{notRequested: map[NotRequested]int{}, unknown: map[string]int{}, unlisted: map[string]int{}}
			if c.shared(name, cluster, before, after, t) {
				return nil
			}
			clusters[i] = c.cluster(name, cluster, before, after)
			old, updated := before.applications(cluster), after.applications(cluster)
			c.setApart(name, old, updated, t)
			takeUnknown(old, updated, before.inventory, after.inventory, t)
			unlistedChanges(old, updated, t)
			t.unchanged = c.applications(name, &clusters[i], old, updated)
			return nil
		})
	}
	_ = all.Wait() // none fails
	said, notRequested := componentsOf(clusters), map[NotRequested]int{}
	h.Unknown, h.Unlisted = map[string]int{}, map[string]int{}
	for i, cluster := range clusters {
		all, t := cluster.Applications, tallies[i]
		cluster.Applications = []Application{}
		for _, a := range all {
			if said.repeats(&a) {
				t.unchanged++
			} else {
				cluster.Applications = append(cluster.Applications, a)
			}
		}
		h.UnchangedApplications += t.unchanged
		if cluster.Action != "" || len(cluster.Applications) > 0 {
			h.Clusters = append(h.Clusters, cluster)
		} else {
			h.UnchangedClusters++
		}
		addTo(notRequested, t.notRequested)
		addTo(h.Unknown, t.unknown)
		addTo(h.Unlisted, t.unlisted)
	}
	for x, n := range notRequested {
		x.Applications = n
		h.NotRequested = append(h.NotRequested, x)
	}
	slices.SortFunc(h.NotRequested, func(a, b NotRequested) int {
		return cmp.Or(strings.Compare(string(a.View), string(b.View)), strings.Compare(a.Group, b.Group))
	})
	h.Rings = ringsOf(c.base, c.head, h)
	return h
}

// tally counts the Applications of a cluster that do not change, and the ones that the plan leaves
// out, as Hub does.
type tally struct {
	unchanged         int
	notRequested      map[NotRequested]int
	unknown, unlisted map[string]int
}

// addTo adds counts to others.
func addTo[K comparable](sums, counts map[K]int) {
	for k, n := range counts {
		sums[k] += n
	}
}

// component is a component that a release of an owner deploys.
type component struct{ owner, group, release, name string }

// components holds the components that have a changed Application on any cluster of a hub.
type components map[component]bool

func componentsOf(clusters []Cluster) components {
	out := components{}
	for _, c := range clusters {
		for _, a := range c.Applications {
			if a.View == query.Components {
				out[component{a.Owner, a.Group, a.Release, a.Component}] = true
			}
		}
	}
	return out
}

// repeats removes from a release's differences what changed components list themselves. It reports
// whether nothing else changes.
func (c components) repeats(a *Application) bool {
	if a.View != query.Releases || a.Action != Change {
		return false
	}
	a.Differences = slices.DeleteFunc(a.Differences, func(d Difference) bool {
		name, key := entryOf(d)
		return catalog.IsRead(key) && c[component{a.Owner, a.Group, a.Release, name}]
	})
	return len(a.Differences) == 0
}

// shared counts the Applications of a cluster that both states share unchanged: the requested ones,
// and the others apart. It returns false if the Applications themselves must be compared.
func (c *comparison) shared(hub, cluster string, before, after *fleetOf, t *tally) bool {
	if before.lacks(cluster) || after.lacks(cluster) {
		return false
	}
	isShared := inventory.Shared(before.inventory, after.inventory, cluster, func(a inventory.Application) bool {
		base, head := true, true
		if c.requested != nil {
			base, head = c.requested(hub, a)
		}
		switch {
		case base != head:
			return false
		case !base:
			t.notRequested[NotRequested{View: a.View, Group: a.Group}]++
		case !a.Unlisted:
			t.unchanged++
		}
		return true
	})
	if !isShared {
		t.unchanged = 0
		clear(t.notRequested)
	}
	return isShared
}

// setApart removes the Applications that are not requested from both maps, and counts them. Newly
// requested Applications count as created. Applications that are no longer requested stay: an
// ApplicationSet keeps querying after its maker has gone.
func (c *comparison) setApart(hub string, old, updated map[key]inventory.Application, t *tally) {
	if c.requested == nil {
		return
	}
	for k, a := range merged(old, updated) {
		switch base, head := c.requested(hub, a); {
		case !base && !head:
			delete(old, k)
			delete(updated, k)
			t.notRequested[NotRequested{View: a.View, Group: a.Group}]++
		case !base:
			delete(old, k)
		}
	}
}

// takeUnknown removes from both maps the Applications that are unknown at one of the revisions, and
// counts them by group.
func takeUnknown(old, updated map[key]inventory.Application, before, after inventory.Inventory, t *tally) {
	for k := range merged(old, updated) {
		a, wasThere := old[k]
		b, isThere := updated[k]
		isUnknown := a.Unknown || b.Unknown ||
			wasThere && !isThere && a.IsOfRelease && after.Lacks(a.Cluster, a.Group) ||
			isThere && !wasThere && b.IsOfRelease && before.Lacks(b.Cluster, b.Group)
		if isUnknown {
			t.unknown[cmp.Or(b.Group, a.Group)]++
			delete(old, k)
			delete(updated, k)
		}
	}
}

// unlistedChanges counts by group the differing Applications whose components the catalog of their
// release lacks at both revisions.
func unlistedChanges(old, updated map[key]inventory.Application, t *tally) {
	for k, x := range merged(old, updated) {
		a, wasThere := old[k]
		b, isThere := updated[k]
		if wasThere && !a.Unlisted || isThere && !b.Unlisted {
			continue
		}
		if _, differ := differences(a, b); differ || wasThere != isThere {
			t.unlisted[x.Group]++
		}
	}
}

// applications adds the changed Applications to a cluster, and counts the unchanged ones.
func (c *comparison) applications(hub string, of *Cluster, old, updated map[key]inventory.Application) (unchanged int) {
	for _, k := range slices.SortedFunc(maps.Keys(merged(old, updated)), compareKeys) {
		a, wasThere := old[k]
		b, isThere := updated[k]
		wasThere, isThere = wasThere && !a.Unlisted, isThere && !b.Unlisted
		changed := newApplication(b, Create)
		switch {
		case !wasThere && !isThere:
			continue
		case b.Unlisted && sameRequester(a, b): // its ApplicationSet is left behind and keeps it
			unchanged++
			continue
		case b.Unlisted:
			changed = newApplication(a, Remove)
			changed.Cause, changed.Deletion = Lost, fleet.Orphan
			// The guard keeps it if it knows the requester.
			changed.Detail = fmt.Sprintf("the catalog of release %q does not have it; a service that knows who asks keeps it", b.Release)
		case !isThere:
			changed = c.removal(hub, a, *of)
		case wasThere:
			var differ bool
			changed.Action = Change
			if changed.Differences, differ = differences(a, b); !differ {
				unchanged++
				continue
			}
			if !sameRequester(a, b) {
				changed.Action = Move
			}
		}
		of.Applications = append(of.Applications, changed)
	}
	renames(of.Applications)
	waits(of.Applications)
	return unchanged
}

// sameRequester reports whether the same engine queries for two Applications of the same release.
func sameRequester(a, b inventory.Application) bool {
	return a.Owner == b.Owner && a.Engine == b.Engine && a.Group == b.Group && a.Release == b.Release
}

// cluster returns what changes for a cluster itself.
func (c *comparison) cluster(hub, name string, before, after *fleetOf) Cluster {
	a, wasThere := before.clusters[name]
	b, isThere := after.clusters[name]
	out := Cluster{Name: name, Differences: []Difference{}, Applications: []Application{}}
	member := b.Member
	switch {
	case wasThere && isThere:
		if ds := clusterDifferences(a, b); len(ds) > 0 {
			out.Action, out.Differences = Change, ds
		}
	case isThere:
		out.Action = Create
	case wasThere:
		out.Action, member = Remove, a.Member
		out.Cause, out.Position = c.clusterCause(hub, name)
	}
	if member != nil {
		out.Tenant, out.Environment, out.Member = member.Tenant, member.Environment, member.Pos
	}
	return out
}

// waiting returns the draining members for which the head has changes.
func waiting(inv inventory.Inventory, has *fleetOf) []Waiting {
	var out []Waiting
	for _, name := range slices.Sorted(maps.Keys(inv.Waiting)) {
		w := inv.Waiting[name]
		now, would := has.applications(name), byKey(w.Applications)
		differs := slices.DeleteFunc(clusterDifferences(has.clusters[name], w.Cluster), func(d Difference) bool { return d.Name == "lifecycle" })
		x := Waiting{Name: w.Cluster.Member.Name, Itself: len(differs) > 0, Position: w.Cluster.Member.KeyPos("lifecycle")}
		for k := range merged(now, would) {
			a, is := now[k]
			b, wouldBe := would[k]
			if _, differ := differences(a, b); k.view != query.Releases && (is != wouldBe || differ) {
				x.Applications++
			}
		}
		if x.Itself || x.Applications > 0 {
			out = append(out, x)
		}
	}
	return out
}

func union[V any](a, b map[string]V) []string { return slices.Sorted(maps.Keys(merged(a, b))) }

func merged[K comparable, V any](a, b map[K]V) map[K]V {
	out := make(map[K]V, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func compareKeys(a, b key) int {
	return cmp.Or(strings.Compare(string(a.view), string(b.view)), strings.Compare(a.name, b.name), cmp.Compare(a.twin, b.twin))
}
