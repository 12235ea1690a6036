package tree

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// H10: whatever folders weigh, those that are left out bring the rest within the limit, and no
// folder is left out that has no more than an equal share of its parent's.
func TestExcessSparesLightFolders(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 500 {
		w, files := &Weight{}, map[string]int64{}
		for range 1 + random.IntN(40) {
			parts := make([]string, random.IntN(4))
			for i := range parts {
				parts[i] = string(rune('a' + random.IntN(5)))
			}
			size := int64(1) << random.IntN(20)
			folder := strings.Join(parts, "/")
			files[folder] += size
			w.AddBelow(folder, size)
		}
		limit := int64(1) << random.IntN(22)
		excess := w.Excess(limit)
		var rest int64
		for folder, size := range files {
			if _, whole := excess[""]; !whole && !IsIn(folder, excess) {
				rest += size
			}
		}
		if rest > limit || w.total <= limit && len(excess) > 0 {
			t.Fatalf("round %d: %d of %d are left, at most %d: %v", round, rest, w.total, limit, excess)
		}
		if _, whole := excess["a"]; whole && w.below["a"].total <= limit/6 { // five folders and the files
			t.Errorf("round %d: a has %d of %d and is left out", round, w.below["a"].total, limit)
		}
	}
}
