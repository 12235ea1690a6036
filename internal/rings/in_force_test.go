package rings

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/roster"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// history is a random sequence of commits. Each changes the values of two components, so that a row
// says which commit it is of, and most change policies.
type history struct {
	*testing.T
	*Rings
	random   *rand.Rand
	store    *store.Store
	now      time.Time
	st       *fleetstate.State
	files    map[string]string // of policies
	commits  []*fleetstate.State
	apps     map[string]facts.Application
	again    bool
	steps    []string
	rows     map[answeredCell]int          // the commits of the rows that are answered
	seen     map[answeredCell]map[int]bool // the commits that were ever answered
	inForce  []*rollout.Policy             // what counted when the rows were answered
	changes  map[string]int                // of policies in force
	policies map[int]map[string]bool       // the shapes in each commit
}

type answeredCell struct{ cluster, component string }

// layouts are rings in order, as the tiers of their members.
var layouts = []string{
	"[{name: r0, selector: {matchLabels: {tier: '0'}}}, {name: r1, selector: {matchLabels: {tier: '1'}}}, {name: r2, selector: {matchLabels: {tier: '2'}}}]",
	"[{name: r0, selector: {matchLabels: {tier: '0'}}, soak: 20s}, {name: r1, selector: {matchLabels: {tier: '1'}}}, {name: r2, selector: {matchLabels: {tier: '2'}}}]",
	"[{name: r2, selector: {matchLabels: {tier: '2'}}}, {name: r1, selector: {matchLabels: {tier: '1'}}}, {name: r0, selector: {matchLabels: {tier: '0'}}}]",
	"[{name: r0, selector: {matchExpressions: [{key: tier, operator: In, values: ['0', '1']}]}}, {name: r2, selector: {matchLabels: {tier: '2'}}}]",
	"[{name: x, selector: {matchLabels: {tier: '1'}}}, {name: y, selector: {matchExpressions: [{key: tier, operator: In, values: ['0', '2']}]}}]",
	"[{name: all, selector: {}}]",
}

var scopes = []string{"{}", "{groups: [addons]}", "{components: [addons/dns]}", "{components: [addons/web]}"}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	kept, _ := storetest.New()
	h := &history{
		T: t, random: rand.New(rand.NewPCG(seed, 26)), store: kept, now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), files: map[string]string{},
		apps: map[string]facts.Application{}, rows: map[answeredCell]int{}, seen: map[answeredCell]map[int]bool{}, changes: map[string]int{}, policies: map[int]map[string]bool{},
	}
	h.start()
	h.commit("no policy")
	h.put("all", 0, layouts[0])
	h.commit("the first policy")
	h.settle()
	return h
}

// start begins with what the store has.
func (h *history) start() {
	h.Rings = New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler), Store: h.store, Now: func() time.Time { return h.now },
		Queries: func() map[string][]query.Query { return map[string][]query.Query{"all": {ofAll}} },
		State:   func() *fleetstate.State { return h.st }, Reconsider: func() { h.again = true },
	})
	if !h.Await(h.Context()) {
		h.Fatal("the records of rollouts are not read")
	}
}

func (h *history) put(name string, scope int, rings string) {
	h.files["fleet/rollouts/"+name+".yaml"] = "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nscope: " + scopes[scope] + "\nrings: " + rings + "\n"
}

// commit serves a commit with the policies of now.
func (h *history) commit(step string) {
	h.Helper()
	n := len(h.commits) + 1
	h.steps = append(h.steps, fmt.Sprintf("%d: %s", n, step))
	tree := fleettest.TwoHubs().With(h.files)
	for tier, name := range []string{"a", "b", "c"} {
		tree["fleet/fleet-members/hub-1/"+name+".yaml"] = fmt.Sprintf("clusterName: %s\ntenant: retail\nenvironment: prod\nsecretManagerSecretName: s\nlabels: {tier: %q}\n", name, strconv.Itoa(tier))
	}
	const entry = "%s: {enabled: true, namespace: x, chart: {repoURL: https://example.org/charts, name: %[1]s, version: 1.0.0}}\n"
	tree[fleettest.SystemCatalog] = fmt.Sprintf(entry, "dns") + fmt.Sprintf(entry, "web")
	for _, component := range []string{"dns", "web"} {
		tree["addons/defaults/addons/"+component+"/values.yaml"] = fmt.Sprintf("commit: %d\n", n)
	}
	h.publish(fleettest.Snapshot(fmt.Sprintf("revision-%d", n), tree))
	h.commits = append(h.commits, h.st)
}

// publish serves files until no ring moves, and checks each response.
func (h *history) publish(files *snapshot.Snapshot) {
	h.Helper()
	for h.again = true; h.again; {
		h.again = false
		var apps []facts.Application
		for _, a := range h.apps {
			apps = append(apps, a)
		}
		st, err := fleetstate.Build(h.st, files, facts.NewSet(false).WithApplications(apps...).WithHealth())
		require.NoError(h, err)
		h.st = st
		h.Serving(st)
		h.check()
		h.Look(h.Context())
	}
}

var ofCommit = regexp.MustCompile(`commit: (\d+)`)

// check compares what is answered with what was before. Where a later ring gets a commit, the ring
// before it has had it. Where a policy does not count any more, its last ring has had a commit that
// is newer than the last one with the policy.
func (h *history) check() {
	h.Helper()
	out, err := h.Respond(context.Background(), h.st, ofAll)
	if err != nil {
		return // Argo CD keeps everything
	}
	now := map[answeredCell]int{}
	out.ParameterSets(func(s response.ParameterSet) {
		n, err := strconv.Atoi(ofCommit.FindStringSubmatch(s.Save().Text)[1])
		require.NoError(h, err)
		now[answeredCell{s.Item().Cluster, s.Item().Component}] = n
	})
	var inForce []*rollout.Policy
	for _, x := range h.Report().Rollouts {
		inForce = append(inForce, x.Policy)
	}
	for _, p := range h.inForce {
		h.checkEnd(p, inForce)
	}
	for c, n := range now {
		p, ring := h.policyOf(h.inForce, c)
		is, _ := h.policyOf(inForce, c)
		if h.seen[c] == nil {
			h.seen[c] = map[int]bool{}
		}
		isSame := p != nil && is != nil && p.Name == is.Name && p.HasShape(is)
		if isSame && n > h.rows[c] && ring > 0 {
			for other := range now {
				if q, before := h.policyOf(h.inForce, other); q == p && before == ring-1 && !h.seen[other][n] {
					h.Fatalf("%s\n%v has commit %d, which %v of the ring before has never had", h.story(), c, n, other)
				}
			}
		}
	}
	for c, n := range now {
		h.seen[c][n] = true
	}
	h.rows, h.inForce = now, inForce
	if text := "   " + h.counts(); len(h.steps) > 0 && h.steps[len(h.steps)-1] != text {
		h.steps = append(h.steps, text)
	}
}

// checkEnd checks that a policy that counted may have ended, or still counts.
func (h *history) checkEnd(p *rollout.Policy, inForce []*rollout.Policy) {
	h.Helper()
	if slices.ContainsFunc(inForce, p.HasShape) { // maybe under another name
		return
	}
	last := 0 // the last commit that has it
	for i, st := range append(slices.Clone(h.commits), h.st) {
		if q := newestOf(st, p.Name); p.HasShape(q) {
			last = i + 1
		}
	}
	for c, n := range h.rows {
		if q, ring := h.policyOf(h.inForce, c); q == p && ring == len(p.Rings)-1 && n <= last {
			h.Fatalf("%s\npolicy %s of commit %d does not count any more, and %v of its last ring has commit %d", h.story(), p.Name, last, c, n)
		}
	}
	h.changes[p.Name]++
}

// story is what has happened, with what counts since.
func (h *history) story() string { return strings.Join(h.steps, "\n") }

// counts is what counts now.
func (h *history) counts() string {
	var out []string
	for _, x := range h.Report().Rollouts {
		text := x.Name + x.Problem
		if x.InForce != nil {
			text += " (" + x.InForce.Text + ")"
		}
		for _, r := range x.Rings {
			text += " " + r.Name + ":" + r.Revision
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// policyOf is the policy that counts for a cell, and the member's ring.
func (h *history) policyOf(all []*rollout.Policy, c answeredCell) (*rollout.Policy, int) {
	m := h.st.Fleet.Member("hub-1", c.cluster)
	for _, p := range all {
		if i := roster.RingIn(p, m); i != roster.None && p.Scope.Covers("addons", c.component) {
			return p, i
		}
	}
	return nil, roster.None
}

// apply has Argo CD take what some clusters are answered.
func (h *history) apply(share int) {
	h.Helper()
	out, err := h.Respond(context.Background(), h.st, ofAll)
	if err != nil {
		return
	}
	out.ParameterSets(func(s response.ParameterSet) {
		if i := s.Item(); h.random.IntN(share) == 0 {
			h.apps[i.Name] = facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true}
		}
	})
	h.now = h.now.Add(15 * time.Second)
	h.publish(h.st.Resolver().Snapshot)
}

func (h *history) settle() {
	h.Helper()
	for range 30 {
		h.apply(1)
	}
}

// change changes policies.
func (h *history) change() string {
	const all, other, aaa = "fleet/rollouts/all.yaml", "fleet/rollouts/other.yaml", "fleet/rollouts/aaa.yaml"
	scope, rings := h.random.IntN(len(scopes)), layouts[h.random.IntN(len(layouts))]
	switch h.random.IntN(8) {
	case 0, 1:
		h.put("all", scope, rings)
		return fmt.Sprintf("all is %s %s", scopes[scope], rings)
	case 2:
		h.put("all", 1, rings)
		return "all is " + rings
	case 3:
		delete(h.files, all)
		return "all goes"
	case 4:
		h.files[all], h.files[other] = h.files[other], h.files[all]
		for name, text := range h.files {
			if text == "" {
				delete(h.files, name)
			}
		}
		return "all and other change names"
	case 5:
		delete(h.files, all)
		h.put("other", scope, rings)
		return fmt.Sprintf("all goes, other is %s %s", scopes[scope], rings)
	case 6:
		if h.files[aaa] != "" {
			delete(h.files, aaa)
			return "aaa goes"
		}
		h.put("aaa", scope, rings)
		return fmt.Sprintf("aaa is %s %s", scopes[scope], rings)
	}
	return "values alone"
}

// TestNoCommitSetsItsOwnRules: in random histories whose commits change policies and values at
// once, a later ring has no commit that the ring before has not had, by the policy that was there
// before the commit; and a policy counts until its last ring has a commit of the change. In the
// end, the newest policies count. (K7)
func TestNoCommitSetsItsOwnRules(t *testing.T) {
	changes := 0
	for seed := range uint64(cases.Times(8)) {
		h := newHistory(t, seed)
		for range 80 {
			switch h.random.IntN(8) {
			case 0, 1:
				h.commit(h.change())
			case 2:
				if h.random.IntN(4) == 0 {
					h.steps = append(h.steps, "restart")
					h.start()
					h.publish(h.st.Resolver().Snapshot)
				}
			default:
				h.apply(1 + h.random.IntN(2))
			}
		}
		for _, n := range h.changes {
			changes += n
		}
		for name := range h.files {
			if name != "fleet/rollouts/all.yaml" { // no scope overlaps any more
				delete(h.files, name)
			}
		}
		h.commit("all alone")
		h.settle()
		report := h.Report()
		if len(report.Rollouts) != len(h.st.Fleet.Rollouts) {
			t.Fatalf("seed %d: %s\nin the end: %s", seed, h.story(), h.counts())
		}
		for _, x := range report.Rollouts {
			if x.InForce != nil || !x.Rings[len(x.Rings)-1].IsNewest {
				t.Fatalf("seed %d: %s\nin the end: %s", seed, h.story(), h.counts())
			}
		}
	}
	if t.Logf("%d policies have come into force", changes); changes < 4*cases.Times(8) {
		t.Error("the histories do too little")
	}
}
