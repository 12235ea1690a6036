package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)```")
	// steps are commands, and files that a page writes: a block that begins with its path. One that
	// begins with "at the end of" and its path is added to the file.
	steps = regexp.MustCompile("(?s)```console\n(.*?)```|```yaml\n# (at the end of )?([^ \n]+/[^ \n]+)\n(.*?)```")
)

// A page shows what its commands print, run in order over the files of testdata/how-to. (The
// working directory is the process's: the tests are not parallel.)
func TestHowTos(t *testing.T) {
	for name, files := range map[string]string{
		"eks-managed-argocd": "eks-managed-argocd", "import-a-fleet": "import-a-fleet", "from-eks-fleet-management": "from-eks-fleet-management",
		"provision-a-cluster": "clusters", "upgrade-a-cluster": "clusters", "remove-a-cluster": "clusters",
		"hold-a-component": "holds",
	} {
		t.Run(name, func(t *testing.T) { runHowTo(t, name, files) })
	}
}

// The checks of a pull request let pass what changes a team's applications alone, in the fleet
// repository and in a mount, and end with status 1 for another team's application and for what
// leaves the bounds (U3): as the page says, with its commands.
func TestHowToOfPullRequests(t *testing.T) {
	const lint, plan, refused, explain = exitGood, exitGood, exitFindings, exitGood
	want := []int{lint, plan, refused, lint, explain, plan, refused}
	if got := runHowTo(t, "split-the-repository", "split-the-repository"); !slices.Equal(got, want) {
		t.Errorf("the commands end with %v; expected %v", got, want)
	}
}

// runHowTo compares a page with what its commands print, and returns their exit statuses.
func runHowTo(t *testing.T, name, of string) (statuses []int) {
	t.Helper()
	page, err := filepath.Abs("../../docs/how-to/" + name + ".md")
	require.NoError(t, err)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	files, err := txtar.ParseFile("testdata/how-to/" + of + ".txtar")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, txtar.Write(files, dir))
	t.Chdir(dir)
	pattern, begin := console, func() {}
	switch of {
	case "clusters", "holds":
		pattern = steps
		if err := os.Rename(name+".yaml", memberOfPage); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		commitAll(t)
	case "split-the-repository":
		pattern = steps
		serveAs(t, dir, "cart", "https://git.example.com/shop/cart.git")
		serveAs(t, dir, "fleet", "https://git.example.com/platform/fleet.git")
		begin = func() {
			t.Chdir(filepath.Join(dir, "fleet"))
			gitCommand(t, "checkout --quiet -- .")
		}
	}
	var got strings.Builder
	for _, section := range strings.SplitAfter(string(text), "\n## ") {
		begin()
		got.WriteString(pattern.ReplaceAllStringFunc(section, func(block string) string {
			if file := steps.FindStringSubmatch(block); file[3] != "" {
				writeStep(t, file[3], file[4], file[2] != "")
				return block
			}
			line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n$ "), "\n")
			switch command, arguments, _ := strings.Cut(line, " "); command {
			case "git":
				gitCommand(t, arguments)
				return block
			case "cd":
				t.Chdir(arguments)
				return block
			}
			var out, errs bytes.Buffer
			statuses = append(statuses, run(context.Background(), strings.Fields(strings.ReplaceAll(line, lastDay, inAWeek()))[1:], strings.NewReader(""), &out, &errs))
			return "```console\n$ " + line + "\n" + strings.ReplaceAll(out.String()+errs.String(), inAWeek(), lastDay) + "```"
		}))
	}
	if len(statuses) == 0 {
		t.Fatal("the page shows no command")
	}
	if got.String() == string(text) {
		return statuses
	}
	if !*update {
		t.Errorf("the page (-) and what its commands print (+):\n%s", cmp.Diff(string(text), got.String()))
	} else if err := os.WriteFile(page, []byte(got.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return statuses
}

// lastDay is the last day of pages' holds, which stands for inAWeek.
const lastDay = "2026-12-24"

func inAWeek() string { return time.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly) }

// writeStep writes a page's file, or adds a page's lines to it. An approval expires in a week.
func writeStep(t *testing.T, path, text string, atEnd bool) {
	t.Helper()
	text = strings.Replace(text, "expires: 2026-12-01", "expires: "+inAWeek(), 1)
	if atEnd {
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		text = string(before) + text
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// serveAs makes a folder of files a clone of the repository that Git finds at a URL.
func serveAs(t *testing.T, dir, name, url string) {
	t.Helper()
	config := filepath.Join(dir, "gitconfig")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	bare := filepath.Join(dir, name+".git")
	t.Chdir(filepath.Join(dir, name))
	commitAll(t)
	gitCommand(t, "clone --quiet --bare . "+bare)
	gitCommand(t, "config --global url.file://"+bare+".insteadOf "+url)
	gitCommand(t, "remote add origin "+url)
	gitCommand(t, "fetch --quiet origin")
}

// memberOfPage is the member that the pages on clusters are about, there from the start where a
// page does not make it.
const memberOfPage = "fleet/fleet-members/hub/shop-prod-1.yaml"

// commitAll makes a repository of the working directory.
func commitAll(t *testing.T) {
	t.Helper()
	gitCommand(t, "init --quiet --initial-branch=main")
	gitCommand(t, "add --all")
	gitCommand(t, "commit --quiet --message=fleet")
}

func gitCommand(t *testing.T, arguments string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(arguments)...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-11-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-11-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", arguments, err, out)
	}
}
