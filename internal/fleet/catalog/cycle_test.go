package catalog_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestNodesOfAGroupLeadToEachOther: in random graphs, two nodes are in one group if each can be
// reached from the other, and a node is a loop if it can be reached from itself.
func TestNodesOfAGroupLeadToEachOther(t *testing.T) {
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := 1 + random.IntN(9)
		next, leads := make([][]int, n), make([][]bool, n)
		for i := range n {
			leads[i] = make([]bool, n)
			for j := range n {
				if random.IntN(n) == 0 {
					leads[i][j] = true
					next[i] = append(next[i], j)
				}
			}
		}
		for k := range n { // Warshall
			for i := range n {
				for j := range n {
					leads[i][j] = leads[i][j] || leads[i][k] && leads[k][j]
				}
			}
		}
		f := catalog.NewCycleFinder(func(i int) []int { return next[i] })
		for _, i := range random.Perm(n) {
			if f.IsLoop(i) != leads[i][i] {
				t.Fatalf("seed %d: %d leads to itself: %t", seed, i, f.IsLoop(i))
			}
			for j := range n {
				require.Equal(t, i == j || leads[i][j] && leads[j][i], slices.Contains(f.Group(i), j), "seed %d: %d and %d are of one group", seed, i, j)
			}
		}
	}
}
