package helm4_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	loader3 "helm.sh/helm/v3/pkg/chart/loader"
	util3 "helm.sh/helm/v3/pkg/chartutil"
	values3 "helm.sh/helm/v3/pkg/cli/values"
	engine3 "helm.sh/helm/v3/pkg/engine"
	getter3 "helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/cli/values"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/getter"
	"sigs.k8s.io/yaml"
)

// The product's merge of layers is what Helm 4 makes of the same files (rule H2).
// internal/hierarchy writes the cases for make helm4, and compares such cases with Helm 3.
func TestMergeIsThatOfHelm4(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile(os.Getenv("HELM_CASES"))
	if err != nil {
		t.Fatalf("%v: run make helm4, which writes the cases", err)
	}
	files, merged := map[string][]string{}, map[string]string{}
	for _, f := range archive.Files {
		name, file := filepath.Split(f.Name)
		if file == "merged.yaml" {
			merged[name] = string(f.Data)
		} else {
			files[name] = append(files[name], string(f.Data))
		}
	}
	if len(merged) < 1000 {
		t.Fatalf("%d cases", len(merged))
	}
	for name, want := range merged {
		if diff := cmp.Diff(read(t, want), merge4(t, files[name])); diff != "" {
			t.Errorf("%sfiles %q\n(-ours +Helm 4):\n%s", name, files[name], diff)
		}
	}
}

// What Helm 4 does otherwise than Helm 3, each as docs/reference/compatibility.md says.
func TestDifferencesOfHelm4(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		defaults     string
		files        []string
		helm3, helm4 string
	}{
		"the last of duplicate keys wins":      {files: []string{"a: 1\na: 2\n"}, helm3: "a: 2", helm4: "a: 2"},
		"documents of a value file are merged": {files: []string{"a: 1\n---\nb: 2\n"}, helm3: "a: 1", helm4: "a: 1\nb: 2"},
		"null of a chart's own values is gone": {defaults: "a: null\nb: {c: null, d: 1}\n", helm3: "a: null\nb: {c: null, d: 1}", helm4: "b: {d: 1}"},
		"null drops a default":                 {defaults: "a: {b: 1, c: 2}\n", files: []string{"a: {b: null}\n"}, helm3: "a: {c: 2}", helm4: "a: {c: 2}"},
		"null drops a map":                     {defaults: "a: {b: 1}\n", files: []string{"a: null\n"}, helm3: "{}", helm4: "{}"},
		"null of no default stays":             {files: []string{"a: null\n"}, helm3: "a: null", helm4: "a: null"},
		"null over a file's own map":           {files: []string{"a: {b: 1}\n", "a: {b: null}\n"}, helm3: "a: {b: null}", helm4: "a: {b: null}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chartFiles := map[string]string{
				"Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "values.yaml": tt.defaults, "templates/all.yaml": "{{ .Values | toYaml }}",
			}
			dir := t.TempDir()
			for name, text := range chartFiles {
				write(t, filepath.Join(dir, name), text)
			}
			got3, got4 := render3(t, dir, tt.files)["c/templates/all.yaml"], render4(t, dir, tt.files)["c/templates/all.yaml"]
			if diff := cmp.Diff(read(t, tt.helm3), read(t, got3)); diff != "" {
				t.Errorf("(-expected +Helm 3):\n%s", diff)
			}
			if diff := cmp.Diff(read(t, tt.helm4), read(t, got4)); diff != "" {
				t.Errorf("(-expected +Helm 4):\n%s", diff)
			}
		})
	}
}

// Charts of this repository render the same by both, with each file of ci/.
func TestChartsRenderTheSame(t *testing.T) {
	charts, err := filepath.Glob("../../charts/*/Chart.yaml")
	if err != nil || len(charts) == 0 {
		t.Fatal("no charts", err)
	}
	rendered := 0
	for _, c := range charts {
		dir := filepath.Dir(c)
		ci, _ := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
		for _, file := range append(ci, "") {
			t.Run(filepath.Base(dir)+"/"+filepath.Base(file), func(t *testing.T) {
				var files []string
				if file != "" {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					files = []string{string(text)}
				}
				want, err := try3(t, dir, files)
				got, err4 := try4(t, dir, files)
				if (err == nil) != (err4 == nil) {
					t.Fatalf("Helm 3: %v; Helm 4: %v", err, err4)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-Helm 3 +Helm 4):\n%s", diff)
				}
				rendered += len(got)
			})
		}
	}
	if rendered == 0 {
		t.Error("no chart renders")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}

// written are value files with these texts.
func written(t *testing.T, files []string) []string {
	t.Helper()
	dir := t.TempDir()
	var out []string
	for i, text := range files {
		path := filepath.Join(dir, string(rune('a'+i))+".yaml")
		write(t, path, text)
		out = append(out, path)
	}
	return out
}

func merge4(t *testing.T, files []string) map[string]any {
	t.Helper()
	merged, err := (&values.Options{ValueFiles: written(t, files)}).MergeValues(getter.Providers{})
	if err != nil {
		t.Fatalf("%q: %v", files, err)
	}
	return merged
}

func render3(t *testing.T, dir string, files []string) map[string]string {
	t.Helper()
	out, err := try3(t, dir, files)
	if err != nil {
		t.Fatal("Helm 3:", err)
	}
	return out
}

func render4(t *testing.T, dir string, files []string) map[string]string {
	t.Helper()
	out, err := try4(t, dir, files)
	if err != nil {
		t.Fatal("Helm 4:", err)
	}
	return out
}

const kubeVersion = "v1.33.0"

// try3 renders a chart as `helm template` of Helm 3.
func try3(t *testing.T, dir string, files []string) (map[string]string, error) {
	t.Helper()
	c, err := loader3.Load(dir)
	if err != nil {
		return nil, err
	}
	vals, err := (&values3.Options{ValueFiles: written(t, files)}).MergeValues(getter3.Providers{})
	if err != nil {
		return nil, err
	}
	if err := util3.ProcessDependenciesWithMerge(c, vals); err != nil {
		return nil, err
	}
	capabilities := util3.DefaultCapabilities.Copy()
	capabilities.KubeVersion = util3.KubeVersion{Version: kubeVersion, Major: "1", Minor: "33"}
	capabilities.HelmVersion.Version = ""
	in, err := util3.ToRenderValues(c, vals, util3.ReleaseOptions{Name: "r", Namespace: "n", Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine3.Render(c, in)
}

// try4 is try3 with Helm 4.
func try4(t *testing.T, dir string, files []string) (map[string]string, error) {
	t.Helper()
	c, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	vals := merge4(t, files)
	if err := chartutil.ProcessDependencies(c, vals); err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = common.KubeVersion{Version: kubeVersion, Major: "1", Minor: "33"}
	capabilities.HelmVersion.Version = ""
	in, err := util.ToRenderValues(c, vals, common.ReleaseOptions{Name: "r", Namespace: "n", Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, in)
}
