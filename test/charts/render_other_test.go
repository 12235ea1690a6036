package charts_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Folders of the charts under test.
const (
	fleetSecret        = repo + "/charts/fleet-secret"
	generatorPlugin    = repo + "/charts/generator-plugin"
	storageClasses     = repo + "/charts/storage-classes"
	fleetPolicies      = repo + "/charts/fleet-policies"
	agentFlux          = repo + "/charts/agent-flux"
	karpenterNodePools = repo + "/charts/karpenter-node-pools"
	argocdIngress      = repo + "/charts/argocd-ingress"
	hubChart           = repo + "/charts/hub"
)

// rendering is how a chart is rendered: for which release, and what the cluster has.
type rendering struct {
	Name        string           // of the release; default "test"
	Namespace   string           // default "argocd"
	APIVersions []string         // beyond Kubernetes' own
	Live        []runtime.Object // what `lookup` finds; nil renders without a cluster
	KubeVersion string           // default Helm's own, which is old
	Terse       bool             // without Helm's words on values that do not fit the schema
}

// liveObjects answers `lookup` from memory.
type liveObjects struct{ client dynamic.Interface }

func (l liveObjects) GetClientFor(apiVersion, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, false, err
	}
	resource := gv.WithResource(strings.ToLower(kind) + "s")
	return l.client.Resource(resource), kind != "Namespace", nil
}

// loadedCharts are the charts that have been loaded, by their folders.
var loadedCharts sync.Map

// load loads a chart, from its folder once. One with dependencies is parsed again, as rendering
// changes it: Helm takes dependencies that are switched off away.
func load(chartDir string) (*chart.Chart, error) {
	known, is := loadedCharts.Load(chartDir)
	if !is {
		loaded, err := loader.LoadDir(chartDir)
		if err == nil && strings.HasPrefix(chartDir, repo) {
			loadedCharts.Store(chartDir, loaded)
		}
		if err != nil || len(loaded.Metadata.Dependencies) == 0 || !strings.HasPrefix(chartDir, repo) {
			return loaded, err
		}
		known = loaded
	}
	loaded := known.(*chart.Chart) //nolint:forcetypeassert // only charts are stored
	if len(loaded.Metadata.Dependencies) == 0 {
		return loaded, nil
	}
	files := make([]*loader.BufferedFile, len(loaded.Raw))
	for i, file := range loaded.Raw {
		files[i] = &loader.BufferedFile{Name: file.Name, Data: file.Data}
	}
	return loader.LoadFiles(files)
}

// compiledSchemas are compiled once. Helm compiles a schema for each rendering.
var compiledSchemas sync.Map

// fitsSchema reports whether values fit the schemas of a chart and of its dependencies.
func fitsSchema(c *chart.Chart, values map[string]any) bool {
	for _, dependency := range c.Dependencies() {
		below, is := values[dependency.Name()].(map[string]any)
		if !is || !fitsSchema(dependency, below) {
			return false
		}
	}
	if c.Schema == nil {
		return true
	}
	compiled, is := compiledSchemas.Load(string(c.Schema))
	if !is {
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
		compiler := jsonschema.NewCompiler()
		if err = errors.Join(err, compiler.AddResource("file:///values.schema.json", schema)); err == nil {
			compiled, err = compiler.Compile("file:///values.schema.json")
		}
		if err != nil {
			return false // Helm says more
		}
		compiledSchemas.Store(string(c.Schema), compiled)
	}
	return compiled.(*jsonschema.Schema).Validate(values) == nil //nolint:forcetypeassert // as stored above
}

// render renders a chart with value files and returns the documents and the notes.
func (r rendering) render(chartDir string, valueFiles ...string) (docs []string, notes string, err error) {
	merged, err := (&values.Options{ValueFiles: valueFiles}).MergeValues(nil)
	if err != nil {
		return nil, "", err
	}
	return r.with(chartDir, merged)
}

// with renders a chart through Helm's library, schema validation included.
func (r rendering) with(chartDir string, merged map[string]any) (docs []string, notes string, err error) {
	chart, err := load(chartDir)
	if err != nil {
		return nil, "", err
	}
	if err := chartutil.ProcessDependenciesWithMerge(chart, merged); err != nil { // aliases and conditions
		return nil, "", err
	}
	if r.Name == "" {
		r.Name = "test"
	}
	if r.Namespace == "" {
		r.Namespace = "argocd"
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, r.APIVersions...)
	if r.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, "", err
		}
		capabilities.KubeVersion = *version
	}
	release := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	vals, err := chartutil.ToRenderValuesWithSchemaValidation(chart, merged, release, capabilities, true)
	if err == nil && !fitsSchema(chart, vals["Values"].(chartutil.Values)) { //nolint:forcetypeassert // as Helm sets it
		if r.Terse {
			return nil, "", errors.New("the values do not fit the schema")
		}
		vals, err = chartutil.ToRenderValues(chart, merged, release, capabilities) // validates, and has the message
	}
	if err != nil {
		return nil, "", err
	}
	var files map[string]string
	if r.Live == nil {
		files, err = engine.Render(chart, vals)
	} else {
		client := dynamicfake.NewSimpleDynamicClient(clientscheme.Scheme, r.Live...)
		files, err = engine.RenderWithClientProvider(chart, vals, liveObjects{client})
	}
	if err != nil {
		return nil, "", err
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, "NOTES.txt"):
			notes = files[name]
		case strings.HasSuffix(name, ".yaml"):
			docs = append(docs, documents(files[name])...)
		}
	}
	return docs, notes, nil
}

// objects renders a chart from value texts and decodes every document strictly.
func (r rendering) objects(t *testing.T, chartDir string, valueTexts ...string) []runtime.Object {
	t.Helper()
	docs, _, err := r.render(chartDir, valuesFiles(t, valueTexts)...)
	require.NoError(t, err)
	return decodeObjects(t, docs)
}

// fails renders a chart from value texts and wants an error that contains the message.
func (r rendering) fails(t *testing.T, message, chartDir string, valueTexts ...string) {
	t.Helper()
	_, _, err := r.render(chartDir, valuesFiles(t, valueTexts)...)
	switch {
	case err == nil:
		t.Fatalf("rendered, want an error with %q", message)
	case !strings.Contains(err.Error(), message):
		t.Fatalf("error %q, want one with %q", err, message)
	}
}

func valuesFiles(t *testing.T, texts []string) []string {
	t.Helper()
	var paths []string
	for _, text := range texts {
		paths = append(paths, valuesFile(t, text))
	}
	return paths
}

// one returns the only object of a type that has the name; an empty name takes any.
func one[T runtime.Object](t *testing.T, objects []runtime.Object, name string) T {
	t.Helper()
	var found []T
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			if named, ok := object.(interface{ GetName() string }); name == "" || ok && named.GetName() == name {
				found = append(found, typed)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("found %d objects of type %T named %q, want 1", len(found), *new(T), name)
	}
	return found[0]
}

// all returns the objects of a type.
func all[T runtime.Object](objects []runtime.Object) []T {
	var found []T
	for _, object := range objects {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	return found
}

// chartGoldens renders each testdata/<chart>/*.txtar and compares with its golden: files named
// values*.yaml in order in; want.yaml, want.diff or want-error out. Lines of the comment say how:
// `release: NAME`, `namespace: NAME`, `api: GROUP/VERSION`; `catalog: NAME` has a catalog of the
// chart first; `beside: NAME` has a want.diff, in what it differs from the golden of that name.
func chartGoldens(t *testing.T, chartDir string) {
	t.Helper()
	folder := "testdata/" + filepath.Base(chartDir) + "/"
	for _, path := range glob(t, folder+"*.txtar") {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			require.NoError(t, err)
			var how rendering
			var inputs []txtar.File
			var valueFiles []string
			var beside string
			for _, line := range strings.Split(string(archive.Comment), "\n") {
				key, value, _ := strings.Cut(line, ": ")
				switch key {
				case "release":
					how.Name = value
				case "namespace":
					how.Namespace = value
				case "api":
					how.APIVersions = append(how.APIVersions, value)
				case "catalog":
					valueFiles = append(valueFiles, catalog(value))
				case "beside":
					beside = folder + value + ".txtar"
				}
			}
			wantName, want := "want.yaml", ""
			for _, file := range archive.Files {
				if strings.HasPrefix(file.Name, "values") {
					inputs = append(inputs, file)
					valueFiles = append(valueFiles, valuesFile(t, string(file.Data)))
				} else {
					wantName, want = file.Name, string(file.Data)
				}
			}
			docs, _, err := how.render(chartDir, valueFiles...)
			gotName := "want.yaml"
			var got string
			if err != nil {
				gotName, got = "want-error", strings.TrimSpace(err.Error())+"\n"
			} else {
				if chartDir == applicationSets {
					decode(t, "---\n"+strings.Join(docs, "---\n"))
				} else {
					decodeObjects(t, docs)
				}
				got = canonical(t, "---\n"+strings.Join(docs, "---\n"))
				if beside != "" {
					gotName, got = "want.diff", changes(t, beside, got)
				}
			}
			if bad := strings.HasPrefix(name, "bad-"); bad != (err != nil) {
				t.Fatalf("error %v; only goldens named bad-* fail", err)
			}
			if *update {
				archive.Files = slices.Concat(inputs, []txtar.File{{Name: gotName, Data: []byte(got)}})
				require.NoError(t, os.WriteFile(path, txtar.Format(archive), 0o644))
				return
			}
			if gotName != wantName || got != want {
				t.Errorf("%s differs; -update rewrites it\ngot %s:\n%s\nwant %s:\n%s", path, gotName, got, wantName, want)
			}
		})
	}
}

// changes are the lines in which a rendering differs from the one of a golden, each group after
// the line before it.
func changes(t *testing.T, golden, got string) string {
	t.Helper()
	archive, err := txtar.ParseFile(golden)
	require.NoError(t, err)
	base := archive.Files[len(archive.Files)-1]
	require.Equal(t, "want.yaml", base.Name, "%s has no want.yaml", golden)
	lines := strings.Split(string(diff.Diff("a", base.Data, "b", []byte(got))), "\n")
	isChange := func(line string) bool { return strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") }
	var out strings.Builder
	for i, line := range lines {
		switch {
		case i < 3: // the names
		case strings.HasPrefix(line, "@@"):
			out.WriteString("@@\n")
		case isChange(line), i+1 < len(lines) && isChange(lines[i+1]):
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
