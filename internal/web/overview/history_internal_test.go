package overview

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Details beyond the limit are forgotten from the oldest commit on.
func TestHistoryForgetsOldDetails(t *testing.T) {
	t.Parallel()
	h := &History{}
	for range 3 {
		c := &commit{Concerned: maxChanged}
		for range maxDetails / 4 {
			c.Clusters = append(c.Clusters, clusterChange{Changes: make([]ComponentChange, 1)})
		}
		h.commits = append(h.commits, c)
		h.bound()
	}
	for i, want := range []bool{true, false, false} {
		if c := h.commits[i]; c.Trimmed != want || (c.Clusters == nil) != want || c.Concerned != maxChanged {
			t.Errorf("commit %d: trimmed %t, %d clusters", i, c.Trimmed, len(c.Clusters))
		}
	}
}

// TestReplicasAgreeOnTheTimeline: two replicas whose facts differed at a commit have seen it change
// other clusters and components. What they write becomes the same: else each of them would write
// over the other's record for as long as it has the commit.
func TestReplicasAgreeOnTheTimeline(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	change := func(cluster string, components ...string) clusterChange {
		c := clusterChange{Cluster: Cluster{Hub: "hub-1", Name: cluster}}
		for _, name := range components {
			c.Changes = append(c.Changes, ComponentChange{Component: Component{Group: "addons", Name: name}})
		}
		return c
	}
	replica := func(after time.Duration, clusters ...clusterChange) *History {
		return &History{began: at, last: &Index{st: &fleetstate.State{}}, commits: []*commit{
			{Before: "1", Revision: "2", At: at.Add(after), Concerned: len(clusters), Clusters: clusters},
		}}
	}
	for name, replicas := range map[string][2]*History{
		"the same at other times": {replica(0, change("a", "dns")), replica(time.Second, change("a", "dns"))},
		"other clusters":          {replica(0, change("a", "dns")), replica(time.Second, change("a", "dns"), change("b", "dns"))},
		"other components":        {replica(0, change("a", "dns", "ingress")), replica(0, change("a", "dns", "policy"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := map[int]string{}
			for range 3 {
				for i, h := range replicas {
					r, _ := h.Remembered()
					text, err := json.Marshal(r)
					require.NoError(t, err)
					texts[i] = string(text)
					var read Remembered
					require.NoError(t, json.Unmarshal(text, &read))
					replicas[1-i].Merge(&read)
				}
			}
			assert.Equal(t, texts[1], texts[0], "the replicas write")
		})
	}
}

// TestForgottenFactsAreOneChange: a change of facts whose details a record has forgotten is the one
// that a replica remembers.
func TestForgottenFactsAreOneChange(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	replica := func() *History {
		change := func(n int) []clusterChange {
			return []clusterChange{{Cluster: Cluster{Hub: "hub-1", Name: "a"}, Changes: make([]ComponentChange, n)}}
		}
		return &History{began: at, last: &Index{st: &fleetstate.State{}}, commits: []*commit{
			{Before: "1", Revision: "1", At: at, Concerned: 1, Clusters: change(1)},
			{Before: "1", Revision: "2", At: at.Add(time.Hour), Concerned: 1, Clusters: change(maxRemembered - 1)},
		}}
	}
	one, other := replica(), replica()
	r, _ := one.Remembered()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var read Remembered
	require.NoError(t, json.Unmarshal(text, &read))
	if !read.Commits[0].Trimmed || read.Commits[1].Trimmed {
		t.Fatal("the record has forgotten something else")
	}
	other.Merge(&read)
	if len(other.commits) != 2 || other.commits[0].Trimmed {
		t.Errorf("%d commits; the first is trimmed: %t", len(other.commits), other.commits[0].Trimmed)
	}
}
