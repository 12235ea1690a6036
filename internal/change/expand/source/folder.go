package source

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Folder holds the files of a folder of a snapshot.
type Folder struct {
	Snapshot *snapshot.Snapshot
	Dir      string
	Files    []*snapshot.File // all below it, by paths relative to the repository
	// Digest is the same for folders with the same contents. helm and kustomize mean that the
	// folder is a chart or has a kustomization.
	Digest          string
	helm, kustomize bool
	// Followed means that its text names kinds that expansion follows.
	Followed bool
	Exists   bool
}

type folderKey struct {
	snap *snapshot.Snapshot
	dir  string
}

// Folders reads each folder once, and the files called .sourceignore of each snapshot.
type Folders struct {
	mu       sync.Mutex
	folders  map[folderKey]*Folder
	ignoring map[*snapshot.Snapshot][]*snapshot.File
}

// Folder reads a folder of a snapshot once.
func (x *Folders) Folder(snap *snapshot.Snapshot, dir string) *Folder {
	key := folderKey{snap, dir}
	x.mu.Lock()
	defer x.mu.Unlock()
	if f := x.folders[key]; f != nil {
		return f
	}
	f := &Folder{Snapshot: snap, Dir: dir}
	var digests []any
	for _, p := range snap.Under(dir) {
		file := snap.File(p)
		f.Files = append(f.Files, file)
		relative := Relative(dir, p)
		digests = append(digests, relative, file.Digest)
		f.helm = f.helm || relative == "Chart.yaml"
		f.kustomize = f.kustomize || slices.Contains(KustomizationFiles, relative)
		if !strings.HasSuffix(p, ".md") {
			f.Followed = f.Followed || IsFollowed(file.Data) || MakesByDependency(file)
		}
	}
	f.Digest = manifest.Digest(digests...)
	f.Exists = len(f.Files) > 0 || slices.ContainsFunc(snap.Beside().Unread, func(p string) bool { return strings.HasPrefix(p, dir+"/") })
	if x.folders == nil {
		x.folders = map[folderKey]*Folder{}
	}
	x.folders[key] = f
	return f
}

// SourceIgnore returns a repository's .sourceignore files, which name the files that Flux's sources
// leave out.
func (x *Folders) SourceIgnore(s *snapshot.Snapshot) []*snapshot.File {
	x.mu.Lock()
	defer x.mu.Unlock()
	all, known := x.ignoring[s]
	if !known {
		for _, p := range s.Paths() {
			if path.Base(p) == ".sourceignore" {
				all = append(all, s.File(p))
			}
		}
		if x.ignoring == nil {
			x.ignoring = map[*snapshot.Snapshot][]*snapshot.File{}
		}
		x.ignoring[s] = all
	}
	return all
}

// Relative returns a path relative to its folder.
func Relative(dir, p string) string {
	if dir == "." {
		return p
	}
	return strings.TrimPrefix(p, dir+"/")
}

// IsFollowed reports whether a text may make objects that expansion follows: it names their API.
func IsFollowed[T string | []byte](text T) bool {
	return contains(text, "argoproj.io/v1") || contains(text, ".toolkit.fluxcd.io/v") || contains(text, "fluxcd.controlplane.io/v") || contains(text, `\`) && escapedText.MatchString(string(text))
}

// escapedText matches a quoted text with an escape, which may hide an apiVersion.
var escapedText = regexp.MustCompile(`"[^"\n]*\\(?:u|U|x|/|\n)`)

func contains[T string | []byte](text T, part string) bool {
	if text, is := any(text).([]byte); is {
		return bytes.Contains(text, []byte(part))
	}
	return strings.Contains(string(text), part)
}

// ChartFiles returns a folder's files by paths relative to it.
func ChartFiles(f *Folder) ([]*snapshot.File, error) {
	out := make([]*snapshot.File, 0, len(f.Files))
	for _, file := range f.Files {
		if file.Err != nil {
			return nil, file.Err
		}
		relative := *file
		relative.Path = Relative(f.Dir, file.Path)
		out = append(out, &relative)
	}
	return out, nil
}
