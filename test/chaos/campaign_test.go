package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const hub = "hub-eu"

var (
	count = flag.Int("accidents", 30, "accidents of a campaign")
	seed  = flag.Uint64("seed", 1, "what the accidents come from")

	groups = []string{"addons", "monitoring", "fleet", "resources"}
	binary string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
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

// campaign is one run of accidents.
type campaign struct {
	t       *testing.T
	rng     *rand.Rand
	repo    *repository
	service *service
	argo    *argoCD

	should  []string // what should exist
	history []string // what happened since the last good commit
	lost    []string // the wrong deletions
	done    map[string]int

	kills, approvals int
}

func begin(t *testing.T, maxRemovals string) *campaign {
	t.Helper()
	repo := newRepository(t, maxRemovals)
	c := &campaign{t: t, rng: rand.New(rand.NewPCG(*seed, 0)), repo: repo, service: newService(t, binary, repo.dir, hub), done: map[string]int{}}
	c.argo = newArgoCD(c.service, hub, groups)
	c.must(c.service.start())
	c.must(c.service.considered(repo.good, false))
	_, err := c.argo.reconcile()
	c.must(err)
	if c.should = c.argo.names(); len(c.should) < 50 {
		t.Fatalf("%d Applications are no fleet to try anything on: %s", len(c.should), strings.Join(c.should, " "))
	}
	return c
}

func (c *campaign) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("seed %d, after %s: %v", *seed, strings.Join(c.history, "; "), err)
	}
}

// accident lets one happen, on top of those before it.
func (c *campaign) accident() {
	c.t.Helper()
	a := accidents[c.rng.IntN(len(accidents))]
	what, err := a.do(c.repo, c.rng)
	c.must(err)
	if what == "" {
		return
	}
	commit, err := c.repo.commit(a.name)
	c.must(err)
	c.done[a.name]++
	c.history = append(c.history, a.name+" ("+what+")")
	c.follow(commit)
}

// follow has the service consider a commit, now and then over a crash, and Argo CD ask.
func (c *campaign) follow(commit string) {
	c.t.Helper()
	files, err := c.repo.files(folders...)
	c.must(err)
	if c.rng.IntN(8) == 0 {
		c.crash()
	}
	c.must(c.service.considered(commit, len(files) == 0))
	if c.rng.IntN(8) == 0 {
		c.crash()
		c.must(c.service.considered(commit, len(files) == 0))
	}
	lost, err := c.argo.reconcile()
	c.must(err)
	for _, l := range lost {
		if slices.Contains(c.should, l.app) && c.argo.sets[l.set]["view"] != "releases" {
			c.lost = append(c.lost, fmt.Sprintf("%s, after %s", l, strings.Join(c.history, "; ")))
		}
	}
}

func (c *campaign) crash() {
	c.t.Helper()
	c.kills++
	c.history = append(c.history, "killed and restarted")
	c.must(c.service.kill())
	c.must(c.service.start())
}

// mend brings the good files back. Then everything is as it should be: each ApplicationSet is answered, with exactly what
// should exist. What an accident has switched on would be a removal now, which takes an approval.
func (c *campaign) mend() {
	c.t.Helper()
	c.restore("mended", "")
	if c.refusals() > 0 && !slices.Equal(c.argo.names(), c.should) {
		c.approvals++
		c.restore("approved", fmt.Sprintf(approval, time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly)))
		c.refusals() // which is when what is approved goes
		c.restore("approval taken back", "")
	}
	if refused := c.refusals(); refused > 0 {
		c.t.Errorf("seed %d: %d requests are refused after %s\n%s", *seed, refused, strings.Join(c.history, "; "), c.service.tail())
	}
	if now := c.argo.names(); !slices.Equal(now, c.should) {
		c.t.Errorf("seed %d: after %s\n  there are %s\n  expected  %s", *seed, strings.Join(c.history, "; "), now, c.should)
		c.should = now
	}
	c.history = nil
}

const approval = `apiVersion: argosy.dev/v1alpha1
kind: RemovalApproval
expires: "%s"
removals:
  - {cluster: "*", component: "*", reason: what an accident has switched on}
`

// restore commits the good files, with an approval or without.
func (c *campaign) restore(what, approval string) {
	c.t.Helper()
	c.must(c.repo.mend())
	if approval != "" {
		c.must(os.MkdirAll(c.repo.path("fleet/approvals"), 0o700))
		c.must(os.WriteFile(c.repo.path("fleet/approvals/campaign.yaml"), []byte(approval), 0o600))
	}
	commit, err := c.repo.commit(what)
	c.must(err)
	c.history = append(c.history, what)
	c.follow(commit)
}

// refusals is how many requests are refused now.
func (c *campaign) refusals() int {
	c.t.Helper()
	before := c.argo.refused
	_, err := c.argo.reconcile()
	c.must(err)
	return c.argo.refused - before
}

// run lets accidents happen, up to three on top of each other.
func (c *campaign) run(n int) {
	c.t.Helper()
	began := time.Now()
	for i := 0; i < n; {
		for range 1 + c.rng.IntN(3) {
			if i++; i <= n {
				c.accident()
			}
		}
		c.mend()
	}
	c.t.Logf("seed %d: %d accidents of %d kinds, %d kills, %d approvals, %d requests of which %d were refused, %s: %d wrong deletions",
		*seed, n, len(c.done), c.kills, c.approvals, c.argo.asked, c.argo.refused, time.Since(began).Round(time.Second), len(c.lost))
}

// Nothing is lost by accidents (D2, G1-G4): with a budget of no removals there is no wrong deletion at all.
func TestG3NoAccidentDeletes(t *testing.T) {
	c := begin(t, "0")
	c.run(*count)
	for _, l := range c.lost {
		t.Errorf("seed %d: wrong deletion: %s", *seed, l)
	}
}

// Without the budget, the same accidents delete: a campaign can fail.
func TestWithoutTheGuardAccidentsDelete(t *testing.T) {
	c := begin(t, "1000")
	c.run(min(*count, 30))
	if len(c.lost) == 0 {
		t.Errorf("seed %d: no accident deleted anything", *seed)
	}
}
