// Package helm renders charts with Helm's library, as `helm template` does and Argo CD calls it.
//
// It reads nothing but what it is given: a chart's dependencies have to be in its folder.
package helm

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/expand"
)

// Charts is Helm. The zero value is ready for use.
type Charts struct {
	mu     sync.Mutex
	loaded map[string]*chart.Chart // by what its files are
}

var _ expand.Charts = (*Charts)(nil)

// Template renders a chart: its definitions first, then its objects by template and in the template's order. Hooks and
// tests are left out where Argo CD would not deploy them.
func (h *Charts) Template(c expand.Chart) ([]expand.Manifest, error) {
	loaded, err := h.load(c)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	values, err := merged(c)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	if err := chartutil.ProcessDependenciesWithMerge(loaded, values); err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, c.APIVersions...)
	release := chartutil.ReleaseOptions{Name: c.ReleaseName, Namespace: c.Namespace, Revision: 1, IsInstall: true}
	vals, err := chartutil.ToRenderValues(loaded, values, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	files, err := engine.Render(loaded, vals)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	return manifests(loaded, files, c.SkipCRDs)
}

// load reads a chart. Rendering changes what it is given where it has dependencies: those charts are read each time.
func (h *Charts) load(c expand.Chart) (*chart.Chart, error) {
	var key strings.Builder
	for _, f := range c.Files {
		key.WriteString(f.Path + "\x00" + f.Digest + "\x00")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.loaded[key.String()]; known != nil {
		return known, nil
	}
	files := make([]*loader.BufferedFile, len(c.Files))
	for i, f := range c.Files {
		files[i] = &loader.BufferedFile{Name: f.Path, Data: f.Data}
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, err
	}
	if missing := missing(loaded); missing != "" {
		return nil, fmt.Errorf("dependency %s is not in the chart's folder", missing)
	}
	if len(loaded.Metadata.Dependencies) == 0 {
		if h.loaded == nil {
			h.loaded = map[string]*chart.Chart{}
		}
		h.loaded[key.String()] = loaded
	}
	return loaded, nil
}

// missing is the first dependency that a chart names and does not bring.
func missing(c *chart.Chart) string {
	for _, d := range c.Metadata.Dependencies {
		found := false
		for _, has := range c.Dependencies() {
			found = found || has.Name() == d.Name
		}
		if !found {
			return d.Name
		}
	}
	return ""
}

// merged are the values as Helm merges `-f a -f b --set c`.
func merged(c expand.Chart) (map[string]any, error) {
	out := map[string]any{}
	for _, text := range c.Values {
		var values map[string]any
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			return nil, fmt.Errorf("values: %w", err)
		}
		out = merge(out, values)
	}
	for _, p := range c.Parameters {
		parse := strvals.ParseInto
		if p.ForceString {
			parse = strvals.ParseIntoString
		}
		if err := parse(p.Name+"="+p.Value, out); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.Name, err)
		}
	}
	return out, nil
}

// merge is that of helm.sh/helm/v3/pkg/cli/values, mergeMaps.
func merge(a, b map[string]any) map[string]any {
	out := make(map[string]any, len(a))
	for k, v := range a {
		out[k] = v
	}
	for k, v := range b {
		if below, ok := v.(map[string]any); ok {
			if has, ok := out[k].(map[string]any); ok {
				out[k] = merge(has, below)
				continue
			}
		}
		out[k] = v
	}
	return out
}

// manifests are the objects of a chart's rendered templates.
func manifests(c *chart.Chart, files map[string]string, skipCRDs bool) ([]expand.Manifest, error) {
	var out []expand.Manifest
	if !skipCRDs {
		for _, crd := range c.CRDObjects() {
			found, err := decode(crd.Filename, string(crd.File.Data))
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	names := make([]string, 0, len(files))
	for name := range files {
		if path.Base(name) != "NOTES.txt" && !strings.HasPrefix(path.Base(name), "_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		found, err := decode(strings.TrimPrefix(name, c.Name()+"/"), files[name])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// decode reads a stream of objects. Helm trims each of them, and writes them with a line break behind (helm.sh/helm/v3
// v3.16, pkg/action/action.go, renderResources), which is the last character of a text that ends there.
func decode(name, text string) ([]expand.Manifest, error) {
	docs := releaseutil.SplitManifests(text)
	keys := make([]string, 0, len(docs))
	for k := range docs {
		keys = append(keys, k)
	}
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var out []expand.Manifest
	for _, k := range keys {
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(docs[k]+"\n"), &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if kind, _ := tree["kind"].(string); kind == "" || isTest(tree) {
			continue
		}
		out = append(out, expand.Manifest{Template: name, Tree: tree})
	}
	return out, nil
}

// isTest reports whether an object is a test of Helm's alone, which Argo CD does not deploy.
func isTest(tree map[string]any) bool {
	metadata, _ := tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	hook, _ := annotations["helm.sh/hook"].(string)
	return strings.HasPrefix(hook, "test")
}
