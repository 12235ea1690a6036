package guard

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/queryerr"
	"github.com/argosy-hub/argosy/internal/state"
	"github.com/argosy-hub/argosy/internal/trigger"
)

const (
	// sharedRecord holds all responses of a store that replicas share. In a store of one process
	// each query has a record of its own, whose name begins with queryPrefix and which is written
	// before the response is given.
	sharedRecord    = "responses"
	queryPrefix     = "response-"
	responsesFormat = "responses/2"
	// sharedQuiet is how long changes are collected before they are written to a shared store, and
	// sharedInterval how often that store is read.
	sharedQuiet    = time.Second
	sharedInterval = 10 * time.Second
	// buried is how long replicas know that a response was dropped.
	buried = 24 * time.Hour
)

// checkpoint keeps baselines for a restart (rule 9).
type checkpoint struct {
	store   state.Store
	shared  *state.Document[[]savedResponse]
	quiet   time.Duration
	changed trigger.Trigger
	// written are the changes of the baselines that the shared record has. It belongs to Run.
	written uint64
	// writing orders the writes of queries' own records.
	writing sync.Mutex
}

// savedResponse is the last response to a query as it is written.
type savedResponse struct {
	Query    queryKey `json:"query"`
	Revision string   `json:"revision"`
	// Items are cluster, group, component and release.
	Items [][4]string `json:"items"`
	// Spent are cluster, group, component and the time, in nanoseconds since 1970.
	Spent [][4]string `json:"spent,omitempty"`
	// At is the time of the response, in nanoseconds since 1970.
	At      int64 `json:"at"`
	Dropped bool  `json:"dropped,omitempty"`
}

func newCheckpoint(s state.Store) *checkpoint {
	return &checkpoint{store: s, shared: responses(s, sharedRecord), quiet: sharedQuiet, changed: trigger.New()}
}

func responses(s state.Store, name string) *state.Document[[]savedResponse] {
	return state.NewDocument(s, name, responsesFormat, checkResponses)
}

func recordOf(q queryKey) string {
	sum := sha256.Sum256([]byte(q))
	return queryPrefix + hex.EncodeToString(sum[:16])
}

// checkResponses refuses queries that are listed twice or out of order, and items or times that
// nobody writes.
func checkResponses(all []savedResponse) error {
	for i, s := range all {
		if i > 0 && all[i-1].Query >= s.Query {
			return fmt.Errorf("query %q is listed twice or out of order", s.Query)
		}
		if _, err := s.remembered(); err != nil {
			return err
		}
	}
	return nil
}

// remembered is the response that was written.
func (s savedResponse) remembered() (*remembered, error) {
	if s.Items == nil {
		return nil, errors.New("a response has no items")
	}
	r := &remembered{items: make([]lifecycle.Item, len(s.Items)), revision: s.Revision, at: s.At, dropped: s.Dropped, saved: true}
	for i, x := range s.Items {
		r.items[i] = lifecycle.Item{Cluster: x[0], Group: x[1], Component: x[2], Release: x[3]}
	}
	for _, x := range s.Spent {
		at, err := strconv.ParseInt(x[3], 10, 64)
		if err != nil || strconv.FormatInt(at, 10) != x[3] {
			return nil, fmt.Errorf("a loss has the time %q", x[3])
		}
		r.spent = append(r.spent, spent{lifecycle.Item{Cluster: x[0], Group: x[1], Component: x[2]}, time.Unix(0, at)})
	}
	r.sum = sumOf(r.items)
	return r, nil
}

// savedAs is the response as it is written.
func (r *remembered) savedAs(q queryKey) savedResponse {
	s := savedResponse{Query: q, Revision: r.revision, Items: make([][4]string, len(r.items)), At: r.at, Dropped: r.dropped}
	for i, x := range r.items {
		s.Items[i] = [4]string{x.Cluster, x.Group, x.Component, x.Release}
	}
	for _, x := range r.spent {
		s.Spent = append(s.Spent, [4]string{x.Cluster, x.Group, x.Component, strconv.FormatInt(x.at.UnixNano(), 10)})
	}
	return s
}

// load reads the records of a store that belongs to this process.
func (b *baselines) load() error {
	ctx := context.Background()
	names, err := b.checkpoint.store.Names(ctx)
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	for _, name := range names {
		if !strings.HasPrefix(name, queryPrefix) {
			continue
		}
		all, _, err := responses(b.checkpoint.store, name).Read(ctx)
		if err == nil && (all == nil || len(*all) != 1 || recordOf((*all)[0].Query) != name) {
			err = &state.Damaged{Record: name, Why: "it is not of the query that its name says"}
		}
		if err != nil {
			b.reportDamage(err)
			continue
		}
		b.take(*all)
	}
	b.loaded = true
	return nil
}

// take adds responses that are newer than the remembered ones. A clock that was ahead does not
// count for ever.
func (b *baselines) take(all []savedResponse) {
	now := b.now().UnixNano()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		r, err := s.remembered()
		if err != nil { // checkResponses has refused it
			continue
		}
		r.at = min(r.at, now)
		if old := b.byQuery[s.Query]; old == nil || old.at < r.at {
			b.add(s.Query, r)
		}
	}
}

// save writes the response to a query, or has Run write it.
func (b *baselines) save(q queryKey) {
	c := b.checkpoint
	if c == nil {
		return
	}
	if c.store.Shared() {
		b.mu.Lock()
		if r := b.byQuery[q]; r != nil {
			r.saved = true // Run reports what it cannot write
		}
		b.changes++
		b.mu.Unlock()
		c.changed.Fire()
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	b.mu.Lock()
	r := b.byQuery[q]
	b.mu.Unlock()
	if r == nil {
		c.remove(q)
		return
	}
	ctx, record := context.Background(), responses(c.store, recordOf(q))
	_, _, err := record.Read(ctx)
	if err == nil || state.IsDamaged(err) {
		err = record.Write(ctx, []savedResponse{r.savedAs(q)})
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.saved = err == nil; !r.saved {
		b.figures.Failures++
		b.log.Error("the store does not take a response", "state", c.store.String(), "error", err)
	}
}

// remove removes a query's own record.
func (c *checkpoint) remove(q queryKey) {
	if !c.store.Shared() {
		_ = c.store.Remove(context.Background(), recordOf(q))
	}
}

// errUnread is the response to all queries before the store has been read.
var errUnread = &queryerr.Error{
	Kind: queryerr.KindUnavailable, Message: "not ready: the last responses have not been read from the state yet",
}

// Run exchanges responses with the replicas that share the store, until the context ends. Then it
// writes once more.
func (g *Guard) Run(ctx context.Context) {
	c := g.baselines.checkpoint
	if c == nil || !c.store.Shared() {
		return
	}
	ticker := time.NewTicker(sharedInterval)
	defer ticker.Stop()
	for {
		g.baselines.sync(ctx)
		select {
		case <-ctx.Done():
			g.baselines.sync(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		case <-c.changed:
			timer := time.NewTimer(c.quiet)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// sync reads the shared record, and writes what it does not have.
func (b *baselines) sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, state.Timeout)
	defer cancel()
	err := state.Retry(func() error { return b.exchange(ctx) })
	b.mu.Lock()
	defer b.mu.Unlock()
	text := ""
	if err != nil {
		text = err.Error()
		b.figures.Failures++
		if b.figures.Problem != text {
			b.log.Error("the store does not take the last responses", "state", b.checkpoint.store.String(), "error", err)
		}
	}
	b.figures.Problem = text
}

func (b *baselines) exchange(ctx context.Context) error {
	c := b.checkpoint
	theirs, changed, err := c.shared.Read(ctx)
	switch {
	case state.IsDamaged(err):
		b.reportDamage(err)
	case err != nil:
		return err
	case changed && theirs != nil:
		b.take(*theirs)
	case theirs != nil && !b.hasNews():
		return nil
	}
	all, changes := b.saved()
	if err := c.shared.Write(ctx, all); err != nil {
		return err
	}
	c.written = changes
	return nil
}

// hasNews reports whether the shared record lacks something.
func (b *baselines) hasNews() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changes != b.checkpoint.written
}

func (b *baselines) reportDamage(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.figures.Damaged++
	b.log.Error("remembered responses cannot be used: the next responses to their queries are compared with nothing",
		"state", b.checkpoint.store.String(), "error", err)
}

// saved returns all responses in the order of their queries, and how many changes they contain. It
// forgets what was dropped long ago. From now on there are baselines to compare with.
func (b *baselines) saved() (all []savedResponse, changes uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loaded = true
	all = []savedResponse{}
	for q, r := range b.byQuery {
		if r.dropped && b.now().Sub(time.Unix(0, r.at)) > buried {
			b.remove(q)
			continue
		}
		all = append(all, r.savedAs(q))
	}
	slices.SortFunc(all, func(p, q savedResponse) int { return cmp.Compare(p.Query, q.Query) })
	return all, b.changes
}
