package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var (
	console = regexp.MustCompile("(?s)```console\n(.*?)```")
	// steps are commands, and files that a page writes: a block that begins with its path.
	steps = regexp.MustCompile("(?s)```console\n(.*?)```|```yaml\n# ([^ \n]+/[^ \n]+)\n(.*?)```")
)

// A page shows what its commands print, run in order over the files of testdata/how-to. (The
// working directory is the process's: the tests are not parallel.)
func TestHowTos(t *testing.T) {
	for name, files := range map[string]string{
		"eks-managed-argocd": "eks-managed-argocd", "import-a-fleet": "import-a-fleet",
		"provision-a-cluster": "clusters", "upgrade-a-cluster": "clusters", "remove-a-cluster": "clusters",
	} {
		t.Run(name, func(t *testing.T) { runHowTo(t, name, files) })
	}
}

func runHowTo(t *testing.T, name, of string) {
	t.Helper()
	page, err := filepath.Abs("../../docs/how-to/" + name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := txtar.ParseFile("testdata/how-to/" + of + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(files, dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	pattern := console
	if of == "clusters" {
		pattern = steps
		if err := os.Rename(name+".yaml", memberOfPage); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		gitCommand(t, "init --quiet --initial-branch=main")
		gitCommand(t, "add --all")
		gitCommand(t, "commit --quiet --message=fleet")
	}
	blocks := 0
	got := pattern.ReplaceAllStringFunc(string(text), func(block string) string {
		if file := steps.FindStringSubmatch(block); file[2] != "" {
			if err := os.MkdirAll(filepath.Dir(file[2]), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file[2], []byte(file[3]), 0o644); err != nil {
				t.Fatal(err)
			}
			return block
		}
		blocks++
		if arguments, is := strings.CutPrefix(block, "```console\n$ git "); is {
			gitCommand(t, strings.TrimSuffix(arguments, "\n```"))
			return block
		}
		line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n"), "\n")
		var out, errs bytes.Buffer
		run(context.Background(), strings.Fields(line)[2:], strings.NewReader(""), &out, &errs)
		return "```console\n" + line + "\n" + out.String() + errs.String() + "```"
	})
	if blocks == 0 {
		t.Fatal("the page shows no command")
	}
	if got == string(text) {
		return
	}
	if !*update {
		t.Errorf("the page (-) and what its commands print (+):\n%s", cmp.Diff(string(text), got))
	} else if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// memberOfPage is the member that the pages on clusters are about, there from the start where a
// page does not make it.
const memberOfPage = "fleet/fleet-members/hub/shop-prod-1.yaml"

func gitCommand(t *testing.T, arguments string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, strings.Fields(arguments)...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-11-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-11-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", arguments, err, out)
	}
}
