package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// consoleBlock is a block of commands, each after "$ ", with their outputs.
var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// shownCommand is a command of a document, and what the document shows of its output.
type shownCommand struct{ command, output string }

// shownCommands are those of a document's console blocks.
func shownCommands(t *testing.T, document string) (out []shownCommand) {
	t.Helper()
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	for _, block := range consoleBlock.FindAllStringSubmatch(string(text), -1) {
		continued := false
		for line := range strings.Lines(block[1]) {
			command, is := strings.CutPrefix(line, "$ ")
			switch {
			case is:
				out = append(out, shownCommand{command: command})
			case continued:
				out[len(out)-1].command += line
			default:
				out[len(out)-1].output += line
			}
			continued = (is || continued) && strings.HasSuffix(strings.TrimSpace(line), `\`)
		}
	}
	return out
}

// shows reports whether a document shows an output; "..." stands for anything.
func shows(shown, output string) bool {
	parts := strings.Split(shown, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$").MatchString(output)
}

// A newcomer who follows "Your first fleet in ten minutes" word by word, from an empty repository
// to the service's answer, sees what it shows.
func TestFirstFleet(t *testing.T) {
	t.Parallel()
	document := filepath.Join(repository, "docs/how-to/first-fleet.md")
	commands := shownCommands(t, document)
	if len(commands) < 10 {
		t.Fatalf("%s has %d commands", document, len(commands))
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", bin+"/", "./cmd/generator-plugin")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := freeAddress(t)
	const mark = "=== output of command"
	var script strings.Builder
	script.WriteString("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for i, c := range commands {
		fmt.Fprintf(&script, "%s\necho; echo '%s' %d\n", strings.ReplaceAll(c.command, "127.0.0.1:4355", address), mark, i)
	}
	sh := exec.CommandContext(t.Context(), "bash", "-c", script.String())
	sh.Dir = dir
	sh.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=user", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=user", "GIT_COMMITTER_EMAIL=user@example.com")
	var out bytes.Buffer
	sh.Stdout, sh.Stderr = &out, &out
	began := time.Now()
	_ = sh.Run() // what it says is compared below
	if took := time.Since(began); took > 10*time.Minute {
		t.Errorf("%s took %s", document, took)
	} else {
		t.Logf("%d commands took %s", len(commands), took)
	}
	rest := out.String()
	for i, c := range commands {
		output, after, found := strings.Cut(rest, fmt.Sprintf("\n%s %d\n", mark, i))
		if !found {
			t.Fatalf("$ %s did not end:\n%s", c.command, rest)
		}
		if rest = after; !shows(strings.TrimSpace(c.output), strings.TrimSpace(output)) {
			t.Errorf("$ %ssays\n%s\n%s shows\n%s", c.command, output, document, c.output)
		}
	}
}

// freeAddress is an address of this machine on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	return address
}
