package source

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/budget"
)

// Source is where a fleet's repository comes from.
type Source interface {
	// Snapshot polls the repository now. Beside an error, the snapshot is the last good one, or nil
	// if there was none: a caller that checks the error first never takes it for the present
	// state.
	Snapshot(ctx context.Context) (*snapshot.Snapshot, error)
	// Watch calls update with what Snapshot gives: at once, and then whenever the revision or the
	// error's text differ from the last call's, until the context ends. Calls do not overlap.
	Watch(ctx context.Context, update func(*snapshot.Snapshot, error))
	// Refresh triggers a poll of Watch now instead of after its interval. It does not wait.
	Refresh()
	// String names the source for people, without credentials.
	String() string
	// Close gives back what the source holds on disk for its lifetime.
	Close() error
}

// Limits bound a snapshot (H10). A zero field means its default.
type Limits struct {
	FileSize int64 // bytes of one file; default snapshot.MaxFileSize
	Files    int   // files in a snapshot; default 100,000. Ten times as many entries of any kind are listed
	Bytes    int64 // bytes of all files of a snapshot; default 512 MiB, and at most a part of GOMEMLIMIT
	// Charts adds the further files that charts are rendered from (rule 4).
	Charts bool
	// AnyName adds files of any name.
	AnyName bool
}

// WithDefaults replaces zero limits by their defaults.
func (l Limits) WithDefaults() Limits {
	return Limits{
		FileSize: cmp.Or(l.FileSize, snapshot.MaxFileSize),
		Files:    cmp.Or(l.Files, 100_000),
		Bytes:    cmp.Or(l.Bytes, int64(budget.MemoryShare(512<<20, 15))),
		Charts:   l.Charts,
		AnyName:  l.AnyName,
	}
}

// Entries is how many files and folders a snapshot may have, those that are not read included.
func (l Limits) Entries() int { return 10 * l.Files }

// IsResolverFile reports whether the resolver may read a file of that name (rule 4).
func IsResolverFile(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return false
	}
	switch name[dot:] {
	case ".yaml", ".yml", ".json", ".gotmpl":
		return true
	}
	return false
}

// Wanted reports whether a file of that name is part of a snapshot.
func (l Limits) Wanted(name string) bool {
	return l.AnyName || IsResolverFile(name) || l.Charts && isChartFile(name)
}

// isChartFile reports whether rendering charts and folders needs a path: templates and the files
// they read, files that say what is built or left out, and Jsonnet programs, which are named and
// never run.
func isChartFile(p string) bool {
	switch path.Ext(p) {
	case ".tpl", ".tgz", ".jsonnet":
		return true
	}
	switch path.Base(p) {
	case "Chart.lock", ".helmignore", "Kustomization", ".sourceignore":
		return true
	}
	for _, folder := range []string{"/templates/", "/files/", "/crds/"} {
		if strings.Contains("/"+p, folder) {
			return true
		}
	}
	return false
}
