package charts_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
)

// TestHubNamesARevisionOfItsCharts: without `charts.version` members get the charts of the hub's
// own version: from a registry by that version, from Git by the tag that a release has.
func TestHubNamesARevisionOfItsCharts(t *testing.T) {
	chart, err := loader.LoadDir(hubChart)
	if err != nil {
		t.Fatal(err)
	}
	version := chart.Metadata.Version
	for values, want := range map[string]string{
		"charts: {}\n": version,
		"charts: {repoURL: https://git.example.com/argosy.git, path: charts}\n":                "v" + version,
		"charts: {repoURL: https://git.example.com/argosy.git, path: charts, version: main}\n": "main",
		"charts: {version: 9.9.9}\n": "9.9.9",
	} {
		grants := one[*v1alpha1.ApplicationSet](t, rendering{}.objects(t, hubChart, newHub, values), "grants")
		if got := grants.Spec.Template.Spec.Source.TargetRevision; got != want {
			t.Errorf("%s: revision %s; expected %s", values, got, want)
		}
	}
}

// TestNotesOfTheHub: they name the Deployment that is there, and whose the store is.
func TestNotesOfTheHub(t *testing.T) {
	for values, want := range map[string]string{
		"service: {fullnameOverride: argosy}\n":                      "deployment/argosy\n",
		"service: {fullnameOverride: ''}\n":                          "deployment/test-generator-plugin\n",
		"service: {fullnameOverride: '', nameOverride: ''}\n":        "deployment/test-service\n",
		"secretStore: {create: 'false'}\n":                           "ClusterSecretStore fleet-secrets, which is yours to make",
		"secretStore: {create: false, kubernetes: {namespace: s}}\n": "ClusterSecretStore fleet-secrets, which is yours to make",
	} {
		_, notes, err := rendering{}.render(hubChart, valuesFiles(t, []string{newHub, values})...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(notes, want) {
			t.Errorf("%s: no %q in\n%s", values, want, notes)
		}
	}
}

// TestRestoredNamespaceIsNotInstalled: the page on backups makes the namespace of the state before
// it installs the hub, and Helm refuses an object that it has not made.
func TestRestoredNamespaceIsNotInstalled(t *testing.T) {
	text, err := os.ReadFile(repo + "/docs/how-to/back-up-a-hub.md")
	if err != nil {
		t.Fatal(err)
	}
	_, made, found := strings.Cut(string(text), "$ kubectl create namespace ")
	_, set, sets := strings.Cut(string(text), "`--set ")
	if !found || !sets {
		t.Fatalf("the page makes a namespace: %t; it says what to set for that: %t", found, sets)
	}
	namespace, _, _ := strings.Cut(made, "\n")
	key, value, _ := strings.Cut(strings.Split(set, "`")[0], "=")
	section, option, _ := strings.Cut(key, ".")
	there := func(values string) bool {
		return slices.ContainsFunc(all[*corev1.Namespace](rendering{}.objects(t, hubChart, newHub, values)), func(n *corev1.Namespace) bool { return n.Name == namespace })
	}
	if !there("") || there("{"+section+": {"+option+": "+value+"}}\n") {
		t.Errorf("namespace %s: expected it from the chart by default, and not with %s=%s", namespace, key, value)
	}
}
