package charts_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/external-secrets/external-secrets/pkg/controllers/templating"
	"github.com/external-secrets/external-secrets/pkg/provider/fake"
	"github.com/external-secrets/external-secrets/pkg/template"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// member is what the `members` view answers for a spoke, and a store region from the hierarchy.
const member = `
clusterName: retail-dev-eu-1
secretManagerSecretName: fleet/retail-dev-eu-1
externalSecret:
  labels: {tenant: retail, environment: dev, fleet_member: spoke, addonsRelease: canary}
  annotations: {owner: team-retail}
secretStore: {aws: {region: eu-west-1}}
`

// terraform is the JSON secret that Terraform writes: values may be JSON texts or JSON itself.
func terraform(keys map[string]any) string {
	all := map[string]any{
		"cluster_name": "retail-dev-eu-1",
		"server":       "https://retail.example.com",
		"config":       `{"tlsClientConfig":{"insecure":false}}`,
	}
	maps.Copy(all, keys)
	for key, value := range all {
		if value == nil {
			delete(all, key)
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// reconcile makes the Secret of an ExternalSecret with the code of External Secrets: its fake
// provider, its template engine, its parser. The order is that of ApplyTemplate in
// pkg/controllers/externalsecret/externalsecret_controller_template.go of v0.19.2, which cannot
// be called itself as its package links every cloud.
func reconcile(t *testing.T, es *esv1.ExternalSecret, remote, generated map[string]string) (*corev1.Secret, error) {
	t.Helper()
	ctx := t.Context()
	store := &esv1.SecretStore{ObjectMeta: metav1.ObjectMeta{Name: "fake"}}
	store.Spec.Provider = &esv1.SecretStoreProvider{Fake: &esv1.FakeProvider{}}
	for key, value := range remote {
		store.Spec.Provider.Fake.Data = append(store.Spec.Provider.Fake.Data, esv1.FakeProviderData{Key: key, Value: value})
	}
	client, err := new(fake.Provider).NewClient(ctx, store, nil, es.Namespace)
	require.NoError(t, err)
	data := map[string][]byte{}
	for _, from := range es.Spec.DataFrom {
		if from.SourceRef != nil && from.SourceRef.GeneratorRef != nil {
			for key, value := range generated {
				data[key] = []byte(value)
			}
			continue
		}
		found, err := client.GetSecretMap(ctx, *from.Extract)
		if err != nil {
			return nil, err
		}
		maps.Copy(data, found)
	}
	for _, from := range es.Spec.Data {
		if data[from.SecretKey], err = client.GetSecret(ctx, from.RemoteRef); err != nil {
			return nil, err
		}
	}

	target := es.Spec.Target.Template
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: es.Spec.Target.Name, Namespace: es.Namespace}, Type: target.Type}
	secret.Labels, secret.Annotations, secret.Data = map[string]string{}, map[string]string{}, map[string][]byte{}
	maps.Copy(secret.Labels, target.Metadata.Labels)
	maps.Copy(secret.Annotations, target.Metadata.Annotations)
	if target.MergePolicy == esv1.MergePolicyMerge {
		maps.Copy(secret.Data, data)
	}
	execute, err := template.EngineForVersion(target.EngineVersion)
	require.NoError(t, err)
	parser := templating.Parser{TargetSecret: secret, DataMap: data, Exec: execute}
	if err := parser.MergeTemplateFrom(ctx, es.Namespace, target); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		values map[string]string
		target esv1.TemplateTarget
	}{
		{target.Data, esv1.TemplateTargetData},
		{target.Metadata.Labels, esv1.TemplateTargetLabels},
		{target.Metadata.Annotations, esv1.TemplateTargetAnnotations},
	} {
		if err := parser.MergeMap(step.values, step.target); err != nil {
			return nil, err
		}
	}
	return secret, nil
}

// clusterSecret renders the chart and makes the cluster Secret from what Terraform wrote.
func clusterSecret(t *testing.T, remote string, valueTexts ...string) *corev1.Secret {
	t.Helper()
	objects := rendering{}.objects(t, fleetSecret, valueTexts...)
	es := one[*esv1.ExternalSecret](t, objects, "retail-dev-eu-1")
	secret, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": remote}, nil)
	require.NoError(t, err)
	return secret
}

func texts(data map[string][]byte) map[string]string {
	out := map[string]string{}
	for key, value := range data {
		out[key] = string(value)
	}
	return out
}

func TestFleetSecretGoldens(t *testing.T) { chartGoldens(t, fleetSecret) }

// The Secret is what Argo CD reads as a cluster.
func TestFleetSecretIsAnArgoCDCluster(t *testing.T) {
	got := clusterSecret(t, terraform(map[string]any{
		"metadata": `{"aws_account_id":"123456789012","vpc":"vpc-1"}`,
		"addons":   `{"enable_karpenter":true,"kubernetes_version":"1.33"}`,
	}), member)
	if got.Name != "retail-dev-eu-1" || got.Namespace != "argocd" || got.Type != corev1.SecretTypeOpaque {
		t.Errorf("got %s/%s %s", got.Namespace, got.Name, got.Type)
	}
	wantLabels := map[string]string{
		"argocd.argoproj.io/secret-type": "cluster",
		"tenant":                         "retail", "environment": "dev", "fleet_member": "spoke", "addonsRelease": "canary",
		"enable_karpenter": "true", "kubernetes_version": "1.33",
	}
	assert.Equal(t, wantLabels, got.Labels, "labels")
	wantAnnotations := map[string]string{
		"cluster_name": "retail-dev-eu-1", "owner": "team-retail", "aws_account_id": "123456789012", "vpc": "vpc-1",
		"argosy.dev/server": "https://retail.example.com",
	}
	assert.Equal(t, wantAnnotations, got.Annotations, "annotations")
	wantData := map[string]string{
		"name": "retail-dev-eu-1", "server": "https://retail.example.com", "config": `{"tlsClientConfig":{"insecure":false}}`,
	}
	assert.Equal(t, wantData, texts(got.Data), "data")
}

// L1, and lesson 5: Terraform's labels overwrite Git's, and
// its empty environment blanks the declared one.
func TestGitLabelsBeatTerraforms(t *testing.T) {
	got := clusterSecret(t, terraform(map[string]any{
		"addons": map[string]any{
			"environment": "", "tenant": "payments", "fleet_member": "hub-cluster", "addonsRelease": "default",
			"argocd.argoproj.io/secret-type": "repository", "only_terraform": "yes", "blank": "", "absent": nil,
		},
		"metadata": map[string]any{"owner": "terraform", "cluster_name": "other", "only_terraform": "kept", "blank": ""},
	}), member)
	want := map[string]string{
		"environment": "dev", "tenant": "retail", "fleet_member": "spoke", "addonsRelease": "canary",
		"argocd.argoproj.io/secret-type": "cluster", "only_terraform": "yes",
	}
	assert.Equal(t, want, got.Labels, "labels")
	want = map[string]string{"owner": "team-retail", "cluster_name": "retail-dev-eu-1", "only_terraform": "kept", "argosy.dev/server": "https://retail.example.com"}
	assert.Equal(t, want, got.Annotations, "annotations")
}

// L2, and lesson 7: absent keys became the text `<no value>`, an invalid label, and the API server
// rejects the whole Secret. What Terraform wrote must never do that; it is left out and named.
func TestInvalidTerraformLabelsAreLeftOut(t *testing.T) {
	got := clusterSecret(t, terraform(map[string]any{
		"addons": map[string]any{
			"nothing": "<no value>", "path": "a/b", "long": strings.Repeat("x", 64), "bad key": "x", "object": map[string]any{"a": 1},
			"count": 3, "account": 123456789012, "ratio": 1.5, "on": true, "off": false, "ok": " padded ",
		},
		"metadata": map[string]any{
			"nothing": "<no value>", "account": 123456789012, "subnets": []string{"a", "b"}, "url": "https://x/<y>&z",
			"braces": "{{ .Values }}", "lines": "a\nb",
		},
	}), member)
	for key, want := range map[string]string{"count": "3", "account": "123456789012", "ratio": "1.5", "on": "true", "off": "false", "ok": "padded"} {
		assert.Equal(t, want, got.Labels[key], "label %s", key)
	}
	for _, key := range []string{"nothing", "path", "long", "bad key", "object"} {
		if value, found := got.Labels[key]; found {
			t.Errorf("label %s: got %q, want none", key, value)
		}
	}
	want := map[string]string{
		"argosy.dev/ignored-labels": "bad key,long,nothing,object,path", "argosy.dev/server": "https://retail.example.com",
		"cluster_name": "retail-dev-eu-1", "owner": "team-retail", "account": "123456789012",
		"subnets": `["a","b"]`, "url": "https://x/<y>&z", "braces": "{{ .Values }}", "lines": "a\nb",
	}
	assert.Equal(t, want, got.Annotations, "annotations")
}

// L2: Git's own labels are refused when the chart is rendered.
func TestInvalidGitLabelsFail(t *testing.T) {
	for value, message := range map[string]string{
		"{team: <no value>}": `externalSecret.labels.team: "<no value>" is not a valid label value`,
		"{team: a/b}":        `externalSecret.labels.team: "a/b" is not a valid label value`,
		"{environment: ''}":  `externalSecret.labels.environment must not be empty`,
		"{'a b': c}":         `externalSecret.labels: "a b" is not a valid label name`,
		"{argocd.argoproj.io/secret-type: repository}": `externalSecret.labels.argocd.argoproj.io/secret-type: "repository" is reserved`,
		"{account: 123456789012}":                      "at '/externalSecret/labels/account': got number, want null or boolean or string",
	} {
		rendering{}.fails(t, message, fleetSecret, member, "externalSecret: {labels: "+value+"}")
	}
	rendering{}.fails(t, `externalSecret.annotations.cluster_name: "x" contradicts clusterName: "retail-dev-eu-1"`,
		fleetSecret, member, "externalSecret: {annotations: {cluster_name: x}}")
}

// Texts from Git reach the Secret as they are: neither Helm nor External Secrets executes them.
func TestFleetSecretTextsAreNotTemplates(t *testing.T) {
	got := clusterSecret(t, terraform(nil), member, `
externalSecret:
  labels: {flag: true, gone: null}
  annotations: {braces: '{{ fail "executed" }}', quote: "a \"b\"\n<c>", flag: false}
  config: {awsAuthConfig: {clusterName: '{{ x }}'}}
  server: https://kubernetes.default.svc
  project: retail
  namespaces: [a, b]
  clusterResources: "true"
`)
	for key, want := range map[string]string{"braces": `{{ fail "executed" }}`, "quote": "a \"b\"\n<c>", "flag": "false"} {
		assert.Equal(t, want, got.Annotations[key], "annotation %s", key)
	}
	if _, found := got.Labels["gone"]; found || got.Labels["flag"] != "true" {
		t.Errorf("labels: %v", got.Labels)
	}
	want := map[string]string{
		"name": "retail-dev-eu-1", "server": "https://kubernetes.default.svc", "project": "retail",
		"config": `{"awsAuthConfig":{"clusterName":"{{ x }}"}}`, "namespaces": "a,b", "clusterResources": "true",
	}
	assert.Equal(t, want, texts(got.Data), "data")
}

// Names and keys that YAML would read as numbers or booleans stay text.
func TestFleetSecretNamesAreText(t *testing.T) {
	for _, name := range []string{"no", "123", "1e3"} {
		objects := rendering{}.objects(t, fleetSecret, "clusterName: '"+name+"'\n"+`
secretManagerSecretName: arn:aws:secretsmanager:eu-west-1:111122223333:secret:x
externalSecret:
  labels: {"no": a, "1e3": b}
  annotations: {"yes": c}
`)
		es, store := one[*esv1.ExternalSecret](t, objects, name), one[*esv1.SecretStore](t, objects, name)
		if es.Spec.Target.Name != name || es.Spec.SecretStoreRef.Name != store.Name {
			t.Errorf("%s: target %q, store %q", name, es.Spec.Target.Name, es.Spec.SecretStoreRef.Name)
		}
		metadata := es.Spec.Target.Template.Metadata
		if metadata.Labels["no"] != "a" || metadata.Labels["1e3"] != "b" || metadata.Annotations["yes"] != "c" {
			t.Errorf("%s: %v", name, metadata)
		}
	}
}

// A secret that holds another cluster's credentials, or lacks them, leaves the Secret as it was.
func TestFleetSecretRefusesWrongSecrets(t *testing.T) {
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member), "")
	for message, remote := range map[string]string{
		`the secret is that of cluster "other", not of "retail-dev-eu-1"`: terraform(map[string]any{"cluster_name": "other"}),
		`the secret has no key server`:                                    terraform(map[string]any{"server": nil}),
		`the secret has no key config`:                                    terraform(map[string]any{"config": nil}),
		"addons is not a JSON object":                                     terraform(map[string]any{"addons": "not JSON"}),
		"metadata is not a JSON object":                                   terraform(map[string]any{"metadata": []string{"a"}}),
	} {
		_, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": remote}, nil)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("got error %v, want %q", err, message)
		}
	}
	// without cluster_name there is nothing to compare
	if _, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(map[string]any{"cluster_name": nil})}, nil); err != nil {
		t.Error(err)
	}
	es = one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, `externalSecret: {verifyClusterName: "false"}`), "")
	if _, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(map[string]any{"cluster_name": "eks-name"})}, nil); err != nil {
		t.Error(err)
	}
}

func TestFleetSecretBadValues(t *testing.T) {
	for values, message := range map[string]string{
		"clusterName: ''": "clusterName is required", "clusterName: A_b": `clusterName: "A_b" is not a DNS-1123 label`,
		"secretManagerSecretName: ''":                                 "secretManagerSecretName is required: the secret that holds the credentials of \"retail-dev-eu-1\"",
		"secretStore: {aws: {region: ''}}":                            "secretStore.aws.region is required: secretManagerSecretName is not an ARN that names it",
		"secretStore: {aws: {role: admin}}":                           "at '/secretStore/aws/role': 'admin' does not match pattern",
		"secretStore: {create: false}":                                "secretStore.name is required with secretStore.create: false",
		"secretStore: {create: false, name: x, provider: {fake: {}}}": "secretStore.provider has no effect with secretStore.create: false",
		"secretStore: {provider: {fake: {}, vault: {}}}":              "secretStore.provider: one provider, found 2: fake, vault",
		"secretStore: {provider: {fake: {}}}":                         "secretStore.aws.region has no effect beside secretStore.provider",
		"secretStore: {conditions: [{namespaces: [a]}]}":              "secretStore.conditions needs secretStore.kind: ClusterSecretStore",
		"secretStore: {kind: Store}":                                  "at '/secretStore/kind': value must be one of 'SecretStore', 'ClusterSecretStore'",
		"serviceAccount: {create: true}":                              "serviceAccount.name is required",
		"githubSecret: true":                                          "githubSecretName is required with githubSecret: true",
		"{githubSecret: true, githubSecretName: x, gitCredentials: {github: {type: http, secretName: key}}}": "gitCredentials.github: githubSecret brings credentials of this name already",
		"gitCredentials: {x: {type: http}}":                                                                              "gitCredentials.x.secretName is required",
		"gitCredentials: {x: {secretName: key}}":                                                                         "gitCredentials.x.type is required",
		"gitCredentials: {x: {type: http, secretName: key, data: {password: p}}}":                                        "gitCredentials.x.data.password: credentials belong into the secret store",
		"gitCredentials: {x: {type: http, secretName: key, properties: {token: t}}}":                                     "gitCredentials.x.properties.token: credentials of type http have the fields username, password, url",
		"gitCredentials: {x: {type: ssh, secretName: key, url: 'https://a/b'}}":                                          `gitCredentials.x.url: "https://a/b" is no SSH address`,
		"gitCredentials: {x: {type: http, secretName: key, url: 'git@a:b'}}":                                             `gitCredentials.x.url: "git@a:b" is no http(s) address`,
		"gitCredentials: {x: {type: ssh, secretName: key, plain: true}}":                                                 "gitCredentials.x.url is required with plain: true",
		"gitCredentials: {x: {type: githubApp, secretName: key, plain: true}}":                                           "gitCredentials.x.plain: a GitHub App has three fields",
		"externalSecret: {clusterResources: true}":                                                                       "externalSecret.clusterResources has a meaning with externalSecret.namespaces only",
		"externalSecret: {creationPolicy: Merge, deletionPolicy: Delete}":                                                "externalSecret.deletionPolicy: Delete contradicts creationPolicy: Merge",
		"externalSecret: {refreshInterval: 10}":                                                                          "at '/externalSecret/refreshInterval': got number, want string",
		"externalSecret: {refreshIntervall: 10m}":                                                                        "at '/externalSecret': additional properties 'refreshIntervall' not allowed",
		"push: {token: {enabled: true}}":                                                                                 "push.token.enabled has no effect with push.enabled: false",
		"push: {enabled: true, provider: {vault: {}}}":                                                                   "push.provider: vault: only the provider kubernetes writes into a cluster",
		"push: {enabled: true, namespace: ''}":                                                                           "at '/push/namespace': '' does not match pattern",
		"{externalSecret: {enabled: false}, secretManagerSecretName: '', push: {enabled: true, token: {enabled: true}}}": `secretManagerSecretName is required: the secret that the kubeconfig of "retail-dev-eu-1" is made of (or kubeconfig.secretName, or push.provider)`,
		"{externalSecret: {enabled: false}, secretManagerSecretName: '', kubeconfig: {enabled: true}}":                   `secretManagerSecretName is required: the secret that the kubeconfig of "retail-dev-eu-1" is made of (or kubeconfig.secretName)`,
		"typo: 1": "at '': additional properties 'typo' not allowed",
		"ecr: {registries: [{region: eu-west-1}]}": "at '/ecr/registries/0': missing property 'endpoint'",
	} {
		t.Run(values, func(t *testing.T) { rendering{}.fails(t, message, fleetSecret, member, values) })
	}
}

// One object of each kind and no more: nothing reads the store, no store.
func TestFleetSecretRendersWhatIsAskedFor(t *testing.T) {
	objects := rendering{}.objects(t, fleetSecret, member, "externalSecret: {enabled: false}")
	if len(objects) != 0 {
		t.Errorf("got %d objects, want none", len(objects))
	}
	if objects := (rendering{}).objects(t, fleetSecret, member, "{externalSecret: {enabled: false}, push: {enabled: true}}"); len(objects) != 0 {
		t.Errorf("nothing is pushed, but %d objects are there to do it", len(objects))
	}
	// the region of an ARN
	arn := "secretManagerSecretName: arn:aws:secretsmanager:eu-north-1:123456789012:secret:fleet/retail-dev-eu-1\nsecretStore: {aws: {region: ''}}"
	store := one[*esv1.SecretStore](t, rendering{}.objects(t, fleetSecret, member, arn), "retail-dev-eu-1")
	assert.Equal(t, "eu-north-1", store.Spec.Provider.AWS.Region, "region")
}

// The notes carry no secret and name what was made.
func TestFleetSecretNotes(t *testing.T) {
	_, notes, err := rendering{}.render(fleetSecret, valuesFiles(t, []string{member})...)
	require.NoError(t, err)
	assert.Contains(t, notes, "argocd/retail-dev-eu-1, from fleet/retail-dev-eu-1", "notes")
}

// No member's Secret is one of Argo CD's or of the service.
func TestMemberTakesNoSecretOfArgoCD(t *testing.T) {
	for _, name := range []string{"argocd-secret", "generator-plugin-token", "hub-cluster"} {
		rendering{}.fails(t, "is the name of a Secret of Argo CD or of this service", fleetSecret, member, "clusterName: "+name+"\n")
		rendering{}.fails(t, "is the name of a Secret of Argo CD or of this service", fleetSecret, member, "externalSecret: {secretName: "+name+"}\n")
	}
}
