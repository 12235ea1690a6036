package charts_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/applicationset/generators"
	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// onHub is the least that an installation on a hub needs.
const onHub = "hub: hub-eu\nsource: {git: {url: https://github.com/acme/fleet}}\n"

// onMember is what the `agents` view answers.
const onMember = onHub + "owner: payments-prod-eu-1\n"

const bearer = "0123456789abcdef0123456789abcdef"

// externalSecretsAPI is what makes the chart see External Secrets.
var externalSecretsAPI = []string{"external-secrets.io/v1", "generators.external-secrets.io/v1alpha1"}

func TestGeneratorPluginGoldens(t *testing.T) { chartGoldens(t, generatorPlugin) }

// Argo CD's own generator reads the ConfigMap and the Secret, finds the token and calls the service
// with it.
func TestArgoCDCallsThePlugin(t *testing.T) {
	for name, c := range map[string]struct{ values, secretNamespace string }{
		"value":           {"token: {value: " + bearer + "}", ""},
		"other key":       {"token: {value: " + bearer + ", key: bearer.token}", ""},
		"other namespace": {"token: {value: " + bearer + "}\nargocd: {namespace: argo}", "argo"},
	} {
		t.Run(name, func(t *testing.T) {
			var authorization, path string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				authorization, path = r.Header.Get("Authorization"), r.URL.Path
				_, _ = io.WriteString(w, `{"output":{"parameters":[{"name":"a"}]}}`)
			}))
			defer server.Close()
			objects := rendering{}.objects(t, generatorPlugin, onHub, c.values, "plugin: {baseUrl: "+server.URL+", requestTimeout: 7}")
			namespace := c.secretNamespace
			if namespace == "" {
				namespace = "argocd"
			}
			config := one[*corev1.ConfigMap](t, objects, "generator-plugin")
			if config.Namespace != namespace || config.Data["requestTimeout"] != "7" {
				t.Errorf("ConfigMap in %s: %v", config.Namespace, config.Data)
			}
			client := clientfake.NewClientBuilder().WithScheme(clientscheme.Scheme)
			for _, object := range objects {
				switch object := object.(type) {
				case *corev1.ConfigMap:
					client.WithObjects(object)
				case *corev1.Secret:
					client.WithObjects(object)
				}
			}
			generator := generators.NewPluginGenerator(client.Build(), t.Context(), kubefake.NewSimpleClientset(), namespace)
			set := &v1alpha1.ApplicationSet{ObjectMeta: metav1.ObjectMeta{Name: "set", Namespace: namespace}}
			set.Spec.GoTemplate = true
			params, err := generator.GenerateParams(&v1alpha1.ApplicationSetGenerator{Plugin: &v1alpha1.PluginGenerator{
				ConfigMapRef: v1alpha1.PluginConfigMapRef{Name: config.Name},
			}}, set, nil)
			require.NoError(t, err)
			if len(params) != 1 || authorization != "Bearer "+bearer || path != "/api/v1/getparams.execute" {
				t.Errorf("%d sets, %q, %q", len(params), authorization, path)
			}
		})
	}
}

// The plugin's address is that of the Service, whose selector finds the pods and whose port is
// theirs.
func TestPluginAddress(t *testing.T) {
	for values, want := range map[string]string{
		"{}":                       "http://test-generator-plugin.argocd.svc:8080",
		"fullnameOverride: plugin": "http://plugin.argocd.svc:8080",
		"service: {port: 80}":      "http://test-generator-plugin.argocd.svc:80",
		"tls: {enabled: \"true\", secretName: s}": "https://test-generator-plugin.argocd.svc:8080",
		"plugin: {baseUrl: https://x/y}":          "https://x/y",
	} {
		objects := rendering{}.objects(t, generatorPlugin, onHub, values)
		assert.Equal(t, want, one[*corev1.ConfigMap](t, objects, "").Data["baseUrl"], "%s", values)
		service, deployment := one[*corev1.Service](t, objects, ""), one[*appsv1.Deployment](t, objects, "")
		pod := labels.Set(deployment.Spec.Template.Labels)
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(pod) || !labels.SelectorFromSet(deployment.Spec.Selector.MatchLabels).Matches(pod) {
			t.Errorf("%s: selectors do not match the pods", values)
		}
		if !strings.HasPrefix(want, "https://x") && !strings.Contains(want, "//"+service.Name+"."+service.Namespace+".svc:"+fmt.Sprint(service.Spec.Ports[0].Port)) {
			t.Errorf("%s: the Service is %s/%s", values, service.Namespace, service.Name)
		}
		if service.Spec.Ports[0].TargetPort.StrVal != deployment.Spec.Template.Spec.Containers[0].Ports[0].Name {
			t.Errorf("%s: the Service's port is not the pod's", values)
		}
	}
}

// A token is generated once and kept; where Helm does not see the cluster none is generated, as it
// would change with every rendering.
func TestTokenIsGeneratedOnceAndKept(t *testing.T) {
	system := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	installed := rendering{Live: []runtime.Object{system}}
	first := one[*corev1.Secret](t, installed.objects(t, generatorPlugin, onHub), "test-generator-plugin-token")
	if got := first.Data["token"]; !regexp.MustCompile(`^[A-Za-z0-9]{48}$`).Match(got) {
		t.Fatalf("token %q", got)
	}
	assert.Equal(t, "keep", first.Annotations["helm.sh/resource-policy"], "annotations: %v", first.Annotations)
	upgrade := rendering{Live: []runtime.Object{system, first}}
	second := one[*corev1.Secret](t, upgrade.objects(t, generatorPlugin, onHub, "argocd: {namespace: argocd}"), "")
	assert.Equal(t, first.Data, second.Data, "the token changed")
	other := all[*corev1.Secret](upgrade.objects(t, generatorPlugin, onHub, "argocd: {namespace: argo}"))
	if len(other) != 2 || cmp.Diff(other[0].Data, other[1].Data) != "" || other[0].Namespace == other[1].Namespace {
		t.Errorf("two namespaces: got %d Secrets", len(other))
	}

	blind := rendering{}
	if secrets := all[*corev1.Secret](blind.objects(t, generatorPlugin, onHub)); len(secrets) != 0 {
		t.Errorf("without a cluster: %d Secrets, want none", len(secrets))
	}
	_, notes, err := blind.render(generatorPlugin, valuesFiles(t, []string{onHub})...)
	if err != nil || !strings.Contains(notes, "create secret generic test-generator-plugin-token --from-literal=token=") {
		t.Errorf("notes (%v):\n%s", err, notes)
	}
}

// With External Secrets the token is generated in the cluster: rendering gives the same bytes every
// time, as Argo CD needs.
func TestTokenByExternalSecrets(t *testing.T) {
	how := rendering{APIVersions: externalSecretsAPI}
	objects := how.objects(t, generatorPlugin, onMember)
	password := one[*genv1alpha1.Password](t, objects, "test-generator-plugin-token")
	es := one[*esv1.ExternalSecret](t, objects, "test-generator-plugin-token")
	if es.Spec.RefreshPolicy != esv1.RefreshPolicyCreatedOnce || es.Spec.DataFrom[0].SourceRef.GeneratorRef.Name != password.Name {
		t.Errorf("spec: %+v", es.Spec)
	}
	secret, err := reconcile(t, es, nil, map[string]string{"password": bearer})
	require.NoError(t, err)
	if got := string(secret.Data["token"]); got != bearer || len(secret.Data) != 1 {
		t.Errorf("data: %v", texts(secret.Data))
	}
	for _, values := range []string{onHub, onMember} {
		first, _, err1 := how.render(generatorPlugin, valuesFiles(t, []string{values})...)
		second, _, err2 := how.render(generatorPlugin, valuesFiles(t, []string{values})...)
		if err1 != nil || err2 != nil || cmp.Diff(first, second) != "" {
			t.Errorf("two renderings differ (%v, %v)", err1, err2)
		}
	}
	how.fails(t, "token.generate: externalSecrets makes one Secret", generatorPlugin, onHub, "argocd: {namespace: argo}")
}

// buildService builds the service itself.
func buildService(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "generator-plugin")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", path, repo+"/cmd/generator-plugin").CombinedOutput(); err != nil {
		t.Fatalf("build the service: %v\n%s", err, out)
	}
	return path
}

// The service itself accepts what the chart passes.
func TestGeneratorPluginFlags(t *testing.T) {
	service := buildService(t)
	for name, c := range map[string]struct {
		values string
		want   []string
	}{
		"git": {onHub, []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--hub=hub-eu", "--listen=:8080",
			"--token-file=/etc/argosy/token/token", "--web-probe-interval=45s", "--facts=kubernetes", "--namespace=argocd",
			"--plugin-configmap=generator-plugin", "--state-dir=/var/lib/argosy",
			"--drain-delay=5s", "--log-format=json", "--log-level=info",
		}},
		"no refresh": {onHub + "plugin: {configMap: other, refreshApplicationSets: 'false'}", []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--hub=hub-eu", "--listen=:8080",
			"--token-file=/etc/argosy/token/token", "--web-probe-interval=45s", "--facts=kubernetes", "--namespace=argocd",
			"--refresh-applicationsets=false", "--state-dir=/var/lib/argosy",
			"--drain-delay=5s", "--log-format=json", "--log-level=info",
		}},
		"private": {"hub: hub-eu\nsource: {git: {url: https://github.com/acme/fleet, credentialsSecret: fleet-git, mountCredentials: [{name: cart, secret: cart-git}]}}\nextraArgs: [--source-signers=/etc/signers/signers]\nfacts: {from: none}\n", []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--git-credentials=/etc/argosy/git", "--mount-credentials=cart=/etc/argosy/mounts/cart",
			"--hub=hub-eu", "--listen=:8080", "--token-file=/etc/argosy/token/token", "--web-probe-interval=45s", "--facts=none", "--state-dir=/var/lib/argosy",
			"--drain-delay=5s", "--log-format=json", "--log-level=info", "--source-signers=/etc/signers/signers",
		}},
		"all": {onHub + `
limits: {maxRequestBytes: 1048576, maxResponseBytes: 20000000, maxConcurrent: 8, maxWebhookBytes: 2000000, maxConnections: 100}
tls: {enabled: true, secretName: tls}
facts: {from: file, configMap: facts}
token: {existingSecret: t, key: bearer}
logFormat: text
logLevel: debug
drainDelay: 1s
extraArgs: [--kubeconfig=/x]
`, []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--hub=hub-eu", "--listen=:8080",
			"--token-file=/etc/argosy/token/bearer", "--web-probe-interval=45s", "--facts=/etc/argosy/facts/facts.yaml", "--state-dir=/var/lib/argosy",
			"--tls-cert=/etc/argosy/tls/tls.crt", "--tls-key=/etc/argosy/tls/tls.key", "--max-request-bytes=1048576",
			"--max-response-bytes=20000000", "--max-concurrent=8", "--max-webhook-bytes=2000000", "--max-connections=100", "--drain-delay=1s", "--log-format=text", "--log-level=debug", "--kubeconfig=/x",
		}},
		"access": {onHub + tokensValues + `
limits: {tokenRate: 2.5, tokenBurst: 10, failureRate: 1, failureBurst: 20}
tls: {enabled: true, secretName: tls, clientCASecret: ca, clientCAKey: bundle.pem}
plugin: {baseUrl: https://proxy}
facts: {from: none}
`, []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--hub=hub-eu", "--listen=:8080",
			"--token-file=/etc/argosy/token/token", "--tokens-file=/etc/argosy/tokens-config/tokens.yaml", "--tokens-dir=/etc/argosy/tokens", "--web-probe-interval=45s",
			"--facts=none", "--state-dir=/var/lib/argosy", "--tls-cert=/etc/argosy/tls/tls.crt", "--tls-key=/etc/argosy/tls/tls.key",
			"--tls-client-ca=/etc/argosy/client-ca/bundle.pem", "--token-rate=2.5", "--token-burst=10", "--failure-rate=1", "--failure-burst=20",
			"--drain-delay=5s", "--log-format=json", "--log-level=info",
		}},
		"state": {onHub + "state: {type: kubernetes, namespace: argosy-state, keysSecret: state-keys}\nfacts: {from: none}\n", []string{
			"--source=https://github.com/acme/fleet", "--ref=main", "--interval=1m", "--hub=hub-eu", "--listen=:8080",
			"--token-file=/etc/argosy/token/token", "--web-probe-interval=45s", "--facts=none", "--state-dir=/var/lib/argosy", "--state=kubernetes", "--state-namespace=argosy-state", "--state-keys-file=/etc/argosy/state-keys/keys",
			"--drain-delay=5s", "--log-format=json", "--log-level=info",
		}},
		"volume": {"hub: hub-eu\nsource: {volume: {persistentVolumeClaim: {claimName: fleet}}, path: a/b}\nfacts: {from: none}", []string{
			"--source=/source/a/b", "--hub=hub-eu", "--listen=:8080", "--token-file=/etc/argosy/token/token", "--web-probe-interval=45s", "--facts=none",
			"--state-dir=/var/lib/argosy", "--drain-delay=5s", "--log-format=json", "--log-level=info",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, c.values), "").Spec.Template.Spec
			assert.Equal(t, c.want, pod.Containers[0].Args, "args")
			if len(pod.Containers) != 1 {
				t.Errorf("%d containers", len(pod.Containers))
			}
			// With --version the command line is read, and nothing is opened.
			if out, err := exec.CommandContext(t.Context(), service, append(pod.Containers[0].Args, "--version")...).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// State in ConfigMaps takes a Role in their namespace alone, which is never Argo CD's, and a token
// of the ServiceAccount.
func TestStateInConfigMaps(t *testing.T) {
	objects := rendering{}.objects(t, generatorPlugin, onHub+"state: {type: kubernetes, namespace: argosy-state}\nfacts: {from: none}\n")
	role, binding := one[*rbacv1.Role](t, objects, ""), one[*rbacv1.RoleBinding](t, objects, "")
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "create", "update", "delete"}}}
	if diff := cmp.Diff(want, role.Rules); diff != "" || role.Namespace != "argosy-state" || binding.Namespace != "argosy-state" || binding.RoleRef.Name != role.Name {
		t.Errorf("Role in %s, %+v: %s", role.Namespace, binding.RoleRef, diff)
	}
	if !hasToken(one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec) {
		t.Error("the pod has no token to write them with")
	}
	if roles := all[*rbacv1.Role](rendering{}.objects(t, generatorPlugin, onHub+"facts: {from: none}\n")); len(roles) != 0 {
		t.Errorf("a Role that nobody needs: %+v", roles)
	}
}

// On a member the chart registers the member with its own Argo CD, so that Applications find their
// destination by name.
func TestOwnerRegistersTheLocalCluster(t *testing.T) {
	objects := rendering{APIVersions: externalSecretsAPI}.objects(t, generatorPlugin, onMember)
	cluster := one[*corev1.Secret](t, objects, "test-generator-plugin-local-cluster")
	want := map[string]string{"name": "payments-prod-eu-1", "server": "https://kubernetes.default.svc", "config": `{"tlsClientConfig":{"insecure":false}}`}
	assert.Equal(t, want, cluster.StringData, "data")
	if cluster.Labels["argocd.argoproj.io/secret-type"] != "cluster" || cluster.Annotations["cluster_name"] != "payments-prod-eu-1" {
		t.Errorf("labels %v, annotations %v", cluster.Labels, cluster.Annotations)
	}
	for _, label := range []string{"helm.sh/chart", "app.kubernetes.io/version"} {
		if _, found := cluster.Labels[label]; found {
			t.Errorf("label %s changes with the chart, and labels are facts", label)
		}
	}
	var config v1alpha1.ClusterConfig
	assert.NoError(t, json.Unmarshal([]byte(cluster.StringData["config"]), &config))
	plugin := one[*corev1.ConfigMap](t, objects, "")
	if plugin.Data["owner"] != "payments-prod-eu-1" || plugin.Data["hub"] != "hub-eu" || plugin.Labels["argosy.dev/owner"] != "payments-prod-eu-1" {
		t.Errorf("ConfigMap: %v %v", plugin.Data, plugin.Labels)
	}
	for _, arg := range one[*appsv1.Deployment](t, objects, "").Spec.Template.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--owner") {
			t.Errorf("the service has no flag %s", arg)
		}
	}
	for _, values := range []string{onHub, onMember + "localCluster: {create: \"false\"}"} {
		if secrets := all[*corev1.Secret](rendering{}.objects(t, generatorPlugin, values)); len(secrets) != 0 {
			t.Errorf("%s: got %d Secrets, want none", values, len(secrets))
		}
	}
}

// The alerts and the dashboard arrive as they are in the chart's folder, templates of Prometheus
// included.
func TestAlertsAndDashboardArriveWhole(t *testing.T) {
	docs, _, err := rendering{}.render(generatorPlugin, valuesFiles(t, []string{onHub, "prometheusRule: {enabled: true}\ndashboard: {enabled: true}"})...)
	require.NoError(t, err)
	got := map[string]any{}
	for _, doc := range docs {
		var object struct {
			Kind string
			Spec any
			Data map[string]string
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &object))
		switch {
		case object.Kind == "PrometheusRule":
			got["alerts.yaml"] = object.Spec
		case object.Data["argosy.json"] != "":
			got["dashboard.json"] = object.Data["argosy.json"]
		}
	}
	want := map[string]any{}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		data, err := os.ReadFile(filepath.Join(generatorPlugin, file))
		require.NoError(t, err)
		want[file] = string(data)
		if file == "alerts.yaml" {
			var spec any
			require.NoError(t, yaml.Unmarshal(data, &spec))
			want[file] = spec
		}
	}
	assert.Equal(t, want, got)
}

func TestGeneratorPluginBadValues(t *testing.T) {
	for values, message := range map[string]string{
		"hub: ''":                          "hub is required: the name of the hub",
		"hub: Hub_EU":                      "at '/hub': 'Hub_EU' does not match pattern",
		"source: {git: {url: ''}}":         "source.git.url is required: the fleet's repository (or source.volume",
		"source: {volume: {emptyDir: {}}}": "source.git.url and source.volume contradict each other",
		"source: {path: a}":                "source.path has a meaning with source.volume only",
		"source: {git: {url: ''}, volume: {emptyDir: {}, hostPath: {}}}":                  "source.volume: one volume source, found 2: emptyDir, hostPath",
		"source: {git: {url: ''}, volume: {emptyDir: {}}, path: ../x}":                    `source.path: "../x" leaves the volume`,
		"source: {git: {url: '--upload-pack=x'}}":                                         "at '/source/git/url': '--upload-pack=x' does not match pattern",
		"source: {git: {interval: 60}}":                                                   "at '/source/git/interval': got number, want string",
		"source: {git: {url: 'https://u:p@example.com/a'}}":                               "source.git.url holds credentials",
		"facts: {from: file}":                                                             "facts.configMap is required with facts.from: file",
		"facts: {configMap: x}":                                                           "facts.configMap has no effect with facts.from: kubernetes",
		"token: {existingSecret: a, value: 0123456789abcdef0123456789abcdef}":             "token.existingSecret and token.value contradict each other",
		"token: {value: short}":                                                           "token.value: 5 characters, at least 22 are needed; openssl rand -hex 16 makes a token",
		"token: {value: '$secret:key-of-sixteen'}":                                        "token.value must not begin with $",
		"tls: {enabled: true}":                                                            "tls.secretName is required with tls.enabled: true",
		"tls: {secretName: x}":                                                            "tls.secretName has no effect with tls.enabled: false",
		"state: {type: persistentVolumeClaim}":                                            "state.accessMode: ReadWriteOnce lets one pod alone write, but replicas is 2",
		"state: {type: kubernetes}":                                                       "state.namespace: argocd is Argo CD's, whose ConfigMaps configure it",
		"extraArgs: [--state=x]":                                                          "extraArgs: --state is set by the chart",
		"state: {existingClaim: x}":                                                       "state.existingClaim needs state.type: persistentVolumeClaim",
		"state: {type: kubernetes, namespace: a, existingClaim: x}":                       "state.existingClaim needs state.type: persistentVolumeClaim",
		"web: {enabled: true, port: 8080}":                                                "web.port: 8080 is where the pod serves Argo CD and Flux",
		"{web: {enabled: 'true', port: 9000}, service: {port: 9000}}":                     "web.port: 9000 is service.port, too",
		"serviceMonitor: {enabled: true, interval: 5s}":                                   "serviceMonitor.scrapeTimeout: 10s is longer than serviceMonitor.interval, 5s",
		"serviceMonitor: {enabled: true, interval: 1m, scrapeTimeout: 1m1ms}":             "serviceMonitor.scrapeTimeout: 1m1ms is longer than serviceMonitor.interval, 1m",
		"serviceMonitor: {interval: 1.5m}":                                                "at '/serviceMonitor/interval': '1.5m' does not match pattern",
		"source: {git: {mountCredentials: [{name: a, secret: x}, {name: a, secret: z}]}}": "source.git.mountCredentials: a is there twice",
		"drainDelay: 30s":                                                                 "drainDelay: 30s is not shorter than terminationGracePeriodSeconds, 30",
		"{drainDelay: 1m0.5s, terminationGracePeriodSeconds: 60}":                         "drainDelay: 1m0.5s is not shorter than terminationGracePeriodSeconds, 60",
		"dnsPolicy: None":                                                                 "dnsConfig.nameservers is required with dnsPolicy: None",
		"livenessProbe: {successThreshold: 2}":                                            "at '/livenessProbe/successThreshold': maximum: got 2, want 1",
		"startupProbe: {successThreshold: 2}":                                             "at '/startupProbe/successThreshold': maximum: got 2, want 1",
		"fullnameOverride: '1argosy'":                                                     `fullnameOverride: "1argosy" is no name of a Service`,
		"state: {size: big}":                                                              "at '/state/size': 'big' does not match pattern",
		"podDisruptionBudget: {minAvailable: 1, maxUnavailable: 1}":                       "podDisruptionBudget: minAvailable and maxUnavailable contradict each other",
		"localCluster: {create: true}":                                                    "localCluster.create needs owner",
		"plugin: {refreshApplicationSets: maybe}":                                         "at '/plugin/refreshApplicationSets': value must be one of true, false, 'true', 'false'",
		"extraArgs: [--plugin-configmap=x]":                                               "extraArgs: --plugin-configmap is set by the chart",
		"tls: {clientCASecret: x}":                                                        "tls.clientCASecret has no effect with tls.enabled: false",
		"tls: {enabled: true, secretName: s, clientCASecret: x}":                          "tls.clientCASecret: Argo CD's plugin client has no certificate to present",
		"limits: {tokenRate: -1}":                                                         "at '/limits/tokenRate': minimum: got -1, want 0",
		"tokens: [{name: a, existingSecret: s}]":                                          "at '/tokens/0': missing property 'allow'",
		"tokens: [{name: a, existingSecret: s, allow: {}}]":                               "at '/tokens/0/allow': missing property 'routes'",
		"tokens: [{name: a, existingSecret: s, allow: {routes: []}}]":                     "minItems: got 0, want 1",
		"tokens: [{name: a, existingSecret: s, allow: {routes: [all]}}]":                  "at '/tokens/0/allow/routes/0': value must be one of 'getparams', 'flux-inputs', 'registry', 'fleet', 'explain', 'webhook'",
		"tokens: [{name: a, token: x, existingSecret: s, allow: {routes: [fleet]}}]":      "at '/tokens/0': additional properties 'token' not allowed",
		"tokens: [{name: a, existingSecret: s, allow: {routes: [fleet], tenant: [x]}}]":   "at '/tokens/0/allow': additional properties 'tenant' not allowed",
		"tokens: [{name: a, existingSecret: s, allow: {routes: [fleet]}}, {name: a, existingSecret: t, allow: {routes: [fleet]}}]": "tokens: the name a is taken",
		"tokens: [{name: token-file, existingSecret: s, allow: {routes: [fleet]}}]":                                                "tokens: the name token-file is taken",
		"extraArgs: [--mount-credentials=x]": "extraArgs: --mount-credentials is set by the chart",
		"extraArgs: [--tokens-file=x]":       "extraArgs: --tokens-file is set by the chart",
		"extraArgs: [--hub=other]":           "extraArgs: --hub is set by the chart",
		"argocd: {callers: []}":              "minItems: got 0, want 1",
		"replicas: '2'":                      "at '/replicas': got string, want integer",
		"service: {port: 70000}":             "at '/service/port': maximum: got 70,000, want 65,535",
		"replicaCount: 2":                    "at '': additional properties 'replicaCount' not allowed",
		"source: {git: {branch: main}}":      "at '/source/git': additional properties 'branch' not allowed",
	} {
		t.Run(values, func(t *testing.T) { rendering{}.fails(t, message, generatorPlugin, onHub, values) })
	}
}
