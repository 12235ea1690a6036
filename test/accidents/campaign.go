package accidents

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// Hub is what a campaign happens to: a running service, and an Argo CD that asks it.
type Hub interface {
	// Crash kills the service, as a crash would, and starts it again.
	Crash() error
	// Consider waits until the service has decided about a commit, which may have nothing in it.
	Consider(commit string, nothing bool) error
	// Reconcile has every ApplicationSet ask until nothing more follows, and gives what was lost
	// since the last time.
	Reconcile() ([]Loss, error)
	// Refused is how many ApplicationSets were refused then.
	Refused() int
	// Applications are the names of those that there are now, sorted.
	Applications() ([]string, error)
}

// Loss is an Application that has been deleted or marked.
type Loss struct {
	Application, Cluster, Owner, How string

	OfRelease bool // it deploys a release's ApplicationSets
}

func (l Loss) String() string {
	return fmt.Sprintf("%s: %s by ApplicationSet %s", l.Application, l.How, l.Owner)
}

// Report is what came of a campaign.
type Report struct {
	Seed             uint64
	Kinds            map[string]int // accidents, by what they are
	Kills, Approvals int
	Hangs            int      // of the Git server
	Wrong            []string // wrong deletions, with what led to them
	Unmended         []string // what was not as it should be once the good files were back
}

// Accidents is how many there were.
func (r Report) Accidents() int {
	n := 0
	for _, times := range r.Kinds {
		n += times
	}
	return n
}

func (r Report) String() string {
	return fmt.Sprintf("seed %d: %d accidents of %d kinds, %d kills, %d hangs, %d approvals: %d wrong deletions",
		r.Seed, r.Accidents(), len(r.Kinds), r.Kills, r.Hangs, r.Approvals, len(r.Wrong))
}

// Campaign is one run of accidents.
type Campaign struct {
	Report

	// Enough ends it early; nil is never.
	Enough func(Report) bool
	// Allowed is how many members one commit may take something from: that is no wrong deletion.
	Allowed int

	rng     *rand.Rand
	hangs   *rand.Rand // of their own: accidents are the same without them
	repo    *Repository
	hub     Hub
	should  []string        // what should exist
	history []string        // what happened since the last good commit
	losing  map[string]bool // members that lost something since the last commit
}

// New takes what there is on a hub for what should be.
func New(seed uint64, repo *Repository, hub Hub) (*Campaign, error) {
	c := &Campaign{
		Report: Report{Seed: seed, Kinds: map[string]int{}},
		rng:    rand.New(rand.NewPCG(seed, 0)),
		hangs:  rand.New(rand.NewPCG(seed, 1)),
		repo:   repo, hub: hub,
	}
	var err error
	if c.should, err = hub.Applications(); err == nil && len(c.should) < 50 {
		err = fmt.Errorf("%d Applications are no fleet to try anything on: %s", len(c.should), strings.Join(c.should, " "))
	}
	return c, err
}

// Run lets accidents happen, up to three on top of each other. An error says what led to it.
func (c *Campaign) Run(n int) error {
	if err := c.run(n); err != nil {
		return fmt.Errorf("seed %d, after %s: %w", c.Seed, strings.Join(c.history, "; "), err)
	}
	return nil
}

func (c *Campaign) run(n int) error {
	for i := 0; i < n; {
		for range 1 + c.rng.IntN(3) {
			if i++; i > n {
				break
			}
			if err := c.accident(); err != nil {
				return err
			}
		}
		if err := c.mend(); err != nil {
			return err
		}
		if c.Enough != nil && c.Enough(c.Report) {
			return nil
		}
	}
	return nil
}

// accident lets one happen, on top of those before it.
func (c *Campaign) accident() error {
	name, what, err := c.repo.happen(c.rng)
	if err != nil {
		return err
	}
	commit, err := c.repo.Commit(name)
	if err != nil {
		return err
	}
	c.Kinds[name]++
	c.history = append(c.history, fmt.Sprintf("%s (%s, commit %.12s)", name, what, commit))
	return c.follow(commit)
}

// follow has the service consider a commit, now and then over a crash, and Argo CD ask.
func (c *Campaign) follow(commit string) error {
	files, err := c.repo.files(folders...)
	if err != nil {
		return err
	}
	if _, err := c.maybeCrash(); err != nil {
		return err
	}
	c.losing = map[string]bool{}
	for again := true; again; {
		if err := c.hub.Consider(commit, len(files) == 0); err != nil {
			return err
		}
		if again, err = c.maybeCrash(); err != nil {
			return err
		}
	}
	if err := c.maybeHang(); err != nil {
		return err
	}
	return c.reconcile()
}

// maybeCrash has the service crash now and then.
func (c *Campaign) maybeCrash() (bool, error) {
	if c.rng.IntN(8) != 0 {
		return false, nil
	}
	c.Kills++
	c.history = append(c.history, "killed and restarted")
	return true, c.hub.Crash()
}

// reconcile has Argo CD ask, and notes what it deleted wrongly.
func (c *Campaign) reconcile() error {
	lost, err := c.hub.Reconcile()
	if err != nil {
		return err
	}
	for _, l := range lost {
		if !slices.Contains(c.should, l.Application) || l.OfRelease {
			continue
		}
		if c.losing[l.Cluster] = true; len(c.losing) > c.Allowed {
			c.Wrong = append(c.Wrong, fmt.Sprintf("seed %d: %s, after %s", c.Seed, l, strings.Join(c.history, "; ")))
		}
	}
	return nil
}

// mend brings the good files back (rule 3).
func (c *Campaign) mend() error {
	if err := c.restore("fixed", ""); err != nil {
		return err
	}
	complete, err := c.complete()
	if err == nil && !complete && c.hub.Refused() == 0 {
		err = c.await(c.complete) // it is under way, or a tenant is held, whose responses are given
	}
	if err == nil && !complete {
		complete, err = c.complete()
	}
	if err != nil {
		return err
	}
	if !complete {
		c.Approvals++
		if err := c.restore("approved", fmt.Sprintf(approval, time.Now().UTC().AddDate(0, 0, 1).Format(time.DateOnly))); err != nil {
			return err
		}
		if err := c.await(c.complete); err != nil { // which is when what is approved goes
			return err
		}
		if err := c.restore("approval taken back", ""); err != nil {
			return err
		}
	}
	if err := c.await(c.well); err != nil {
		return err
	}
	if err := c.judge(); err != nil {
		return err
	}
	c.history = nil
	return nil
}

// rounds bounds how often Argo CD is made to ask until all is as it should be: what goes in two
// steps takes several.
const rounds = 30

// await has Argo CD ask until something holds, for so long as that can be expected to take.
func (c *Campaign) await(holds func() (bool, error)) error {
	for range rounds {
		if ok, err := holds(); ok || err != nil {
			return err
		}
		if err := c.reconcile(); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether what is there is what should be, and nothing else.
func (c *Campaign) complete() (bool, error) {
	now, err := c.hub.Applications()
	return slices.Equal(now, c.should), err
}

// well reports whether nothing is refused as well.
func (c *Campaign) well() (bool, error) {
	complete, err := c.complete()
	return complete && c.hub.Refused() == 0, err
}

// judge notes what is not as it should be after all was fixed, and goes on from there.
func (c *Campaign) judge() error {
	now, err := c.hub.Applications()
	if err != nil {
		return err
	}
	if refused := c.hub.Refused(); refused > 0 {
		c.Unmended = append(c.Unmended, fmt.Sprintf("seed %d: %d requests are refused, after %s", c.Seed, refused, strings.Join(c.history, "; ")))
	}
	if !slices.Equal(now, c.should) {
		without := func(from, of []string) []string {
			return slices.DeleteFunc(slices.Clone(from), func(name string) bool { return slices.Contains(of, name) })
		}
		c.Unmended = append(c.Unmended, fmt.Sprintf("seed %d: missing %s, too many %s, after %s",
			c.Seed, without(c.should, now), without(now, c.should), strings.Join(c.history, "; ")))
		c.should = now
	}
	return nil
}

const approval = `apiVersion: argosy.dev/v1alpha1
kind: RemovalApproval
expires: "%s"
removals:
  - {cluster: "*", component: "*", reason: what an accident has switched on}
`

// restore commits the good files, with an approval or without.
func (c *Campaign) restore(what, approval string) error {
	if err := c.repo.mend(); err != nil {
		return err
	}
	if approval != "" {
		if err := os.MkdirAll(c.repo.Path("fleet/approvals"), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(c.repo.Path("fleet/approvals/campaign.yaml"), []byte(approval), 0o600); err != nil {
			return err
		}
	}
	commit, err := c.repo.Commit(what)
	if err != nil {
		return err
	}
	c.history = append(c.history, what)
	return c.follow(commit)
}
