package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// README shows what the summary of `make run` prints for this repository's fleet. The revision is
// left out of the comparison, because each commit changes it.
func TestReadmeShowsWhatMakeRunPrints(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(readme), "\nArgosy serves hub-eu on ")
	shown, _, ends := strings.Cut(shown, "\n```")
	if !found || !ends {
		t.Fatal("README shows no output of `make run`")
	}
	program := filepath.Join(t.TempDir(), "summary")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../hack/summary").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	token := file(t, token+"\n")
	address, _, stop := serving(t, "--source", "../..", "--hub", "hub-eu", "--token-file", token, "--facts", "../../examples/facts.yaml")
	out, err := exec.CommandContext(t.Context(), program, "--address", strings.TrimPrefix(address, "http://"), "--token-file", token).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stop()
	printed := strings.NewReplacer(address, "http://127.0.0.1:4355", token, "~/.cache/argosy/development-token").Replace(string(out))
	revision := regexp.MustCompile(`sha256:[0-9a-f]{32}\n`)
	want := strings.TrimSpace(revision.ReplaceAllString("Argosy serves hub-eu on "+shown, "sha256:\n"))
	assert.Equal(t, want, strings.TrimSpace(revision.ReplaceAllString(printed, "sha256:\n")), "README and `make run` differ (-README +printed)")
}
