package expand

import (
	"fmt"
	"path"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Helm charts of kustomizations are rendered as for Argo CD with kustomize.buildOptions
// --enable-helm: charts in the repository always, remote ones where remote charts are.

// build builds a kustomization, with what its charts make.
func (h *Hub) build(k source.Kustomization) ([]manifest.Manifest, error) {
	charts, err := h.o.Tools.Kustomizations.Charts(k)
	if err != nil {
		return nil, err
	}
	k.Inflated = map[string][]string{}
	for _, x := range charts {
		c, err := h.kustomized(k.Snapshot, x)
		switch {
		case err != nil:
			return nil, err
		case c.Files == nil && !h.Renders():
			continue // part has reported it
		case c.Files == nil:
			archive, err := source.Fetched(h.o.Tools.Remote, "chart", x.Reference)
			if err != nil {
				return nil, err
			}
			c.Archive = &archive
		}
		made, err := h.o.Tools.Charts.Template(*c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.File, err)
		}
		for _, m := range made {
			text, err := yamldoc.FromAny(nil, m.Tree).YAML()
			if err != nil {
				return nil, fmt.Errorf("%s: chart %s: %w", x.File, x.Chart.Name, err)
			}
			k.Inflated[x.File] = append(k.Inflated[x.File], string(text))
		}
	}
	return h.o.Tools.Kustomizations.Build(k)
}

// kustomized returns a kustomization's chart with its values. One that is not in the repository has
// no files.
func (h *Hub) kustomized(snap *snapshot.Snapshot, x source.InflatedChart) (*source.Chart, error) {
	c := x.Chart
	if f := h.folders.Folder(snap, path.Join(x.Home, c.Name)); f.Exists {
		files, err := source.ChartFiles(f)
		if err != nil {
			return nil, err
		}
		c.Files = files
	}
	for _, name := range x.ValueFiles {
		f := snap.File(name)
		if f == nil || f.Err != nil {
			return nil, fmt.Errorf("%s: value file %s of chart %s is not there", x.File, name, c.Name)
		}
		c.Own, c.Values = append(c.Own, f), append(c.Values, source.Values{Text: string(f.Data)})
	}
	if x.Inline != "" {
		at := len(c.Values)
		if x.InlineFirst {
			at = 0
		}
		c.Values = slices.Insert(c.Values, at, source.Values{Text: x.Inline})
	}
	return &c, nil
}

// isAway reports whether one of a kustomization's charts is not rendered.
func (h *Hub) isAway(snap *snapshot.Snapshot, charts []source.InflatedChart) bool {
	return !h.Renders() && slices.ContainsFunc(charts, func(x source.InflatedChart) bool {
		return !h.folders.Folder(snap, path.Join(x.Home, x.Chart.Name)).Exists
	})
}
