package chaos

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/test/accidents"
)

// bystander is a hub that does nothing, but remembers the files of each commit and loses what the
// test says.
type bystander struct {
	repo  *accidents.Repository
	trees []string
	apps  []string
	loses []accidents.Loss // at the first commit
	takes []string         // Applications that go then, for good
}

func (b *bystander) Crash() error { return nil }

func (b *bystander) Consider(commit string, _ bool) error {
	tree, err := b.repo.Git("rev-parse", commit+"^{tree}")
	b.trees = append(b.trees, tree)
	return err
}

func (b *bystander) Reconcile() ([]accidents.Loss, error) {
	lost := b.loses
	b.loses = nil
	b.apps = slices.DeleteFunc(b.apps, func(name string) bool { return slices.Contains(b.takes, name) })
	return lost, nil
}

func (b *bystander) Refused() int { return 0 }

func (b *bystander) Applications() ([]string, error) { return slices.Clone(b.apps), nil }

func newBystander(t *testing.T) *bystander {
	t.Helper()
	dir := t.TempDir()
	must(t, accidents.Copy(filepath.Join("..", ".."), dir))
	repo, err := accidents.Open(dir)
	must(t, err)
	b := &bystander{repo: repo}
	for i := range 50 {
		b.apps = append(b.apps, fmt.Sprintf("app-%02d", i))
	}
	return b
}

func (b *bystander) run(t *testing.T, seed uint64, n int) accidents.Report {
	t.Helper()
	c, err := accidents.New(seed, b.repo, b)
	must(t, err)
	must(t, c.Run(n))
	return c.Report
}

// The same seed gives the same commits, another seed others (rule 1 of package accidents).
func TestAccidentsComeFromTheSeed(t *testing.T) {
	t.Parallel()
	trees := func(seed uint64) string {
		b := newBystander(t)
		if r := b.run(t, seed, 3); r.Accidents() != 3 {
			t.Errorf("seed %d: %d accidents; expected 3", seed, r.Accidents())
		}
		return strings.Join(b.trees, "\n")
	}
	first := trees(7)
	if again := trees(7); again != first {
		t.Errorf("seed 7 gave\n%s\nand then\n%s", first, again)
	}
	if other := trees(8); other == first {
		t.Error("seeds 7 and 8 gave the same commits")
	}
}

// What should exist and is lost is a wrong deletion; what an accident brought about, or a
// release's, is none. What is not there once the good files are back is reported (rules 3 and 4 of
// package accidents).
func TestACampaignCountsWhatShouldExist(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	b.takes = []string{"app-03"}
	b.loses = []accidents.Loss{
		{Application: "app-03", Owner: "addons-default-dns", How: "deleted"},
		{Application: "app-04", Owner: "addons", How: "deleted", OfRelease: true},
		{Application: "brought-by-an-accident", Owner: "addons-default-dns", How: "deleted"},
	}
	r := b.run(t, 7, 1)
	if len(r.Wrong) != 1 || !strings.HasPrefix(r.Wrong[0], "seed 7: app-03: deleted by ApplicationSet addons-default-dns, after ") {
		t.Errorf("wrong deletions: %q; expected that of app-03", r.Wrong)
	}
	if len(r.Unmended) != 1 || !strings.HasPrefix(r.Unmended[0], "seed 7: missing [app-03], too many [], after ") {
		t.Errorf("unmended: %q; expected that app-03 is missing", r.Unmended)
	}
}
