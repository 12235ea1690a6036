package overview

import "testing"

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
