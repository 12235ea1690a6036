package chartserver_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/chartserver"
	"github.com/argosy-hub/argosy/test/e2e/internal/fleetrepo"
	"github.com/argosy-hub/argosy/test/e2e/internal/require"
)

const checkout = "../../../.."

var charts = []chartserver.Chart{
	{Name: "metrics-server", Version: "3.13.0"},
	{Name: "cert-manager", Version: "v1.19.1"},
	{Name: "cert-manager", Version: "v1.20.2"},
	{Name: "karpenter", Version: "1.12.1"},
	{Name: "made-up", Version: "1.0.0-rc.1+build.7"},
}

func serve(t *testing.T, charts ...chartserver.Chart) *chartserver.Server {
	t.Helper()
	s, err := chartserver.Start(t.Context(), charts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v", url, response.Status, err)
	}
	return data
}

type index struct {
	Entries map[string][]struct {
		Name, Version, Digest string
		URLs                  []string
	}
}

func readIndex(t *testing.T, s *chartserver.Server) index {
	t.Helper()
	var i index
	require.NoError(t, yaml.Unmarshal(get(t, s.URL()+"/index.yaml"), &i))
	return i
}

// files are a package's by path.
func files(t *testing.T, data []byte) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	out := map[string]string{}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		out[header.Name] = string(content)
	}
}

func TestIndexAndPackages(t *testing.T) {
	t.Parallel()
	s := serve(t, charts...)
	var found []chartserver.Chart
	for name, entries := range readIndex(t, s).Entries {
		for _, entry := range entries {
			found = append(found, chartserver.Chart{Name: entry.Name, Version: entry.Version})
			data := get(t, s.URL()+"/"+entry.URLs[0])
			if digest := sha256.Sum256(data); entry.Digest != hex.EncodeToString(digest[:]) {
				t.Errorf("%s %s: the digest is not the package's", name, entry.Version)
			}
			content := files(t, data)
			for _, file := range []string{"Chart.yaml", "values.yaml", "templates/_helpers.tpl", "templates/configmap.yaml", "templates/deployment.yaml", "templates/service-account.yaml"} {
				if content[name+"/"+file] == "" {
					t.Errorf("%s %s: no %s", name, entry.Version, file)
				}
			}
			if _, has := content[name+"/crds/nodepools.yaml"]; has != (name == "karpenter") {
				t.Errorf("%s: has the definition of node pools: %t", name, has)
			}
		}
	}
	slices.SortFunc(found, chartserver.Chart.Compare)
	if want := slices.SortedFunc(slices.Values(charts), chartserver.Chart.Compare); !reflect.DeepEqual(found, want) || !reflect.DeepEqual(s.Charts(), want) {
		t.Errorf("index has %v, Charts are %v, expected %v", found, s.Charts(), want)
	}
}

// The same charts give the same bytes, in whatever order (4).
func TestDeterministic(t *testing.T) {
	t.Parallel()
	turned := slices.Clone(charts)
	slices.Reverse(turned)
	a, b := serve(t, charts...), serve(t, turned...)
	for _, path := range []string{"/index.yaml", "/charts/karpenter-1.12.1.tgz"} {
		if !bytes.Equal(get(t, a.URL()+path), get(t, b.URL()+path)) {
			t.Errorf("%s differs", path)
		}
	}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	s := serve(t, charts...)
	before := get(t, s.URL()+"/charts/metrics-server-3.13.0.tgz")
	require.NoError(t, s.Add(chartserver.Chart{Name: "metrics-server", Version: "3.14.0"}, charts[0]))
	if got := len(readIndex(t, s).Entries["metrics-server"]); got != 2 {
		t.Errorf("%d versions of metrics-server, expected 2", got)
	}
	if !bytes.Equal(before, get(t, s.URL()+"/charts/metrics-server-3.13.0.tgz")) {
		t.Error("a chart that was there has changed")
	}
	for _, bad := range []chartserver.Chart{{}, {Name: "../x", Version: "1.0.0"}, {Name: "x", Version: "~1.0"}, {Name: "x", Version: "latest"}} {
		if err := s.Add(bad); err == nil {
			t.Errorf("add %v: no error", bad)
		}
	}
}

// A chart brings the definitions that it was given, in each of its versions, and no other chart
// does (2).
func TestDefine(t *testing.T) {
	t.Parallel()
	s := serve(t, charts...)
	other := get(t, s.URL()+"/charts/metrics-server-3.13.0.tgz")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "issuers.yaml"), []byte("kind: CustomResourceDefinition\n"), 0o600))
	require.NoError(t, s.Define("cert-manager", dir))
	require.NoError(t, s.Add(chartserver.Chart{Name: "cert-manager", Version: "v1.21.0"}))
	for _, version := range []string{"v1.19.1", "v1.20.2", "v1.21.0"} {
		content := files(t, get(t, s.URL()+"/charts/cert-manager-"+version+".tgz"))
		if content["cert-manager/crds/issuers.yaml"] != "kind: CustomResourceDefinition\n" || content["cert-manager/Chart.yaml"] == "" {
			t.Errorf("%s has %v, expected the definition beside what a stand-in has", version, slices.Sorted(maps.Keys(content)))
		}
	}
	if !bytes.Equal(other, get(t, s.URL()+"/charts/metrics-server-3.13.0.tgz")) {
		t.Error("another chart has changed")
	}
	if err := s.Define("cert-manager", t.TempDir()); err == nil {
		t.Error("define from an empty folder: no error")
	}
}

// helm is Helm's command: the one that comes with Argo CD, if the components were built once, else
// that of the PATH.
func helm(t *testing.T) string {
	t.Helper()
	if user, err := os.UserCacheDir(); err == nil {
		found, err := filepath.Glob(filepath.Join(user, "argosy", "e2e", "*", "bin", "helm"))
		require.NoError(t, err)
		if len(found) > 0 {
			return found[0]
		}
	}
	path, err := exec.LookPath("helm")
	if err != nil {
		t.Log("NOT CHECKED WITH HELM: no component with helm was built yet and none is on the PATH; packages and index are as expected")
	}
	return path
}

type object struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Data map[string]string
	Spec struct{ Replicas *int }
}

// template is what helm renders of a chart: one of the repository, or a folder's.
func template(t *testing.T, helm string, args ...string) string {
	t.Helper()
	cmd := exec.Command(helm, append([]string{"template", "--include-crds", "--kube-version", "1.33.0"}, args...)...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("helm template %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// rendered are the objects of a stand-in as helm renders it, by kind and name.
func rendered(t *testing.T, helm string, s *chartserver.Server, chart chartserver.Chart, values string) map[string]object {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(values), 0o600))
	out := template(t, helm, "it", chart.Name, "--repo", s.URL(), "--version", chart.Version, "--namespace", "there", "--values", file)
	objects := map[string]object{}
	for document := range strings.SplitSeq(out, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(strings.TrimPrefix(document, "---\n")), &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		objects[o.Kind+"/"+o.Metadata.Name] = o
	}
	return objects
}

func TestRenderedByHelm(t *testing.T) {
	t.Parallel()
	helm := helm(t)
	if helm == "" {
		return // said by helm, and the packages are looked at above
	}
	all, err := fleetrepo.Charts(t.Context(), checkout)
	require.NoError(t, err)
	all = append(all, charts...)
	s := serve(t, all...)
	for _, chart := range all {
		objects := rendered(t, helm, s, chart, "")
		want := []string{"ConfigMap/it-values", "Deployment/it", "ServiceAccount/it"}
		if chart.Name == "karpenter" {
			want = append(want, "CustomResourceDefinition/ec2nodeclasses.karpenter.k8s.aws", "CustomResourceDefinition/nodepools.karpenter.sh")
			slices.Sort(want)
		}
		var got []string
		for name, o := range objects {
			got = append(got, name)
			if o.Kind != "CustomResourceDefinition" && o.Metadata.Namespace != "there" {
				t.Errorf("%s: %s is in namespace %q", chart.Name, name, o.Metadata.Namespace)
			}
		}
		slices.Sort(got)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: %v, expected %v", chart.Name, chart.Version, got, want)
		}
		if got := objects["ConfigMap/it-values"].Data["values.yaml"]; got != "{}\n" {
			t.Errorf("%s: values %q, expected none", chart.Name, got)
		}
		if version := objects["Deployment/it"].Metadata.Labels["app.kubernetes.io/version"]; version != strings.ReplaceAll(chart.Version, "+", "_") {
			t.Errorf("%s: labelled with version %q, expected %q", chart.Name, version, chart.Version)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	helm := helm(t)
	if helm == "" {
		return // said by helm
	}
	s := serve(t, charts...)
	for _, test := range []struct {
		name, values string
		replicas     int
	}{
		{"top", "replicaCount: 3\nreplicas: 9\nlist: [1, two, {three: 3}]\ntext: |+\n  a: {{ b }}\n  <c>\n\n", 3},
		{"other name", "replicas: 2\nglobal: {domain: example.com}\n", 2},
		{"controller", "controller: {replicaCount: 4, config: {proxy-body-size: 128m}}\n", 4},
		{"zero", "replicaCount: 0\n", 0},
		{"no number", "replicaCount: many\ncontroller: none\n", 1},
		{"nothing", "on: true\n", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			objects := rendered(t, helm, s, charts[0], test.values)
			if got := objects["Deployment/it"].Spec.Replicas; got == nil || *got != test.replicas {
				t.Errorf("replicas %v, expected %d", got, test.replicas)
			}
			var got, want any
			require.NoError(t, yaml.Unmarshal([]byte(objects["ConfigMap/it-values"].Data["values.yaml"]), &got))
			require.NoError(t, yaml.Unmarshal([]byte(test.values), &want))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("values %v, expected %v", got, want)
			}
		})
	}
}
