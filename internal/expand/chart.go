package expand

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// part is a part of what is below an Application: a folder of this repository or a chart from elsewhere, and how it is
// rendered. Parts of equal keys make equal objects.
type part struct {
	folder    *folder // of this repository
	elsewhere *Reference
	chart     *Chart
	source    source
	key       string
	// err is why a part from elsewhere cannot be rendered, and refused why it is not followed.
	err     error
	refused string
	// brings tells, of a chart from elsewhere, that it may make objects that expansion follows.
	brings bool
}

// parts are those of an Application that lie in this repository, and with Elsewhere all others.
func (h *Hub) parts(o *Object) []part {
	var out []part
	for _, s := range sources(o) {
		snap, missing := h.local(s)
		if missing != "" {
			h.faultOf(o, problem.Warning, fmt.Sprintf("%s at revision %s of this repository is not followed: %s", s.path, s.revision, missing),
				"fetch that revision, or say which to take for it")
		}
		if snap == nil {
			if h.o.Tools.Elsewhere != nil && missing == "" && s.chart+s.path != "" {
				out = append(out, h.partElsewhere(o, s))
			}
			continue
		}
		dir, err := snapshot.CleanPath(s.path)
		if err != nil {
			h.faultOf(o, problem.Error, err.Error())
			continue
		}
		f := h.folder(snap, dir)
		switch {
		case len(f.files) == 0:
			h.faultOf(o, problem.Error, missingFolder(s, snap))
		case f.helm:
			c, err := h.chart(o, s, f)
			if err != nil {
				h.faultOf(o, problem.Error, oneLine(err))
				continue
			}
			out = append(out, part{folder: f, chart: c, source: s, key: digestOf(f.dir, f.digest, c.given())})
		case f.kustomize:
			h.faultOf(o, problem.Warning, fmt.Sprintf("%s is kustomize's, which is not followed", dir))
		default:
			out = append(out, part{folder: f, source: s, key: digestOf(f.dir, f.digest, s.recurse)})
		}
	}
	return out
}

// partElsewhere is a part that is not in this repository. What is wrong with it is said when it is rendered.
func (h *Hub) partElsewhere(o *Object, s source) part {
	p := part{source: s, brings: h.deploysToEngine(o)}
	if s.chart == "" {
		p.refused = fmt.Sprintf("path %q of another repository, %s, is not followed", s.path, shown(s.repoURL))
		p.key = digestOf(s.repoURL, s.path, s.revision, s.helm)
		return p
	}
	p.elsewhere = &Reference{RepoURL: s.repoURL, Name: s.chart, Version: s.revision}
	if p.chart, p.err = h.chart(o, s, nil); p.err != nil {
		p.key = digestOf(p.elsewhere, s.helm, p.err.Error())
		return p
	}
	p.key = digestOf(p.elsewhere, p.chart.given())
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
	if p.folder.lives || p.chart == nil {
		return p.folder.lives
	}
	return slices.ContainsFunc(p.chart.Values, func(v Values) bool { return lives([]byte(v.Text)) })
}

// chart is a source's chart with what Argo CD gives to Helm: value files, then values, then parameters. A chart from
// elsewhere has no folder.
func (h *Hub) chart(o *Object, s source, f *folder) (*Chart, error) {
	c := &Chart{
		Name: fmt.Sprintf("%s %s of %s", s.chart, s.revision, shown(s.repoURL)), ReleaseName: text(s.helm, "releaseName"), Namespace: text(s.helm, "namespace"),
		KubeVersion: text(s.helm, "kubeVersion"), APIVersions: list(s.helm["apiVersions"]),
	}
	if f != nil {
		c.Name = f.dir
		for _, file := range f.files {
			if file.Err != nil {
				return nil, file.Err
			}
			relative := *file
			relative.Path = below(f.dir, file.Path)
			c.Files = append(c.Files, &relative)
		}
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
		if f == nil && !strings.HasPrefix(name, "$") && !strings.Contains(name, "://") {
			c.Values = append(c.Values, Values{File: path.Clean(strings.TrimPrefix(name, "/")), Optional: optional})
			continue
		}
		file, err := h.valueFile(o, f, name)
		switch {
		case err != nil:
			return nil, err
		case file == nil && optional:
		case file == nil && f != nil && !strings.HasPrefix(name, "$"):
			return nil, fmt.Errorf("value file %s is not in %s", name, f.dir)
		case file == nil:
			return nil, fmt.Errorf("value file %s is not there", name)
		default:
			c.Values = append(c.Values, Values{Text: string(file.Data)})
			c.own = append(c.own, file)
		}
	}
	if object, ok := s.helm["valuesObject"].(Tree); ok && len(object) > 0 { // Argo CD: it wins over values as a whole
		c.Values = append(c.Values, Values{Text: string(canonical(object))})
	} else if v := text(s.helm, "values"); v != "" {
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

// valueFile is a value file: relative to the chart, or with a slash in front to the repository, or with $REF to another
// source of the Application, which is this repository.
func (h *Hub) valueFile(o *Object, f *folder, name string) (*snapshot.File, error) {
	var snap *snapshot.Snapshot
	var p string
	ref, rest, _ := strings.Cut(name, "/")
	switch {
	case strings.Contains(name, "://"):
		return nil, fmt.Errorf("value file %s is not in this repository, and not followed", name)
	case strings.HasPrefix(name, "$"):
		i := slices.IndexFunc(sources(o), func(s source) bool { return s.ref != "" && s.ref == ref[1:] })
		if i < 0 {
			return nil, fmt.Errorf("value file %s: no source of the Application has ref %s", name, ref[1:])
		}
		var missing string
		if snap, missing = h.revision(sources(o)[i]); missing != "" {
			return nil, fmt.Errorf("value file %s: %s", name, missing)
		}
		if snap == nil {
			return nil, fmt.Errorf("value file %s is in another repository, which is not followed", name)
		}
		p = path.Clean(rest)
	case strings.HasPrefix(name, "/"):
		snap, p = f.snap, strings.TrimPrefix(path.Clean(name), "/")
	default:
		snap, p = f.snap, path.Join(f.dir, name)
	}
	if _, err := snapshot.CleanPath(p); err != nil {
		return nil, err
	}
	file := snap.File(p)
	if file != nil && file.Err != nil {
		return nil, file.Err
	}
	return file, nil
}

// manifests are what a part's chart makes. A failure is of the part alone.
func (h *Hub) manifests(p part) ([]Manifest, error) {
	return h.o.Memo.chart(p.key, func() ([]Manifest, error) {
		c := *p.chart
		if p.elsewhere != nil {
			archive, err := h.o.Tools.Elsewhere.Chart(*p.elsewhere)
			if err != nil {
				return nil, err
			}
			c.Archive = &archive
		}
		return h.o.Tools.Charts.Template(c)
	})
}

// unrendered names why a part has no objects.
func (h *Hub) unrendered(o *Object, p part, err error) {
	var away *Unavailable
	if !errors.As(err, &away) {
		h.faultOf(o, problem.Error, oneLine(err))
		return
	}
	found := problem.Problem{
		Reason: problem.ChartUnavailable, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("chart %q", p.chart.Name), Found: away.Detail,
	}
	if away.Hint != "" {
		found.Hints = []string{away.Hint}
	}
	h.fault(found)
}
