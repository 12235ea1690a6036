package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// What a repository's own configuration names is not executed, be it to fetch what a
// partial clone lacks.
func TestRevision_RunsNothingOfTheRepositorys(t *testing.T) {
	r := sourcetest.NewRepo(t)
	r.Commit(map[string]string{"a.yaml": "a: 1\n"})
	blob := r.Git("rev-parse", "HEAD:a.yaml")
	sourcetest.Check(t, os.Remove(filepath.Join(r.Dir, ".git", "objects", blob[:2], blob[2:])))
	ran := filepath.Join(t.TempDir(), "ran")
	command := "touch " + shellQuote(ran) + "; false"
	for _, kv := range [][2]string{
		{"core.repositoryFormatVersion", "1"},
		{"extensions.partialClone", "origin"},
		{"remote.origin.promisor", "true"},
		{"remote.origin.uploadPack", command},
		{"core.sshCommand", command},
		{"core.fsmonitor", command},
	} {
		r.Git("config", kv[0], kv[1])
	}
	for _, url := range []string{r.URL(), filepath.Join(r.Dir, "none"), "ssh://127.0.0.1:1/none", "ext::" + command} {
		r.Git("config", "remote.origin.url", url)
		s, err := Revision(sourcetest.Context(t), r.Dir, "HEAD", source.Limits{})
		if want := `revision "HEAD" cannot be read completely; the clone is partial: take one without --filter, or have Git fetch what is missing: git archive HEAD >/dev/null`; s != nil || !strings.HasSuffix(sourcetest.ErrorText(err), want) {
			t.Errorf("%s: got %v, want %s", url, err, want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s: the repository's command was executed", url)
		}
	}
}
