package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/gitsocket"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// mountLimits bounds the repository of a mount.
var mountLimits = source.Limits{Files: 20_000, Bytes: 64 << 20}

// mountSocket returns the socket of a mount, in the folder of the fleet repository's socket.
func mountSocket(socket, path string) string {
	return filepath.Join(filepath.Dir(socket), "mount-"+url.PathEscape(path))
}

// openMount opens a repository that the layout mounts. A separate Git process serves only the
// repositories of its own --mount flags.
func (f *flags) openMount(m fleet.Mount) (source.Source, error) {
	o := git.Options{Location: m.URL, Ref: m.Ref, Interval: f.repository.Interval, Limits: mountLimits}
	name, ref, err := o.Name()
	if err != nil {
		return nil, err
	}
	if f.gitSocket != "" {
		return gitsocket.New(gitsocket.Options{Socket: mountSocket(f.gitSocket, m.Path), Name: name, Ref: ref, Interval: o.Interval, Limits: mountLimits}), nil
	}
	if m.Credentials != "" {
		dirs, err := location.Named("--mount-credentials", f.mountCredentials)
		if err != nil {
			return nil, err
		}
		if o.Credentials = dirs[m.Credentials]; o.Credentials == "" {
			return nil, &source.Error{Reason: source.Authentication, Source: name, Detail: fmt.Sprintf("the service has no credentials %q", m.Credentials), Hint: "--mount-credentials " + m.Credentials + "=DIR names them"}
		}
	}
	if o.StateDir, err = mountState(f.stateDir, m.Path); err != nil {
		return nil, err
	}
	return git.New(o)
}

// mountState returns the folder of a mount's mirror, empty without a state folder.
func mountState(dir, path string) (string, error) {
	if dir == "" {
		return "", nil
	}
	dir = filepath.Join(dir, "mounts", url.PathEscape(path))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the mirror of mount %s: %w", path, err)
	}
	return dir, nil
}

// mountOptions returns the repositories of --mount, by path.
func (f *gitFlags) mountOptions() (map[string]git.Options, error) {
	mounts, err := location.Named("--mount", f.mounts)
	if err != nil {
		return nil, err
	}
	credentials, err := location.Named("--mount-credentials", f.mountCredentials)
	if err != nil {
		return nil, err
	}
	out := map[string]git.Options{}
	for path, of := range mounts {
		address, ref, _ := strings.Cut(of, "#")
		if !git.IsURL(address) {
			return nil, fmt.Errorf("--mount %s=%s; expected the URL of a Git repository", path, address)
		}
		o := git.Options{Location: address, Ref: ref, Credentials: credentials[path], Limits: mountLimits}
		if _, _, err := o.Name(); err != nil {
			return nil, fmt.Errorf("--mount %s: %w", path, err)
		}
		out[path] = o
	}
	for path := range credentials {
		if _, ok := out[path]; !ok {
			return nil, fmt.Errorf("--mount-credentials %s; there is no --mount %s", path, path)
		}
	}
	return out, nil
}

// mountRetry is the delay before a mount that cannot be served is tried again: its credentials may
// be created later.
const mountRetry = 30 * time.Second

// serveMounts serves the repositories of --mount until the context ends. A mount that fails, or
// lacks its credentials, ends neither the others nor the fleet repository.
func (f *gitFlags) serveMounts(ctx context.Context, stderr io.Writer) (stop func(), err error) {
	mounts, err := f.mountOptions()
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	for path, o := range mounts {
		running.Go(func() {
			said := ""
			for ctx.Err() == nil {
				if err := f.serveMount(ctx, path, o, stderr); err != nil && err.Error() != said {
					said = err.Error()
					fmt.Fprintf(stderr, "generator-plugin git: mount %s: %s\n", path, said)
				}
				select {
				case <-ctx.Done():
				case <-time.After(mountRetry):
				}
			}
		})
	}
	return func() { end(); running.Wait() }, nil
}

// serveMount serves one repository of --mount until the context ends.
func (f *gitFlags) serveMount(ctx context.Context, path string, o git.Options, stderr io.Writer) (err error) {
	if o.StateDir, err = mountState(f.repository.StateDir, path); err != nil {
		return err
	}
	return f.serveAt(ctx, mountSocket(f.socket, path), o, stderr)
}
