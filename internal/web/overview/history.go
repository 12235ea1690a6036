package overview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
)

// Limits of a History.
const (
	maxCommits  = 100    // that are remembered
	maxDetails  = 20_000 // components and values of all of them; older ones keep only numbers
	maxChanged  = 1000   // clusters of one commit
	maxResolved = 1000   // components of one commit whose values are compared
	maxFields   = 200    // values of one component
	maxText     = 200    // characters of a value
)

// History remembers the last states that were served: the changes from each to the next, and when
// they were running. Its zero value remembers nothing.
type History struct {
	mu      sync.Mutex
	began   time.Time
	last    *Index
	commits []*commit // oldest first
	// restored is the last revision that the record of an earlier process has.
	restored string
}

// commit holds the changes of one new state. Its JSON is part of a record (Remembered).
type commit struct {
	Before   string          `json:"before"`
	Revision string          `json:"revision"`
	By       snapshot.Commit `json:"by"`
	At       time.Time       `json:"at"`
	Clusters []clusterChange `json:"clusters"`
	// Others counts clusters beyond the limit, Unlooked the clusters whose values were not
	// compared, and Concerned all that changed. Trimmed says that details are forgotten.
	Others    int  `json:"others"`
	Unlooked  int  `json:"unlooked"`
	Concerned int  `json:"concerned"`
	Trimmed   bool `json:"trimmed"`
}

// clusterChange holds the changes of one state on one cluster.
type clusterChange struct {
	Cluster Cluster           `json:"cluster"`
	Tenants []string          `json:"tenants"` // before and after
	Action  string            `json:"action"`  // create or remove of the cluster itself; empty for its components
	Changes []ComponentChange `json:"changes"`
	// Synced and Healthy are when the engine first reported that all of it is.
	Synced  time.Time `json:"synced,omitzero"`
	Healthy time.Time `json:"healthy,omitzero"`
}

// ComponentChange holds the changes of a commit to one component on one cluster.
type ComponentChange struct {
	Component
	Before Cell `json:"before"`
	After  Cell `json:"after"`
	// Values are the values that differ. More counts further ones.
	Values []ChangedValue `json:"values"`
	More   int            `json:"more,omitempty"`
}

// ChangedValue is a value that differs, before and after; nil where there is none.
type ChangedValue struct {
	Path   string       `json:"path"`
	Before *PlacedValue `json:"before,omitempty"`
	After  *PlacedValue `json:"after,omitempty"`
}

// Record records what a new state changes, and reports whether there is news. The first state is
// where the memory begins, if there is no record of an earlier one.
func (h *History) Record(x *Index, at time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.last
	h.last = x
	switch {
	case last == nil:
		if h.began.IsZero() || len(h.commits) == 0 && h.restored != x.st.Revision {
			h.began = at
		}
		return true
	case last == x:
		return false
	}
	c := changed(last, x)
	c.At = at
	if c.Before == c.Revision && c.Concerned+c.Unlooked == 0 {
		return false // facts that change no response
	}
	h.commits = append(h.commits, c)
	h.bound()
	return true
}

// changed compares two states, cluster by cluster. Clusters that the newer state reused are equal.
func changed(before, after *Index) *commit {
	c := &commit{Before: before.st.Revision, Revision: after.st.Revision, Clusters: []clusterChange{}, By: after.st.Resolver().Snapshot.Commit()}
	old := make(map[fleetstate.ID]row, len(before.rows))
	for _, r := range before.rows {
		old[idOf(r)] = r
	}
	resolved := 0
	add := func(was, is *row) {
		change := c.compare(before, after, was, is, &resolved)
		if change.Action == "" && len(change.Changes) == 0 {
			return
		}
		if c.Concerned++; len(c.Clusters) < maxChanged {
			c.Clusters = append(c.Clusters, change)
		} else {
			c.Others++
		}
	}
	for _, is := range after.rows {
		was, ok := old[idOf(is)]
		delete(old, idOf(is))
		switch {
		case !ok:
			add(nil, &is)
		case was.cluster != is.cluster:
			add(&was, &is)
		}
	}
	for _, was := range before.rows {
		if _, gone := old[idOf(was)]; gone {
			add(&was, nil)
		}
	}
	return c
}

func idOf(r row) fleetstate.ID {
	return fleetstate.ID{Hub: r.cluster.Member.Hub, Name: r.cluster.Member.Name}
}

// The actions of a cluster.
const (
	clusterNew  = "create"
	clusterGone = "remove"
)

// compare compares a cluster of two states. A row is nil where the cluster does not exist.
func (c *commit) compare(before, after *Index, was, is *row, resolved *int) clusterChange {
	var out clusterChange
	cellOf := func(r *row, name Component) Cell {
		if r == nil {
			return Cell{}
		}
		d, _ := r.of(name)
		return Cell{State: d.state, Version: d.version(), Release: d.release}
	}
	var names []Component
	for _, side := range []struct {
		x *Index
		r *row
	}{{after, is}, {before, was}} {
		if side.r == nil {
			continue
		}
		out.Cluster = side.x.cluster(side.r.cluster)
		out.Tenants = append(out.Tenants, side.r.cluster.Member.Tenant)
		for _, cell := range side.r.cells {
			names = append(names, cell.Value().Component)
		}
	}
	switch {
	case was == nil:
		out.Action = clusterNew
	case is == nil:
		out.Action = clusterGone
	default:
		out.Cluster = after.cluster(is.cluster)
	}
	slices.SortFunc(names, Component.compare)
	unlooked := false
	for _, name := range slices.Compact(names) {
		a, b := cellOf(was, name), cellOf(is, name)
		change := ComponentChange{Component: name, Before: a, After: b, Values: []ChangedValue{}}
		if a.State == explain.Deployed && b.State == explain.Deployed {
			if *resolved++; *resolved > maxResolved {
				unlooked = true
			} else {
				change.Values, change.More = changedValues(before, after, was.cluster, is.cluster, name)
			}
		}
		if !a.Deployed() && !b.Deployed() || a == b && len(change.Values) == 0 {
			continue
		}
		out.Changes = append(out.Changes, change)
	}
	if unlooked {
		c.Unlooked++
	}
	return out
}

// changedValues returns the values of a component that differ.
func changedValues(before, after *Index, was, is *fleetstate.Cluster, name Component) (out []ChangedValue, more int) {
	all := differentValues(before.leaves(was, name), after.leaves(is, name))
	out = []ChangedValue{}
	for _, d := range all[:min(len(all), maxFields)] {
		v := ChangedValue{Path: d.Path}
		a, b := textOf(d.A), textOf(d.B)
		a, b = problem.Differing(a, b, maxText)
		if d.A != nil {
			v.Before = &PlacedValue{a, d.A.Level, before.st.Resolver().Snapshot.Locate(d.A.Position)}
		}
		if d.B != nil {
			v.After = &PlacedValue{b, d.B.Level, after.st.Resolver().Snapshot.Locate(d.B.Position)}
		}
		out = append(out, v)
	}
	return out, len(all) - len(out)
}

// textOf formats a value as text: a string as it is, and anything else as JSON.
func textOf(v *PlacedValue) string {
	if v == nil {
		return ""
	}
	if s, is := v.Value.(string); is {
		return s
	}
	text, err := json.Marshal(v.Value)
	if err != nil {
		return fmt.Sprint(v.Value)
	}
	return string(text)
}

// Observe records which changes run by now, and reports whether there is news. Only a report of an
// engine from after the change counts: an earlier one is about the state before.
func (h *History) Observe(live Live, at time.Time) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || live.Status == nil || live.Silent != "" {
		return false
	}
	newer := map[fleetstate.ID]bool{}
	for _, c := range slices.Backward(h.commits) {
		for i := range c.Clusters {
			cl := &c.Clusters[i]
			id := fleetstate.ID{Hub: cl.Cluster.Hub, Name: cl.Cluster.Name}
			if !newer[id] && cl.Healthy.IsZero() && cl.Action != clusterGone {
				was := *cl
				h.observe(live, cl, c.At, at)
				news = news || was.Synced != cl.Synced || was.Healthy != cl.Healthy
			}
			newer[id] = true // a newer commit replaces it
		}
	}
	return news
}

func (h *History) observe(live Live, cl *clusterChange, from, now time.Time) {
	at, ok := slices.BinarySearchFunc(h.last.rows, cl.Cluster, func(r row, c Cluster) int {
		m := r.cluster.Member
		return strings.Compare(m.Hub+"\x00"+m.Name, c.Hub+"\x00"+c.Name)
	})
	if !ok {
		return
	}
	r := h.last.rows[at]
	var last time.Time
	synced, healthy := true, true
	for _, ch := range cl.Changes {
		cell := h.last.cell(r, ch.Component, live, nil)
		if !cell.Deployed() {
			is := h.last.running(live, r.cluster, ch.Group, ch.Name)
			synced = synced && is.State == RunningAbsent
			continue
		}
		is := cell.Running
		if is.State != RunningPresent || is.Other || is.Sync != "Synced" || is.Since == nil || is.Since.Before(from.Truncate(time.Second)) {
			return
		}
		healthy = healthy && is.Health == "Healthy"
		if is.Since.After(last) {
			last = *is.Since
		}
	}
	if !synced || len(cl.Changes) == 0 {
		return
	}
	if last.IsZero() || last.After(now) {
		last = now
	}
	if cl.Synced.IsZero() {
		cl.Synced = last
	}
	if healthy {
		cl.Healthy = last
	}
}
