package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/gitsocket"
)

// gitFlags holds the command line of the command that runs Git for the service.
type gitFlags struct {
	repository git.Options
	socket     string
	log        logFlags
	// mounts are repositories that the fleet's layout mounts; mountCredentials are the folders of
	// their credentials.
	mounts, mountCredentials []string
}

// newGitCommand makes the command `generator-plugin git`.
func newGitCommand(f *gitFlags, serve func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "git --source URL --socket SOCKET",
		Short: "Runs Git for a service that has --git-socket, in a process without its token",
		Args:  noArguments,
		PreRunE: func(*cobra.Command, []string) error {
			switch {
			case f.repository.Location == "":
				return errors.New("--source is required")
			case f.socket == "":
				return errors.New("--socket is required")
			case !git.IsURL(f.repository.Location):
				return fmt.Errorf("--source %q; expected the URL of a Git repository", f.repository.Location)
			}
			return f.log.validate()
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context()) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.repository.Location, "source", "", "the fleet's repository: a Git `URL` (required)")
	registerGit(fs, &f.repository)
	fs.StringVar(&f.repository.StateDir, "state-dir", "", "`folder` of the Git mirror; without it, each start makes the mirror again")
	fs.StringVar(&f.socket, "socket", "", "unix `socket` to listen on (required); who can open it can read the repository")
	fs.StringArrayVar(&f.mounts, "mount", nil, "a repository that the layout mounts: `PATH=URL`, with #REF if it is not main; may be repeated")
	fs.StringArrayVar(&f.mountCredentials, "mount-credentials", nil, "the credentials of a mount, as --git-credentials: `PATH=DIR`, may be repeated")
	f.log.register(fs)
	return cmd
}

// serve serves the fleet repository and the mounts to the service until the context ends.
func (f *gitFlags) serve(ctx context.Context, stderr io.Writer) error {
	if f.repository.StateDir != "" {
		if err := os.MkdirAll(f.repository.StateDir, 0o700); err != nil {
			return fmt.Errorf("--state-dir: %w", err)
		}
	}
	stop, err := f.serveMounts(ctx, stderr)
	if err != nil {
		return err
	}
	defer stop()
	return f.serveAt(ctx, f.socket, f.repository, stderr)
}

// serveAt serves a repository at a socket until the context ends.
func (f *gitFlags) serveAt(ctx context.Context, socket string, o git.Options, stderr io.Writer) (err error) {
	repository, err := git.New(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()
	l, err := gitsocket.Listen(ctx, socket)
	if err != nil {
		return fmt.Errorf("--socket: %w", err)
	}
	fmt.Fprintf(stderr, "generator-plugin git: serving %s at %s\n", repository, socket)
	_, ref, _ := o.Name() // New has accepted it
	return (&gitsocket.Server{Source: repository, Ref: ref, Log: f.log.logger(stderr)}).Serve(ctx, l)
}

// readRevision reads a commit of the repository into a mirror of its own: an agent's hub may have
// announced a commit that no poll has seen.
func (f *flags) readRevision(ctx context.Context, commit string) (*snapshot.Snapshot, error) {
	o := f.repository
	o.Ref, o.StateDir = commit, ""
	repository, err := git.New(o)
	if err != nil {
		return nil, err
	}
	s, err := repository.Snapshot(ctx)
	return s, errors.Join(err, repository.Close())
}
