// Command generator-plugin serves the answers of a fleet's repository to Argo CD's plugin generator.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/argosy-hub/argosy/internal/server"
)

// Exit statuses: 2 for usage and I/O, as the argosy command has it.
const (
	exitGood  = 0
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run serves until the context ends. What can be wrong with the command line is told before anything is opened.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitGood
	case err != nil:
		fmt.Fprintf(stderr, "generator-plugin: %v\nrun generator-plugin --help for all flags\n", err)
		return exitUsage
	case f.version:
		fmt.Fprintln(stdout, versionText())
		return exitGood
	}
	options, err := f.options(stderr)
	if err == nil {
		err = server.Run(ctx, options, func(s *server.Server) { go announce(ctx, stderr, s) })
	}
	if err != nil {
		fmt.Fprintf(stderr, "generator-plugin: %v\n", err)
		return exitUsage
	}
	return exitGood
}

// announce prints one line when there is something to serve; until then, the log says what is being waited for.
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
