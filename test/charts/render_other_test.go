package charts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
	"golang.org/x/tools/txtar"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
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

// render renders a chart through Helm's library, schema validation included, and returns the
// documents and the notes.
func (r rendering) render(chartDir string, valueFiles ...string) (docs []string, notes string, err error) {
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, "", err
	}
	merged, err := (&values.Options{ValueFiles: valueFiles}).MergeValues(nil)
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
	release := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	vals, err := chartutil.ToRenderValues(chart, merged, release, capabilities)
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
	if err != nil {
		t.Fatal(err)
	}
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

// kinds are the Go types of what the charts render. Kinds without Go types in this module
// are checked against their CustomResourceDefinitions alone.
var kinds = map[string]func() runtime.Object{
	"iam.services.k8s.aws/v1alpha1/Role":                   nil, // ACK's definitions cannot be had as a Go module
	"eks.services.k8s.aws/v1alpha1/PodIdentityAssociation": nil,
	"argoproj.io/v1alpha1/AppProject":                      func() runtime.Object { return &v1alpha1.AppProject{} },
	"argoproj.io/v1alpha1/Application":                     func() runtime.Object { return &v1alpha1.Application{} },
	"argoproj.io/v1alpha1/ApplicationSet":                  func() runtime.Object { return &v1alpha1.ApplicationSet{} },
	"v1/ConfigMap":                                         func() runtime.Object { return &corev1.ConfigMap{} },
	"v1/Namespace":                                         func() runtime.Object { return &corev1.Namespace{} },
	"v1/LimitRange":                                        func() runtime.Object { return &corev1.LimitRange{} },
	"v1/ResourceQuota":                                     func() runtime.Object { return &corev1.ResourceQuota{} },
	"v1/PersistentVolumeClaim":                             func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	"v1/Secret":                                            func() runtime.Object { return &corev1.Secret{} },
	"v1/Service":                                           func() runtime.Object { return &corev1.Service{} },
	"v1/ServiceAccount":                                    func() runtime.Object { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                                   func() runtime.Object { return &appsv1.Deployment{} },
	"networking.k8s.io/v1/Ingress":                         func() runtime.Object { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":                   func() runtime.Object { return &networkingv1.NetworkPolicy{} },
	"kyverno.io/v1/ClusterPolicy":                          nil, // Kyverno itself reads it, in test/e2e
	"policy/v1/PodDisruptionBudget":                        func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"rbac.authorization.k8s.io/v1/Role":                    func() runtime.Object { return &rbacv1.Role{} },
	"rbac.authorization.k8s.io/v1/RoleBinding":             func() runtime.Object { return &rbacv1.RoleBinding{} },
	"storage.k8s.io/v1/StorageClass":                       func() runtime.Object { return &storagev1.StorageClass{} },
	"external-secrets.io/v1/ExternalSecret":                func() runtime.Object { return &esv1.ExternalSecret{} },
	"external-secrets.io/v1alpha1/PushSecret":              func() runtime.Object { return &esv1alpha1.PushSecret{} },
	"external-secrets.io/v1/SecretStore":                   func() runtime.Object { return &esv1.SecretStore{} },
	"external-secrets.io/v1/ClusterSecretStore":            func() runtime.Object { return &esv1.ClusterSecretStore{} },
	"generators.external-secrets.io/v1alpha1/Webhook":      func() runtime.Object { return &genv1alpha1.Webhook{} },
	"s3.services.k8s.aws/v1alpha1/Bucket":                  nil,
	"kro.run/v1alpha1/ResourceGraphDefinition":             nil,
	"kro.run/v1alpha1/TeamBucket":                          nil,
	"generators.external-secrets.io/v1alpha1/Password":     func() runtime.Object { return &genv1alpha1.Password{} },
	"gateway.networking.k8s.io/v1/GRPCRoute":               nil,
	"gateway.networking.k8s.io/v1/HTTPRoute":               nil,
	"helm.toolkit.fluxcd.io/v2/HelmRelease":                nil,
	"kustomize.toolkit.fluxcd.io/v1/Kustomization":         nil,
	"source.toolkit.fluxcd.io/v1/GitRepository":            nil,
	"source.toolkit.fluxcd.io/v1/HelmChart":                nil,
	"source.toolkit.fluxcd.io/v1/HelmRepository":           nil,
	"source.toolkit.fluxcd.io/v1/OCIRepository":            nil,
	"karpenter.sh/v1/NodePool":                             nil,
	"karpenter.k8s.aws/v1/EC2NodeClass":                    nil,
	"monitoring.coreos.com/v1/ServiceMonitor":              nil,
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy": func() runtime.Object {
		return &admissionv1.ValidatingAdmissionPolicy{}
	},
	"admissionregistration.k8s.io/v1/ValidatingAdmissionPolicyBinding": func() runtime.Object {
		return &admissionv1.ValidatingAdmissionPolicyBinding{}
	},
	"generators.external-secrets.io/v1alpha1/ECRAuthorizationToken": func() runtime.Object {
		return &genv1alpha1.ECRAuthorizationToken{}
	},
}

// decodeObjects reads documents strictly into the real types: a key that the type does not
// know is an error. Custom resources are checked against their definitions as well, as the
// API server would (schema, defaults, CEL rules).
func decodeObjects(t *testing.T, docs []string) []runtime.Object {
	t.Helper()
	var objects []runtime.Object
	seen := map[string]bool{}
	for _, doc := range docs {
		// twice: the same document must not name a key twice (strict), and comments alone are no
		// object
		var tree map[string]any
		if err := yaml.UnmarshalStrict([]byte(doc), &tree); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		if len(tree) == 0 {
			continue
		}
		meta := &unstructured.Unstructured{Object: tree}
		id := meta.GetAPIVersion() + "/" + meta.GetKind()
		construct, known := kinds[id]
		if !known {
			t.Fatalf("unexpected kind %s\n%s", id, doc)
		}
		if meta.GetName() == "" {
			t.Fatalf("%s without a name\n%s", id, doc)
		}
		if key := id + " " + meta.GetNamespace() + "/" + meta.GetName(); seen[key] {
			t.Fatalf("%s is rendered twice", key)
		} else {
			seen[key] = true
		}
		validateCustomResource(t, doc)
		if construct == nil {
			objects = append(objects, meta)
			continue
		}
		object := construct()
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Fatalf("%s %s: %v\n%s", id, meta.GetName(), err, doc)
		}
		if es, ok := object.(*esv1.ExternalSecret); ok {
			if _, err := new(esv1.ExternalSecretValidator).ValidateCreate(t.Context(), es); err != nil {
				t.Fatalf("ExternalSecret %s: %v", es.Name, err)
			}
		}
		objects = append(objects, object)
	}
	return objects
}

// customResource checks objects of one version of one CustomResourceDefinition.
type customResource struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	cel        *cel.Validator
}

// customResources reads the definitions that this package knows: those of External Secrets and
// Argo CD from their modules, the others from testdata/crds.
var customResources = sync.OnceValues(func() (map[string]customResource, error) {
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/external-secrets/external-secrets", "github.com/argoproj/argo-cd/v2").Output()
	if err != nil {
		return nil, fmt.Errorf("find the modules of External Secrets and Argo CD: %w", err)
	}
	modules := strings.Fields(string(out))
	bases := filepath.Join(modules[0], "config", "crds", "bases")
	paths, err := filepath.Glob("testdata/crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{
		"external-secrets.io_externalsecrets", "external-secrets.io_pushsecrets", "external-secrets.io_secretstores", "external-secrets.io_clustersecretstores",
		"generators.external-secrets.io_ecrauthorizationtokens", "generators.external-secrets.io_passwords",
	} {
		paths = append(paths, filepath.Join(bases, name+".yaml"))
	}
	for _, name := range []string{"application", "applicationset", "appproject"} {
		paths = append(paths, filepath.Join(modules[1], "manifests", "crds", name+"-crd.yaml"))
	}
	found := map[string]customResource{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, version := range crd.Spec.Versions {
			var props apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			structural, err := structuralschema.NewStructural(&props)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			validator, _, err := validation.NewSchemaValidator(&props)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			found[crd.Spec.Group+"/"+version.Name+"/"+crd.Spec.Names.Kind] = customResource{
				structural, validator, cel.NewValidator(structural, true, celconfig.PerCallLimit),
			}
		}
	}
	return found, nil
})

// validateCustomResource checks a document as the API server would; other kinds pass.
func validateCustomResource(t *testing.T, doc string) {
	t.Helper()
	definitions, err := customResources()
	if err != nil {
		t.Fatal(err)
	}
	data, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		t.Fatal(err)
	}
	// through the decoder of Kubernetes: integers stay integers
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	definition, ok := definitions[object.GetAPIVersion()+"/"+object.GetKind()]
	if !ok {
		return
	}
	unknown := pruning.PruneWithOptions(object.Object, definition.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	var errs []error
	for _, path := range unknown {
		errs = append(errs, fmt.Errorf("unknown field %s", path))
	}
	written := object.DeepCopy()
	defaulting.Default(object.Object, definition.structural)
	for _, path := range defaultedInLists(written.Object, object.Object, "", false) {
		errs = append(errs, fmt.Errorf("%s is a default: Argo CD compares lists as a whole and would see a difference for ever", path))
	}
	for _, problem := range validation.ValidateCustomResource(nil, object.Object, definition.validator) {
		errs = append(errs, problem)
	}
	problems, _ := definition.cel.Validate(t.Context(), nil, definition.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
	for _, problem := range problems {
		errs = append(errs, problem)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%s %s: %v\n%s", object.GetKind(), object.GetName(), err, doc)
	}
}

// defaultedInLists are the paths below lists that were added to an object.
func defaultedInLists(before, after any, path string, inList bool) []string {
	var paths []string
	switch after := after.(type) {
	case map[string]any:
		was, _ := before.(map[string]any)
		for key, value := range after {
			if _, found := was[key]; !found && inList {
				paths = append(paths, path+"."+key)
			} else if found {
				paths = append(paths, defaultedInLists(was[key], value, path+"."+key, inList)...)
			}
		}
	case []any:
		was, _ := before.([]any)
		for i := range min(len(after), len(was)) {
			paths = append(paths, defaultedInLists(was[i], after[i], fmt.Sprintf("%s[%d]", path, i), true)...)
		}
	}
	sort.Strings(paths)
	return paths
}

// chartGoldens renders each testdata/<chart>/*.txtar and compares with its golden: files named
// values*.yaml in, want.yaml or want-error out. Lines of the comment set the release:
// `release: NAME`, `namespace: NAME`, `api: GROUP/VERSION`.
func chartGoldens(t *testing.T, chartDir string) {
	t.Helper()
	for _, path := range glob(t, "testdata/"+filepath.Base(chartDir)+"/*.txtar") {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var how rendering
			for _, line := range strings.Split(string(archive.Comment), "\n") {
				key, value, _ := strings.Cut(line, ": ")
				switch key {
				case "release":
					how.Name = value
				case "namespace":
					how.Namespace = value
				case "api":
					how.APIVersions = append(how.APIVersions, value)
				}
			}
			var inputs []txtar.File
			var valueFiles []string
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
				decodeObjects(t, docs)
				got = canonical(t, "---\n"+strings.Join(docs, "---\n"))
			}
			if bad := strings.HasPrefix(name, "bad-"); bad != (err != nil) {
				t.Fatalf("error %v; only goldens named bad-* fail", err)
			}
			if *update {
				archive.Files = slices.Concat(inputs, []txtar.File{{Name: gotName, Data: []byte(got)}})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if gotName != wantName || got != want {
				t.Errorf("got %s:\n%s\nwant %s:\n%s", gotName, got, wantName, want)
			}
		})
	}
}

// TestChartsLint runs Helm's own lint over the charts as they are, without values.
func TestChartsLint(t *testing.T) {
	for _, chartDir := range []string{fleetSecret, generatorPlugin, storageClasses, karpenterNodePools, argocdIngress, hubChart, awsIdentity} {
		t.Run(filepath.Base(chartDir), func(t *testing.T) {
			for _, message := range lint.All(chartDir, nil, "argocd", false).Messages {
				if message.Severity >= support.WarningSev {
					t.Errorf("%s", message)
				}
			}
		})
	}
}
