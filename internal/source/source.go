package source

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Source is where a fleet's repository comes from.
type Source interface {
	// Snapshot looks at the repository now. Beside an error, the snapshot is the last good one, or nil if there was
	// none: whoever checks the error first, as always, never takes it for the present state.
	Snapshot(ctx context.Context) (*snapshot.Snapshot, error)
	// Watch calls update with what Snapshot gives: at once, and then whenever the revision or the error's text
	// differ from the last call's, until the context ends. Calls do not overlap.
	Watch(ctx context.Context, update func(*snapshot.Snapshot, error))
	// Refresh makes Watch look now instead of at its next turn. It does not wait.
	Refresh()
	// String names the source for people, without credentials.
	String() string
	// Close gives back what the source holds on disk for its lifetime.
	Close() error
}

// Limits bound a snapshot (H10). A zero field means its default.
type Limits struct {
	FileSize int64 // bytes of one file; default snapshot.MaxFileSize
	Files    int   // files in a snapshot; default 100,000. Ten times as many entries of any kind are looked at
	Bytes    int64 // bytes of all files of a snapshot; default 512 MiB
	// Charts adds what charts hold besides (rule 4): for whoever renders them.
	Charts bool
	all    bool // files of any name
}

func (l Limits) withDefaults() Limits {
	return Limits{
		FileSize: cmp.Or(l.FileSize, snapshot.MaxFileSize),
		Files:    cmp.Or(l.Files, 100_000),
		Bytes:    cmp.Or(l.Bytes, 512<<20),
		Charts:   l.Charts,
		all:      l.all,
	}
}

func (l Limits) entries() int { return 10 * l.Files }

// Options say which repository to read, and how. Only Location is required.
type Options struct {
	// Location is a folder, a bare repository's folder, or anything `git fetch` takes as a URL.
	Location string
	Limits   Limits

	// What follows concerns Git alone.

	// Ref is a branch, a tag or a commit id (possibly abbreviated), looked for in this order; a name beginning with
	// "refs/" and "HEAD" are taken as they are. Default "main".
	Ref string
	// Interval is the time between two looks at the server; default one minute.
	Interval time.Duration
	// StateDir keeps the mirror across restarts. Without it, the mirror is temporary.
	StateDir string
	// Credentials is a folder with the files username and password (or password alone, for tokens), or identity and
	// known_hosts for ssh; a mounted Secret. The files are read anew each time they are needed.
	Credentials string
	// Timeout bounds one conversation with the server; a fetch may take five times as long. Default two minutes.
	Timeout time.Duration
}

// Open makes the source that Location asks for: Git for URLs and bare repositories, Folder for any other path.
// It does not look at the repository yet.
func Open(o Options) (Source, error) {
	if IsURL(o.Location) || IsBareRepository(o.Location) {
		g, err := NewGit(o)
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	f, err := NewFolder(o.Location, o.Limits)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// IsURL reports whether Git would take the location for the address of a server: one with a scheme, the short form
// [user@]host:path, or helper::address.
func IsURL(location string) bool {
	if strings.Contains(location, "://") {
		return true
	}
	colon := strings.IndexByte(location, ':')
	slash := strings.IndexByte(location, '/')
	if colon <= 0 || slash >= 0 && slash < colon {
		return false
	}
	_, err := os.Stat(location) // a folder may have a colon in its name
	return err != nil
}

// IsBareRepository reports whether the folder is a Git repository without a working tree.
func IsBareRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() != (name != "HEAD") {
			return false
		}
	}
	return true
}

// wanted reports whether the engine may read a file of that name (rule 4).
func wanted(name string) bool {
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

// wanted reports whether a file of that name is part of a snapshot.
func (l Limits) wanted(name string) bool { return l.all || wanted(name) || l.Charts && rendered(name) }

// rendered reports whether a path is one that is read to render charts and folders: templates and what they read, what says
// what is built or left out, and programs, which are not run.
func rendered(p string) bool {
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

// hidden reports whether a path has a part beginning with ".." (rule 5).
func hidden(p string) bool { return strings.HasPrefix(p, "..") || strings.Contains(p, "/..") }
