package charts_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// likeANumber is a good name in Kubernetes. YAML without quotes reads a thousand.
const likeANumber = "1e3"

// TestTextsThatLookLikeNumbersStayTexts: with such a text at any place of its values, as the name
// of its release or of its namespace, a chart renders texts, or names what it does not take. The
// API server refuses a number in a text's place. A place is tried in the largest of the chart's
// files in ci that has it, as most is switched on there.
func TestTextsThatLookLikeNumbersStayTexts(t *testing.T) {
	t.Parallel()
	for _, manifest := range glob(t, repo+"/charts/*/Chart.yaml") {
		folder := filepath.Dir(manifest)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Parallel()
			chart, err := load(folder)
			require.NoError(t, err)
			files := glob(t, folder+"/ci/*-values.yaml")
			size := func(file string) int64 {
				info, err := os.Stat(file)
				require.NoError(t, err)
				return info.Size()
			}
			slices.SortFunc(files, func(a, b string) int { return cmp.Compare(size(b), size(a)) })
			tried := map[string]bool{}
			for _, file := range files {
				own, err := chartutil.ReadValuesFile(file)
				require.NoError(t, err)
				given := chartutil.CoalesceTables(copied(t, own), copied(t, chart.Values))
				rendersTexts(t, rendering{Name: likeANumber, APIVersions: externalSecretsAPI}, folder, given, "the release")
				rendersTexts(t, rendering{Namespace: likeANumber, APIVersions: externalSecretsAPI}, folder, given, "the namespace")
				for place, change := range textsOf(given, "") {
					if tried[place] {
						continue
					}
					tried[place] = true
					values := runtime.DeepCopyJSON(given)
					change(values)
					rendersTexts(t, rendering{APIVersions: externalSecretsAPI}, folder, values, filepath.Base(file)+" "+place)
				}
			}
			if len(tried) == 0 {
				t.Error("no text among the values")
			}
		})
	}
}

// withTexts are documents that rendersTexts has looked at: most are the same at every place.
var withTexts sync.Map

// rendersTexts fails where an object has the number that a text looks like.
func rendersTexts(t *testing.T, how rendering, folder string, values map[string]any, place string) {
	t.Helper()
	how.Terse = true
	docs, _, err := how.with(folder, values)
	if err != nil {
		return // a message of the chart or of its schema
	}
	for _, doc := range docs {
		if _, is := withTexts.Load(doc); is {
			continue
		}
		var object any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Errorf("%s: %v", place, err)
		} else if at := thousand(object, ""); at != "" {
			t.Errorf("%s: %s is a number", place, at)
		} else {
			withTexts.Store(doc, true)
		}
	}
}

// copied is a copy of values that shares nothing with them.
func copied(t *testing.T, values map[string]any) (out map[string]any) {
	t.Helper()
	text, err := yaml.Marshal(values)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &out))
	return out
}

// textsOf are the places of values where a text can be another one: values of keys and elements of
// lists, and keys of maps.
func textsOf(values any, path string) map[string]func(root map[string]any) {
	out := map[string]func(map[string]any){}
	at := func(root map[string]any) any {
		var here any = root
		for _, key := range strings.Split(path, "\x00")[1:] {
			if list, is := here.([]any); is {
				i, _ := strconv.Atoi(key)
				here = list[i]
			} else {
				here = here.(map[string]any)[key] //nolint:forcetypeassert // the path was one of the same tree
			}
		}
		return here
	}
	name := strings.ReplaceAll(strings.TrimPrefix(path, "\x00"), "\x00", ".")
	switch values := values.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if _, is := values[key].(string); is {
				out[name+"."+key] = func(root map[string]any) { at(root).(map[string]any)[key] = likeANumber } //nolint:forcetypeassert // as above
			}
			out[name+" for the key "+key] = func(root map[string]any) {
				here := at(root).(map[string]any) //nolint:forcetypeassert // as above
				here[likeANumber] = here[key]
				delete(here, key)
			}
			maps.Copy(out, textsOf(values[key], path+"\x00"+key))
		}
	case []any:
		for i, element := range values {
			if _, is := element.(string); is {
				out[fmt.Sprintf("%s[%d]", name, i)] = func(root map[string]any) { at(root).([]any)[i] = likeANumber } //nolint:forcetypeassert // as above
			}
			maps.Copy(out, textsOf(element, path+"\x00"+strconv.Itoa(i)))
		}
	}
	return out
}

// thousand is the place of a number in an object that a text looks like.
func thousand(object any, path string) string {
	switch object := object.(type) {
	case map[string]any:
		for key, value := range object {
			if at := thousand(value, path+"."+key); at != "" {
				return at
			}
		}
	case []any:
		for i, value := range object {
			if at := thousand(value, fmt.Sprintf("%s[%d]", path, i)); at != "" {
				return at
			}
		}
	case float64:
		if object == 1000 {
			return path
		}
	}
	return ""
}

// TestStringBooleans: the text "false" is true in a chart's condition. Both forms mean the same
// everywhere, and another text is refused. (lesson 12)
func TestStringBooleans(t *testing.T) {
	const (
		credentials = member + `
githubSecretName: git/app
serviceAccount: {name: eso}
gitCredentials: {charts: {type: ssh, url: "git@example.com:a/b.git", secretName: git/ssh, plain: true}}
`
		service = onMember + "token: {existingSecret: t}\n"
	)
	for _, c := range []struct {
		chart, base string
		options     []string
	}{
		{argocdIngress, onAWS, []string{"grpc: {enabled: %s}", "tls: {enabled: %s}", "server: {insecure: %s}"}},
		{argocdIngress, onNginx + "server: {insecure: false}\n", []string{"grpc: {host: '', enabled: false}\nnginx: {sslPassthrough: %s}"}},
		{storageClasses, gp3, []string{
			"storageClasses: {gp3: {enabled: %s}}", "storageClasses: {gp3: {default: %s}}",
			"storageClasses: {gp3: {allowVolumeExpansion: %s}}", "storageClasses: {gp3: {recreate: %s}}",
		}},
		{karpenterNodePools, general, []string{
			"nodePools: {general: {enabled: %s}}", "nodePools: {general: {nodeClassRef: {group: g, kind: k, name: x}}}\nnodeClasses: {default: {enabled: %s}}",
			"nodeClasses: {default: {associatePublicIPAddress: %s}}", "nodeClasses: {default: {detailedMonitoring: %s}}",
		}},
		{generatorPlugin, service, []string{
			"tls: {enabled: %s, secretName: named}", "topologySpread: {enabled: %s}", "podDisruptionBudget: {enabled: %s}", "networkPolicy: {enabled: %s}", "rbac: {create: %s}", "serviceAccount: {create: %s}",
			"serviceMonitor: {enabled: %s}", "prometheusRule: {enabled: %s}", "dashboard: {enabled: %s}", "localCluster: {create: %s}",
		}},
		{fleetSecret, credentials, []string{
			"githubSecret: %s", "externalSecret: {enabled: %s}", "externalSecret: {verifyClusterName: %s}",
			"externalSecret: {namespaces: [a], clusterResources: %s}", "kubeconfig: {enabled: %s}", "push: {enabled: %s}",
			"{push: {enabled: true, token: {enabled: %s}}}", "gitCredentials: {charts: {local: %s}}", "{githubSecret: true, github: {local: %s}}", "secretStore: {name: store, create: %s}",
			"serviceAccount: {create: %s}", "gitCredentials: {charts: {enabled: %s}}", "gitCredentials: {charts: {plain: %s}}",
			"github: {url: '', plain: %s}",
		}},
	} {
		for _, option := range c.options {
			rendered := map[string]string{}
			for _, value := range []string{"true", `"true"`, "false", `"false"`} {
				text := fmt.Sprintf(option, value)
				if strings.Contains(value, "false") { // then none may be named
					text = strings.ReplaceAll(text, "named", "''")
				}
				docs, _, err := rendering{}.render(c.chart, valuesFiles(t, []string{c.base, text})...)
				require.NoError(t, err, "%s", text)
				rendered[value] = strings.Join(docs, "---\n")
			}
			assert.Equal(t, rendered["true"], rendered[`"true"`], "%s", option)
			assert.Equal(t, rendered["false"], rendered[`"false"`], "%s", option)
			if rendered["true"] == rendered["false"] && !strings.HasPrefix(option, "github:") {
				t.Errorf("%s: no effect", option)
			}
			rendering{}.fails(t, "true, false, 'true', 'false'", c.chart, c.base, fmt.Sprintf(option, `"yes"`))
		}
	}
}
