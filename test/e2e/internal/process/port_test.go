//go:build linux

package process_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/test/e2e/internal/process"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

func freePort(t *testing.T) int {
	t.Helper()
	port, err := process.FreePort()
	require.NoError(t, err)
	return port
}

// Rule 7.
func TestFreePortGivesEachOnce(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		port := freePort(t)
		if seen[port] {
			t.Fatalf("port %d was given twice", port)
		}
		seen[port] = true
	}
}

// Rule 7, while other programs are started.
func TestFreePortIsFreeWhileProgramsStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for ctx.Err() == nil {
				_ = exec.CommandContext(ctx, "true").Run()
			}
		})
	}
	defer starters.Wait()
	defer cancel()
	for range 200 {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", "127.0.0.1:"+strconv.Itoa(freePort(t)))
		require.NoError(t, err)
		_ = l.Close()
	}
}
