package git

import (
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// A snapshot knows its commit's author, date and first line, whatever they are; a message that is
// too long for it changes nothing else.
func TestSnapshotKnowsItsCommit(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	g := openGit(t, Options{Location: r.URL()})
	for message, want := range map[string]string{
		"raise replicas\n\nbecause": "raise replicas",
		"two\nlines":                "two lines",
		strings.Repeat("x", 300):    strings.Repeat("x", 300)[:maxCommitText-3] + "...",
		strings.Repeat("y", 70<<10): "",
	} {
		r.Git("commit", "--quiet", "--allow-empty", "--author", "Jo Do\u00e9 <jo@example.com>", "--message", message)
		s := sourcetest.Snapshot(t, g)
		c := s.Commit()
		if want == "" && c == (snapshot.Commit{}) {
			continue
		}
		if c.Author != "Jo Do\u00e9" || c.At.IsZero() || c.Subject != want && !(len(want) > 200-3 && strings.HasPrefix(c.Subject, want[:150])) || len(c.Subject) > 210 {
			t.Errorf("%.20q: %+v", message, c)
		}
	}
}
