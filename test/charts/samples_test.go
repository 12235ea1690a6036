package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestSampleWebApplication: the web application of the example has on each cluster the replicas,
// the volume and the secret of its environment, and its metrics are written on with the cluster's
// labels.
func TestSampleWebApplication(t *testing.T) {
	_, state := newEngine(t)
	type found struct {
		replicas     int32
		size, secret string
		interval     string
	}
	want := map[string]found{
		"retail-prod-us-1":    {3, "20Gi", "retail/prod/storefront/database", "15s"},
		"retail-staging-us-1": {2, "2Gi", "retail/staging/storefront/database", "30s"},
	}
	got := map[string]found{}
	for _, s := range asks(t, state, `{"view":"components","hub":"hub-us","group":"workloads","owner":"hub"}`) {
		objects := rendering{Name: s.Component, Namespace: "storefront"}.objects(t, filepath.Join(repo, s.Chart.Path), s.HelmValues)
		of := got[s.Name]
		switch s.Component {
		case "storefront-web":
			database := one[*appsv1.StatefulSet](t, objects, "storefront-web-database")
			size := database.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage]
			of.size, of.replicas = size.String(), *one[*appsv1.Deployment](t, objects, "storefront-web").Spec.Replicas
			of.secret = one[*esv1.ExternalSecret](t, objects, "storefront-database").Spec.Data[0].RemoteRef.Key
		case "storefront-metrics":
			var config struct {
				Global struct {
					ScrapeInterval string            `json:"scrape_interval"`
					ExternalLabels map[string]string `json:"external_labels"`
				}
				RemoteWrite []struct{ URL string } `json:"remote_write"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(one[*corev1.ConfigMap](t, objects, "storefront-metrics").Data["prometheus.yml"]), &config))
			of.interval = config.Global.ScrapeInterval
			if config.Global.ExternalLabels["cluster"] != s.Name || len(config.RemoteWrite) != 1 || config.RemoteWrite[0].URL != "https://metrics.example.com/api/v1/write" {
				t.Errorf("%s: its metrics are written on by %v", s.Name, config)
			}
		}
		got[s.Name] = of
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestSampleOverlays: each environment of the sample with a queue, a table and a database has its
// own replicas and names of them, and what all have is said once.
func TestSampleOverlays(t *testing.T) {
	for environment, replicas := range map[string]float64{"dev": 1, "staging": 2, "prod": 4} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(repo, "examples/repositories/orders/overlays", environment))
		require.NoError(t, err)
		kinds, name := []string{}, "checkout-orders-"+environment
		for _, r := range built.Resources() {
			o, err := r.Map()
			require.NoError(t, err)
			spec, _ := o["spec"].(map[string]any)
			text, err := json.Marshal(o)
			require.NoError(t, err)
			kinds = append(kinds, r.GetKind())
			switch r.GetKind() {
			case "Deployment":
				if fmt.Sprint(spec["replicas"]) != fmt.Sprint(replicas) || strings.Count(string(text), `"value":"`+name+`"`) != 3 {
					t.Errorf("%s: %s", environment, text)
				}
			case "Queue":
				if spec["queueName"] != name || (spec["messageRetentionPeriod"] != nil) != (environment == "prod") {
					t.Errorf("%s: %s", environment, text)
				}
			case "Table":
				if spec["tableName"] != name || (spec["deletionProtectionEnabled"] == true) != (environment == "prod") {
					t.Errorf("%s: %s", environment, text)
				}
			case "DBInstance":
				if spec["dbInstanceIdentifier"] != name || spec["manageMasterUserPassword"] != true || (spec["deletionProtection"] == true) != (environment == "prod") {
					t.Errorf("%s: %s", environment, text)
				}
			}
		}
		if slices.Sort(kinds); !slices.Equal(kinds, []string{"DBInstance", "Deployment", "Queue", "ServiceAccount", "Table"}) {
			t.Errorf("%s has %v", environment, kinds)
		}
	}
}

// TestSampleClaims: the overlay for a cluster with Crossplane has claims of the kinds that
// charts/cluster-crossplane defines in the place of ACK's objects, and the worker reads keys of
// their Secrets that there are.
func TestSampleClaims(t *testing.T) {
	type definition struct{ fields, keys []string }
	definitions := map[string]definition{}
	for _, o := range (rendering{}).objects(t, clusterCrossplane, "{part: claims, region: eu-west-1}") {
		u, is := o.(*unstructured.Unstructured)
		if !is || u.GetKind() != "CompositeResourceDefinition" {
			continue
		}
		kind, _, _ := unstructured.NestedString(u.Object, "spec", "claimNames", "kind")
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		version, _ := versions[0].(map[string]any)
		fields, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema", "properties", "spec", "properties")
		keys, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "connectionSecretKeys")
		definitions[kind] = definition{slices.Collect(maps.Keys(fields)), keys}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(repo, "examples/repositories/orders/overlays/prod-crossplane"))
	require.NoError(t, err)
	kinds, secrets, used := []string{}, map[string][]string{}, 0
	var worker map[string]any
	for _, r := range built.Resources() {
		o, err := r.Map()
		require.NoError(t, err)
		kinds = append(kinds, r.GetGvk().Group+"/"+r.GetKind())
		if r.GetKind() == "Deployment" {
			worker = o
		}
		if r.GetGvk().Group != "resources.argosy.dev" {
			continue
		}
		defined := definitions[r.GetKind()]
		spec, _ := o["spec"].(map[string]any)
		for field := range spec {
			if field != "writeConnectionSecretToRef" && !slices.Contains(defined.fields, field) {
				t.Errorf("%s: the definition has no field %s: %v", r.GetKind(), field, defined.fields)
			}
		}
		name, _, _ := unstructured.NestedString(o, "spec", "writeConnectionSecretToRef", "name")
		secrets[name] = defined.keys
	}
	if slices.Sort(kinds); fmt.Sprint(kinds) != "[/ServiceAccount apps/Deployment resources.argosy.dev/Database resources.argosy.dev/Queue resources.argosy.dev/Table]" {
		t.Errorf("it has %v", kinds)
	}
	containers, _, _ := unstructured.NestedSlice(worker, "spec", "template", "spec", "containers")
	env, _, _ := unstructured.NestedSlice(containers[0].(map[string]any), "env")
	for _, one := range env {
		from, _, _ := unstructured.NestedStringMap(one.(map[string]any), "valueFrom", "secretKeyRef")
		if !slices.Contains(secrets[from["name"]], from["key"]) {
			t.Errorf("%v reads a key that no claim writes; there are %v", one, secrets)
		}
		used++
	}
	if used != 4 {
		t.Errorf("the worker has %d variables: %v", used, env)
	}
}

// TestSampleMounts: what the repositories of examples/repositories say is within the bounds of
// their teams (U3), the application that the governance repository switches on is where it says,
// and each environment gets its overlay.
func TestSampleMounts(t *testing.T) {
	main := snapshot.Of(folderOf(t, "", "addons", "charts/application-sets", "fleet", "resources", "versions", "workloads"))
	layout := main.File("fleet/layout.yaml")
	text := string(layout.Data) + "mounts:\n"
	for name, team := range sampleMounts {
		text += fmt.Sprintf("  apps/%s: {url: https://git.example.com/%s, team: %s}\n", name, name, team)
	}
	main = main.With(map[string]*snapshot.File{layout.Path: snapshot.NewFile(layout.Path, []byte(text), snapshot.MaxFileSize)})
	mounts, err := fleetstate.MountsOf(nil, main)
	require.NoError(t, err)
	var parts []snapshot.Part
	for _, scope := range mounts.Scopes {
		part, problems := scope.Read(snapshot.Of(folderOf(t, "examples/repositories/"+filepath.Base(scope.Path), ".")), snapshot.Part{})
		if len(problems) > 0 || len(part.Files()) == 0 {
			t.Fatalf("%s: %d files, %v", scope.Path, len(part.Files()), problems)
		}
		parts = append(parts, part)
	}
	joined, err := fleetstate.Build(nil, main.Join(parts), facts.Set{})
	require.NoError(t, err)
	paths := map[string]string{}
	for _, s := range asks(t, joined, `{"view":"components","hub":"hub-eu","group":"workloads","owner":"hub","component":"checkout-orders"}`) {
		paths[s.Name] = s.Chart.Path
	}
	if want := map[string]string{"payments-dev-eu-1": "overlays/dev", "payments-staging-eu-1": "overlays/staging"}; !maps.Equal(paths, want) {
		t.Errorf("checkout-orders is on %v, want %v", paths, want)
	}
	for _, s := range asks(t, joined, `{"view":"components","hub":"hub-us","group":"workloads","owner":"hub","component":"storefront-web"}`) {
		if want := map[string]string{"retail-prod-us-1": "replicas: 4", "retail-staging-us-1": "replicas: 2"}[s.Name]; !strings.Contains(s.HelmValues, want) {
			t.Errorf("%s: %s, want %s", s.Name, s.HelmValues, want)
		}
	}
}

// sampleMounts are the repositories of examples/repositories, with their teams.
var sampleMounts = map[string]string{"governance": "checkout", "orders": "checkout", "storefront": "storefront"}

// folderOf are the files of folders of this repository, by their paths below dir.
func folderOf(t *testing.T, dir string, folders ...string) (out []*snapshot.File) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(repo, dir, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(filepath.Join(repo, dir), path)
			out = append(out, snapshot.NewFile(filepath.ToSlash(name), data, snapshot.MaxFileSize))
			return err
		})
		require.NoError(t, err)
	}
	return out
}
