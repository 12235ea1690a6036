package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What README shows of plans is what the command says after the edits that README shows. A
// repository with only the fleet's files is enough.
func TestReadmePlans(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(repository, "README.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)\n\\$ perl -pi -e '(s/[^\n]*/)' (\\S+)\n\\$ bin/argosy plan --base HEAD\n(.*?)(\n```|\n\n\\$ )").FindAllStringSubmatch(string(text), -1)
	if len(shown) < 2 {
		t.Fatalf("README shows %d plans of an edit; expected two", len(shown))
	}
	dir := cloneFleet(t)
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, block := range shown {
		if out, err := exec.CommandContext(t.Context(), "perl", "-pi", "-e", block[1], filepath.Join(dir, block[2])).CombinedOutput(); err != nil {
			t.Fatalf("perl: %v\n%s", err, out)
		}
		var out, errs bytes.Buffer
		if status := runInProcess(dir, nil, []string{"plan", "--base", "HEAD"}, &out, &errs); status != exitGood {
			t.Fatalf("%s: exit status %d\n%s", block[2], status, errs.String())
		}
		git("checkout", "--quiet", ".")
		commit := regexp.MustCompile(`from HEAD \([0-9a-f]+\)`)
		rest := commit.ReplaceAllString(out.String(), "from HEAD")
		parts := strings.Split(commit.ReplaceAllString(block[3]+"\n", "from HEAD"), "...\n")
		for i, part := range parts {
			_, after, found := strings.Cut(rest, part)
			if !found || i == 0 && !strings.HasPrefix(rest, part) || i == len(parts)-1 && after != "" {
				t.Errorf("README shows of %s what the command does not say:\n%s\nit says:\n%s", block[2], part, rest)
			}
			rest = after
		}
	}
}
