package docs

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// ecosystems are Dependabot's, by the files that say what a folder depends on.
var ecosystems = map[string]string{
	"go.mod": "gomod", "package.json": "npm", "versions.tf": "terraform", "action.yaml": "github-actions", "action.yml": "github-actions",
	"Dockerfile": "docker", "requirements.txt": "pip", "Cargo.toml": "cargo",
}

// Every folder with dependencies has its updates: .github/dependabot.yml lists all of them, and no
// other one.
func TestDependabotKnowsEveryModule(t *testing.T) {
	t.Parallel()
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config))
	var listed []string
	for _, u := range config.Updates {
		for _, d := range append(u.Directories, u.Directory) {
			if d != "" {
				listed = append(listed, u.Ecosystem+" "+d)
			}
		}
	}
	there := []string{"github-actions /"} // .github/workflows
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != root && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "dist", "testdata", "node_modules"}, d.Name())):
			return fs.SkipDir
		case ecosystems[d.Name()] != "":
			folder, err := filepath.Rel(root, filepath.Dir(p))
			if err != nil {
				return err
			}
			there = append(there, ecosystems[d.Name()]+" "+path.Join("/", filepath.ToSlash(folder)))
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(listed)
	slices.Sort(there)
	assert.Equal(t, there, listed, "-folders +.github/dependabot.yml")
}

// Dependabot updates the actions of .github/workflows alone. The workflows of docs/ci, which users
// copy, have the same commit of each action.
func TestExampleWorkflowsHaveTheActionsOfOurs(t *testing.T) {
	t.Parallel()
	uses := regexp.MustCompile(`uses: ([^@\s]+)@(\S+ # \S+)`)
	ours := map[string]string{}
	for _, file := range []string{"fleet.yaml", "fleet-comment.yaml", "release.yaml"} {
		for _, m := range uses.FindAllStringSubmatch(read(t, ".github/workflows/"+file), -1) {
			if ours[m[1]] != "" && ours[m[1]] != m[2] {
				t.Errorf("%s: %s is at %s, and elsewhere at %s", file, m[1], m[2], ours[m[1]])
			}
			ours[m[1]] = m[2]
		}
	}
	same := 0
	for _, file := range []string{"github-actions.yaml", "github-actions-comment.yaml"} {
		for _, m := range uses.FindAllStringSubmatch(read(t, "docs/ci/"+file), -1) {
			switch ours[m[1]] {
			case "":
				t.Logf("docs/ci/%s: no workflow of ours uses %s", file, m[1])
			case m[2]:
				same++
			default:
				t.Errorf("docs/ci/%s: %s is at %s; ours at %s", file, m[1], m[2], ours[m[1]])
			}
		}
	}
	if same == 0 {
		t.Error("no action is compared")
	}
}
