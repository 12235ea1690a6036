package charts_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	genv1alpha1 "github.com/external-secrets/external-secrets/apis/generators/v1alpha1"
	"github.com/external-secrets/external-secrets/pkg/provider/kubernetes"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// pushed is what an agent that is given its secrets has besides the registration: an App, a chart's
// key and a registry.
const pushed = `
clusterName: retail-dev-eu-1
secretManagerSecretName: fleet/retail-dev-eu-1
externalSecret: {enabled: false}
secretStore: {aws: {region: eu-west-1}}
githubSecret: "true"
githubSecretName: git/app
gitCredentials:
  fleet: {type: http, kind: repository, secretName: git/token, url: "https://git.example.com/fleet.git"}
  charts: {type: ssh, secretName: git/plain, plain: true, url: "git@git.example.com:charts"}
ecr: {registries: [{endpoint: 111122223333.dkr.ecr.eu-west-1.amazonaws.com}]}
`

var (
	pushedRemote = map[string]string{
		"git/app":   `{"url":"https://github.com/acme","githubAppID":"1","githubAppInstallationID":"2","githubAppPrivateKey":"k"}`,
		"git/token": `{"username":"bot","password":"p"}`,
		"git/plain": "plain text",
	}
	generated = map[string]string{"username": "AWS", "password": "generated"}
)

// memberAPI is an API server that keeps Secrets of one namespace, for clients with the token.
type memberAPI struct {
	*httptest.Server
	mu      sync.Mutex
	secrets map[string]*corev1.Secret
	refused int
	writes  int
}

const memberToken = "of the member"

func newMember(t *testing.T, namespace string) *memberAPI {
	t.Helper()
	m := &memberAPI{secrets: map[string]*corev1.Secret{}}
	m.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		answer := func(code int, object any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(object)
		}
		folder := "/api/v1/namespaces/" + namespace + "/secrets"
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, folder), "/")
		if r.Header.Get("Authorization") != "Bearer "+memberToken || !strings.HasPrefix(r.URL.Path, folder) {
			m.refused++
			answer(http.StatusForbidden, apierrors.NewForbidden(corev1.Resource("secrets"), name, nil).ErrStatus)
			return
		}
		switch r.Method {
		case http.MethodGet:
			if s := m.secrets[name]; s != nil {
				answer(http.StatusOK, s)
				return
			}
			answer(http.StatusNotFound, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name).ErrStatus)
		case http.MethodPost, http.MethodPut:
			var s corev1.Secret
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&s))
			m.secrets[s.Name] = &s
			m.writes++
			answer(http.StatusOK, &s)
		default:
			t.Errorf("the member is asked to %s %s: nothing is to be deleted there", r.Method, r.URL.Path)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// terraform is the secret of the cluster, with the member's own certificate and token.
func (m *memberAPI) terraform() string {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
	config, _ := json.Marshal(map[string]any{"bearerToken": memberToken, "tlsClientConfig": map[string]any{"caData": base64.StdEncoding.EncodeToString(ca)}})
	return terraform(map[string]any{"server": m.URL, "config": string(config)})
}

// secretsOnly is a Kubernetes client that knows Secrets.
type secretsOnly struct {
	client.Client
	secrets map[string]*corev1.Secret
}

func (s secretsOnly) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, into := s.secrets[key.String()], object.(*corev1.Secret)
	if found == nil {
		return apierrors.NewNotFound(corev1.Resource("secrets"), key.String())
	}
	found.DeepCopyInto(into)
	return nil
}

// reconciled are the Secrets of all ExternalSecrets, by namespace and name, as External Secrets
// leaves them on the hub: with notes of its own.
func reconciled(t *testing.T, objects []runtime.Object, remote map[string]string) map[string]*corev1.Secret {
	t.Helper()
	out := map[string]*corev1.Secret{}
	for _, es := range all[*esv1.ExternalSecret](objects) {
		secret, err := reconcile(t, es, remote, generated)
		require.NoError(t, err, "%s", es.Name)
		secret.Labels[esv1.LabelManaged] = esv1.LabelManagedValue
		secret.Annotations[esv1.AnnotationDataHash] = "0123"
		out[secret.Namespace+"/"+secret.Name] = secret
	}
	return out
}

// push does what External Secrets does with PushSecrets, with its own provider: resolveSecrets and
// handlePushSecretDataForStore in pkg/controllers/pushsecret/pushsecret_controller.go of v0.20.4,
// for what the chart uses.
func push(t *testing.T, objects []runtime.Object, secrets map[string]*corev1.Secret) {
	t.Helper()
	for _, ps := range all[*esv1alpha1.PushSecret](objects) {
		store := one[*esv1.SecretStore](t, objects, ps.Spec.SecretStoreRefs[0].Name)
		if _, err := new(kubernetes.Provider).ValidateStore(store); err != nil {
			t.Fatal(err)
		}
		store.SetGroupVersionKind(esv1.SchemeGroupVersion.WithKind(esv1.SecretStoreKind)) // as read from an API server
		to, err := new(kubernetes.Provider).NewClient(t.Context(), store, secretsOnly{secrets: secrets}, ps.Namespace)
		require.NoError(t, err)
		source := secrets[ps.Namespace+"/"+ps.Spec.Selector.Secret.Name]
		if source == nil {
			t.Fatalf("PushSecret %s pushes %s, which nothing makes", ps.Name, ps.Spec.Selector.Secret.Name)
		}
		if ps.Spec.UpdatePolicy != esv1alpha1.PushSecretUpdatePolicyReplace || ps.Spec.DeletionPolicy != esv1alpha1.PushSecretDeletionPolicyNone {
			t.Errorf("PushSecret %s: update %s, deletion %s", ps.Name, ps.Spec.UpdatePolicy, ps.Spec.DeletionPolicy)
		}
		for _, data := range ps.Spec.Data {
			assert.NoError(t, to.PushSecret(t.Context(), source.DeepCopy(), data), "PushSecret %s", ps.Name)
		}
	}
}

// aHub lets External Secrets' provider find a cluster that it runs in; it is not asked.
func aHub(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := "{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}], users: [{name: x}], clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]}"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	t.Setenv("KUBECONFIG", file)
}

// What is pushed is what the member's own External Secrets would have pulled: the same Secrets with
// the same labels, none less and none more but for the token. Here they are without Argo CD's
// label, and what External Secrets notes on them stays here.
func TestPushMakesWhatPullMakes(t *testing.T) {
	aHub(t)
	for _, namespace := range []string{"argocd", "flux-system"} {
		t.Run(namespace, func(t *testing.T) {
			m := newMember(t, namespace)
			pulledObjects := rendering{Namespace: namespace}.objects(t, fleetSecret, pushed)
			want := map[string]*corev1.Secret{}
			for _, s := range reconciled(t, pulledObjects, pushedRemote) {
				delete(s.Labels, esv1.LabelManaged)
				s.Annotations = nil
				want[s.Name] = s
			}
			if len(want) != 4 {
				t.Fatalf("%d Secrets are pulled, expected those of githubSecret, fleet, charts and the registry", len(want))
			}

			objects := rendering{}.objects(t, fleetSecret, pushed, `
github: {local: false}
gitCredentials: {fleet: {local: false}, charts: {local: "false"}}
push: {enabled: true, namespace: `+namespace+`}
`)
			remote := maps.Clone(pushedRemote)
			remote["fleet/retail-dev-eu-1"] = m.terraform()
			secrets := reconciled(t, objects, remote)
			push(t, objects, secrets)
			for _, s := range m.secrets {
				if len(s.Annotations) == 0 {
					s.Annotations = nil
				}
				s.TypeMeta = metav1.TypeMeta{}
			}
			assert.Equal(t, want, m.secrets, "on the member (-pulled +pushed)")
			for name, s := range secrets {
				if kind := s.Labels["argocd.argoproj.io/secret-type"]; kind != "" && !strings.Contains(name, "-ecr-") {
					t.Errorf("%s is a %s of the hub's Argo CD", name, kind)
				}
			}
			if m.refused > 0 {
				t.Errorf("%d requests without the member's token, or outside of %s", m.refused, namespace)
			}

			before := m.writes
			push(t, objects, secrets)
			if m.writes != before {
				t.Errorf("pushed again although nothing has changed: %d writes", m.writes-before)
			}
		})
	}
}

// What somebody has put on a Secret of the member stays; what is pushed wins.
func TestPushKeepsOthersLabels(t *testing.T) {
	aHub(t)
	m := newMember(t, "argocd")
	m.secrets["retail-dev-eu-1-git-charts"] = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "retail-dev-eu-1-git-charts", Namespace: "argocd", Labels: map[string]string{"team": "x", "argocd.argoproj.io/secret-type": "repository"}},
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{"sshPrivateKey": []byte("old"), "proxy": []byte("theirs")},
	}
	objects := rendering{}.objects(t, fleetSecret, pushed, "push: {enabled: true}")
	remote := maps.Clone(pushedRemote)
	remote["fleet/retail-dev-eu-1"] = m.terraform()
	push(t, objects, reconciled(t, objects, remote))
	got := m.secrets["retail-dev-eu-1-git-charts"]
	assert.Equal(t, map[string]string{"team": "x", "argocd.argoproj.io/secret-type": "repo-creds"}, got.Labels, "labels")
	if string(got.Data["sshPrivateKey"]) != "plain text" || string(got.Data["proxy"]) != "theirs" {
		t.Errorf("data: %q", got.Data)
	}
}

// The token of the member's service is made once and pushed from where it is kept: a generator that
// a PushSecret asks itself would make another one at every refresh. It is labelled as what Argo
// CD's plugins may read.
func TestPushedToken(t *testing.T) {
	aHub(t)
	m := newMember(t, "argocd")
	objects := rendering{}.objects(t, fleetSecret, pushed, "push: {enabled: true, token: {enabled: true}}")
	const name = "retail-dev-eu-1.push-token"
	es := one[*esv1.ExternalSecret](t, objects, name)
	if es.Spec.RefreshPolicy != esv1.RefreshPolicyCreatedOnce {
		t.Errorf("refreshPolicy: %s", es.Spec.RefreshPolicy)
	}
	if ps := one[*esv1alpha1.PushSecret](t, objects, name); ps.Spec.Selector.GeneratorRef != nil {
		t.Error("the PushSecret asks the generator")
	}
	made := one[*genv1alpha1.Password](t, objects, name)
	own := one[*genv1alpha1.Password](t, rendering{}.objects(t, generatorPlugin, "{hub: h, owner: retail-dev-eu-1, source: {git: {url: 'https://x'}}, token: {generate: externalSecrets}}"), "")
	assert.Equal(t, own.Spec, made.Spec, "the token is another than the member would make (-member +pushed)")
	remote := maps.Clone(pushedRemote)
	remote["fleet/retail-dev-eu-1"] = m.terraform()
	push(t, objects, reconciled(t, objects, remote))
	got := m.secrets["generator-plugin-token"]
	if got == nil || string(got.Data["token"]) != "generated" {
		t.Fatalf("on the member: %v", got)
	}
	assert.Equal(t, map[string]string{"app.kubernetes.io/part-of": "argocd"}, got.Labels, "labels")
}

// A kubeconfig says what Argo CD's connection settings say.
func TestKubeconfig(t *testing.T) {
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: (&x509.Certificate{Raw: []byte("x")}).Raw}))
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, "kubeconfig: {enabled: true}"), "retail-dev-eu-1-kubeconfig")
	for name, c := range map[string]struct {
		config any
		want   []string // of the client's configuration
	}{
		"token": {map[string]any{"bearerToken": `a"b\{{c}}`, "tlsClientConfig": map[string]any{"caData": ca}}, []string{`token a"b\{{c}}`, "ca"}},
		"certificate": {
			map[string]any{"tlsClientConfig": map[string]any{"caData": ca, "certData": encode("cert"), "keyData": encode("key"), "serverName": "kubernetes"}},
			[]string{"ca", "cert cert key", "name kubernetes"},
		},
		"text":     {`{"bearerToken":"t","tlsClientConfig":{"insecure":true}}`, []string{"insecure", "token t"}},
		"password": {map[string]any{"username": "u", "password": "p", "proxyUrl": "http://proxy:3128"}, []string{"password u p", "proxy http://proxy:3128"}},
		"command beside a token": {
			map[string]any{"bearerToken": "t", "awsAuthConfig": map[string]any{"clusterName": "x"}, "disableCompression": true}, []string{"token t", "uncompressed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			secret, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(map[string]any{"config": c.config})}, nil)
			require.NoError(t, err)
			got, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
			if err != nil {
				t.Fatalf("%v\n%s", err, secret.Data["value"])
			}
			var said []string
			say := func(is bool, format string, args ...any) {
				if is {
					said = append(said, fmt.Sprintf(format, args...))
				}
			}
			say(len(got.CAData) > 0, "ca")
			say(len(got.CertData) > 0, "cert %s %s", got.CertData, got.KeyData)
			say(got.Insecure, "insecure")
			say(got.ServerName != "", "name %s", got.ServerName)
			say(got.Username != "", "password %s %s", got.Username, got.Password)
			if got.Proxy != nil {
				u, err := got.Proxy(&http.Request{})
				say(err == nil, "proxy %s", u)
			}
			say(got.BearerToken != "", "token %s", got.BearerToken)
			say(got.DisableCompression, "uncompressed")
			slices.Sort(c.want)
			slices.Sort(said)
			if diff := cmp.Diff(c.want, said); diff != "" || got.Host != "https://retail.example.com" || got.ExecProvider != nil {
				t.Errorf("host %s, command %v (-want +got):\n%s", got.Host, got.ExecProvider, diff)
			}
		})
	}
}

// What no kubeconfig can be made of leaves none, and the ExternalSecret says why.
func TestKubeconfigRefusesWhatIsNoCredential(t *testing.T) {
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, "kubeconfig: {enabled: true}"), "retail-dev-eu-1-kubeconfig")
	const expected = "expected bearerToken, or tlsClientConfig with certData and keyData; a role or a command is nothing that External Secrets or Flux can log in with: name another secret in kubeconfig.secretName"
	for message, keys := range map[string]map[string]any{
		`no kubeconfig for cluster "retail-dev-eu-1": config holds awsAuthConfig alone, ` + expected:      {"config": `{"awsAuthConfig":{"clusterName":"x"}}`},
		`no kubeconfig for cluster "retail-dev-eu-1": config holds execProviderConfig alone, ` + expected: {"config": `{"execProviderConfig":{"command":"x"}}`},
		`no kubeconfig for cluster "retail-dev-eu-1": config holds no credential, ` + expected:            {"config": `{"tlsClientConfig":{"certData":"eA=="},"bearerToken":""}`},
		"config is not a JSON object":                                     {"config": "not JSON"},
		"the secret has no key server":                                    {"server": nil},
		`the secret is that of cluster "other", not of "retail-dev-eu-1"`: {"cluster_name": "other"},
	} {
		_, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(keys)}, nil)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("got error %v, want %q", err, message)
		}
	}
}

// The objects of one member are never another's, whatever the two are called.
func TestPushedNamesAreOneMembers(t *testing.T) {
	names := map[string]string{}
	for _, cluster := range []string{"a", "a-push", "a-push-git", "a-git"} {
		for _, object := range (rendering{}).objects(t, fleetSecret, pushed, "{clusterName: "+cluster+", push: {enabled: true, token: {enabled: true}}}") {
			if named, ok := object.(client.Object); ok && strings.Contains(named.GetName(), "push") {
				key := path.Join(fmt.Sprintf("%T", object), named.GetName())
				if other := names[key]; other != "" && other != cluster {
					t.Errorf("%s is of %s and %s", key, other, cluster)
				}
				names[key] = cluster
			}
		}
	}
	if len(names) == 0 {
		t.Error("nothing is pushed")
	}
}
