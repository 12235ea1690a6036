package helm

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
)

// files returns the files of a chart's folder that Helm reads: all but hidden templates and files
// that its .helmignore names.
//
// Source: helm.sh/helm/v3 v3.18, pkg/chart/loader/directory.go, LoadDir.
func files(all []*snapshot.File) ([]*loader.BufferedFile, error) {
	rules := ignore.Empty()
	for _, f := range all {
		if f.Path != ignore.HelmIgnore {
			continue
		}
		var err error
		if rules, err = ignore.Parse(bytes.NewReader(f.Data)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	rules.AddDefaults()
	folders := map[string]bool{".": false} // whether each is left out
	var leftOut func(dir string) bool
	leftOut = func(dir string) bool {
		out, known := folders[dir]
		if !known {
			out = leftOut(path.Dir(dir)) || rules.Ignore(dir, info{path.Base(dir), true})
			folders[dir] = out
		}
		return out
	}
	var out []*loader.BufferedFile
	for _, f := range all {
		if !leftOut(path.Dir(f.Path)) && !rules.Ignore(f.Path, info{path.Base(f.Path), false}) {
			out = append(out, &loader.BufferedFile{Name: f.Path, Data: bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf"))})
		}
	}
	return out, nil
}

// info is a file or folder as the rules see it.
type info struct {
	name string
	dir  bool
}

func (i info) Name() string       { return i.name }
func (i info) IsDir() bool        { return i.dir }
func (i info) Size() int64        { return 0 }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir
	}
	return 0
}
