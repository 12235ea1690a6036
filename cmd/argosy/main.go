// Command argosy checks a fleet repository, explains and compares its workloads, and writes its
// files. Only adopt --apply changes a cluster.
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

// grace is how long a command may take to end by itself after a signal. A computation does not
// check the context, but an exit during it is safe: files are written in one step.
const grace = time.Second

// exitInterrupted is the exit status of a command that a signal has ended: 128 plus SIGINT's
// number, as in shells.
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
	stderr := os.Stderr
	if nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = nowhere // kustomize writes its warnings about deprecated keys there
	}
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, stderr)
	os.Exit(status)
}
