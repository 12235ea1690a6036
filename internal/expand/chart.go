package expand

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// part is a part of what is below an Application: a folder of this repository or a chart from elsewhere, and how it is
// rendered. Parts of equal keys make equal objects.
type part struct {
	folder    *folder   // of this repository
	built     []*folder // what a kustomization in it is built of
	elsewhere *Reference
	git       *Place // of another repository: a chart, or manifests
	chart     *Chart
	source    source
	key       string
	// err is why there is nothing to be rendered.
	err error
	// brings tells, of a chart from elsewhere, that it may make objects that expansion follows.
	brings bool
	// overrides are the files that would change the source, of another repository.
	overrides []string
}

// parts are those of an Application that lie in this repository, and with Elsewhere all others.
func (h *Hub) parts(o *Object) []part {
	var out []part
	for _, s := range sources(o) {
		p, ok := h.part(o, s)
		if !ok {
			continue
		}
		if p.err != nil {
			p.key = digestOf(s.repoURL, s.chart, s.path, s.revision, s.helm, p.err.Error())
			h.unmade(o, s, p.err)
		}
		out = append(out, p)
	}
	return out
}

// part is what a source brings, if that is anything.
func (h *Hub) part(o *Object, s source) (p part, ok bool) {
	p = part{source: s}
	snap, missing := h.local(s)
	switch {
	case s.repoURL == "" && s.err != nil:
		p.err = s.err
		return p, true
	case missing != "":
		p.err = notHad(s.path, s.revision, missing)
		return p, true
	case snap == nil && (h.o.Tools.Elsewhere == nil || s.chart+s.path == ""):
		return p, false
	case s.err != nil:
		p.err = s.err
		return p, true
	case snap == nil:
		return h.partElsewhere(o, s), true
	}
	dir, err := snapshot.CleanPath(s.path)
	if err != nil {
		p.err = err
		return p, true
	}
	f := h.folder(snap, dir)
	if !f.there {
		p.err = errors.New(missingFolder(s, snap))
		return p, true
	}
	if o.Application() {
		if s, err = overridden(o, s, f); err != nil {
			p.err = err
			return p, true
		}
		p.source = s
	}
	kind, err := s.kind(f)
	switch {
	case err != nil:
		p.err = err
	case kind == kindHelm:
		c, err := h.chart(o, s, f)
		if err != nil {
			p.err = err
			break
		}
		p.folder, p.chart, p.key = f, c, digestOf(f.dir, f.digest, c.given())
	case kind == kindKustomize:
		p.folder = f
		p.built, p.err = h.built(s, f)
		p.key = h.kustomization(s, f).key(p.built)
	default:
		p.folder, p.key = f, digestOf(f.dir, f.digest, s.directory.given())
	}
	return p, true
}

// notHad is why something of this repository at another revision is not followed.
func notHad(what, revision, missing string) NotFollowed {
	return NotFollowed{
		fmt.Sprintf("%s at revision %s of this repository is not followed: %s", what, revision, missing),
		fmt.Sprintf("fetch that revision, or take another one for it: --revision %s=REV", revision),
	}
}

// partElsewhere is a part that is not in this repository. Whether it can be had is said when it is rendered.
func (h *Hub) partElsewhere(o *Object, s source) part {
	p := part{source: s, brings: h.deploysToEngine(o)}
	if s.chart != "" {
		p.elsewhere = &Reference{RepoURL: s.repoURL, Name: s.chart, Version: s.revision}
	} else if dir, err := snapshot.CleanPath(s.path); err != nil {
		p.err = err
	} else {
		p.git, p.overrides = &Place{RepoURL: s.repoURL, Revision: s.revision, Path: dir}, sourceFiles(o)
	}
	if p.err == nil {
		p.chart, p.err = h.chart(o, s, nil)
	}
	if p.err == nil {
		p.key = digestOf(p.elsewhere, p.git, p.overrides, s.explicit, s.directory.given(), p.chart.given(), s.flux)
	}
	return p
}

// deploysToEngine reports whether an Application deploys to where its own engine finds Applications and ApplicationSets.
func (h *Hub) deploysToEngine(o *Object) bool {
	return h.runsOn(o) == o.Engine && text(o.Tree, "spec", "destination", "namespace") == text(o.Tree, "metadata", "namespace")
}

// lives reports whether a part may make objects that expansion follows.
func (p part) lives() bool {
	if p.folder == nil {
		return p.brings
	}
	if p.built != nil {
		return slices.ContainsFunc(p.built, func(f *folder) bool { return f.lives })
	}
	if p.folder.lives || p.chart == nil {
		return p.folder.lives
	}
	return slices.ContainsFunc(p.chart.Values, func(v Values) bool { return lives([]byte(v.Text)) })
}

// chart is a source's chart with what Argo CD gives to Helm: value files, then values, then parameters. A chart from
// elsewhere has no folder.
func (h *Hub) chart(o *Object, s source, f *folder) (*Chart, error) {
	c := &Chart{
		Name: s.name(), ReleaseName: text(s.helm, "releaseName"), Namespace: text(s.helm, "namespace"),
		KubeVersion: text(s.helm, "kubeVersion"), APIVersions: list(s.helm["apiVersions"]),
	}
	if f != nil {
		c.Name = f.dir
		files, err := chartFiles(f)
		if err != nil {
			return nil, err
		}
		c.Files = files
	}
	if c.ReleaseName == "" {
		c.ReleaseName = o.Name()
	}
	if c.Namespace == "" {
		c.Namespace = text(o.Tree, "spec", "destination", "namespace")
	}
	if c.KubeVersion == "" {
		c.KubeVersion = h.o.KubeVersion
	}
	if len(c.APIVersions) == 0 {
		c.APIVersions = h.o.APIVersions
	}
	c.SkipCRDs, _ = s.helm["skipCrds"].(bool)
	c.SkipSchema, _ = s.helm["skipSchemaValidation"].(bool)
	optional, _ := s.helm["ignoreMissingValueFiles"].(bool)
	for _, name := range list(s.helm["valueFiles"]) {
		values, file, err := h.valueFile(o, s, f, name)
		switch {
		case err != nil:
			return nil, err
		case file != nil:
			values.Text = string(file.Data)
			c.own = append(c.own, file)
		case values == Values{} && optional:
			continue
		case values == Values{} && f != nil && !strings.HasPrefix(name, "$"):
			return nil, fmt.Errorf("value file %s is not in %s", name, f.dir)
		case values == Values{}:
			return nil, fmt.Errorf("value file %s is not there", name)
		}
		values.Optional = optional
		c.Values = append(c.Values, values)
	}
	if object, ok := s.helm["valuesObject"].(Tree); ok && len(object) > 0 { // Argo CD: it wins over values as a whole
		c.Values = append(c.Values, Values{Text: string(canonical(object))})
	} else if v := text(s.helm, "values"); v != "" {
		c.Values = append(c.Values, Values{Text: v})
	}
	for _, v := range s.values {
		c.Values = append(c.Values, Values{Text: v})
	}
	parameters, _ := s.helm["parameters"].([]any)
	for _, p := range parameters {
		forced, _ := At(p, "forceString").(bool)
		c.Parameters = append(c.Parameters, Parameter{Name: text(p, "name"), Value: text(p, "value"), ForceString: forced})
	}
	return c, nil
}

// given is all that a chart is rendered with.
func (c *Chart) given() any {
	return []any{c.ReleaseName, c.Namespace, c.Values, c.Parameters, c.SkipCRDs, c.SkipSchema, c.KubeVersion, c.APIVersions}
}

func list(v any) []string {
	items, _ := v.([]any)
	out := make([]string, 0, len(items))
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// valueFile is a value file: relative to the chart, or with a slash in front to its repository, or with $REF to another
// source of the Application, or at a URL. It is a file of this repository, which may be nil, or says where it is elsewhere.
func (h *Hub) valueFile(o *Object, s source, f *folder, name string) (Values, *snapshot.File, error) {
	var snap *snapshot.Snapshot
	var p string
	of := s // the source whose repository the file is in
	switch scheme, _, isURL := strings.Cut(name, "://"); {
	case isURL && h.o.Tools.Elsewhere == nil:
		return Values{}, nil, NotFollowed{Text: fmt.Sprintf("value file %s is not in this repository, and not followed: --render reads it", shown(name))}
	case isURL && scheme != "http" && scheme != "https":
		return Values{}, nil, fmt.Errorf("value file %s: Argo CD reads none by %s", shown(name), scheme)
	case isURL:
		return Values{URL: name}, nil, nil
	case strings.HasPrefix(name, "$"):
		ref, rest, _ := strings.Cut(name[1:], "/")
		i := slices.IndexFunc(sources(o), func(s source) bool { return s.ref != "" && s.ref == ref })
		if i < 0 {
			return Values{}, nil, fmt.Errorf("value file %s: no source of the Application has ref %s", name, ref)
		}
		of, p = sources(o)[i], path.Clean(rest)
		var missing string
		if snap, missing = h.revision(of); missing != "" {
			return Values{}, nil, fmt.Errorf("value file %s: %s", name, missing)
		}
		if snap == nil && h.o.Tools.Elsewhere == nil {
			return Values{}, nil, NotFollowed{Text: fmt.Sprintf("value file %s is in another repository, which is not followed: --render reads it", name)}
		}
	case s.chart != "":
		return Values{File: path.Clean(strings.TrimPrefix(name, "/"))}, nil, nil
	case strings.HasPrefix(name, "/"):
		p = strings.TrimPrefix(path.Clean(name), "/")
	default:
		p = path.Join(s.path, name)
	}
	if f != nil && snap == nil && !strings.HasPrefix(name, "$") {
		snap = f.snap
	}
	clean, err := snapshot.CleanPath(p)
	if err != nil {
		return Values{}, nil, fmt.Errorf("value file %s: %w", name, err)
	}
	if snap == nil {
		return Values{At: &Place{RepoURL: of.repoURL, Revision: of.revision, Path: clean}}, nil, nil
	}
	file := snap.File(clean)
	if file != nil && file.Err != nil {
		return Values{}, nil, file.Err
	}
	return Values{}, file, nil
}
