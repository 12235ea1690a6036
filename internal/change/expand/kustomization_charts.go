package expand

import (
	"cmp"
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
	isPartial := false
	for _, x := range charts {
		c, err := h.kustomizationChart(k.Snapshot, x)
		switch {
		case err != nil:
			return nil, err
		case c.Files == nil && !h.Renders():
			isPartial = true // part has reported it
			continue
		case c.Files == nil:
			archive, err := source.Fetched(h.o.Tools.Remote, "chart", x.Reference)
			if err != nil {
				return nil, err
			}
			c.Archive = &archive
		}
		made, err := h.template(*c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.File, err)
		}
		for _, m := range made {
			if hook := manifest.Text(m.Tree, "metadata", "annotations", "helm.sh/hook"); x.SkipHooks && hook != "" {
				continue
			}
			text, err := yamldoc.FromAny(nil, m.Tree).YAML()
			if err != nil {
				return nil, fmt.Errorf("%s: chart %s: %w", x.File, x.Chart.Name, err)
			}
			k.Inflated[x.File] = append(k.Inflated[x.File], string(text))
		}
	}
	made, err := h.o.Tools.Kustomizations.Build(k)
	if err != nil && isPartial { // it may change what a chart makes
		err = source.NotFollowed{Text: "without what its charts make, a kustomization is not followed: " + oneLine(err), Hint: "--render renders them"}
	}
	return made, err
}

// kustomizationChart returns a kustomization's chart with its values. A chart that is not in the
// repository has no files.
func (h *Hub) kustomizationChart(snap *snapshot.Snapshot, x source.InflatedChart) (*source.Chart, error) {
	c := x.Chart
	c.KubeVersion = cmp.Or(c.KubeVersion, h.o.KubeVersion)
	if len(c.APIVersions) == 0 {
		c.APIVersions = h.o.APIVersions
	}
	if f := h.folders.Folder(snap, path.Join(x.Home, c.Name)); f.Exists {
		files, err := source.ChartFiles(f)
		if err != nil {
			return nil, err
		}
		c.Files = files
	}
	for _, v := range x.Values {
		if v.File == "" {
			c.Values = append(c.Values, source.Values{Text: v.Text})
			continue
		}
		f := snap.File(v.File)
		if f == nil || f.Err != nil {
			return nil, fmt.Errorf("%s: value file %s of chart %s is not there", x.File, v.File, c.Name)
		}
		c.Own, c.Values = append(c.Own, f), append(c.Values, source.Values{Text: string(f.Data), Path: f.Path})
	}
	return &c, nil
}

// lacksCharts reports whether one of a kustomization's charts is not rendered.
func (h *Hub) lacksCharts(snap *snapshot.Snapshot, charts []source.InflatedChart) bool {
	return !h.Renders() && slices.ContainsFunc(charts, func(x source.InflatedChart) bool {
		return !h.folders.Folder(snap, path.Join(x.Home, x.Chart.Name)).Exists
	})
}
