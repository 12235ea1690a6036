package kustomize

import (
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// placeholder is the kind of an object that keeps a kustomization from being empty: the library
// refuses to build an empty one.
const placeholder = "ArgosyPlaceholder"

// Charts returns the Helm charts of a kustomization and of what it is built from, by folders.
func (Kustomizations) Charts(k source.Kustomization) (out []source.InflatedChart, err error) {
	if k.Flux != nil {
		return nil, nil // kustomize-controller builds none
	}
	t, _, err := treeOf(k)
	if err != nil {
		return nil, err
	}
	folders, err := t.folders(k.Dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range folders {
		file, of, err := t.kustomization(dir)
		if err != nil {
			return nil, err
		}
		for i, c := range of.HelmCharts {
			x := source.InflatedChart{
				File: file, Index: i, Home: path.Join(dir, "charts"), Reference: source.Reference{RepoURL: c.Repo, Name: c.Name, Version: c.Version},
				Chart: source.Chart{Name: c.Name, ReleaseName: c.ReleaseName, Namespace: c.Namespace, SkipCRDs: !c.IncludeCRDs, KubeVersion: c.KubeVersion, APIVersions: c.ApiVersions},
			}
			if of.HelmGlobals != nil && of.HelmGlobals.ChartHome != "" {
				x.Home = path.Join(dir, of.HelmGlobals.ChartHome)
			}
			for _, name := range valueFiles(c) {
				x.ValueFiles = append(x.ValueFiles, path.Join(dir, name))
			}
			if len(c.ValuesInline) > 0 {
				text, err := yaml.Marshal(c.ValuesInline)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				x.Inline = string(text)
			}
			x.InlineFirst = c.ValuesMerge == "merge"
			if c.ValuesMerge == "replace" && x.Inline != "" {
				x.ValueFiles = nil
			}
			out = append(out, x)
		}
	}
	return out, nil
}

func valueFiles(c types.HelmChart) (out []string) {
	return slices.DeleteFunc(append([]string{c.ValuesFile}, c.AdditionalValuesFiles...), func(name string) bool { return name == "" })
}

// kustomization returns a folder's kustomization and its file; both empty for a folder without one.
func (t tree) kustomization(dir string) (file string, k types.Kustomization, err error) {
	if file = t.fileOf(dir); file == "" {
		return "", k, nil
	}
	data, _, err := t.data(file)
	if err == nil {
		err = k.Unmarshal(data)
	}
	if err != nil {
		return file, k, fmt.Errorf("%s: %w", file, err)
	}
	k.FixKustomization()
	return file, k, nil
}

// writeCharts replaces charts by what they make, as resources.
func (t tree) writeCharts(folders []string, inflated map[string][]string) error {
	for _, dir := range folders {
		file, k, err := t.kustomization(dir)
		if err != nil || len(k.HelmCharts) == 0 && k.HelmGlobals == nil || !t.charts {
			if err != nil {
				return err
			}
			continue
		}
		k.HelmCharts, k.HelmGlobals = nil, nil
		for i, text := range append([]string{"apiVersion: argosy.dev/v1\nkind: " + placeholder + "\nmetadata: {name: placeholder}\n"}, inflated[file]...) {
			name := fmt.Sprintf("argosy-chart-%d.yaml", i)
			t.written[path.Join(dir, name)] = []byte(text)
			k.Resources = append(k.Resources, name)
		}
		if t.written[file], err = yaml.Marshal(k); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
