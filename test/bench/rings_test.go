//go:build bench

package bench

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/rings"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// ringCount is how many rings the fleet has, each on another revision.
const ringCount = 5

// ringed is a service's work for a fleet: states, the responses for all components, and rings if
// there is a policy.
type ringed struct {
	*fleet
	st          *fleetstate.State
	known       facts.Set
	cache       *response.Cache
	rings       *rings.Rings // nil without a policy
	reconsiders bool
	policyFile  *snapshot.File
	// answered are all responses of now. With rings they stay in memory; without, a fleet's may be
	// more than the cache remembers, and both sides are to have the same in memory.
	answered [components]*response.Response
}

func (f *fleet) ringed(hasRings bool) *ringed {
	w := &ringed{fleet: f, cache: new(response.Cache)}
	if !hasRings {
		return w
	}
	queries := map[string][]query.Query{}
	for c := range components {
		queries[fleettest.Component(c)] = []query.Query{oneComponent(c)}
	}
	w.rings = rings.New(rings.Options{
		Hub: fleettest.Hub, Responses: w.cache, Logger: slog.New(slog.DiscardHandler),
		State: func() *fleetstate.State { return w.st }, Queries: func() map[string][]query.Query { return queries },
		Reconsider: func() { w.reconsiders = true },
	})
	return w
}

// serve computes a state of a snapshot, has the rings take what they may, and computes all
// responses, as a service does after a commit.
func (w *ringed) serve(s *snapshot.Snapshot) {
	w.Helper()
	for w.reconsiders = true; w.reconsiders; {
		w.reconsiders = false
		st, err := fleetstate.Build(w.st, s, w.known)
		require.NoError(w, err)
		w.st = st
		if w.rings != nil {
			w.rings.Serving(st)
			w.rings.Look(context.Background())
		}
	}
	for c := range components {
		w.answered[c] = w.response(c)
	}
}

func (w *ringed) response(component int) *response.Response {
	w.Helper()
	respond := w.cache.Get
	if w.rings != nil {
		respond = w.rings.Respond
	}
	out, err := respond(context.Background(), w.st, oneComponent(component))
	require.NoError(w, err)
	return out
}

// report has the engine take and run all that is answered.
func (w *ringed) report(s *snapshot.Snapshot) {
	w.Helper()
	var all []facts.Application
	for c := range components {
		w.response(c).ParameterSets(func(s response.ParameterSet) {
			item := s.Item()
			all = append(all, facts.Application{Name: item.Name, Cluster: item.Cluster, Group: item.Group, Component: item.Component, Digest: s.Digest(), Healthy: true})
		})
	}
	w.known = facts.NewSet(false).WithApplications(all...).WithHealth()
	w.serve(s)
}

// policy has the tenants in five rings. The first takes each commit, the others are pinned to
// revisions.
func (f *fleet) policy(pins []string) string {
	var out, list strings.Builder
	out.WriteString("apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nrings:\n")
	list.WriteString("pins:\n")
	for ring := range ringCount {
		var tenants []string
		for t := range f.o.Tenants {
			if t%ringCount == ring {
				tenants = append(tenants, f.o.Tenant(t))
			}
		}
		if len(tenants) == 0 {
			tenants = []string{"none"}
		}
		fmt.Fprintf(&out, "  - {name: ring-%d, maxUnavailable: 100%%, selector: {matchExpressions: [{key: tenant, operator: In, values: [%s]}]}}\n", ring, strings.Join(tenants, ", "))
		if ring > 0 {
			fmt.Fprintf(&list, "  - {ring: ring-%d, revision: %s}\n", ring, pins[ring])
		}
	}
	return out.String() + list.String()
}

// ringCommit is a snapshot with one cluster's file changed, and with the rings pinned.
func (w *ringed) ringCommit(s *snapshot.Snapshot, cluster int, pins []string) *snapshot.Snapshot {
	w.Helper()
	next := w.commit(s, always, w.clusterFile(cluster))
	if w.rings == nil {
		return next
	}
	all := map[string]*snapshot.File{}
	for _, p := range next.Paths() {
		all[p] = next.File(p)
	}
	const file = "fleet/rollouts/all.yaml"
	if text := []byte(w.policy(pins)); w.policyFile == nil || !bytes.Equal(w.policyFile.Data, text) {
		w.policyFile = snapshot.NewFile(file, text, snapshot.MaxFileSize)
	}
	all[file] = w.policyFile
	return snapshot.New(next.Revision, all)
}

// inRings measures what five rings on different revisions take, beside the same fleet without
// rings: the memory, and a commit of one cluster's file until all responses are there.
func (b *bench) inRings(f *fleet) {
	b.Helper()
	var without, with struct{ size, commit []float64 }
	for range b.rounds() {
		for _, has := range []bool{false, true} {
			out := &without
			if has {
				out = &with
			}
			before := heap()
			w, s := f.ringed(has), f.read()
			pins := make([]string, ringCount)
			for ring := range pins { // until then, none that is known
				pins[ring] = fmt.Sprintf("unknown-%d", ring)
			}
			steps := 1
			if has {
				steps = ringCount
				w.serve(s) // the policy begins at what was served before it
			}
			for step := range steps { // ring 4 stays on the first commit, ring 3 on the second ...
				pins[ringCount-1-step] = fmt.Sprintf("revision-%d", revisions.Load()+1)
				s = w.ringCommit(s, step, pins)
				w.serve(s)
			}
			w.report(s)
			out.size = append(out.size, float64(heap()-before)/1e6)
			if has {
				b.onDifferentRevisions(w)
			}
			for cluster := range 4 {
				next := w.ringCommit(s, ringCount+cluster, pins)
				out.commit = append(out.commit, timed(func() { w.serve(next) }))
				s = next
			}
			runtime.KeepAlive(w)
		}
	}
	row := func(what string, most float64, with, without []float64, text func(float64) string) {
		b.add(figure{
			what: what, fleet: f.name, against: "without rings", goal: atMost(most, "x"), rounds: []float64{median(with) / median(without)},
			detail: text(median(with)) + ", without " + text(median(without)),
		})
	}
	row("memory of five rings on five revisions", 1.3, with.size, without.size, func(v float64) string { return fmt.Sprintf("%.0f MB", v) })
	row("a commit of one cluster's file with five rings, all responses", 2, with.commit, without.commit, seconds)
}

// onDifferentRevisions checks that each ring has another revision (rule 3).
func (b *bench) onDifferentRevisions(w *ringed) {
	b.Helper()
	seen := map[string]bool{}
	for _, r := range w.rings.Report().Rollouts[0].Rings {
		seen[r.Revision] = true
	}
	if len(seen) != ringCount {
		b.Fatalf("the rings have %d revisions: %+v", len(seen), w.rings.Report())
	}
}
