package catalog

import (
	"fmt"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/release"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// ReleaseCatalog is a group's catalog at the revision that a release names.
type ReleaseCatalog struct {
	// Name is the revision as the release names it, and Commit the snapshot's commit, which is
	// empty where the catalog cannot be read.
	Name, Commit string
	// File is the path of the chart's catalog, the same as in the layout.
	File string
	// Missing says why the catalog cannot be read: then the layout's is used instead.
	Missing string

	// Layer is the catalog itself.
	Layer hierarchy.Layer
}

// Path returns where its entries are: COMMIT:File, or File where it cannot be read.
func (c *ReleaseCatalog) Path() string {
	if c.Missing != "" {
		return c.File
	}
	return c.Layer.Path
}

// FindReleaseCatalog finds the catalog of a group that a release has in the ApplicationSets of a
// hub. It returns nil for the layout's own catalog, and where nothing is known of it. The same
// catalog is the same pointer.
type FindReleaseCatalog func(hub, group string, s release.Source) *ReleaseCatalog

// ReadReleaseCatalog reads the catalog in a file f of another commit or of a fetched chart. Places
// in it begin with at: COMMIT:path, as `git show` takes them. The caller sets the names and the
// commit in out.
func ReadReleaseCatalog(out ReleaseCatalog, f *snapshot.File, at string, duplicates problem.Severity) *ReleaseCatalog {
	missing := func(why string) *ReleaseCatalog {
		out.Commit, out.Missing = "", why
		return &out
	}
	if f == nil {
		return missing(fmt.Sprintf("revision %q has no file %s", out.Name, out.File))
	}
	doc, err := &yamldoc.Doc{}, f.Err
	if err == nil {
		doc, err = yamldoc.ParseLenient(at, f.Data, nil)
	}
	if err == nil && duplicates == problem.Error {
		err = doc.DuplicateErrors()
	}
	if err != nil {
		return missing(problem.From(err, problem.InvalidYAML, problem.Pos{File: at})[0].Error())
	}
	out.Layer = hierarchy.Layer{Level: Level, Path: at, Root: doc.Root}
	return &out
}

// ReleaseCatalogs remembers the catalogs of releases that it has found. A nil one knows none.
type ReleaseCatalogs struct {
	find  FindReleaseCatalog
	mu    sync.Mutex
	known map[releaseKey]*ReleaseCatalog
}

type releaseKey struct {
	hub, group string
	source     release.Source
}

// NewReleaseCatalogs makes ReleaseCatalogs that a function finds.
func NewReleaseCatalogs(find FindReleaseCatalog) *ReleaseCatalogs {
	return &ReleaseCatalogs{find: find, known: map[releaseKey]*ReleaseCatalog{}}
}

// Of returns the catalog of a group's release, nil for the layout's own.
func (r *ReleaseCatalogs) Of(hub, group string, source release.Source) *ReleaseCatalog {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := releaseKey{hub, group, source}
	found, ok := r.known[key]
	if !ok {
		found = r.find(hub, group, source)
		r.known[key] = found
	}
	return found
}

// Missing returns the catalogs that Of has found and that cannot be read, by hub and group.
func (r *ReleaseCatalogs) Missing() map[[2]string][]*ReleaseCatalog {
	out := map[[2]string][]*ReleaseCatalog{}
	if r == nil {
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, c := range r.known {
		if at := [2]string{key.hub, key.group}; c != nil && c.Missing != "" && !slices.ContainsFunc(out[at], func(o *ReleaseCatalog) bool { return o.Name == c.Name }) {
			out[at] = append(out[at], c)
		}
	}
	return out
}
