package charts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
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
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// kinds are the Go types of what the charts render. Kinds without Go types in this module
// are checked against their CustomResourceDefinitions alone.
var kinds = map[string]func() runtime.Object{
	"iam.services.k8s.aws/v1alpha1/Role":                         nil, // ACK's definitions cannot be had as a Go module
	"eks.services.k8s.aws/v1alpha1/PodIdentityAssociation":       nil,
	"argoproj.io/v1alpha1/AppProject":                            func() runtime.Object { return &v1alpha1.AppProject{} },
	"argoproj.io/v1alpha1/Application":                           func() runtime.Object { return &v1alpha1.Application{} },
	"argoproj.io/v1alpha1/ApplicationSet":                        func() runtime.Object { return &v1alpha1.ApplicationSet{} },
	"v1/ConfigMap":                                               func() runtime.Object { return &corev1.ConfigMap{} },
	"v1/Namespace":                                               func() runtime.Object { return &corev1.Namespace{} },
	"v1/LimitRange":                                              func() runtime.Object { return &corev1.LimitRange{} },
	"v1/ResourceQuota":                                           func() runtime.Object { return &corev1.ResourceQuota{} },
	"v1/PersistentVolumeClaim":                                   func() runtime.Object { return &corev1.PersistentVolumeClaim{} },
	"v1/Secret":                                                  func() runtime.Object { return &corev1.Secret{} },
	"v1/Service":                                                 func() runtime.Object { return &corev1.Service{} },
	"v1/ServiceAccount":                                          func() runtime.Object { return &corev1.ServiceAccount{} },
	"apps/v1/Deployment":                                         func() runtime.Object { return &appsv1.Deployment{} },
	"apps/v1/StatefulSet":                                        func() runtime.Object { return &appsv1.StatefulSet{} },
	"networking.k8s.io/v1/Ingress":                               func() runtime.Object { return &networkingv1.Ingress{} },
	"networking.k8s.io/v1/NetworkPolicy":                         func() runtime.Object { return &networkingv1.NetworkPolicy{} },
	"kyverno.io/v1/ClusterPolicy":                                nil, // Kyverno itself reads it, in test/e2e
	"policy/v1/PodDisruptionBudget":                              func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"rbac.authorization.k8s.io/v1/Role":                          func() runtime.Object { return &rbacv1.Role{} },
	"rbac.authorization.k8s.io/v1/RoleBinding":                   func() runtime.Object { return &rbacv1.RoleBinding{} },
	"storage.k8s.io/v1/StorageClass":                             func() runtime.Object { return &storagev1.StorageClass{} },
	"external-secrets.io/v1/ExternalSecret":                      func() runtime.Object { return &esv1.ExternalSecret{} },
	"external-secrets.io/v1alpha1/PushSecret":                    func() runtime.Object { return &esv1alpha1.PushSecret{} },
	"external-secrets.io/v1/SecretStore":                         func() runtime.Object { return &esv1.SecretStore{} },
	"external-secrets.io/v1/ClusterSecretStore":                  func() runtime.Object { return &esv1.ClusterSecretStore{} },
	"generators.external-secrets.io/v1alpha1/Webhook":            func() runtime.Object { return &genv1alpha1.Webhook{} },
	"s3.services.k8s.aws/v1alpha1/Bucket":                        nil,
	"kro.run/v1alpha1/ResourceGraphDefinition":                   nil,
	"kro.run/v1alpha1/TeamBucket":                                nil,
	"provision.argosy.dev/v1alpha1/EKSCluster":                   nil,
	"provision.argosy.dev/v1alpha1/EKSNodes":                     nil,
	"provision.argosy.dev/v1alpha1/XEKSCluster":                  nil,
	"provision.argosy.dev/v1alpha1/XEKSNodes":                    nil,
	"pkg.crossplane.io/v1/Function":                              nil,
	"pkg.crossplane.io/v1/Provider":                              nil,
	"pkg.crossplane.io/v1beta1/DeploymentRuntimeConfig":          nil,
	"aws.upbound.io/v1beta1/ProviderConfig":                      nil,
	"apiextensions.crossplane.io/v1/Composition":                 nil,
	"apiextensions.crossplane.io/v1/CompositeResourceDefinition": nil,
	"generators.external-secrets.io/v1alpha1/Password":           func() runtime.Object { return &genv1alpha1.Password{} },
	"gateway.networking.k8s.io/v1/GRPCRoute":                     nil,
	"gateway.networking.k8s.io/v1/HTTPRoute":                     nil,
	"helm.toolkit.fluxcd.io/v2/HelmRelease":                      nil,
	"kustomize.toolkit.fluxcd.io/v1/Kustomization":               nil,
	"source.toolkit.fluxcd.io/v1/GitRepository":                  nil,
	"source.toolkit.fluxcd.io/v1/HelmChart":                      nil,
	"source.toolkit.fluxcd.io/v1/HelmRepository":                 nil,
	"source.toolkit.fluxcd.io/v1/OCIRepository":                  nil,
	"karpenter.sh/v1/NodePool":                                   nil,
	"karpenter.k8s.aws/v1/EC2NodeClass":                          nil,
	"monitoring.coreos.com/v1/ServiceMonitor":                    nil,
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
	require.NoError(t, err)
	data, err := yaml.YAMLToJSON([]byte(doc))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, json.Unmarshal(data, &object.Object))
	// through the decoder of Kubernetes: integers stay integers
	require.NoError(t, object.UnmarshalJSON(data))
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
