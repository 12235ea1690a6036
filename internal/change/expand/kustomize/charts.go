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
				Chart:     source.Chart{Name: c.Name, ReleaseName: c.ReleaseName, Namespace: c.Namespace, SkipCRDs: !c.IncludeCRDs, SkipTests: c.SkipTests, KubeVersion: c.KubeVersion, APIVersions: c.ApiVersions},
				SkipHooks: c.SkipHooks,
			}
			if of.HelmGlobals != nil && of.HelmGlobals.ChartHome != "" {
				x.Home = path.Join(dir, of.HelmGlobals.ChartHome)
			}
			if c.ReleaseName == "" || c.NameTemplate != "" {
				return nil, source.NotFollowed{Text: fmt.Sprintf("chart %s in %s is not followed: Helm makes up the name of its release", c.Name, file), Hint: "releaseName sets it"}
			}
			if x.Values, err = valuesOf(c, dir); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, x)
		}
	}
	return out, nil
}

// valuesOf returns a chart's values in the order in which Helm gets them (kustomize api v0.21.1,
// HelmChartInflationGenerator.go): valuesFile and valuesInline as valuesMerge says, then the
// additional files.
func valuesOf(c types.HelmChart, dir string) (out []source.InflatedValues, err error) {
	files := valueFiles(c)
	for _, name := range files {
		out = append(out, source.InflatedValues{File: path.Join(dir, name)})
	}
	if len(c.ValuesInline) == 0 {
		return out, nil
	}
	text, err := yaml.Marshal(c.ValuesInline)
	inline, at, replaced := source.InflatedValues{Text: string(text)}, 0, 0
	switch {
	case c.ValuesFile == "" || c.ValuesMerge == "merge": // the file wins
	case c.ValuesMerge == "replace":
		replaced = 1
	default:
		at = 1
	}
	return slices.Replace(out, at, at+replaced, inline), err
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
	k.FixKustomization() // makes bases resources, and one env a list
	return file, k, nil
}

// writeCharts replaces charts by what they make, as resources.
func (t tree) writeCharts(folders []string, inflated map[string][]string) error {
	for _, dir := range folders {
		file, k, err := t.kustomization(dir)
		switch {
		case err != nil:
			return err
		case len(k.HelmCharts) == 0 && k.HelmGlobals == nil:
			continue
		}
		k.HelmCharts, k.HelmGlobals = nil, nil
		texts := inflated[file]
		if len(texts)+len(k.Resources)+len(k.Components)+len(k.ConfigMapGenerator)+len(k.SecretGenerator) == 0 {
			texts = []string{"apiVersion: argosy.dev/v1\nkind: " + placeholder + "\nmetadata: {name: placeholder}\n"}
		}
		for i, text := range texts {
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
