// Command generator-plugin responds to the queries of Argo CD's plugin generator from a fleet
// repository.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/argosy-hub/argosy/internal/service/server"
)

// Exit statuses: 2 for usage and I/O, as for the argosy command.
const (
	exitGood  = 0
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until the context ends. Errors of the command line are reported before anything is
// opened.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, valid := &flags{}, false
	cmd := newCommand(f, func(ctx context.Context) error {
		valid = true
		options, err := f.open(stdout, stderr)
		if err != nil {
			return err
		}
		return f.serve(ctx, stderr, options)
	})
	cmd.SetArgs(normalize(args))
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitGood
	}
	fmt.Fprintf(stderr, "generator-plugin: %v\n", err)
	if !valid {
		fmt.Fprintln(stderr, "run generator-plugin --help for all flags")
	}
	return exitUsage
}

// serve serves responses, and pages if they have an address, until the context ends.
func (f *flags) serve(ctx context.Context, stderr io.Writer, options server.Options) error {
	pages, err := f.web.listen(ctx)
	if err != nil {
		return errors.Join(err, options.Source.Close())
	}
	if pages != nil {
		defer func() { _ = pages.Close() }() // also if nothing serves it
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, end := context.WithCancel(ctx)
	defer end()
	// After a signal, the pages are served as long as the API.
	drained, endPages := context.WithCancel(context.WithoutCancel(ctx))
	defer endPages()
	context.AfterFunc(ctx, func() { time.AfterFunc(options.DrainDelay, endPages) })
	return server.Run(ctx, options, func(s *server.Server) {
		go announce(ctx, stderr, s)
		if f.prober != nil {
			f.members = addresses(s.Refresher().State, func() bool { return pages != nil || len(s.Rollouts().Rollouts) > 0 })
			running.Go(func() { f.prober.Run(ctx) })
		}
		if pages != nil {
			running.Go(func() { f.serveWeb(drained, stderr, pages, s, options.Store) })
		}
	})
}

// announce prints one line when a state is served. Until then, the log says why the service waits.
func announce(ctx context.Context, stderr io.Writer, s *server.Server) {
	r := s.Refresher()
	for {
		changed := r.Changed()
		if st := r.State(); st != nil {
			fmt.Fprintf(stderr, "generator-plugin: serving %s at %s, revision %s\n", r.Status().Source, s.Addr(), st.Revision)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
