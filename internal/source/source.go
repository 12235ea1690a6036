package source

import (
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/budget"
)

// Source is the origin of a fleet repository's snapshots.
type Source interface {
	// Snapshot polls the repository now. Next to an error, the snapshot is the last good one, or
	// nil if there was none. A caller that checks the error first never takes it for the current
	// state.
	Snapshot(ctx context.Context) (*snapshot.Snapshot, error)
	// Watch calls update with the results of Snapshot until the context ends: at once, and then
	// whenever the revision or the error's text changes. Calls do not overlap.
	Watch(ctx context.Context, update func(*snapshot.Snapshot, error))
	// Refresh makes Watch poll now instead of after its interval. It does not wait.
	Refresh()
	// String returns the source's name for people, without credentials.
	String() string
	// Close releases what the source holds on disk.
	Close() error
}

// Limits bound a snapshot. A zero field means its default.
type Limits struct {
	FileSize int64 // bytes of one file; default snapshot.MaxFileSize
	Files    int   // files in a snapshot; default 100,000. Ten times as many entries of any kind are listed
	Bytes    int64 // bytes of all files of a snapshot; default 512 MiB, and at most a part of GOMEMLIMIT
	// Charts adds the other files that charts are rendered from.
	Charts bool
	// AnyName adds files of any name.
	AnyName bool
}

// MountLimits bound the repository of a mount.
var MountLimits = Limits{Files: 20_000, Bytes: 64 << 20}

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

// Entries returns how many files and folders a repository may have, including files that are not
// read.
func (l Limits) Entries() int { return 10 * l.Files }

// IsResolverFile reports whether the resolver may read a file of that name.
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

// isChartFile reports whether rendering charts and folders needs a path. These are templates and
// the files they read, and files that say what is built or left out. Jsonnet programs are listed
// and never run.
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
