// Package helm renders charts with Helm's library, as `helm template` does and Argo CD calls it.
//
//	chart := source.Chart{Name: "charts/dns", ReleaseName: "dns", Files: files}
//	objects, err := helm.New().Template(chart)
//	objects[0].Template // templates/deployment.yaml
//
// It reads only its input: a chart's dependencies must be in its folder or archive, and schema
// references must stay inside the chart's schema. A text that a chart makes at random (a
// certificate, a password) is replaced by Random, so that it does not count as a difference.
// Templates that may make random texts are rendered twice; differing texts are random.
package helm

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"maps"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

var _ source.Charts = (*Charts)(nil)

// New makes the renderer. It discards Helm's logs (that a value is a map and not a list), as Argo
// CD does.
func New() *Charts {
	log.SetOutput(io.Discard)
	return &Charts{}
}

// Template renders a chart: its definitions first, then its objects by template and in the
// template's order. Hooks and tests are left out where Argo CD would not deploy them.
func (h *Charts) Template(c source.Chart) ([]manifest.Manifest, error) {
	out, err := h.template(c)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.Name, err)
	}
	return out, nil
}

func (h *Charts) template(c source.Chart) ([]manifest.Manifest, error) {
	l, err := h.load(c)
	if err != nil {
		return nil, err
	}
	crds, out, err := render(l, c)
	if err == nil && l.random {
		var again []manifest.Manifest
		if _, again, err = render(l, c); err == nil {
			out = withoutRandom(out, again)
		}
	}
	return slices.Concat(crds, out), err
}

// render returns a chart's definitions, and the objects of its templates.
func render(l *loaded, c source.Chart) (crds, objects []manifest.Manifest, err error) {
	values, err := merged(l.chart, c)
	if err != nil {
		return nil, nil, err
	}
	own := copyOf(l.chart)
	if err := chartutil.ProcessDependenciesWithMerge(own, values); err != nil {
		return nil, nil, err
	}
	capabilities, err := capabilitiesOf(c, own.Metadata.KubeVersion)
	if err != nil {
		return nil, nil, err
	}
	release := chartutil.ReleaseOptions{Name: c.ReleaseName, Namespace: cmp.Or(c.Namespace, "default"), Revision: 1, IsInstall: true}
	vals, err := chartutil.ToRenderValuesWithSchemaValidation(own, values, release, capabilities, true)
	if err != nil {
		return nil, nil, err
	}
	if coalesced, ok := vals["Values"].(chartutil.Values); ok && !c.SkipSchema {
		if err := checkSchemas(own, coalesced); err != nil {
			return nil, nil, err
		}
	}
	files, err := engine.Render(own, vals)
	if err != nil {
		return nil, nil, err
	}
	if !c.SkipCRDs {
		if crds, err = l.crds(own); err != nil {
			return nil, nil, err
		}
	}
	objects, err = manifests(own, files, c.SkipTests)
	return crds, objects, err
}

// KubeVersion is the clusters' version unless the user sets another: Helm's library has an old one.
const KubeVersion = "v1.33.0"

// CheckKubeVersion returns an error for a text that is not a version of Kubernetes.
func CheckKubeVersion(v string) error {
	_, err := chartutil.ParseKubeVersion(v)
	return err
}

// capabilitiesOf returns the cluster's capabilities. A chart may require a version.
func capabilitiesOf(c source.Chart, wants string) (*chartutil.Capabilities, error) {
	out := chartutil.DefaultCapabilities.Copy()
	out.APIVersions = append(out.APIVersions, c.APIVersions...)
	v, err := chartutil.ParseKubeVersion(cmp.Or(c.KubeVersion, KubeVersion))
	if err != nil {
		return nil, fmt.Errorf("kubeVersion %q: %w", c.KubeVersion, err)
	}
	out.KubeVersion = *v
	if wants != "" && !chartutil.IsCompatibleRange(wants, v.String()) {
		return nil, fmt.Errorf("wants Kubernetes %s, and is rendered for %s", wants, v)
	}
	return out, nil
}

// merged returns the values as Helm merges `-f a -f b --set c --set-string d`.
func merged(own *chart.Chart, c source.Chart) (map[string]any, error) {
	out := map[string]any{}
	for _, v := range c.Values {
		text := []byte(v.Text)
		if v.File != "" {
			i := slices.IndexFunc(own.Raw, func(f *chart.File) bool { return f.Name == v.File })
			switch {
			case i >= 0:
				text = own.Raw[i].Data
			case v.Optional:
				continue
			default:
				return nil, fmt.Errorf("value file %s is not in the chart", v.File)
			}
		}
		var values map[string]any
		if err := yaml.Unmarshal(text, &values); err != nil {
			return nil, fmt.Errorf("values: %w", err)
		}
		out = chartutil.MergeTables(values, out) // the later wins
	}
	return out, SetParameters(out, c.Parameters)
}

// SetParameters applies `--set` and then `--set-string` to values, as Argo CD calls Helm.
func SetParameters(values map[string]any, parameters []source.Parameter) error {
	for _, forced := range []bool{false, true} {
		parse := strvals.ParseInto
		if forced {
			parse = strvals.ParseIntoString
		}
		for _, p := range parameters {
			if p.ForceString != forced {
				continue
			}
			if err := parse(p.Name+"="+escaped(p.Value), values); err != nil {
				return fmt.Errorf("parameter %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

// escaped returns a parameter's value as Argo CD passes it to Helm: a comma does not begin another
// value, except in a list. (argo-cd v2.14, util/helm/cmd.go, cleanSetParameters)
func escaped(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	return strings.ReplaceAll(strings.ReplaceAll(value, `\,`, ","), ",", `\,`)
}

// manifests returns the objects of a chart's rendered templates.
func manifests(c *chart.Chart, files map[string]string, skipTests bool) ([]manifest.Manifest, error) {
	var out []manifest.Manifest
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "NOTES.txt" || strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		found, err := decode(strings.TrimPrefix(name, c.Name()+"/"), files[name], skipTests)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// decode reads a stream of objects. Helm trims each of them and writes it with a line break behind
// (helm.sh/helm/v3 v3.18, pkg/action/action.go, renderResources). That line break is the last
// character of a text that ends there.
func decode(name, text string, skipTests bool) ([]manifest.Manifest, error) {
	docs := releaseutil.SplitManifests(text)
	keys := slices.Collect(maps.Keys(docs))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	var out []manifest.Manifest
	for _, k := range keys {
		var tree map[string]any
		if err := yaml.Unmarshal([]byte(docs[k]+"\n"), &tree); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if kind, _ := tree["kind"].(string); kind == "" || !isDeployed(tree, skipTests) {
			continue
		}
		out = append(out, manifest.New(name, tree, len(docs[k])))
	}
	return out, nil
}

// knownHook matches Helm's hooks (ibid., pkg/releaseutil/manifest_sorter.go).
var knownHook = regexp.MustCompile(`^\s*(?i:(pre|post)-(install|upgrade|delete|rollback)|test(-success)?)\s*$`)

// isDeployed reports whether Argo CD deploys an object. It ignores tests, and Helm leaves out what
// has an unknown hook, such as crd-install.
func isDeployed(tree map[string]any, skipTests bool) bool {
	annotations, _ := manifest.At(tree, "metadata", "annotations").(map[string]any)
	hook, isHook := annotations["helm.sh/hook"].(string)
	all := strings.Split(hook, ",")
	isTest := func(s string) bool { return strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "test") }
	return !isHook || !slices.ContainsFunc(all, func(s string) bool { return !knownHook.MatchString(s) || skipTests && isTest(s) }) &&
		slices.ContainsFunc(all, func(s string) bool { return !isTest(s) })
}
