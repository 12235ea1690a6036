// Command argosy checks a fleet repository, explains and compares what it deploys, and writes files
// of it. Only adopt --apply changes a cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/argosy-hub/argosy/cmd/argosy/startup" // a shorter start
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/sandbox"
)

// grace is how long a command has to end by itself after a signal. What it computes does not look
// at the context, only what it waits for does; and whatever is written is written in one step.
const grace = time.Second

// exitInterrupted is the exit status of a command that a signal has ended: 128 and SIGINT's number,
// as shells have it.
const exitInterrupted = 130

func main() {
	if len(os.Args) == 2 && os.Args[1] == rendererArgument {
		os.Exit(sandbox.Serve(helm.New(), os.Stdin, os.Stdout))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends it at once
		time.AfterFunc(grace, func() { os.Exit(exitInterrupted) })
	})
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(status)
}
