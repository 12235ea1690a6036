package overview

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Remembered is the record of a History, which survives a restart and is shared by replicas.
type Remembered struct {
	Began time.Time `json:"began"`
	// Revision is the last revision that was served.
	Revision string    `json:"revision"`
	Commits  []*commit `json:"commits"`
}

const (
	// maxRemembered bounds the components and values of a record; older commits keep only numbers.
	// A detail takes some 300 bytes, a tenth of it when compressed.
	maxRemembered = 5000
	// sameWithin is how far apart replicas may be when they begin to serve a commit.
	sameWithin = 10 * time.Minute
)

// Remembered returns the record to write; false before the first state.
func (h *History) Remembered() (Remembered, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil {
		return Remembered{}, false
	}
	out := Remembered{Began: h.began.UTC(), Revision: h.last.st.Revision, Commits: make([]*commit, len(h.commits))}
	for i, c := range h.commits {
		own := *c
		own.At = c.At.UTC()
		own.Clusters = slices.Clone(c.Clusters)
		for j := range own.Clusters {
			cl := &own.Clusters[j]
			cl.Synced, cl.Healthy = cl.Synced.UTC(), cl.Healthy.UTC()
		}
		out.Commits[i] = &own
	}
	trim(out.Commits, maxRemembered)
	return out, true
}

// Merge merges a record: this service's from before a restart, or another replica's. A commit that
// both have becomes one, with the earlier times.
func (h *History) Merge(r *Remembered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	served := r.Revision
	if n := len(r.Commits); n > 0 {
		served = r.Commits[n-1].Revision
	}
	if len(r.Commits) == 0 && h.last != nil && served != h.last.st.Revision {
		return // what came in between is unknown, and nothing before it is known
	}
	if h.last == nil {
		h.restored = served
	}
	if !r.Began.IsZero() && (h.began.IsZero() || r.Began.Before(h.began)) {
		h.began = r.Began
	}
	for _, theirs := range r.Commits {
		if theirs == nil {
			continue
		}
		if i := slices.IndexFunc(h.commits, theirs.isSame); i >= 0 {
			h.commits[i] = h.commits[i].join(theirs)
		} else {
			h.commits = append(h.commits, theirs)
		}
	}
	slices.SortStableFunc(h.commits, func(a, b *commit) int { return a.At.Compare(b.At) })
	h.commits = smallestSteps(h.commits)
	h.bound()
}

// smallestSteps leaves out a commit that another replica has seen in more steps. Of two commits
// that lead to one revision, it drops the one that begins earlier.
func smallestSteps(all []*commit) (out []*commit) {
	begins := func(c *commit) (at time.Time) {
		for _, d := range all {
			if d.Revision == c.Before && d.Before != d.Revision && d.At.Before(c.At) {
				at = d.At
			}
		}
		return at
	}
	for _, c := range all {
		if !slices.ContainsFunc(all, func(d *commit) bool { return c.overlaps(d) && begins(c).Before(begins(d)) }) {
			out = append(out, c)
		}
	}
	return out
}

// isSame reports whether two replicas have seen the same change. A change of facts must concern the
// same clusters; where one replica has forgotten them, both must have the same time.
func (c *commit) isSame(d *commit) bool {
	if c.Before != d.Before || c.Revision != d.Revision || !c.near(d) {
		return false
	}
	if c.Before != c.Revision {
		return true
	}
	return c.Concerned == d.Concerned && (c.Trimmed != d.Trimmed && c.At.Equal(d.At) || slices.EqualFunc(c.Clusters, d.Clusters, func(a, b clusterChange) bool {
		return a.Cluster.Hub == b.Cluster.Hub && a.Cluster.Name == b.Cluster.Name
	}))
}

// overlaps reports whether another replica has seen a change in other steps.
func (c *commit) overlaps(d *commit) bool {
	return c.Revision == d.Revision && c.Before != c.Revision && d.Before != d.Revision && c.near(d)
}

func (c *commit) near(d *commit) bool { return c.At.Sub(d.At).Abs() <= sameWithin }

// join merges what two replicas know of one change. The result is the same for both, else each
// would overwrite the other's record. Details that one has forgotten come from the other.
func (c *commit) join(d *commit) *commit {
	if c.Trimmed && !d.Trimmed || c.Trimmed == d.Trimmed && c.seen() < d.seen() {
		c, d = d, c
	}
	out := *c
	if d.At.Before(out.At) {
		out.At = d.At
	}
	out.Clusters = slices.Clone(out.Clusters)
	for i := range out.Clusters {
		cl := &out.Clusters[i]
		for _, theirs := range d.Clusters {
			if theirs.Cluster.Hub == cl.Cluster.Hub && theirs.Cluster.Name == cl.Cluster.Name {
				cl.Synced, cl.Healthy = first(cl.Synced, theirs.Synced), first(cl.Healthy, theirs.Healthy)
			}
		}
	}
	return &out
}

// seen returns a text of the changes that a replica has seen, without their times. It is greater
// for a change of more clusters.
func (c *commit) seen() string {
	own := commit{Clusters: slices.Clone(c.Clusters), Others: c.Others, Unlooked: c.Unlooked}
	for i := range own.Clusters {
		own.Clusters[i].Synced, own.Clusters[i].Healthy = time.Time{}, time.Time{}
	}
	text, _ := json.Marshal(own) // of texts and numbers
	return fmt.Sprintf("%09d %s", c.Concerned, text)
}

// first returns the earlier of two times; either may be unknown.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// bound forgets commits and details beyond the limits. The caller holds the lock.
func (h *History) bound() {
	if n := len(h.commits) - maxCommits; n > 0 {
		h.commits = slices.Delete(h.commits, 0, n)
	}
	trim(h.commits, maxDetails)
}

// trim forgets the details of the oldest commits beyond a limit.
func trim(commits []*commit, limit int) {
	details := 0
	for _, c := range slices.Backward(commits) {
		for _, cl := range c.Clusters {
			details++
			for _, ch := range cl.Changes {
				details += 1 + len(ch.Values)
			}
		}
		if details > limit && !c.Trimmed {
			c.Clusters, c.Trimmed = nil, true
		}
	}
}

// step leads from one served revision to the next. Its commit is nil where the service saw no state
// in between, and compared nothing.
type step struct {
	before, revision string
	commit           *commit
}

// steps returns all steps, the oldest first. A change of facts leads from a revision to itself.
func (h *History) steps() (out []step) {
	follow := func(next string) {
		if n := len(out); n > 0 && out[n-1].revision != next {
			out = append(out, step{out[n-1].revision, next, nil})
		}
	}
	for _, c := range h.commits {
		follow(c.Before)
		out = append(out, step{c.Before, c.Revision, c})
	}
	if h.last != nil {
		follow(h.last.st.Revision)
	}
	return out
}
