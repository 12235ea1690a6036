package main

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
)

// What a signal ends has its own status and says so; it is no failure of a revision or a file.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := run(ctx, []string{"plan", "--repo", repo, "--base", "HEAD"}, strings.NewReader(""), &stdout, &stderr)
	if status != exitInterrupted || stdout.Len() > 0 || stderr.String() != "argosy: interrupted\n" {
		t.Errorf("status %d, %q, %q", status, stdout.String(), stderr.String())
	}
}
