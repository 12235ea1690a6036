package expand

import (
	"errors"
	"fmt"
	"path"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Remote sources are read when they are rendered, and not before.

// manifests renders a part that is a chart, a kustomization or remote. A failure affects only that
// part.
func (h *Hub) manifests(p part) ([]manifest.Manifest, error) {
	return h.o.Cache.Chart(p.key, func() ([]manifest.Manifest, error) {
		if p.built != nil {
			return h.build(h.kustomization(p.source, p.folder))
		}
		c := *p.chart
		switch {
		case p.reference != nil:
			archive, err := h.o.Tools.Remote.Chart(*p.reference)
			if err != nil {
				return nil, err
			}
			c.Archive = &archive
		case p.place != nil:
			f, err := h.folders.Remote(h.o.Tools.Remote, *p.place)
			if err != nil {
				return nil, err
			}
			for _, name := range p.overrides {
				if file := f.Snapshot.File(path.Join(f.Dir, name)); file != nil {
					return nil, source.NotFollowed{Text: fmt.Sprintf("%s changes the source, which is not followed in another repository: %s", file.Path, *p.place)}
				}
			}
			kind, err := p.source.Kind(f)
			switch {
			case err != nil:
				return nil, source.Within(*p.place, err)
			case kind == source.KindKustomize:
				out, err := h.remoteKustomization(*p.place, p.source)
				return out, source.Within(*p.place, err)
			case kind == source.KindDirectory:
				out, err := source.RemoteManifests(f, p.source.Directory)
				return out, source.Within(*p.place, err)
			}
			if c.Files, err = source.ChartFiles(f); err != nil {
				return nil, source.Within(*p.place, err)
			}
		}
		return h.template(c)
	})
}

// template renders a chart, with what it names elsewhere.
func (h *Hub) template(c source.Chart) (_ []manifest.Manifest, err error) {
	if c.Files, err = source.WithDependencies(h.o.Tools.Remote, c.Files); err != nil {
		return nil, err
	}
	if c.Values, err = source.ReadValues(h.o.Tools.Remote, c.Values); err != nil {
		return nil, err
	}
	return h.o.Tools.Charts.Template(c)
}

// reportUnmade reports why a source makes no objects: a warning where Argo CD would not fail.
func (h *Hub) reportUnmade(o *object.Object, s source.Source, err error) {
	severity, hints := problem.Error, []string(nil)
	var beyond source.NotFollowed
	if errors.As(err, &beyond) {
		severity, hints = problem.Warning, beyond.Hints()
	}
	h.reportAt(o, h.chartPos(o, s), severity, oneLine(err), hints...)
}

// reportUnrendered reports why a part has no objects.
func (h *Hub) reportUnrendered(o *object.Object, p part, err error) {
	var away *source.Unavailable
	if !errors.As(err, &away) {
		h.reportUnmade(o, p.source, err)
		return
	}
	found := problem.Problem{Reason: problem.ChartUnavailable, Severity: problem.Error, Pos: h.chartPos(o, p.source), Found: away.Detail}
	if p.chart != nil {
		found.Subject = fmt.Sprintf("chart %q", p.chart.Name)
	}
	if away.Hint != "" {
		found.Hints = []string{away.Hint}
	}
	h.report(found)
}
