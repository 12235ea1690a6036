package response_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/cases"
	"github.com/argosy-hub/argosy/internal/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/fleettest"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// TestMergeSharesWithAnEarlierOne: in random programs of commits and of clusters that take a
// revision, a merge that shares what stays has the bytes of one that shares nothing. (G6, G7)
func TestMergeSharesWithAnEarlierOne(t *testing.T) {
	o := fleettest.Options{Clusters: 150, Components: 3, Tenants: 3, Overrides: 1, Seed: 1}
	for seed := range uint64(cases.Times(4)) {
		random := rand.New(rand.NewPCG(seed, 3))
		files := fleettest.Files(o)
		commits := 0
		commit := func(previous *fleetstate.State) *fleetstate.State {
			commits++
			at := fmt.Sprintf("%s/tenants/%s/clusters/%s/", fleettest.Group, o.Tenant(commits%150), fleettest.Cluster(commits%150))
			if i := random.IntN(150); i%2 == 0 { // a value, or a component that goes or comes back
				at = fmt.Sprintf("%s/tenants/%s/clusters/%s/", fleettest.Group, o.Tenant(i), fleettest.Cluster(i))
				files[at+"application-sets/"+fleettest.Group+".yaml"] = fmt.Sprintf("%s: {enabled: %t}\n", fleettest.Component(0), random.IntN(2) == 0)
			} else {
				files[at+fleettest.Group+"/"+fleettest.Component(0)+"/values.yaml"] = fmt.Sprintf("replicas: %d\n", commits)
			}
			all := map[string]*snapshot.File{}
			for path, text := range files {
				all[path] = snapshot.NewFile(path, []byte(text), snapshot.MaxFileSize)
			}
			st, err := fleetstate.Build(previous, snapshot.New(fmt.Sprintf("revision-%d", commits), all), facts.Set{})
			if err != nil {
				t.Fatal(err)
			}
			return st
		}
		states := []*fleetstate.State{commit(nil)} // newest first
		has := map[string]string{}                 // clusters' revisions
		for i := range o.Clusters {
			has[fleettest.Cluster(i)] = states[0].Revision
		}
		var cache response.Cache
		questions := []query.Query{
			{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group, Component: fleettest.Component(0)},
			{View: query.Components, Hub: fleettest.Hub, Group: fleettest.Group},
		}
		before := make([]*response.Merged, len(questions))
		for step := range 12 {
			had := maps.Clone(has)
			if random.IntN(2) == 0 {
				states = append([]*fleetstate.State{commit(states[0])}, states[:min(len(states), 3)]...)
			}
			for name, revision := range has {
				isThere := slices.ContainsFunc(states, func(st *fleetstate.State) bool { return st.Revision == revision })
				if !isThere || step%3 == 0 && fleettest.Cluster(random.IntN(150)) < name {
					has[name] = states[random.IntN(len(states))].Revision
				}
			}
			pick := func(i lifecycle.Item) int {
				return slices.IndexFunc(states, func(st *fleetstate.State) bool { return st.Revision == has[i.Cluster] })
			}
			stays := func(clusters []*fleetstate.Cluster) (out []string) {
				for _, c := range clusters {
					if name := c.Member.Name; has[name] == had[name] {
						out = append(out, has[name])
					} else {
						out = append(out, "")
					}
				}
				return out
			}
			for n, q := range questions {
				var all []*response.Response
				for _, st := range states {
					out, err := cache.Get(st, q)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, out)
				}
				fresh := all[0].Merge(response.Merging{Others: all[1:], Pick: pick})
				shared := all[0].Merge(response.Merging{Others: all[1:], Pick: pick, Like: before[n], Stays: stays})
				if string(fresh.Bytes()) != string(shared.Bytes()) || shared.Len() != len(shared.Bytes()) || fresh.Fingerprint() != shared.Fingerprint() {
					t.Fatalf("seed %d, step %d, question %d: the merges differ", seed, step, n)
				}
				before[n] = shared
			}
		}
	}
}
