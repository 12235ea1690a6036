package expand_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/argocd"
	"github.com/argosy-hub/argosy/internal/change/expand/helm"
	"github.com/argosy-hub/argosy/internal/change/expand/kustomize"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// hubs are those of this repository's fleet.
var hubs = []string{"hub-eu", "hub-us"}

// tools are real: Argo CD's packages, and Helm's library.
var tools = sync.OnceValue(func() expand.Tools {
	return expand.Tools{ApplicationSets: argocd.New(), Charts: helm.New(), Kustomizations: kustomize.Kustomizations{}}
})

// repository is this repository, as far as a fleet's goes, with a trial on the canary releases.
var repository = sync.OnceValues(func() (map[string]*snapshot.File, error) {
	folder, err := dir.New("../../..", source.Limits{Charts: true})
	if err != nil {
		return nil, err
	}
	s, err := folder.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	out := map[string]*snapshot.File{}
	for _, p := range s.Paths() {
		for _, root := range []string{"fleet/", "addons/", "resources/", "versions/", "charts/"} {
			if strings.HasPrefix(p, root) {
				out[p] = s.File(p)
			}
		}
	}
	const versions = "versions/applicationSets.yaml"
	trial := bytes.ReplaceAll(out[versions].Data, []byte("chartRepoRevision: HEAD\n"), []byte("chartRepoRevision: release-next\n"))
	out[versions] = snapshot.NewFile(versions, trial, snapshot.MaxFileSize)
	return out, nil
})

// edit is what a commit does to files; an empty text removes one.
type edit func(map[string]string)

// commit is this repository's fleet after an edit.
func commit(t *testing.T, e edit) *snapshot.Snapshot {
	t.Helper()
	files, err := repository()
	require.NoError(t, err)
	if e == nil {
		return snapshot.New("base", maps.Clone(files))
	}
	texts := map[string]string{}
	for p, f := range files {
		texts[p] = string(f.Data)
	}
	e(texts)
	out := make([]*snapshot.File, 0, len(texts))
	for p, text := range texts {
		file := files[p]
		if file == nil || string(file.Data) != text {
			file = snapshot.NewFile(p, []byte(text), snapshot.MaxFileSize)
		}
		out = append(out, file)
	}
	return snapshot.Of(out)
}

// replace is an edit of one file; it fails if the text is not there.
func replace(t *testing.T, p, old, updated string) edit {
	t.Helper()
	return func(files map[string]string) {
		require.Contains(t, files[p], old, "%s", p)
		files[p] = strings.Replace(files[p], old, updated, 1)
	}
}

func state(t *testing.T, previous *fleetstate.State, s *snapshot.Snapshot) *fleetstate.State {
	t.Helper()
	st, err := fleetstate.Build(previous, s, facts.Set{})
	require.NoError(t, err)
	return st
}

// revision expands a hub at a snapshot; the branch of the canary releases is as the base.
func revision(t *testing.T, st *fleetstate.State, s *snapshot.Snapshot, hub string, cache *rendercache.Cache) *expand.Hub {
	t.Helper()
	files, err := repository()
	require.NoError(t, err)
	at := func(string) (*snapshot.Snapshot, error) { return snapshot.New("canary", files), nil }
	return expand.New(expand.Options{State: st, Snapshot: s, Hub: hub, Tools: tools(), Cache: cache, At: at})
}

// noProblems fails on any.
func noProblems(t *testing.T, h *expand.Hub) {
	t.Helper()
	for _, p := range h.Problems() {
		t.Error(p)
	}
}

func texts(ps []problem.Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, string(p.Severity)+": "+p.Error())
	}
	slices.Sort(out)
	return out
}
