package clusterclass

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

//go:embed upjet.yaml
var upjetTable []byte

// connectionThing is the credentials of a cluster, for those who ask for them: no thing of the
// cloud.
const connectionThing = "connection"

const upjetDomain = ".aws.upbound.io"

// ProviderConfigs say how the packages of the provider log in.
var ProviderConfigs = schema.GroupVersionResource{Group: "aws.upbound.io", Version: "v1beta1", Resource: "providerconfigs"}

// An upjetKind is a kind of Crossplane's provider of AWS (rule 6).
type upjetKind struct {
	Kind, Version string
	Fields        map[string]string // of forProvider, with their types
	Required      []string
	References    []reference

	service string
}

// A reference is a field with ids of other things, which a selector finds.
type reference struct {
	Field, Selector string
	To              string // SERVICE/KIND
}

// upjetKinds are the kinds by the names of their things, upjetServices those names by service.
var upjetKinds, upjetServices = readUpjet()

func readUpjet() (map[string]upjetKind, map[string][]string) {
	var services []struct {
		Service string
		Kinds   []upjetKind
	}
	if err := yaml.UnmarshalStrict(upjetTable, &services); err != nil {
		panic(fmt.Errorf("upjet.yaml: %w", err)) //nolint:forbidigo // it is part of this program
	}
	kinds, names := map[string]upjetKind{}, map[string][]string{}
	for _, s := range services {
		for _, k := range s.Kinds {
			k.service = s.Service
			name := thingOf(s.Service, k.Kind)
			kinds[name] = k
			names[s.Service] = append(names[s.Service], name)
		}
	}
	return kinds, names
}

// thingOf is the name of the things of a kind.
func thingOf(service, kind string) string {
	if name := map[string]string{"eks/Cluster": clusterThing, "eks/NodeGroup": nodesThing, "eks/ClusterAuth": connectionThing}[service+"/"+kind]; name != "" {
		return name
	}
	return strings.ToLower(kind)
}

func (k upjetKind) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.service + upjetDomain, Version: k.Version, Resource: strings.ToLower(k.Kind) + "s"}
}

// Managed are the resources of the provider, what composites are made of.
func Managed() []schema.GroupVersionResource {
	return slices.SortedFunc(maps.Values(upjetResources()), func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
}

func (r reference) selector() string {
	if r.Selector != "" {
		return r.Selector
	}
	return r.Field + "Selector"
}

// definition defines the kind.
func (k upjetKind) definition() object {
	fields := object{}
	for name, kind := range k.Fields {
		fields[name] = map[string]object{
			"string": {"type": "string"}, "boolean": {"type": "boolean"}, "number": {"type": "number"},
			"strings": {"type": "array", "items": object{"type": "string"}},
			"map":     {"type": "object", "additionalProperties": object{"type": "string"}},
			"object":  {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			"objects": {"type": "array", "items": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}[kind]
	}
	for _, r := range k.References {
		fields[r.selector()] = object{"type": "object", "properties": object{
			"matchControllerRef": object{"type": "boolean"},
			"matchLabels":        object{"type": "object", "additionalProperties": object{"type": "string"}},
		}}
	}
	provider := object{"type": "object", "properties": fields}
	if k.Fields["region"] != "" {
		provider["required"] = []any{"region"}
	}
	spec := object{"type": "object", "required": []any{"forProvider"}, "properties": object{
		"deletionPolicy":             object{"type": "string", "enum": []any{"Orphan", "Delete"}, "default": "Delete"},
		"providerConfigRef":          object{"type": "object", "required": []any{"name"}, "properties": object{"name": object{"type": "string"}}, "default": object{"name": "default"}},
		"writeConnectionSecretToRef": object{"type": "object", "required": []any{"name", "namespace"}, "properties": object{"name": object{"type": "string"}, "namespace": object{"type": "string"}}},
		"forProvider":                provider,
	}}
	var rules []any
	for _, name := range k.Required {
		rules = append(rules, object{"rule": "has(self.forProvider." + name + ")", "message": "spec.forProvider." + name + " is a required parameter"})
	}
	if len(rules) > 0 {
		spec["x-kubernetes-validations"] = rules
	}
	text := object{"type": "string"}
	condition := object{"type": "object", "required": []any{"lastTransitionTime", "reason", "status", "type"}, "properties": object{
		"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": object{"type": "string", "format": "date-time"},
	}}
	r := k.resource()
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": r.GroupResource().String()},
		"spec": object{
			"group": r.Group, "scope": "Cluster", "names": object{"kind": k.Kind, "listKind": k.Kind + "List", "plural": r.Resource, "singular": strings.ToLower(k.Kind), "categories": []any{"crossplane", "managed", "aws"}},
			"versions": []any{object{
				"name": r.Version, "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "required": []any{"spec"}, "properties": object{
					"spec": spec,
					"status": object{"type": "object", "properties": object{
						"atProvider": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
						"conditions": object{"type": "array", "items": condition, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"}},
					}},
				}}},
			}},
		},
	}
}

// providerConfig defines the kind of the provider's family.
func providerConfig() object {
	text := object{"type": "string"}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": ProviderConfigs.GroupResource().String()},
		"spec": object{
			"group": ProviderConfigs.Group, "scope": "Cluster", "names": object{"kind": "ProviderConfig", "listKind": "ProviderConfigList", "plural": ProviderConfigs.Resource, "singular": "providerconfig"},
			"versions": []any{object{
				"name": ProviderConfigs.Version, "served": true, "storage": true, "subresources": object{"status": object{}},
				"schema": object{"openAPIV3Schema": object{"type": "object", "required": []any{"spec"}, "properties": object{
					"spec": object{"type": "object", "required": []any{"credentials"}, "properties": object{
						"credentials": object{"type": "object", "required": []any{"source"}, "properties": object{
							"source":    object{"type": "string", "enum": []any{"None", "Secret", "IRSA", "WebIdentity", "PodIdentity", "Upbound"}},
							"secretRef": object{"type": "object", "required": []any{"namespace", "name", "key"}, "properties": object{"namespace": text, "name": text, "key": text}},
						}},
					}},
					"status": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				}}},
			}},
		},
	}
}

// object is what JSON decodes into.
type object = map[string]any

// documents are objects as YAML.
func documents(objects ...object) []byte {
	var out bytes.Buffer
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			panic(err) //nolint:forbidigo // texts, lists and maps alone
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes()
}

var upjet = dialect{
	kinds:     upjetResources(),
	finalizer: "finalizers.aws.upbound.io/stand-in",
	version:   []string{"spec", "forProvider", "version"},
	asked:     []string{"spec", "forProvider"},
	orphan: func(o *unstructured.Unstructured) bool {
		policy, _, _ := unstructured.NestedString(o.Object, "spec", "deletionPolicy")
		return policy == "Orphan"
	},
	prepare: upjetPrepare,
	status:  upjetStatus,
}

func upjetResources() map[string]schema.GroupVersionResource {
	out := map[string]schema.GroupVersionResource{}
	for name, k := range upjetKinds {
		out[name] = k.resource()
	}
	return out
}

// upjetPrepare logs in, and finds what selectors select.
func upjetPrepare(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured) (changed bool, err error) {
	k := upjetKinds[kind]
	if err := p.login(ctx, k.service, o); err != nil {
		return false, err
	}
	for _, r := range k.References {
		selector, has, _ := unstructured.NestedMap(o.Object, "spec", "forProvider", r.selector())
		value, is, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "forProvider", r.Field)
		if !has || is && fmt.Sprint(value) != "[]" {
			continue
		}
		ids, err := p.selected(ctx, r, selector, o)
		if err != nil {
			return false, fmt.Errorf("cannot resolve references: mg.Spec.ForProvider.%s: %w", r.Field, err)
		}
		found := ids[0]
		if k.Fields[r.Field] == "strings" {
			found = any(ids)
		}
		if err := unstructured.SetNestedField(o.Object, found, "spec", "forProvider", r.Field); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// selected are the ids of what a selector selects, once each of them has one.
func (p *ProviderStandIn) selected(ctx context.Context, r reference, selector map[string]any, by *unstructured.Unstructured) ([]any, error) {
	service, kind, _ := strings.Cut(r.To, "/")
	want, _, _ := unstructured.NestedStringMap(selector, "matchLabels")
	list, err := p.Client.Dynamic.Resource(upjetKinds[thingOf(service, kind)].resource()).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(want).String()})
	if err != nil {
		return nil, err
	}
	var ids []any
	for i := range list.Items {
		o := &list.Items[i]
		if same, _, _ := unstructured.NestedBool(selector, "matchControllerRef"); same && kube.Controller(o) != kube.Controller(by) {
			continue
		}
		id, _, _ := unstructured.NestedString(o.Object, "status", "atProvider", "id")
		if id == "" {
			return nil, errors.New("referenced field was empty (referenced resource may not yet be ready)")
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil, errors.New("no resources matched selector")
	}
	slices.SortFunc(ids, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return ids, nil
}

// A login is the outcome of one, for a while.
type login struct {
	at  time.Time
	err error
}

const loginLife = time.Second

// login returns nil if the package of a service may ask the cloud, by the ProviderConfig of an
// object.
func (p *ProviderStandIn) login(ctx context.Context, service string, o *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(o.Object, "spec", "providerConfigRef", "name")
	account, _ := p.account(service)
	key := account + " " + name
	p.mu.Lock()
	last, has := p.logins[key]
	p.mu.Unlock()
	if has && time.Since(last.at) < loginLife {
		return last.err
	}
	err := p.loginWith(ctx, account, name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.logins == nil {
		p.logins = map[string]login{}
	}
	p.logins[key] = login{time.Now(), err}
	return err
}

func (p *ProviderStandIn) loginWith(ctx context.Context, account, config string) error {
	o, err := p.Client.Get(ctx, ProviderConfigs, "", config)
	if err != nil {
		return err
	}
	if o == nil {
		return fmt.Errorf("connect failed: cannot get referenced ProviderConfig: %q: not found", config)
	}
	switch source, _, _ := unstructured.NestedString(o.Object, "spec", "credentials", "source"); source {
	case "Secret":
		to, _, _ := unstructured.NestedStringMap(o.Object, "spec", "credentials", "secretRef")
		secret, err := p.Client.Typed.CoreV1().Secrets(to["namespace"]).Get(ctx, to["name"], metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(secret.Data[to["key"]]) == 0 {
			return fmt.Errorf("connect failed: the Secret %s has no key %s", to["name"], to["key"])
		}
		return nil
	case "IRSA":
		accounts := p.Client.Typed.CoreV1().ServiceAccounts(crossplaneSystem)
		is, err := accounts.Get(ctx, account, metav1.GetOptions{})
		if err != nil {
			return err
		}
		token, err := accounts.CreateToken(ctx, account, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{Audiences: []string{audience}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		return p.assume(ctx, is.Annotations["eks.amazonaws.com/role-arn"], token.Status.Token)
	default:
		return fmt.Errorf("connect failed: credentials source %q: this stand-in knows IRSA and Secret", source)
	}
}

// upjetStatus is what the provider writes of an object. What is there stays Ready while it changes.
func upjetStatus(ctx context.Context, p *ProviderStandIn, kind string, o *unstructured.Unstructured, is *thing, synced bool, problem error) (map[string]any, error) {
	seen, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
	switch {
	case !synced || problem != nil:
	case kind == connectionThing:
		written, err := p.writeKubeconfig(ctx, o)
		if err != nil {
			return nil, err
		}
		if written {
			seen = map[string]any{"lastRefreshTime": time.Now().UTC().Format(time.RFC3339)}
		}
	default:
		seen = p.observed(kind, o, is)
	}
	synchronised := map[string]any{"type": "Synced", "status": "True", "reason": "ReconcileSuccess"}
	if problem != nil {
		synchronised = map[string]any{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": problem.Error()}
	}
	ready := map[string]any{"type": "Ready", "status": map[bool]string{true: "True", false: "False"}[len(seen) > 0], "reason": map[bool]string{true: "Available", false: "Creating"}[len(seen) > 0]}
	status := map[string]any{"conditions": []any{changedAt(o, ready), changedAt(o, synchronised)}}
	if len(seen) > 0 {
		status["atProvider"] = seen
	}
	return status, nil
}

// changedAt gives a condition the time of its last change.
func changedAt(o *unstructured.Unstructured, condition map[string]any) map[string]any {
	at := time.Now().UTC().Format(time.RFC3339)
	before, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range before {
		if c, _ := one.(map[string]any); c["type"] == condition["type"] && c["status"] == condition["status"] {
			at, _ = c["lastTransitionTime"].(string)
		}
	}
	condition["lastTransitionTime"] = at
	return condition
}

// observed is what there is to see of a thing.
func (p *ProviderStandIn) observed(kind string, o *unstructured.Unstructured, is *thing) map[string]any {
	name, region := o.GetName(), "eu-central-1"
	if r, ok := is.asked["region"].(string); ok {
		region = r
	}
	seen := map[string]any{"id": is.id, "arn": fmt.Sprintf("arn:aws:%s:%s:%s:%s/%s", upjetKinds[kind].service, region, Account, kind, name)}
	switch kind {
	case clusterThing:
		seen["version"], seen["id"] = is.version, name
		if p.Issuer != nil {
			seen["identity"] = []any{map[string]any{"oidc": []any{map[string]any{"issuer": p.Issuer(name)}}}}
		}
	case nodesThing:
		seen["version"], seen["id"] = is.version, name+":"+name
	case roleThing:
		seen["id"], seen["arn"] = name, ARN(name)
	case identityThing:
		url, _ := is.asked["url"].(string)
		seen["id"], seen["arn"] = identityARN(url), identityARN(url)
	case "queue":
		seen["url"] = fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", region, Account, name)
	case "table", "subnetgroup":
		seen["id"] = name
	case "instance":
		address := name + ".rds.amazonaws.com"
		seen["address"], seen["endpoint"] = address, address+":5432"
		seen["masterUserSecret"] = []any{map[string]any{"secretArn": fmt.Sprintf("arn:aws:secretsmanager:%s:%s:secret:rds!%s", region, Account, name)}}
	}
	return seen
}

// writeKubeconfig writes the connection Secret of a ClusterAuth, unless it is as it is to be.
func (p *ProviderStandIn) writeKubeconfig(ctx context.Context, o *unstructured.Unstructured) (bool, error) {
	url, authority := p.Endpoint(o.GetName())
	config := api.NewConfig()
	config.Clusters["eks"] = &api.Cluster{Server: url, CertificateAuthorityData: authority}
	config.AuthInfos["eks"] = &api.AuthInfo{Token: p.Token(o.GetName())}
	config.Contexts["eks"] = &api.Context{Cluster: "eks", AuthInfo: "eks"}
	config.CurrentContext = "eks"
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		return false, fmt.Errorf("kubeconfig of %s: %w", o.GetName(), err)
	}
	to, _, _ := unstructured.NestedStringMap(o.Object, "spec", "writeConnectionSecretToRef")
	secret, err := p.Client.Typed.CoreV1().Secrets(to["namespace"]).Get(ctx, to["name"], metav1.GetOptions{})
	if err == nil && bytes.Equal(secret.Data["kubeconfig"], kubeconfig) {
		return false, nil
	} else if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	return true, p.Client.ApplyObject(ctx, to["namespace"], &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "connection.crossplane.io/v1alpha1",
		"metadata": map[string]any{"name": to["name"], "ownerReferences": []any{map[string]any{
			"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(o.GetUID()), "controller": true,
		}}},
		"stringData": map[string]any{"kubeconfig": string(kubeconfig)},
	}})
}
