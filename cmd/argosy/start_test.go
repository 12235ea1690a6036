package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// What all packages do before main does anything. A package that is linked anew, and does much,
// shows here.
func TestStartIsShort(t *testing.T) {
	t.Parallel()
	const mostBytes, mostCollections = 17 << 20, 1
	cmd := exec.CommandContext(t.Context(), os.Args[0], "version")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOGC=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1,gctrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	require.NoError(t, cmd.Run())
	all := 0
	for _, found := range regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes`).FindAllStringSubmatch(trace.String(), -1) {
		n, _ := strconv.Atoi(found[2])
		all += n
		if n > 3<<20 {
			t.Errorf("the initialisation of %s allocates %d bytes; expected at most 3 MB", found[1], n)
		}
	}
	if all == 0 || all > mostBytes {
		t.Errorf("the packages' initialisation allocates %d bytes; expected at most %d", all, mostBytes)
	}
	if n := strings.Count("\n"+trace.String(), "\ngc "); n > mostCollections {
		t.Errorf("%d garbage collections; expected at most %d", n, mostCollections)
	}
}
