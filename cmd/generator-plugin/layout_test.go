package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// A source with the layout of --layout says when it was last polled, as the source itself does:
// pages, metrics and rollouts go by it.
func TestGivenLayoutSaysWhenItsSourceWasPolled(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.yaml"), []byte("a: b\n"), 0o600))
	s, err := location.Open(git.Options{Location: dir})
	require.NoError(t, err)
	given := withLayout(s, snapshot.NewFile(fleet.LayoutFile, []byte("groups: {}\n"), snapshot.MaxFileSize))
	t.Cleanup(func() { _ = given.Close() })
	ctx, end := context.WithCancel(t.Context())
	given.Watch(ctx, func(*snapshot.Snapshot, error) { end() }) // until it has been polled once
	p, is := given.(interface{ Polled() time.Time })
	if !is {
		t.Fatal("it does not tell when the repository was last read")
	}
	if p.Polled().IsZero() {
		t.Error("it is never polled")
	}
}
