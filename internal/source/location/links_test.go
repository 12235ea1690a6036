package location

import (
	"path/filepath"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/sourcetest"
)

// linked is a repository with links of all kinds, and what a snapshot of it holds.
var linked = map[string]string{
	"addons/a/values.yaml":      "a: 1\n",
	"addons/b/values.yaml":      "-> ../a/values.yaml",
	"addons/c":                  "-> a",
	"addons/d/values.yaml":      "-> ../c/values.yaml",
	"addons/text.yaml":          "-> ../README",
	"addons/self":               "-> ../addons",
	"addons/loop.yaml":          "-> loop2.yaml",
	"addons/loop2.yaml":         "-> loop.yaml",
	"addons/gone.yaml":          "-> nothing.yaml",
	"addons/gone":               "-> nothing",
	"addons/throughfile.yaml":   "-> a/values.yaml/../values.yaml",
	"addons/up.yaml":            "-> ../../secret.yaml",
	"addons/upagain.yaml":       "-> ../addons/a/../../../secret.yaml",
	"addons/indirect.yaml":      "-> up.yaml",
	"addons/passwd":             "-> /etc/passwd",
	"addons/passwd.yaml":        "-> /etc/passwd",
	"deep/one/two/values.yaml":  "two: 2\n",
	"deep/one/link":             "-> two",
	"deep/copy":                 "-> one",
	"README":                    "readme: true\n",
	"script.sh":                 "echo\n",
	"values.yaml.gotmpl":        "x: {{ .name }}\n",
	"versions/releases.json":    "{}\n",
	"versions/other.yml":        "{}\n",
	"versions/.hidden/one.yaml": "{}\n",
}

func linkedContents() map[string]string {
	broken := func(p, why string) string {
		return "error: " + p + ": symbolic link to " + why + "; expected a file inside the repository"
	}
	outside := func(p, target string) string { return broken(p, `"`+target+`" leads out of the repository`) }
	return map[string]string{
		"addons/a/values.yaml":      "a: 1\n",
		"addons/b/values.yaml":      "a: 1\n",
		"addons/c/values.yaml":      "a: 1\n",
		"addons/d/values.yaml":      "a: 1\n",
		"addons/text.yaml":          "readme: true\n",
		"addons/loop.yaml":          broken("addons/loop.yaml", `"loop2.yaml" leads in a circle`),
		"addons/loop2.yaml":         broken("addons/loop2.yaml", `"loop.yaml" leads in a circle`),
		"addons/gone.yaml":          broken("addons/gone.yaml", `"nothing.yaml" leads to nothing`),
		"addons/throughfile.yaml":   broken("addons/throughfile.yaml", `"a/values.yaml/../values.yaml" leads to nothing`),
		"addons/up.yaml":            outside("addons/up.yaml", "../../secret.yaml"),
		"addons/upagain.yaml":       outside("addons/upagain.yaml", "../addons/a/../../../secret.yaml"),
		"addons/indirect.yaml":      outside("addons/indirect.yaml", "up.yaml"),
		"addons/passwd":             outside("addons/passwd", "/etc/passwd"),
		"addons/passwd.yaml":        outside("addons/passwd.yaml", "/etc/passwd"),
		"deep/one/two/values.yaml":  "two: 2\n",
		"deep/one/link/values.yaml": "two: 2\n",
		// What a linked folder holds, its own links included.
		"deep/copy/two/values.yaml":  "two: 2\n",
		"deep/copy/link/values.yaml": "two: 2\n",
		"values.yaml.gotmpl":         "x: {{ .name }}\n",
		"versions/releases.json":     "{}\n",
		"versions/other.yml":         "{}\n",
		"versions/.hidden/one.yaml":  "{}\n",
	}
}

// open is the snapshot of a location.
func open(t *testing.T, location string) *snapshot.Snapshot {
	t.Helper()
	s, err := Open(git.Options{Location: location, StateDir: t.TempDir()})
	sourcetest.Check(t, err)
	defer func() { _ = s.Close() }()
	return sourcetest.Snapshot(t, s)
}

// H8: links are followed inside the repository and nowhere else; a folder and a commit with the
// same files give the same contents and digests.
func TestLinksLeadAlikeInFolderAndGit(t *testing.T) {
	r := sourcetest.NewRepo(t)
	sourcetest.Write(t, filepath.Dir(r.Dir), map[string]string{"secret.yaml": "secret: true\n"})
	r.Commit(linked)
	folder, commit := open(t, r.Dir), open(t, r.URL())
	assert.Equal(t, linkedContents(), sourcetest.Contents(folder), "folder")
	assert.Equal(t, linkedContents(), sourcetest.Contents(commit), "git")
	if changed := snapshot.Changed(folder, commit); len(changed) > 0 {
		t.Errorf("digests differ: %v", changed)
	}
}
