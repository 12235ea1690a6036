package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/service/access"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// Timeline lists the changes of each new state, the newest first.
type Timeline struct {
	Selection
	Cluster string `json:"cluster,omitempty"`
	// Began is when the memory begins: anything earlier is unknown.
	Began   *time.Time `json:"began,omitempty"`
	Commits []Moment   `json:"commits"`
}

// Moment is one new state.
type Moment struct {
	Before   string    `json:"before"`
	Revision string    `json:"revision"`
	At       time.Time `json:"at"`
	// Commit is the author of the revision, as far as its source says.
	Commit snapshot.Commit `json:"commit,omitzero"`
	// Facts says that only facts of the clusters have changed, and no file.
	Facts bool `json:"facts,omitempty"`
	// Unseen says that the service saw no state in between: the change from one revision to the
	// other was not compared. At is then unknown.
	Unseen bool `json:"unseen,omitempty"`
	// Clusters are the first of Concerned clusters that changed. The values of Unlooked further
	// ones were not compared. Trimmed says that only numbers are remembered.
	Clusters  []ConcernedCluster `json:"clusters"`
	Concerned int                `json:"concerned"`
	Unlooked  int                `json:"unlooked,omitempty"`
	Trimmed   bool               `json:"trimmed,omitempty"`
	// Synced and Healthy count the clusters on which the engine reports it.
	Synced  int `json:"synced"`
	Healthy int `json:"healthy"`
}

// ConcernedCluster is a cluster that a new state changed, and when it was running there.
type ConcernedCluster struct {
	Cluster
	// Gone reports that the cluster no longer exists.
	Gone       bool        `json:"gone,omitempty"`
	Action     string      `json:"action,omitempty"`
	Components []Component `json:"components"`
	Synced     *time.Time  `json:"synced,omitempty"`
	Healthy    *time.Time  `json:"healthy,omitempty"`
}

// maxMomentClusters bounds the clusters that a timeline lists for one moment.
const maxMomentClusters = 12

// Timeline returns the changes of the clusters that a filter and a cluster's name select; an empty
// name selects all.
func (h *History) Timeline(x *Index, scope access.Reader, f Filter, cluster string) Timeline {
	out := Timeline{Selection: x.Select(scope, f), Cluster: cluster, Commits: []Moment{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	out.Began = Known(h.began)
	narrow := cluster != "" || f != (Filter{}) || !scope.SeesEverything()
	for _, s := range slices.Backward(h.steps()) {
		c := s.commit
		if c == nil {
			out.Commits = append(out.Commits, Moment{Before: s.before, Revision: s.revision, Unseen: true, Clusters: []ConcernedCluster{}})
			continue
		}
		m := Moment{Before: c.Before, Revision: c.Revision, At: c.At.UTC().Truncate(time.Second), Commit: c.shown(x.st, scope), Facts: c.Before == c.Revision, Trimmed: c.Trimmed, Clusters: []ConcernedCluster{}}
		for _, cl := range c.Clusters {
			if changes := cl.selected(scope, f, cluster); changes != nil {
				m.add(x, cl, changes)
			}
		}
		if !narrow {
			m.Concerned, m.Unlooked = c.Concerned, c.Unlooked
		}
		if !narrow || m.Concerned > 0 {
			out.Commits = append(out.Commits, m)
		}
	}
	return out
}

func (m *Moment) add(x *Index, cl clusterChange, changes []ComponentChange) {
	m.Concerned++
	if !cl.Synced.IsZero() {
		m.Synced++
	}
	if !cl.Healthy.IsZero() {
		m.Healthy++
	}
	if len(m.Clusters) == maxMomentClusters {
		return
	}
	one := ConcernedCluster{Gone: x.st.Cluster(cl.Cluster.Hub, cl.Cluster.Name) == nil, Cluster: cl.Cluster, Action: cl.Action, Components: []Component{}, Synced: Known(cl.Synced), Healthy: Known(cl.Healthy)}
	for _, ch := range changes {
		one.Components = append(one.Components, ch.Component)
	}
	m.Clusters = append(m.Clusters, one)
}

// selected returns the changes that a scope and a filter see, nil for a cluster that they do not
// see. A cluster that has moved between tenants is visible only to scopes that see both.
func (cl clusterChange) selected(scope access.Reader, f Filter, cluster string) []ComponentChange {
	c := cl.Cluster
	if !cl.seenBy(scope) {
		return nil
	}
	if cluster != "" && cluster != c.Name || f.Hub != "" && f.Hub != c.Hub || f.Tenant != "" && f.Tenant != c.Tenant || f.Environment != "" && f.Environment != c.Environment {
		return nil
	}
	out := []ComponentChange{}
	for _, ch := range cl.Changes {
		if scope.SeesGroup(ch.Group) && f.selectsComponent(ch.Component) {
			out = append(out, ch)
		}
	}
	if len(out) == 0 && (cl.Action == "" || f.Group+f.Component != "") {
		return nil
	}
	return out
}

// seenBy reports whether a scope sees the cluster with each tenant that it had.
func (cl clusterChange) seenBy(scope access.Reader) bool {
	return !slices.ContainsFunc(cl.Tenants, func(tenant string) bool { return !scope.Sees(cl.Cluster.Hub, cl.Cluster.Name, tenant) })
}

// LastChange is the newest commit that changed a value.
type LastChange struct {
	Revision string          `json:"revision"`
	Before   string          `json:"before"`
	At       time.Time       `json:"at"`
	Commit   snapshot.Commit `json:"commit,omitzero"`
}

// LastChanges returns the newest changes of the values of a component on a cluster, by path. It
// leaves out forgotten changes, and changes that a scope does not see: from when the cluster had
// another tenant. The caller must be allowed to see the cluster and the component.
func (h *History) LastChanges(scope access.Reader, hub, cluster string, of Component) map[string]LastChange {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]LastChange{}
	if h.last == nil {
		return out
	}
	for _, c := range h.commits {
		for _, cl := range c.Clusters {
			if cl.Cluster.Hub != hub || cl.Cluster.Name != cluster || c.Before == c.Revision || cl.selected(scope, Filter{}, cluster) == nil {
				continue
			}
			for _, ch := range cl.Changes {
				for _, v := range ch.Values {
					if ch.Component == of {
						out[v.Path] = LastChange{c.Revision, c.Before, c.At.UTC().Truncate(time.Second), c.shown(h.last.st, scope)}
					}
				}
			}
		}
	}
	return out
}

// shown returns the author of the commit. It leaves out a subject that names a cluster, of the
// state or of the commit's changes, which the scope does not see.
func (c *commit) shown(st *fleetstate.State, scope access.Reader) snapshot.Commit {
	by, subject := c.By, strings.ToLower(c.By.Subject)
	isHidden := access.NamesInvisible(st, scope, subject)
	for _, cl := range c.Clusters {
		if cl.Cluster.IsHub || cl.seenBy(scope) {
			continue
		}
		for word := range access.Words(subject) {
			isHidden = isHidden || word == cl.Cluster.Name || strings.HasSuffix(word, "-"+cl.Cluster.Name)
		}
	}
	if isHidden {
		by.Subject = ""
	}
	return by
}

// Step holds the changes from one served revision to another.
type Step struct {
	// Revisions are the revisions that can be compared, the newest first.
	Revisions []string `json:"revisions"`
	Base      string   `json:"base"`
	Head      string   `json:"head"`
	// Clusters are the clusters that change, by hub and name. Others counts the clusters beyond the
	// limits, and Unlooked the clusters whose values were not compared.
	Clusters []ChangedCluster `json:"clusters"`
	Others   int              `json:"others,omitempty"`
	Unlooked int              `json:"unlooked,omitempty"`
	// Trimmed says that details are forgotten, and Unseen that the service saw no state in between.
	Trimmed bool `json:"trimmed,omitempty"`
	Unseen  bool `json:"unseen,omitempty"`
}

// ChangedCluster is a cluster that changes.
type ChangedCluster struct {
	Cluster
	Action     string            `json:"action,omitempty"`
	Components []ComponentChange `json:"components"`
}

// Step compares two revisions that were served, by default the newest two. The error is a
// *problem.QueryError.
func (h *History) Step(scope access.Reader, f Filter, base, head string) (Step, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Step{Revisions: h.revisions(), Clusters: []ChangedCluster{}}
	if len(out.Revisions) < 2 {
		if base+head != "" {
			return out, problem.BadRequest("the service has served one revision since it began to look")
		}
		return out, nil
	}
	// The newest first: the head is before the base.
	var to int
	var err error
	if head != "" {
		to, err = revisionAt(out.Revisions, head)
	}
	from := to + 1
	if base != "" && err == nil {
		from, err = revisionAt(out.Revisions, base)
	}
	switch {
	case err != nil:
		return out, err
	case from >= len(out.Revisions):
		return out, problem.BadRequest("%s is the first revision that the service has served since it began to look", Short(out.Revisions[to]))
	case from <= to:
		return out, problem.BadRequest("the service has served the base after the head: change their places")
	}
	out.Base, out.Head = out.Revisions[from], out.Revisions[to]
	composed := map[string]*ChangedCluster{}
	var order []string
	within := false
	for _, s := range h.steps() {
		isFacts := s.before == s.revision
		if within = within || s.before == out.Base; !within || isFacts && s.revision == out.Base {
			continue
		}
		c := s.commit
		if c == nil {
			out.Unseen, c = true, &commit{}
		}
		out.Trimmed = out.Trimmed || c.Trimmed
		if scope.SeesEverything() {
			out.Others, out.Unlooked = max(out.Others, c.Others), max(out.Unlooked, c.Unlooked)
		}
		for _, cl := range c.Clusters {
			changes := cl.selected(scope, f, "")
			if changes == nil {
				continue
			}
			key := cl.Cluster.Hub + "/" + cl.Cluster.Name
			if composed[key] == nil {
				composed[key] = &ChangedCluster{}
				order = append(order, key)
			}
			composed[key].follow(cl, changes)
		}
		if s.revision == out.Head && !isFacts {
			break
		}
	}
	slices.Sort(order)
	for _, key := range order {
		if cl := composed[key]; cl.Action != "" || len(cl.Components) > 0 {
			out.Clusters = append(out.Clusters, *cl)
		}
	}
	return out, nil
}

// revisions returns the revisions that were served, the newest first.
func (h *History) revisions() (out []string) {
	for _, s := range h.steps() {
		out = append(out, s.before, s.revision)
	}
	slices.Reverse(out)
	return slices.Compact(out)
}

// revisionAt finds a revision by its beginning.
func revisionAt(all []string, name string) (int, error) {
	if i := slices.IndexFunc(all, func(r string) bool { return strings.HasPrefix(r, name) }); i >= 0 {
		return i, nil
	}
	return 0, problem.BadRequest("the service has not served revision %q since it began to look", Short(name))
}

// follow adds the changes of a later commit to the cluster. A change that is undone is dropped.
func (cl *ChangedCluster) follow(later clusterChange, changes []ComponentChange) {
	switch {
	case cl.Name == "" || cl.Action == "" && later.Action != "":
		cl.Action = later.Action
	case cl.Action != later.Action && later.Action != "":
		cl.Action = ""
	}
	cl.Cluster = later.Cluster
	for _, ch := range changes {
		i := slices.IndexFunc(cl.Components, func(c ComponentChange) bool { return c.Component == ch.Component })
		if i < 0 {
			ch.Values = slices.Clone(ch.Values)
			cl.Components = append(cl.Components, ch)
			continue
		}
		cl.Components[i].follow(ch)
		if c := cl.Components[i]; c.Before == c.After && len(c.Values) == 0 {
			cl.Components = slices.Delete(cl.Components, i, i+1)
		}
	}
}

func (c *ComponentChange) follow(later ComponentChange) {
	c.After, c.More = later.After, c.More+later.More
	for _, v := range later.Values {
		i := slices.IndexFunc(c.Values, func(w ChangedValue) bool { return w.Path == v.Path })
		if i < 0 {
			c.Values = append(c.Values, v)
			continue
		}
		c.Values[i].After = v.After
		if w := c.Values[i]; fmt.Sprint(valueOf(w.Before)) == fmt.Sprint(valueOf(w.After)) {
			c.Values = slices.Delete(c.Values, i, i+1)
		}
	}
}

func valueOf(v *PlacedValue) any {
	if v == nil {
		return nil
	}
	return v.Value
}
