package budget

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
)

// TestAddedAccountIsItsCharges: adding an account is making its charges one by one, or nothing at
// all where one of them exceeds the limit. (H10)
func TestAddedAccountIsItsCharges(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	exceeded := 0
	for round := range 5000 {
		one, added := NewAccount("m"), NewAccount("m")
		isOver := false
		for range 1 + random.IntN(4) {
			other := NewAccount("")
			before := *one
			var err error
			for range random.IntN(4) {
				at := problem.Pos{File: fmt.Sprint("f", random.IntN(9))}
				c := Cost{Steps: random.IntN(1 << (4 + random.IntN(20))), Text: random.IntN(3) * random.IntN(700_000)}
				if random.IntN(4) == 0 {
					c = Cost{}
				}
				_ = other.Charge(at, c)
				err = one.Charge(at, c)
			}
			if err != nil {
				exceeded++
				isOver = true
			}
			if unchanged := *added; added.Add(other) != (err == nil) || err != nil && *added != unchanged {
				t.Fatalf("round %d: %+v and %+v: %v", round, before, *other, err)
			}
			if isOver {
				break
			}
			if *one != *added {
				t.Fatalf("round %d: %+v, want %+v", round, *added, *one)
			}
		}
	}
	if exceeded < 100 {
		t.Errorf("%d accounts exceed the limit: too few to say anything", exceeded)
	}
	if !(*Account)(nil).Add(NewAccount("")) {
		t.Error("a nil account has a limit")
	}
}
