package tenanttest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/tenanttest"
)

// fleet is one of the fleets before tenant Red commits anything.
type fleet struct {
	files   fleettest.Tree
	known   facts.Set
	good    *fleetstate.State
	queries queries
	// before is what must not change: what is said about everybody without Red, and what Red's own
	// members have on the hub.
	before   reach
	aboutRed []byte // a response of good in which most commits of tenant Red change something
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
	f.before, f.aboutRed = reachOf(alone), aboutRed(f.good)
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
	for range 10 {
		f.Add(randomDecisions(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 0 && len(data) <= 4096 {
			checkCommit(t, data)
		}
	})
}

// TestTenantFolders is FuzzTenantFolder for many commits in a row: half of them random, half of
// them inputs of its corpus with a few decisions changed. `make walls` tries many.
func TestTenantFolders(t *testing.T) {
	all, random := corpus(t), rand.New(rand.NewPCG(3, 4))
	for i := range cases.Times(100) {
		data := randomDecisions(random)
		if i%2 == 0 {
			data = changed(all[random.IntN(len(all))], random)
		}
		checkCommit(t, data)
	}
	n := noticed.cases.Load()
	if noticed.changed.Load() < n/3 || noticed.quarantined.Load() == 0 || noticed.links.Load() == 0 {
		t.Error("the commits change so little that nothing is shown")
	}
	t.Logf("%d commits, %d with a member in quarantine, %d with changes for tenant red, %d with links", n, noticed.quarantined.Load(), noticed.changed.Load(), noticed.links.Load())
}

// corpus are the inputs in the files of FuzzTenantFolder.
func corpus(t *testing.T) (all [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/fuzz/FuzzTenantFolder/*")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, quoted, _ := strings.Cut(strings.TrimSpace(string(text)), "[]byte(")
		data, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
		if err != nil || data == "" {
			t.Fatal(file, err)
		}
		all = append(all, []byte(data))
	}
	return all
}

// changed is an input with one to four other decisions, and sometimes another fleet.
func changed(data []byte, random *rand.Rand) []byte {
	data = slices.Clone(data)
	for range 1 + random.IntN(4) {
		data[random.IntN(len(data))] = byte(random.Uint32())
	}
	return data
}

func randomDecisions(random *rand.Rand) []byte {
	data := make([]byte, 8*(1+random.IntN(40)))
	for i := 0; i < len(data); i += 8 {
		binary.LittleEndian.PutUint64(data[i:], random.Uint64())
	}
	return data
}

// checkCommit checks one commit of tenant Red: the first byte chooses the fleet.
func checkCommit(t *testing.T, data []byte) {
	t.Helper()
	v, decisions := tenanttest.Variant(int(data[0])%tenanttest.Variants), data[1:]
	f := fleetOf(v)
	commit := tenanttest.Commit(f.files, decisions)
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s\nfleet %d, the commit:\n%s\nlinks %q\nas a file of the corpus: []byte(%q)", fmt.Sprintf(format, args...), v, cmp.Diff(f.files, commit.Files), commit.Links, data)
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
	if seed%128 == 0 { // the same from nothing but the repository
		if st, err = fleetstate.Restore(nil, s, f.known, st.LastKnownGood()); err != nil {
			fail("after a restart the commit is refused for all: %v", err)
		}
		f.check(st, f.queries.of(seed/128), commit, fail)
	}
	noticed.cases.Add(1)
	if len(st.LastKnownGood()) > 0 {
		noticed.quarantined.Add(1)
	}
	if len(commit.Links) > 0 {
		noticed.links.Add(1)
	}
	if len(st.Problems) > 0 || !bytes.Equal(aboutRed(st), f.aboutRed) {
		noticed.changed.Add(1)
	}
}

// aboutRed is a response in which most commits of tenant Red change something.
func aboutRed(st *fleetstate.State) []byte {
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
		case strings.HasPrefix(of, ofExplain), strings.HasPrefix(of, ofPages):
			is = q.people
		case from >= 0:
			is = keys[of[:to+1]]
		}
		if is {
			out[what] = text
		}
	}
	return out
}
