package chaos

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/test/accidents"
)

const hub = "hub-eu"

// unguarded is the seed of accidents that soon delete something.
const unguarded = 3

// defaultBudget leaves the removal budget to the layout's default.
const defaultBudget = -1

var (
	count = flag.Int("accidents", 5, "accidents of a campaign")
	seed  = flag.Uint64("seed", 1, "what the accidents come from")

	groups = []string{"addons", "monitoring", "fleet", "resources"}
	binary string
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "5"); err != nil { // most of a campaign waits for the service's next poll
		panic(err)
	}
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "argosy-chaos-")
	if err == nil {
		defer func() { _ = os.RemoveAll(dir) }()
		binary, err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// begin starts the service on a copy of this repository's own fleet, with a removal budget.
func begin(t *testing.T, maxRemovals int, seed uint64) (*accidents.Campaign, *argoCD) {
	t.Helper()
	dir := t.TempDir()
	must(t, accidents.Copy(filepath.Join("..", ".."), dir))
	repo, err := accidents.Open(dir)
	must(t, err)
	good, err := repo.Git("rev-parse", "HEAD")
	if maxRemovals != defaultBudget {
		good, err = repo.Budget(maxRemovals)
	}
	must(t, err)
	service := newService(t, binary, dir, hub)
	argo, err := newArgoCD(service, hub, groups)
	must(t, err)
	must(t, service.start())
	must(t, service.considered(good, false))
	_, err = argo.Reconcile()
	must(t, err)
	c, err := accidents.New(seed, repo, argo)
	must(t, err)
	return c, argo
}

func must(t *testing.T, err error) {
	t.Helper()
	require.NoError(t, err)
}

// run lets accidents happen, and says what came of them.
func run(t *testing.T, maxRemovals, n int) accidents.Report {
	t.Helper()
	c, argo := begin(t, maxRemovals, *seed)
	if maxRemovals == defaultBudget {
		c.Allowed = 1 // a tenth of the hub's members, at least one
	}
	began := time.Now()
	if err := c.Run(n); err != nil {
		t.Fatalf("%v\n%s", err, argo.service.tail())
	}
	for _, u := range c.Unmended {
		t.Errorf("%s\nthe last refusals: %q\n%s", u, argo.refusals, argo.service.tail())
	}
	if c.Hangs == 0 {
		t.Error("the Git server has never hung")
	}
	t.Logf("%s; %d requests of which %d were refused, %s", c.Report, argo.asked, argo.refused, time.Since(began).Round(time.Second))
	return c.Report
}

// Nothing is lost by accidents (D2, G1-G4), nor by a Git server that hangs while the service reads:
// with a budget of no removals there is no wrong deletion at all.
func TestNoAccidentDeletes(t *testing.T) {
	t.Parallel()
	for _, wrong := range run(t, 0, *count).Wrong {
		t.Errorf("wrong deletion: %s", wrong)
	}
}

// With the default budget, all that one commit takes from members is within it, whichever
// ApplicationSet loses it (G3).
func TestNoCommitPassesTheDefaultBudget(t *testing.T) {
	t.Parallel()
	for _, wrong := range run(t, defaultBudget, *count).Wrong {
		t.Errorf("wrong deletion: %s", wrong)
	}
}

// Without the budget, the same accidents delete: a campaign can fail. It ends at the first
// deletion, as each takes most Applications, and each comes back.
func TestWithoutTheGuardAccidentsDelete(t *testing.T) {
	t.Parallel()
	c, argo := begin(t, 1000, unguarded)
	c.Enough = func(r accidents.Report) bool { return len(r.Wrong) > 0 }
	if err := c.Run(100); err != nil {
		t.Fatalf("%v\n%s", err, argo.service.tail())
	}
	if len(c.Wrong) == 0 {
		t.Errorf("seed %d: no accident deleted anything", c.Seed)
	}
	t.Logf("%s", c.Report)
}
