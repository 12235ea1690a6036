package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// What README shows of a plan of this repository's own history is what the command says, and a
// newcomer's clone has the commits.
func TestReadmePlans(t *testing.T) {
	t.Parallel()
	if out, _ := exec.Command("git", "-C", "../..", "rev-parse", "--is-shallow-repository").Output(); strings.TrimSpace(string(out)) != "false" {
		t.Skip("an archive, or a clone without history: there is nothing to plan")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)\n\\$ bin/argosy plan --base (\\S+) --head (\\S+)\n(.*?)(\n```|\n\n\\$ )").FindAllStringSubmatch(string(text), -1)
	if len(shown) == 0 {
		t.Fatal("README shows no plan of two commits")
	}
	for _, block := range shown {
		var out, errs bytes.Buffer
		if status := run(context.Background(), []string{"plan", "--repo", "../..", "--base", block[1], "--head", block[2]}, strings.NewReader(""), &out, &errs); status != exitGood {
			t.Fatalf("%s to %s: exit status %d\n%s", block[1], block[2], status, errs.String())
		}
		rest, parts := out.String(), strings.Split(block[3]+"\n", "...\n")
		for i, part := range parts {
			_, after, found := strings.Cut(rest, part)
			if !found || i == 0 && !strings.HasPrefix(rest, part) || i == len(parts)-1 && after != "" {
				t.Errorf("README shows of %s to %s what the command does not say:\n%s", block[1], block[2], part)
			}
			rest = after
		}
	}
}
