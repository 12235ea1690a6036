package tenanttest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/cases"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/tenanttest"
)

// fleet is one of the fleets before tenant Red commits anything.
type fleet struct {
	files   fleettest.Tree
	known   facts.Set
	good    *fleetstate.State
	queries queries
	// before is what must not change: what is said about everybody without Red, and what Red's own
	// members have on the hub.
	before reach
}

var fleets = func() (all [tenanttest.Variants]func() *fleet) {
	for v := range all {
		all[v] = sync.OnceValue(func() *fleet { return newFleet(tenanttest.Variant(v)) })
	}
	return all
}()

func fleetOf(v tenanttest.Variant) *fleet { return fleets[v]() }

func newFleet(v tenanttest.Variant) *fleet {
	f := &fleet{files: tenanttest.Fleet(v), known: tenanttest.Facts(v)}
	build := func(files fleettest.Tree) *fleetstate.State {
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), f.known)
		if err == nil && len(st.Problems) > 0 {
			err = problem.List(st.Problems)
		}
		if err != nil {
			panic(fmt.Sprintf("fleet %d: %v", v, err))
		}
		return st
	}
	reachOf := func(st *fleetstate.State) reach {
		r, err := reachOf(st, f.queries.all())
		if err != nil {
			panic(fmt.Sprintf("fleet %d: %v", v, err))
		}
		return r
	}
	alone := build(tenanttest.WithoutRed(f.files))
	f.queries = queriesOf(alone)
	f.good = build(f.files)
	f.before = reachOf(alone)
	for what, text := range reachOf(f.good) {
		if strings.HasPrefix(what, onHub) {
			f.before[what] = text
		}
	}
	return f
}

// noticed counts what the commits were like: the property shows nothing if none changes anything.
var noticed struct{ cases, quarantined, changed, links atomic.Int64 }

// FuzzTenantFolder is rule W1: whatever tenant Red commits into its folders, and into its members'
// files, changes no byte of any response about another tenant's members or the hub, refuses none,
// and no object on the hub but its own members' labels and annotations.
func FuzzTenantFolder(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range cases.Times(60) {
		f.Add(randomDecisions(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 4096 {
			return
		}
		checkCommit(t, tenanttest.Variant(int(data[0])%tenanttest.Variants), data[1:])
	})
	f.Cleanup(func() {
		n := noticed.cases.Load()
		if n >= 50 && (noticed.changed.Load() < n/3 || noticed.quarantined.Load() == 0 || noticed.links.Load() == 0) {
			f.Error("the commits change so little that nothing is shown")
		}
		f.Logf("%d commits, %d with a member in quarantine, %d with changes for tenant red, %d with links", n, noticed.quarantined.Load(), noticed.changed.Load(), noticed.links.Load())
	})
}

func randomDecisions(random *rand.Rand) []byte {
	data := make([]byte, 8*(1+random.IntN(40)))
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], random.Uint64())
	}
	return data
}

// checkCommit checks one commit of tenant Red.
func checkCommit(t *testing.T, v tenanttest.Variant, decisions []byte) {
	t.Helper()
	f := fleetOf(v)
	commit := tenanttest.Commit(f.files, decisions)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nfleet %d, the commit:\n%s\nlinks %q", fmt.Sprintf(format, args...), v, cmp.Diff(f.files, commit.Files), commit.Links)
	}
	s, err := commit.Snapshot("rev")
	if err != nil {
		fail("the source refuses the commit for all: %v", err)
	}
	st, err := fleetstate.Build(f.good, s, f.known)
	if err != nil {
		fail("the commit is refused for all: %v", err)
	}
	for _, p := range st.Problems {
		if p.Cluster != "" && !tenanttest.IsRed(p.Cluster) {
			fail("a problem of another's member: %v", p)
		}
	}
	seed := int(crc32.ChecksumIEEE(decisions))
	f.check(st, f.queries.of(seed), commit, fail)
	if seed%32 == 0 { // the same from nothing but the repository
		if st, err = fleetstate.Restore(s, f.known, st.LastKnownGood()); err != nil {
			fail("after a restart the commit is refused for all: %v", err)
		}
		f.check(st, f.queries.all(), commit, fail)
	}
	noticed.cases.Add(1)
	if len(st.LastKnownGood()) > 0 {
		noticed.quarantined.Add(1)
	}
	if len(commit.Links) > 0 {
		noticed.links.Add(1)
	}
	if len(st.Problems) > 0 || !bytes.Equal(f.aboutRed(st), f.aboutRed(f.good)) {
		noticed.changed.Add(1)
	}
}

// aboutRed is a response in which most commits of tenant Red change something.
func (f *fleet) aboutRed(st *fleetstate.State) []byte {
	b, _ := response.Bytes(st, query.Query{View: query.Components, Hub: tenanttest.Hub, Group: "addons"})
	return b
}

// check compares what a state says with what must be.
func (f *fleet) check(st *fleetstate.State, q queries, commit tenanttest.Change, fail func(string, ...any)) {
	after, err := reachOf(st, q)
	if err != nil {
		fail("a response is refused: %v", err)
	}
	before := f.before.of(q)
	if commit.Members { // a member may say of itself where it is
		drop := func(what, _ string) bool { return strings.HasPrefix(what, onHub) }
		maps.DeleteFunc(before, drop)
		maps.DeleteFunc(after, drop)
	}
	if wrong := after.differences(before); len(wrong) > 0 {
		fail("tenant red changes %d texts that are not its own, the first %s", len(wrong), wrong[0])
	}
}

// of are the texts that these queries give.
func (r reach) of(q queries) reach {
	keys, out := q.keys(), make(reach, len(r))
	for what, text := range r {
		of := strings.TrimPrefix(what, atLeast)
		is := true
		from, to := strings.IndexByte(of, '{'), strings.IndexByte(of, '}')
		switch {
		case strings.HasPrefix(of, ofFlux):
			is = q.artifacts
		case from >= 0:
			is = keys[of[:to+1]]
		}
		if is {
			out[what] = text
		}
	}
	return out
}
