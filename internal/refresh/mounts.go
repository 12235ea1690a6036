package refresh

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/mount"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
)

// Mount is a repository that the layout mounts, and how it is served (U2).
type Mount struct {
	Path       string `json:"path"`
	Repository string `json:"repository"`
	Team       string `json:"team"`
	// Revision is the served one; empty for one that was never read.
	Revision string `json:"revision,omitempty"`
	// Reason is a stable code for why the newest is not served, Problem its first problem's text;
	// both are empty for one that is served as it is.
	Reason  string `json:"reason,omitempty"`
	Problem string `json:"problem,omitempty"`
	// Since is when this was first seen.
	Since time.Time `json:"since,omitzero"`
}

// IsStale reports whether the newest commit of the mount is not served.
func (m Mount) IsStale() bool { return m.Reason != "" }

// mounts reads the repositories that the layout of the served snapshot mounts.
type mounts struct {
	open func(fleet.Mount) (source.Source, error)
	fire func()
	// isShared reports that replicas may have accepted later commits than a reader begins with.
	isShared bool

	mu      sync.Mutex
	readers map[fleet.Mount]*mountReader
	closing sync.WaitGroup

	// The worker's own.
	table   *mount.Table
	of      *snapshot.Snapshot      // the fleet repository that table is of
	refused map[string]refusedMount // by path
	// whole are the parts of which not all files are within the bounds any more, with all of them,
	// by path: the bounds may go back.
	whole map[string]snapshot.Part
}

// mountReader watches one mount's repository.
type mountReader struct {
	source source.Source
	end    context.CancelFunc
	done   chan struct{}
	newest polled
	isRead bool // since the start
}

// refusedMount is why a mount's newest commit is not served, and upon what that was found.
type refusedMount struct {
	revision, upon  string
	facts           facts.Set
	reason, problem string
}

// isUpon reports whether nothing has changed upon which a commit was refused. Applications, which
// change all the time, are none of it.
func (m refusedMount) isUpon(c *candidate) bool {
	return m.upon == c.snapshot.Revision && m.facts.EqualClusters(c.facts) && m.facts.EqualGrants(c.facts)
}

// keyOf is a mount without its place in the layout, which moves.
func keyOf(m fleet.Mount) fleet.Mount {
	m.Pos = problem.Pos{}
	return m
}

// want begins to read the mounts of a table, and ends to read all others.
func (m *mounts) want(ctx context.Context, table *mount.Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted := map[fleet.Mount]bool{}
	if table != nil {
		for _, s := range table.Scopes {
			key := keyOf(s.Mount)
			wanted[key] = true
			if m.readers[key] == nil {
				m.readers[key] = m.read(ctx, s.Mount)
			}
		}
	}
	for key, r := range m.readers {
		if !wanted[key] {
			delete(m.readers, key)
			m.closing.Go(r.close)
		}
	}
}

// reopenInterval is how soon a mount that cannot be opened is tried again: its credentials may come
// later.
const reopenInterval = 30 * time.Second

// read watches a mount's repository.
func (m *mounts) read(ctx context.Context, of fleet.Mount) *mountReader {
	ctx, end := context.WithCancel(ctx)
	r := &mountReader{end: end, done: make(chan struct{})}
	var err error
	if r.source, err = m.open(of); err != nil {
		r.source, r.newest = nil, polled{done: true, err: err} // it may be a nil pointer
	}
	opened := r.source
	go func() {
		defer close(r.done)
		if opened == nil {
			opened = m.reopen(ctx, r, of)
		}
		if opened == nil {
			return
		}
		opened.Watch(ctx, func(s *snapshot.Snapshot, err error) { m.update(r, polled{done: true, snapshot: s, err: err}) })
	}()
	return r
}

// reopen opens a mount's repository that could not be opened, nil when the context ends before.
func (m *mounts) reopen(ctx context.Context, r *mountReader, of fleet.Mount) source.Source {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reopenInterval):
		}
		opened, err := m.open(of)
		if err == nil {
			m.mu.Lock()
			r.source = opened
			m.mu.Unlock()
			return opened
		}
		m.update(r, polled{done: true, err: err})
	}
}

// update takes in what was read last of a mount.
func (m *mounts) update(r *mountReader, newest polled) {
	m.mu.Lock()
	r.isRead = r.isRead || newest.err == nil
	newest.isOld = !r.isRead && m.isShared
	r.newest = newest
	m.mu.Unlock()
	m.fire()
}

func (r *mountReader) close() {
	r.end()
	<-r.done
	if r.source != nil {
		_ = r.source.Close()
	}
}

// newest is what was read last of a mount.
func (m *mounts) newest(of fleet.Mount) polled {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.readers[keyOf(of)]; r != nil {
		return r.newest
	}
	return polled{}
}

// refresh has all mounts polled now.
func (m *mounts) refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.readers {
		if r.source != nil {
			r.source.Refresh()
		}
	}
}

func (m *mounts) close() {
	m.mu.Lock()
	readers := m.readers
	m.readers = map[fleet.Mount]*mountReader{}
	m.mu.Unlock()
	for _, r := range readers {
		r.close()
	}
	m.closing.Wait()
}

// incomplete marks the revision of a part of which not all files are within the bounds any more, so
// that it is read again.
const incomplete = "!"

// withMounts joins a fleet repository with the last known good commits of its mounts. Of a mount
// that an earlier snapshot did not have, nothing is known at a start from nothing (isStart).
func (r *Refresher) withMounts(main *snapshot.Snapshot, known []snapshot.Part, isStart bool) *snapshot.Snapshot {
	var previous *fleetstate.State
	if r.serving != nil {
		previous = r.serving.state
	}
	table, err := fleetstate.MountsOf(previous, main)
	if err != nil || table == nil {
		return main // building a state of it reports the error
	}
	var parts []snapshot.Part
	for _, s := range table.Scopes {
		last, is := r.mounts.lastKnownGood(s, table, known)
		if !is {
			p := snapshot.NewPart(s.Path, s.URL, "", nil)
			p.Unknown = isStart
			parts = append(parts, p)
			continue
		}
		kept, problems := s.Keep(last)
		if len(problems) > 0 {
			if !strings.HasSuffix(last.Revision, incomplete) {
				r.mounts.whole[s.Path] = last
			}
			kept.Revision = strings.TrimSuffix(last.Revision, incomplete) + incomplete
		}
		parts = append(parts, kept)
	}
	return main.Join(parts)
}

// lastKnownGood is what is known of a mount: with the files that an earlier table let out of its
// bounds, and under the path that it had before.
func (m *mounts) lastKnownGood(s *mount.Scope, table *mount.Table, known []snapshot.Part) (snapshot.Part, bool) {
	for _, p := range known {
		if p.Path != s.Path {
			continue
		}
		if w, is := m.whole[p.Path]; is && w.Repository == p.Repository && w.Revision+incomplete == p.Revision {
			return w, true
		}
		return p, true
	}
	for _, p := range known {
		if p.Repository == s.URL && table.Find(p.Path) == nil {
			return p.At(s.Path), true
		}
	}
	return snapshot.Part{}, false
}

// acceptMounts accepts the newest commits of the mounts of the served snapshot: one in each step,
// so that the guard judges each upon what is served. First commits, which remove nothing, are
// accepted together, if they can be.
func (r *Refresher) acceptMounts(ctx context.Context, out *decision) {
	serving := r.serving
	if main := serving.snapshot.Main(); r.mounts.of != main {
		r.mounts.table, _ = fleetstate.MountsOf(serving.state, main) // it has been accepted
		r.mounts.of = main
	}
	table := r.mounts.table
	r.mounts.want(ctx, table)
	if table == nil {
		return
	}
	var first, changed []snapshot.Part
	for _, s := range table.Scopes {
		newest := r.mounts.newest(s.Mount)
		if newest.snapshot == nil {
			continue
		}
		old, _ := serving.snapshot.Part(s.Path)
		revision := newest.snapshot.Revision
		if old.Revision == revision && old.Repository == s.URL {
			delete(r.mounts.refused, s.Path)
			continue
		}
		if newest.isOld && old.Revision != "" && old.Repository == s.URL {
			continue
		}
		if was := r.mounts.refused[s.Path]; was.revision == revision && was.isUpon(serving) {
			continue
		}
		part, problems := r.readMount(s, newest.snapshot, old)
		if len(problems) > 0 {
			r.refuseMount(part, problems)
			continue
		}
		changed = append(changed, part)
		if old.Revision == "" {
			first = append(first, part)
		}
	}
	if len(first) > 1 && len(r.tryMounts(first, out)) == 0 {
		r.trigger.Fire() // for the others
		return
	}
	for _, part := range changed {
		problems := r.tryMounts([]snapshot.Part{part}, out)
		if len(problems) == 0 {
			r.trigger.Fire()
			return
		}
		r.refuseMount(part, problems)
	}
}

// readMount reads the part of a mount's commit. What panics is refused, as is a problem of it.
func (r *Refresher) readMount(s *mount.Scope, newest *snapshot.Snapshot, old snapshot.Part) (snapshot.Part, []problem.Problem) {
	var problems []problem.Problem
	part, err := caught(r, func() (part snapshot.Part, _ error) {
		part, problems = s.Read(newest, old)
		return part, nil
	})
	if err != nil {
		return snapshot.NewPart(s.Path, s.URL, newest.Revision, nil), problem.From(err, internal, problem.Pos{File: s.Path})
	}
	return part, problems
}

// refuseMount keeps a mount on its last known good commit.
func (r *Refresher) refuseMount(p snapshot.Part, problems []problem.Problem) {
	ps := problem.Sorted(problems)
	r.mounts.refused[p.Path] = refusedMount{
		revision: p.Revision, upon: r.serving.snapshot.Revision, facts: r.serving.facts, reason: string(ps[0].Reason), problem: shorten(text(ps[0])),
	}
}

// tryMounts serves new commits of mounts, if no member has an error and no tenant is held by them.
// It returns why not.
func (r *Refresher) tryMounts(changed []snapshot.Part, out *decision) []problem.Problem {
	now := r.serving
	parts, wereUnknown := slices.Clone(now.snapshot.Parts()), true
	for i, p := range parts {
		if at := slices.IndexFunc(changed, func(c snapshot.Part) bool { return c.Path == p.Path }); at >= 0 {
			wereUnknown = wereUnknown && p.Unknown
			parts[i] = changed[at]
		}
	}
	c, problems := r.candidate(now.snapshot.Main().Join(parts), now.facts)
	if len(problems) > 0 {
		return problems
	}
	problems = newProblems(now.state.Errors(""), problem.Errors(c.state.Errors("")))
	problems = append(problems, newProblems(hiddenErrors(now.state), hiddenErrors(c.state))...)
	if wereUnknown { // the members that wait for them have nothing to lose
		problems = withoutWaiting(problems, now.state)
	}
	if len(problems) > 0 {
		return problems
	}
	r.serving, out.swapped = c, true
	for _, p := range changed {
		delete(r.mounts.refused, p.Path)
	}
	return nil
}

// hiddenErrors are errors that mounts bring to members of which nothing is computed, because of
// errors of their own: each member is computed by the fleet repository that it is served from.
func hiddenErrors(st *fleetstate.State) (out []problem.Problem) {
	resolvers := map[*fleetstate.Resolver]*fleetstate.Resolver{}
	for _, q := range st.Quarantined("") {
		c := st.Cluster(q.Hub, q.Name)
		if c == nil || c.LastKnownGood == nil || len(c.Desired().Broken) == 0 {
			continue
		}
		b, is := resolvers[c.LastKnownGood]
		if !is {
			b, _ = c.LastKnownGood.WithParts(st.Resolver().Snapshot.Parts())
			resolvers[c.LastKnownGood] = b
		}
		if b == nil {
			continue
		}
		if m := b.Fleet.Member(q.Hub, q.Name); m != nil && len(b.Mounts.Of(m, mount.Group)) > 0 {
			out = append(out, problem.Errors(b.Check(b.NewCluster(m, nil, st.Facts())))...)
		}
	}
	return out
}

// withoutWaiting leaves out the problems of members that wait for a mount.
func withoutWaiting(problems []problem.Problem, st *fleetstate.State) []problem.Problem {
	waiting := map[fleetstate.ID]bool{}
	for _, p := range st.Errors("") {
		if p.Reason == problem.MountNotRead {
			waiting[fleetstate.ID{Hub: p.Hub, Name: p.Cluster}] = true
		}
	}
	return slices.DeleteFunc(problems, func(p problem.Problem) bool { return waiting[fleetstate.ID{Hub: p.Hub, Name: p.Cluster}] })
}

// mountStatus is how the mounts of the served snapshot are served. Since goes back to the status
// before.
func (r *Refresher) mountStatus(before []Mount, now time.Time) (out []Mount) {
	if r.serving == nil || r.mounts.table == nil {
		return nil
	}
	for _, s := range r.mounts.table.Scopes {
		part, _ := r.serving.snapshot.Part(s.Path)
		m := Mount{Path: s.Path, Repository: s.URL, Team: s.Team, Revision: part.Revision}
		newest := r.mounts.newest(s.Mount)
		refused, isRefused := r.mounts.refused[s.Path]
		switch {
		case newest.err != nil:
			m.Reason, m.Problem = string(source.ReasonOf(newest.err)), shorten(newest.err.Error())
		case isRefused:
			m.Reason, m.Problem = refused.reason, refused.problem
		case !newest.done, part.Revision == "":
			m.Reason, m.Problem = string(problem.MountNotRead), "it has not been read yet"
		}
		if m.IsStale() {
			m.Since = now
		}
		for _, old := range before {
			if old.Path == m.Path && old.Reason == m.Reason && old.Problem == m.Problem && m.IsStale() {
				m.Since = old.Since
			}
		}
		out = append(out, m)
	}
	return out
}
