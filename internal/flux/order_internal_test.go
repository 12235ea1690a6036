package flux

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/argosy-hub/argosy/internal/paramset"
)

// TestLoopsAreThoseThatLeadBack: of random orders, the components that wait for themselves are
// those from which a walk of any length leads back.
func TestLoopsAreThoseThatLeadBack(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := 1 + random.IntN(9)
		var all []paramset.ComponentSet
		reaches := make([][]bool, n)
		for i := range n {
			c := paramset.ComponentSet{Component: fmt.Sprint("c", i)}
			c.Name = "one"
			reaches[i] = make([]bool, n)
			for j := range n {
				if random.IntN(n) == 0 {
					reaches[i][j] = true
					c.DependsOn = append(c.DependsOn, fmt.Sprint("c", j))
				}
			}
			all = append(all, c)
		}
		for k := range n { // Warshall
			for i := range n {
				for j := range n {
					reaches[i][j] = reaches[i][j] || reaches[i][k] && reaches[k][j]
				}
			}
		}
		o := newOrder(all)
		for i, c := range all {
			if got := o.isLoop[keyOf(c)]; got != reaches[i][i] {
				t.Fatalf("seed %d: %s leads back: %v", seed, c.Component, got)
			}
		}
	}
}
