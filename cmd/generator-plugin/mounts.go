package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// openMount opens a repository that the layout mounts.
func (f *flags) openMount(m fleet.Mount) (source.Source, error) {
	o := git.Options{Location: m.URL, Ref: m.Ref, Interval: f.repository.Interval, Limits: source.MountLimits, Turns: f.mountTurns}
	if m.Credentials != "" {
		dirs, err := location.Named("--mount-credentials", f.mountCredentials)
		if err != nil {
			return nil, err
		}
		if o.Credentials = dirs[m.Credentials]; o.Credentials == "" {
			return nil, &source.Error{Reason: source.Authentication, Source: "mount " + m.Path, Detail: fmt.Sprintf("the service has no credentials %q", m.Credentials), Hint: "--mount-credentials " + m.Credentials + "=DIR names them"}
		}
	}
	if f.stateDir != "" {
		o.StateDir = filepath.Join(f.stateDir, "mounts", url.PathEscape(m.Path))
		if err := os.MkdirAll(o.StateDir, 0o700); err != nil {
			return nil, fmt.Errorf("the mirror of mount %s: %w", m.Path, err)
		}
	}
	return git.New(o)
}
