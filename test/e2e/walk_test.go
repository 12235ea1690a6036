package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// walk is a page's section that says what one does on `make hub`: its blocks of commands, run as
// they are by a shell, one after another in one folder.
type walk struct {
	*environment
	dir    string
	blocks []string
	env    []string
}

// walkOf is the walk of a document's section. FLEET and the other variables are what `make hub`
// prints.
func (e *environment) walkOf(t *testing.T, document, section string, variables ...string) *walk {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	must(t, err)
	text, err := os.ReadFile(filepath.Join(checkout, document))
	must(t, err)
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", document, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	w := &walk{environment: e, dir: t.TempDir()}
	for _, part := range strings.Split(rest, "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		w.blocks = append(w.blocks, block)
	}
	// Git knows who somebody is, and the programs of the checkout are in PATH.
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\nname = somebody\nemail = somebody@example.com\n"), 0o600))
	w.env = append([]string{"HOME=" + home, "PATH=" + filepath.Join(checkout, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"), "TZ=UTC"}, variables...)
	return w
}

// next runs the next block, and returns what it prints and the moment before.
func (w *walk) next(t *testing.T) (printed string, began time.Time) {
	t.Helper()
	if len(w.blocks) == 0 {
		t.Fatal("the page has no more steps")
	}
	// The folder that a block leaves is where the next one begins, as in somebody's shell.
	script := "set -eu\ncd \"$(cat .walk 2>/dev/null || pwd)\"\n" + w.blocks[0] + "\npwd >\"$WALK/.walk\"\n"
	w.blocks = w.blocks[1:]
	command := exec.CommandContext(t.Context(), "sh", "-c", script)
	command.Dir, command.Env = w.dir, slices.Concat(w.env, []string{"WALK=" + w.dir})
	began = time.Now()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	t.Logf("%s", out)
	return string(out), began
}

// pull has the walk's clone follow what others have pushed.
func (w *walk) pull(t *testing.T) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(w.dir, "fleet"), "pull", "--quiet", "--ff-only")
	command.Env = w.env
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
