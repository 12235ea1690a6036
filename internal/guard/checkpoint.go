package guard

import (
	"context"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/lifecycle"
)

// buried is how long replicas know that a response was dropped.
const buried = 24 * time.Hour

// savedResponses are the last responses by their queries, as they are written.
type savedResponses map[queryKey]savedResponse

// savedResponse is the last response to a query as it is written.
type savedResponse struct {
	Revision string `json:"revision"`
	// Items are cluster, group, component and release; of a commit also namespace and Helm release.
	Items [][5]string `json:"items"`
	Spent []savedLoss `json:"spent,omitempty"`
	Terms terms       `json:"terms,omitzero"`
	// At is the time of the response, in nanoseconds since 1970.
	At      int64 `json:"at"`
	Dropped bool  `json:"dropped,omitempty"`
	// Most is how many inputs a query of Flux Operator takes.
	Most int `json:"most,omitempty"`
}

// savedLoss is what earlier responses have lost: cluster, group and component, and when, in
// nanoseconds since 1970.
type savedLoss struct {
	Item [3]string `json:"item"`
	At   int64     `json:"at"`
}

// newCheckpoint keeps baselines for a restart, and merges those of replicas (rule 9). It is urgent:
// after a crash before the write, a removal is judged again, without its approval.
func newCheckpoint(b *baselines, s *store.Store) *store.Replicated[savedResponses] {
	return store.Replicate(s, "responses", 3, store.Options[savedResponses]{
		Merge: b.merge, Value: b.saved, Log: b.log, Urgent: true,
		Loss: "remembered responses cannot be used: the next responses to their queries are compared with nothing",
	})
}

// remembered is the response that was written.
func (s savedResponse) remembered() *remembered {
	r := &remembered{items: make([]lifecycle.Item, len(s.Items)), revision: s.Revision, at: s.At, dropped: s.Dropped, most: s.Most, terms: s.Terms}
	for i, x := range s.Items {
		r.items[i] = lifecycle.Item{Cluster: x[0], Group: x[1], Component: x[2], Release: x[3], Name: x[4]}
	}
	for _, x := range s.Spent {
		r.spent = append(r.spent, spent{lifecycle.Item{Cluster: x.Item[0], Group: x.Item[1], Component: x.Item[2]}, time.Unix(0, x.At), ""})
	}
	return r
}

// saved is the response as it is written.
func (r *remembered) saved() savedResponse {
	s := savedResponse{Revision: r.revision, Items: make([][5]string, len(r.items)), At: r.at, Dropped: r.dropped, Most: r.most, Terms: r.terms}
	for i, x := range r.items {
		s.Items[i] = [5]string{x.Cluster, x.Group, x.Component, x.Release}
		if r.terms.Revision != "" {
			s.Items[i][4] = x.Name
		}
	}
	for _, x := range r.spent {
		s.Spent = append(s.Spent, savedLoss{[3]string{x.Cluster, x.Group, x.Component}, x.at.UnixNano()})
	}
	return s
}

// merge takes in responses that are newer than the remembered ones. A clock that was ahead does not
// count for ever.
func (b *baselines) merge(theirs *savedResponses) {
	now := b.now().UnixNano()
	b.mu.Lock()
	defer b.mu.Unlock()
	for q, s := range *theirs {
		r := s.remembered()
		r.at = min(r.at, now)
		if old := b.byQuery[q]; old == nil || old.at < r.at {
			b.add(q, r)
			b.merged++
		}
	}
}

// saved returns all responses. It forgets what was dropped long ago.
func (b *baselines) saved() (all savedResponses, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = savedResponses{}
	for q, r := range b.byQuery {
		if r.dropped && b.now().Sub(time.Unix(0, r.at)) > buried {
			b.remove(q)
			continue
		}
		all[q] = r.saved()
	}
	return all, true
}

// errUnread is the response to all queries before the store has been read.
var errUnread = &problem.QueryError{
	Kind: problem.KindUnavailable, Message: "not ready: the last responses have not been read from the state yet",
}

// Run writes responses to the store, and exchanges them with the replicas that share it, until the
// context ends. Then it writes once more.
func (g *Guard) Run(ctx context.Context) { g.baselines.checkpoint.Run(ctx) }
