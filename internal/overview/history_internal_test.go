package overview

import "testing"

// Details beyond the limit are forgotten from the oldest commit on.
func TestHistoryForgetsOldDetails(t *testing.T) {
	t.Parallel()
	h := &History{}
	for range 3 {
		c := &commit{concerned: maxChanged}
		for range maxDetails / 4 {
			c.clusters = append(c.clusters, clusterChange{changes: make([]ComponentChange, 1)})
		}
		h.commits = append(h.commits, c)
		h.trim()
	}
	for i, want := range []bool{true, false, false} {
		if c := h.commits[i]; c.trimmed != want || (c.clusters == nil) != want || c.concerned != maxChanged {
			t.Errorf("commit %d: trimmed %t, %d clusters", i, c.trimmed, len(c.clusters))
		}
	}
}
