package response_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/cases"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestReusedResponseEqualsAFreshOne is rule G6 on random fleets: whatever changes, what is said
// again of the previous answer, and the trees and texts that states share, give the bytes of a
// state that knows nothing of before.
func TestReusedResponseEqualsAFreshOne(t *testing.T) {
	t.Parallel()
	seeds, steps := cases.Times(2), 25
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 3))
		o := fleettest.Options{Clusters: 5 + r.IntN(20), Components: 2 + r.IntN(4), Tenants: 1 + r.IntN(3), Overrides: 1 + r.IntN(3), Seed: seed + 1}
		contents := fleettest.Files(o)
		paths := slices.Sorted(maps.Keys(contents))
		files := map[string]*snapshot.File{}
		for _, p := range paths {
			files[p] = snapshot.NewFile(p, []byte(contents[p]), snapshot.MaxFileSize)
		}
		var st *fleetstate.State
		var cache response.Cache
		good := files
		live := facts.Set{}
		for step := range steps {
			next := map[string]*snapshot.File{}
			for p, f := range files {
				next[p] = f
			}
			for range r.IntN(3) {
				p := paths[r.IntN(len(paths))]
				switch r.IntN(5) {
				case 0:
					delete(next, p)
				case 1:
					next[p] = snapshot.NewFile(p, []byte(contents[p]+"[broken"), snapshot.MaxFileSize)
				default:
					next[p] = snapshot.NewFile(p, fmt.Appendf(nil, "%s# %d\n", contents[p], step), snapshot.MaxFileSize)
				}
			}
			if r.IntN(5) == 0 {
				live = facts.NewSet(false, facts.Cluster{Name: fleettest.Cluster(r.IntN(o.Clusters)), Labels: map[string]string{"step": fmt.Sprint(step)}})
			}
			files = next
			s := snapshot.New(fmt.Sprintf("%d\"%d", seed, step), files)
			built, err := fleetstate.Build(st, s, live)
			if err != nil {
				files = good
				continue // the repository as a whole cannot be used: the next commit starts from the last good one
			}
			good = files
			previous := st
			st = built
			fresh, err := fleetstate.Restore(nil, snapshot.New(s.Revision, files), live, st.LastKnownGood())
			require.NoError(t, err)
			for i := range o.Components {
				request := query.Query{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(i)}
				switch i {
				case 0:
					request.Component = ""
				case 1:
					request = query.Query{View: query.Members, Hub: fleettest.Hub}
				}
				if r.IntN(4) == 0 {
					continue // not asked in every state
				}
				got, gotErr := cache.Get(t.Context(), st, request)
				want, wantErr := response.Respond(fresh, request)
				if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, step %d: %v; computed anew: %v", seed, step, gotErr, wantErr)
				}
				if gotErr != nil {
					continue
				}
				if r.IntN(4) == 0 {
					sameValues(t, st, request)
				}
				if !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Fatalf("seed %d, step %d: the answer differs from one that is computed anew:\n%s\n%s", seed, step, got.Bytes(), want.Bytes())
				}
				if got.Len() != len(want.Bytes()) || got.Sets() != want.Sets() || got.Fingerprint() != want.Fingerprint() {
					t.Fatalf("seed %d, step %d: %d bytes, %d sets, computed anew %d, %d", seed, step, got.Len(), got.Sets(), want.Len(), want.Sets())
				}
				var written bytes.Buffer
				if n, err := got.WriteTo(&written); err != nil || n != int64(written.Len()) || !bytes.Equal(written.Bytes(), want.Bytes()) {
					t.Fatalf("seed %d, step %d: otherwise written: %v", seed, step, err)
				}
				if fmt.Sprint(got.Items()) != fmt.Sprint(want.Items()) {
					t.Fatalf("seed %d, step %d: items %v, computed anew %v", seed, step, got.Items(), want.Items())
				}
				if previous != nil {
					sameItems(t, previous, st, request)
				}
				if items, err := response.Items(fresh, request); err != nil || fmt.Sprint(items) != fmt.Sprint(want.Items()) {
					t.Fatalf("seed %d, step %d: items alone %v, of the answer %v: %v", seed, step, items, want.Items(), err)
				}
				if previous == nil {
					continue
				}
				before, beforeErr := cache.Get(t.Context(), previous, request)
				was, is, err := response.RespondBoth(previous, st, request)
				if (err == nil) != (beforeErr == nil) || err == nil && (!bytes.Equal(was.Bytes(), before.Bytes()) || !bytes.Equal(is.Bytes(), want.Bytes())) {
					t.Fatalf("seed %d, step %d: both answers are not those of each state: %v, %v", seed, step, err, beforeErr)
				}
				if err == nil && request.View == query.Components {
					sameOutline(t, previous, st, request, was, is)
				}
			}
		}
	}
}

var digests = regexp.MustCompile(`,"digest":"[0-9a-f]*"`)

// sameValues fails unless values that files alone make are as if they were merged with those of an
// entry.
func sameValues(t *testing.T, st *fleetstate.State, r query.Query) {
	t.Helper()
	if r.View != query.Components {
		return
	}
	texts := map[bool]string{}
	for _, alone := range []bool{true, false} {
		values := map[string]any{}
		if !alone {
			values["filler"] = nil
		}
		r.Base = map[string]any{"chart": map[string]any{"repoURL": "https://charts.example.com", "name": "x", "version": "1.0.0"}, "values": values}
		found, err := response.Bytes(st, r)
		text := strings.ReplaceAll(digests.ReplaceAllString(fmt.Sprintf("%s%v", found, err), ""), `filler: null\n`, "")
		texts[alone] = strings.ReplaceAll(text, `"helmValues":""`, `"helmValues":"{}\n"`)
	}
	require.Equal(t, texts[false], texts[true], "values merged anew (-) and values of files (+)")
}

// sameItems fails unless two states together have the items that each has alone.
func sameItems(t *testing.T, before, after *fleetstate.State, r query.Query) {
	t.Helper()
	was, is, equal := response.ItemsOfBoth(before, after, r)
	for st, got := range map[*fleetstate.State]response.Contents{before: was, after: is} {
		want, err := response.Items(st, r)
		if fmt.Sprint(got.Items, got.Err) != fmt.Sprint(want, err) {
			t.Fatalf("items %v, %v; of the state alone %v, %v", got.Items, got.Err, want, err)
		}
	}
	if equal && !slices.Equal(was.Items, is.Items) {
		t.Fatalf("not equal: %v, %v", was.Items, is.Items)
	}
}

// sameOutline fails unless Outlines tells of two responses what they tell, and looks into all that
// the second one says.
func sameOutline(t *testing.T, before, after *fleetstate.State, r query.Query, was, is *response.Response) {
	t.Helper()
	var mu sync.Mutex
	looked := map[string]bool{}
	old, updated, known, found := response.NewOutlines(before, after, func(o response.Outline) bool {
		mu.Lock()
		defer mu.Unlock()
		leaves(t, o.JSON, looked)
		for _, v := range o.Values {
			looked["helmValues="+v] = true
		}
		return false
	}).Differing(r)
	if found || known != before.Facts().Equal(after.Facts()) {
		t.Fatalf("known %t, found %t", known, found)
	}
	all, next := response.Differing(was, is)
	require.Equal(t, []string{onlyIn(was, is), onlyIn(is, was)}, []string{string(all.Bytes()), string(next.Bytes())}, "sets that differ (-), and those of Differing (+)")
	if !known {
		return
	}
	require.Equal(t, []string{string(all.Bytes()), string(next.Bytes())}, []string{string(old.Bytes()), string(updated.Bytes())}, "sets that differ (-), and those of Outlines (+)")
	said := map[string]bool{}
	for text := range is.Texts() {
		leaves(t, text, said)
	}
	require.Equal(t, said, looked, "what a response says (-), and what is looked into (+)")
	for leaf := range said {
		_, _, _, found := response.NewOutlines(before, after, func(o response.Outline) bool {
			here := map[string]bool{}
			leaves(t, o.JSON, here)
			return here[leaf] || slices.ContainsFunc(o.Values, func(v string) bool { return "helmValues="+v == leaf })
		}).Differing(r)
		if !found {
			t.Fatalf("not found: %s", leaf)
		}
		break // any of them
	}
}

// onlyIn is a response without the sets that another one has, but for the revision.
func onlyIn(a, b *response.Response) string {
	known := map[string]bool{}
	content := func(s response.ParameterSet) string {
		_, hold, _ := strings.Cut(s.Save().Text, `","hold":`)
		return s.Digest() + hold
	}
	b.ParameterSets(func(s response.ParameterSet) { known[content(s)] = true })
	var sets []string
	a.ParameterSets(func(s response.ParameterSet) {
		if !known[content(s)] {
			sets = append(sets, s.Save().Text)
		}
	})
	return `{"output":{"parameters":[` + strings.Join(sets, ",") + "]}}\n"
}

// leaves adds the texts in a JSON object by their keys, without the keys that differ in each set:
// its name, the digest and the revision.
func leaves(t *testing.T, text []byte, into map[string]bool) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Error(err)
		return
	}
	var visit func(key string, v any)
	visit = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				visit(k, below)
			}
		case []any:
			for _, below := range v {
				visit(key, below)
			}
		case nil:
		default:
			if text := fmt.Sprint(v); text != "" && key != "applicationName" && key != "digest" && key != "revision" && key != "hold" {
				into[key+"="+text] = true
			}
		}
	}
	visit("", root)
}

// TestUnchangedClustersAreReused: after a commit of one cluster's file, an answer computes that
// cluster's sets alone.
func TestUnchangedClustersAreReused(t *testing.T) {
	t.Parallel()
	o := fleettest.Options{Clusters: 20, Components: 3, Tenants: 2, Overrides: 1, Seed: 1}
	contents := fleettest.Files(o)
	request := query.Query{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(0)}
	file := fmt.Sprintf("addons/tenants/%s/clusters/%s/%s/%s/values.yaml", o.Tenant(0), fleettest.Cluster(0), fleettest.Group, fleettest.Component(0))
	st, err := fleetstate.Build(nil, snapshot.FromMap(contents), facts.Set{})
	require.NoError(t, err)
	var cache response.Cache
	before, err := cache.Get(t.Context(), st, request)
	require.NoError(t, err)
	contents[file] += "more: 1\n"
	next, err := fleetstate.Build(st, snapshot.FromMap(contents), facts.Set{})
	require.NoError(t, err)
	after, err := cache.Get(t.Context(), next, request)
	require.NoError(t, err)
	was := map[*byte]bool{} // sets that were written anew have memory of their own
	for text := range before.Texts() {
		was[&text[0]] = true
	}
	anew := 0
	for text := range after.Texts() {
		if !was[&text[0]] {
			anew++
		}
	}
	if anew != 1 {
		t.Errorf("the sets of %d clusters are computed anew, want 1", anew)
	}
	if n := before.Sets(); n != o.Clusters+1 && n != o.Clusters {
		t.Errorf("%d sets", n)
	}
}
