package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
)

// Most commits change few clusters, and each changes every answer: its sets name the revision. So answers of views that
// have sets of single members are kept without the revision, which is put in as they are written, and in parts, which
// successive states share: what an answer of the previous state says of a cluster that has been taken over from it as it
// was (takeOver), by the same facts, is said again. Nothing of it is computed, written anew or copied.

// partSize is how many clusters a part is of.
const partSize = 64

// part is what an answer says of some clusters, one after the other.
type part struct {
	of   []*Cluster // none for views that are not told cluster by cluster
	said []*said    // of each of them
	total
	digests []byte // of all sets, in order
}

// said is what an answer says of a cluster.
type said struct {
	sets []encodedSet
	// live tells that the cluster is asked about, and not to go; knows that its catalogs have the component that is asked for.
	live, knows bool
}

// total sums up what is said.
type total struct {
	sets, holes int // of sets, and of those that lack the revision
	size        int // in bytes, of all sets without the revision and without what is between them
	live, knows bool
}

func (t *total) add(other total) {
	t.sets, t.holes, t.size = t.sets+other.sets, t.holes+other.holes, t.size+other.size
	t.live, t.knows = t.live || other.live, t.knows || other.knows
}

// newPart puts a part together.
func newPart(of []*Cluster, all []*said) *part {
	p := &part{of: slices.Clone(of), said: all}
	for _, s := range all {
		p.add(total{live: s.live, knows: s.knows})
		for _, e := range s.sets {
			p.add(e.total())
			p.digests = append(p.digests, e.digest()...)
		}
	}
	return p
}

// told finds what an earlier answer says of a cluster, nil if nothing. The parts are sorted by name, as a hub's members
// are.
func told(parts []*part, c *Cluster) *said {
	name := c.Member.Name
	i, _ := slices.BinarySearchFunc(parts, name, func(p *part, name string) int {
		if p.of[len(p.of)-1].Member.Name < name {
			return -1
		}
		return 1
	})
	if i == len(parts) {
		return nil
	}
	if j := slices.Index(parts[i].of, c); j >= 0 {
		return parts[i].said[j]
	}
	return nil
}

// tell is an answer of a view that has sets of single members. Before is that of the previous state, nil if there is none
// that says anything of this one.
func (st *State) tell(q query, before *Told) ([]*part, *Error) {
	var old []*part
	if before != nil && before.to == st.asker(q) {
		old = before.parts
	}
	clusters := st.candidates(q)
	parts := make([]*part, (len(clusters)+partSize-1)/partSize)
	problems := make([][]problem.Problem, len(parts))
	errs := make([]*Error, len(parts))
	Each(len(parts), func(i int) {
		of := clusters[i*partSize : min((i+1)*partSize, len(clusters))]
		if i < len(old) && slices.Equal(old[i].of, of) {
			parts[i] = old[i]
			return
		}
		all := make([]*said, len(of))
		for j, c := range of {
			if all[j] = told(old, c); all[j] != nil {
				continue
			}
			sets := st.setsOf(q, c)
			problems[i] = append(problems[i], sets.problems...)
			if all[j], errs[i] = sets.encode(); errs[i] != nil {
				return
			}
		}
		parts[i] = newPart(of, all)
	})
	if i := slices.IndexFunc(errs, func(e *Error) bool { return e != nil }); i >= 0 {
		return nil, errs[i]
	}
	var sum total
	for _, p := range parts {
		sum.add(p.total)
	}
	if failure := st.judge(q, sum, append(problem.Errors(st.Fleet.ProblemsOf(q.Hub)), slices.Concat(problems...)...)); failure != nil {
		return nil, failure
	}
	return parts, nil
}

// asker is who is told something, as far as it makes a difference for what it is told of other clusters.
type asker struct {
	owner string
	// self is the hub's own member, and hub its cluster.
	self *fleet.Member
	hub  *Cluster
}

func (st *State) asker(q query) asker {
	a := asker{owner: q.Requester}
	if q.View == Members { // what registers a cluster depends on its hub
		a.self = st.HubMember(q.Hub)
		if own := st.Fleet.HubMember(q.Hub); own != nil {
			a.hub = st.ClusterOf(own)
		}
	}
	return a
}

// candidates are the clusters that a request may be about, sorted by name: all of the hub, or the asker alone.
func (st *State) candidates(q query) []*Cluster {
	all := st.ClustersOf(q.Hub)
	if q.Requester == fleet.OwnerHub {
		return all
	}
	i, _ := st.Fleet.Place(q.Hub, q.Requester)
	return all[i : i+1]
}

// clusterSets are one cluster's sets.
type clusterSets struct {
	sets        []ParameterSet
	problems    []problem.Problem
	live, knows bool // as in said
}

// setsOf are the sets of one cluster, in views that have sets of single members.
func (st *State) setsOf(q query, c *Cluster) clusterSets {
	is, problems := st.isAbout(q, c)
	if !is {
		return clusterSets{problems: problems}
	}
	var out clusterSets
	if q.View == Members {
		out = st.registrationSets(q, c)
	} else {
		out = st.componentSets(q, c)
	}
	out.live, out.problems = !c.IsRetired(), append(problems, out.problems...)
	return out
}

// encode is what an answer says of a cluster.
func (s clusterSets) encode() (*said, *Error) {
	out := &said{live: s.live, knows: s.knows}
	for _, one := range s.sets {
		e, failure := encode(one)
		if failure != nil {
			return nil, failure
		}
		out.sets = append(out.sets, e)
	}
	return out, nil
}

// forNext are a state's answers that the next one may say again.
func (a answers) forNext(f, next facts.Set) map[requestKey]*Told {
	out := map[requestKey]*Told{}
	if !f.Equal(next) {
		return out
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, b := range a.known {
		if b.view == Components || b.view == Members {
			out[key] = b.told
		}
	}
	return out
}

// takeBefore is the previous state's answer to a request, nil if there is none. It is given once: a state has no use for
// it when it has an answer of its own.
func (a answers) takeBefore(key requestKey) *Told {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.before[key]
	delete(a.before, key)
	return told
}
