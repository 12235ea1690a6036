package charts_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// repo is the repository's root, seen from this package's folder.
const repo = "../.."

// applicationSets is the folder of the chart under test.
const applicationSets = repo + "/charts/application-sets"

var update = flag.Bool("update", false, "rewrite the goldens")

func TestApplicationSetsGoldens(t *testing.T) { chartGoldens(t, applicationSets) }

// helmTemplate renders a chart as `helm template -f a -f b` does, values schema included.
func helmTemplate(chartDir string, valueFiles ...string) (string, error) {
	docs, _, err := rendering{}.render(chartDir, valueFiles...)
	if err != nil || len(docs) == 0 {
		return "", err
	}
	return "---\n" + strings.Join(docs, "---\n"), nil
}

// writtenValues are files with values, by their text: most tests render the same ones.
var writtenValues struct {
	sync.Mutex
	dir   string
	files map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "argosy-charts-")
	if err != nil {
		panic(err)
	}
	writtenValues.dir, writtenValues.files = dir, map[string]string{}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// valuesFile writes values to a file and returns its path.
func valuesFile(t *testing.T, text string) string {
	t.Helper()
	w := &writtenValues
	w.Lock()
	defer w.Unlock()
	if w.files[text] == "" {
		path := filepath.Join(w.dir, strconv.Itoa(len(w.files))+".yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		w.files[text] = path
	}
	return w.files[text]
}

// catalog is the path of one of the chart's catalogs.
func catalog(group string) string {
	return filepath.Join(applicationSets, "catalogs", group+".yaml")
}

// decode reads ApplicationSets strictly, into Argo CD's types and by its definition: an unknown
// key is an error.
func decode(t *testing.T, manifests string) []v1alpha1.ApplicationSet {
	t.Helper()
	var sets []v1alpha1.ApplicationSet
	for _, doc := range documents(manifests) {
		var set v1alpha1.ApplicationSet
		if err := yaml.UnmarshalStrict([]byte(doc), &set); err != nil {
			t.Fatalf("not an ApplicationSet: %v\n%s", err, doc)
		}
		if set.Kind != "ApplicationSet" || set.APIVersion != "argoproj.io/v1alpha1" {
			t.Fatalf("not an ApplicationSet: %s %s", set.APIVersion, set.Kind)
		}
		validateCustomResource(t, doc)
		sets = append(sets, set)
	}
	return sets
}

// documents splits a YAML stream.
func documents(stream string) []string {
	var docs []string
	for _, doc := range strings.Split("\n"+stream, "\n---") {
		if body := strings.TrimSpace(doc); body != "" {
			docs = append(docs, body+"\n")
		}
	}
	return docs
}

// renderSets renders charts/application-sets from value texts and files, catalogs first.
func renderSets(t *testing.T, valueFiles ...string) []v1alpha1.ApplicationSet {
	t.Helper()
	out, err := helmTemplate(applicationSets, valueFiles...)
	require.NoError(t, err)
	return decode(t, out)
}

// canonical is YAML with sorted keys, one document after the other.
func canonical(t *testing.T, manifests string) string {
	t.Helper()
	var out bytes.Buffer
	for _, doc := range documents(manifests) {
		var tree any
		if err := yaml.Unmarshal([]byte(doc), &tree); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		text, err := yaml.Marshal(tree)
		require.NoError(t, err)
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.String()
}

// baseOf is the catalog entry that an ApplicationSet sends to the plugin.
func baseOf(t *testing.T, set v1alpha1.ApplicationSet) map[string]any {
	t.Helper()
	var base map[string]any
	raw := set.Spec.Generators[0].Plugin.Input.Parameters["base"].Raw
	require.NoError(t, json.Unmarshal(raw, &base))
	return base
}

// glob lists files below a folder of the repository; none is a failure.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	if len(found) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, fs.ErrNotExist)
	}
	return found
}
