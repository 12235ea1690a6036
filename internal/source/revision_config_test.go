package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rule 8: what a repository's own configuration names is not executed, be it to fetch what a partial clone lacks.
func TestRevision_RunsNothingOfTheRepositorys(t *testing.T) {
	r := newRepo(t)
	r.commit(map[string]string{"a.yaml": "a: 1\n"})
	blob := r.git("rev-parse", "HEAD:a.yaml")
	check(t, os.Remove(filepath.Join(r.dir, ".git", "objects", blob[:2], blob[2:])))
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
		r.git("config", kv[0], kv[1])
	}
	for _, url := range []string{r.url(), filepath.Join(r.dir, "none"), "ssh://127.0.0.1:1/none", "ext::" + command} {
		r.git("config", "remote.origin.url", url)
		s, err := Revision(testContext(t), r.dir, "HEAD", Limits{})
		if want := `revision "HEAD" cannot be read completely; the clone is partial: take one without --filter, or have Git fetch what is missing: git archive HEAD >/dev/null`; s != nil || !strings.HasSuffix(errorText(err), want) {
			t.Errorf("%s: got %v, want %s", url, err, want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatalf("%s: the repository's command was executed", url)
		}
	}
}
