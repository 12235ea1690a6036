package budget

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// account is one that has been charged by a file.
func account(member, file string, c Cost) *Account {
	a := NewAccount(member)
	_ = a.Charge(problem.Pos{File: file}, c)
	return a
}

// TestLedgerDependsOnCostsAlone: in whatever order members are computed, and whichever of them are
// left out once it is decided, a tenant's excess is the same text. (W2, G6)
func TestLedgerDependsOnCostsAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		costs := make([]Cost, 1+random.IntN(60))
		for i := range costs {
			costs[i] = Cost{Steps: random.IntN(4_000_000), Kept: random.IntN(40_000)}
		}
		want := ""
		for try := range 4 {
			l, computed := NewLedger("red", len(costs)), 0
			for _, i := range random.Perm(len(costs)) {
				if try > 0 && l.IsDecided(i) {
					continue
				}
				computed++
				l.Enter(i, account(fmt.Sprint("m", i), fmt.Sprint("f", i), costs[i]))
			}
			p, found := l.Problem()
			got := fmt.Sprint(p.Severity, p.Error(), found)
			if want == "" {
				want = got
			}
			require.Equal(t, want, got, "round %d, %d of %d computed", round, computed, len(costs))
		}
	}
}

// TestExcessEndsTheWork: behind the member that exceeds the tenant's budget no member is computed.
// (W2)
func TestExcessEndsTheWork(t *testing.T) {
	const members = 1000
	l, computed := NewLedger("red", members), 0
	for i := range members {
		if !l.IsDecided(i) {
			l.Enter(i, account(fmt.Sprint("m", i), "f", Cost{Steps: 4_000_000}))
			computed++
		}
	}
	if p, found := l.Problem(); !found || p.Severity != problem.Error || !strings.Contains(p.Error(), `up to "m54" take 220000000 steps`) || computed != 55 {
		t.Errorf("%d are computed: %v", computed, p)
	}
}

// TestNearBudgetIsAWarning: from half of the budget on. (W2)
func TestNearBudgetIsAWarning(t *testing.T) {
	for steps, want := range map[int]bool{8_000_000: false, 8_100_001: true} {
		l := NewLedger("red", 1)
		l.Enter(0, account("m", "f", Cost{Steps: steps}))
		if p, found := l.Problem(); found != want || p.Severity != problem.Warning || p.Pos.File != "f" {
			t.Errorf("%d: %v, %v", steps, p, found)
		}
	}
}

// TestAccountEndsAtTheMembersLimit: at the charge that exceeds it, placed at the dearest. (H10)
func TestAccountEndsAtTheMembersLimit(t *testing.T) {
	a := NewAccount("m")
	for file, steps := range map[string]int{"small": 1, "large": 3_999_999} {
		assert.NoError(t, a.Charge(problem.Pos{File: file}, Cost{Steps: steps}))
	}
	err := a.Charge(problem.Pos{File: "last"}, Cost{Steps: 1})
	if err == nil || !strings.HasPrefix(err.Error(), `large: member "m": `) || !strings.Contains(err.Error(), "4000001 steps and more") || a.Exceeded() == nil {
		t.Error(err)
	}
}
