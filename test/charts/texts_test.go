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
			if err != nil {
				t.Fatal(err)
			}
			files := glob(t, folder+"/ci/*-values.yaml")
			size := func(file string) int64 {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			slices.SortFunc(files, func(a, b string) int { return cmp.Compare(size(b), size(a)) })
			tried := map[string]bool{}
			for _, file := range files {
				own, err := chartutil.ReadValuesFile(file)
				if err != nil {
					t.Fatal(err)
				}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
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
