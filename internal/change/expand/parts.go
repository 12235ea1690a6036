package expand

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// part is one source of an Application, and how it is rendered: a folder of this repository, a
// remote folder, or a remote chart. Parts of equal keys make equal objects.
type part struct {
	folder    *source.Folder   // of this repository
	built     []*source.Folder // of a kustomization, what it is built from
	reference *source.Reference
	place     *source.Place // of another repository: a chart, or manifests
	chart     *source.Chart
	source    source.Source
	key       string
	// err says why there is nothing to render.
	err error
	// brings means that a remote chart may make objects that expansion follows.
	brings bool
	// overrides are the files of another repository that would change the source.
	overrides []string
}

// maxMakers limits how many objects an Application may be below, each made by the next. A chart
// that makes an Application of itself under a new name each time would never end.
const maxMakers = 12

// parts returns the sources of an Application in this repository, and with Tools.Remote all others.
func (h *Hub) parts(o *object.Object) []part {
	makers := 0
	for p := o.Parent; p != nil; p = p.Parent {
		if makers++; makers > maxMakers {
			h.report(problem.Problem{
				Reason: problem.ExpansionFailed, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()),
				Found: fmt.Sprintf("is below more than %d Applications that make each other", maxMakers), Expected: "a chart or folder that does not make an Application of itself",
			})
			return nil
		}
	}
	var out []part
	for _, s := range o.Sources() {
		p, ok := h.part(o, s)
		if !ok {
			continue
		}
		if p.err != nil {
			p.key = manifest.Digest(s.RepoURL, s.Chart, s.Path, s.Revision, s.Helm, p.err.Error())
			h.reportUnmade(o, s, p.err)
		}
		out = append(out, p)
	}
	return out
}

// part returns what a source brings. Without ok it brings nothing.
func (h *Hub) part(o *object.Object, s source.Source) (p part, ok bool) {
	s = s.WithVariables(o.Tree)
	p = part{source: s}
	snap, missing := h.local(s)
	switch {
	case s.RepoURL == "" && s.Err != nil:
		p.err = s.Err
		return p, true
	case missing != "":
		p.err = h.missingRevision(s.Path, s, missing)
		return p, true
	case snap == nil && (h.o.Tools.Remote == nil || s.Chart+s.Path == ""):
		if h.o.HasNoFleet && o.Application() && s.Chart == "" && s.Path != "" {
			h.reportAt(o, o.Pos, problem.Warning, "it deploys from "+source.Shown(s.RepoURL)+", which is a different repository", "--repository "+source.Shown(s.RepoURL)+"=DIR names a clone of it")
		}
		return p, false
	case s.Err != nil:
		p.err = s.Err
		return p, true
	case snap == nil:
		return h.remotePart(o, s), true
	}
	dir, err := snapshot.CleanPath(path.Clean(cmp.Or(s.Path, s.Chart))) // one of our own charts has no path
	if err != nil {
		p.err = err
		return p, true
	}
	f := h.folders.Folder(snap, dir)
	if !f.Exists {
		p.err = errors.New(missingFolder(s))
		return p, true
	}
	if o.Application() {
		if s, err = source.Override(o.Name(), s, f); err != nil {
			p.err = err
			return p, true
		}
		s = s.WithVariables(o.Tree)
		p.source = s
	}
	kind, err := s.Kind(f)
	switch {
	case err != nil:
		p.err = err
	case kind == source.KindHelm:
		c, err := h.chart(o, s, f)
		if err != nil {
			p.err = err
			break
		}
		p.folder, p.chart, p.key = f, c, manifest.Digest(f.Dir, f.Digest, c.Options())
	case kind == source.KindKustomize:
		p.folder = f
		p.built, p.err = h.built(s, f)
		p.key = h.kustomization(s, f).Key(p.built)
		charts, err := h.o.Tools.Kustomizations.Charts(h.kustomization(s, f))
		if p.err = cmp.Or(p.err, err); len(charts) > 0 {
			p.key = manifest.Digest(p.key, h.Renders(), h.o.KubeVersion, h.o.APIVersions)
			if h.lacksCharts(f.Snapshot, charts) && p.err == nil {
				h.reportAt(o, problem.Pos{File: charts[0].File}, problem.Warning, "Helm charts of its kustomization are not rendered: their values are compared", "--render renders them")
			}
		}
	default:
		p.folder, p.key = f, manifest.Digest(f.Dir, f.Digest, s.Directory.Options())
	}
	return p, true
}

// missingRevision says why a path at another revision of a repository is not followed.
func (h *Hub) missingRevision(what string, s source.Source, missing string) source.NotFollowed {
	of := "this repository"
	if !h.isOwn(s.RepoURL) {
		of = source.Shown(s.RepoURL)
	}
	return source.NotFollowed{
		Text: fmt.Sprintf("%s at revision %s of %s is not followed: %s", what, s.Revision, of, missing),
		Hint: fmt.Sprintf("fetch that revision, or take another one for it: --revision %s=REV", s.Revision),
	}
}

// remotePart returns a part that is not in this repository. Rendering it reports whether it can be
// fetched.
func (h *Hub) remotePart(o *object.Object, s source.Source) part {
	p := part{source: s, brings: h.deploysToEngine(o)}
	if s.Chart != "" {
		p.reference = &source.Reference{RepoURL: s.RepoURL, Name: s.Chart, Version: s.Revision}
	} else if dir, err := snapshot.CleanPath(s.Path); err != nil {
		p.err = err
	} else {
		p.place = &source.Place{RepoURL: s.RepoURL, Revision: s.Revision, Path: dir}
		if o.Application() {
			p.overrides = source.OverrideFiles(o.Name())
		}
	}
	if p.err == nil {
		p.chart, p.err = h.chart(o, s, nil)
	}
	if p.err == nil {
		p.key = manifest.Digest(p.reference, p.place, p.overrides, s.Explicit, s.Directory.Options(), p.chart.Options(), s.Kustomize, s.Flux)
	}
	return p
}

// deploysToEngine reports whether an Application deploys to the namespace where its own engine
// finds Applications and ApplicationSets.
func (h *Hub) deploysToEngine(o *object.Object) bool {
	return h.runsOn(o) == o.Engine && manifest.Text(o.Tree, "spec", "destination", "namespace") == manifest.Text(o.Tree, "metadata", "namespace")
}

// lives reports whether a part may make objects that expansion follows.
func (p part) lives() bool {
	if p.folder == nil {
		return p.brings
	}
	if p.built != nil {
		return slices.ContainsFunc(p.built, func(f *source.Folder) bool { return f.Followed })
	}
	return p.folder.Followed || p.chart != nil && slices.ContainsFunc(p.chart.Values, func(v source.Values) bool { return source.IsFollowed([]byte(v.Text)) })
}
