package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-hub/argosy/test/e2e/internal/externalsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/flux"
	"github.com/argosy-hub/argosy/test/e2e/internal/gitcmd"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/sealedsecrets"
	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// fluxHubSealed brings one predefined key of Sealed Secrets to the hub, pulled, and to its member,
// pushed, before any controller runs. Then what Git has sealed works from the first minute: the
// controller opens the credential of a repository that asks for one, and Flux reads that.
func fluxHubSealed(t *testing.T, m *fluxEngine) {
	pair, err := sealedsecrets.NewPair()
	must(t, err)
	record, err := pair.Record()
	must(t, err)
	must(t, m.secrets.Put(t.Context(), "sealing/fleet", record))

	began := time.Now()
	must(t, m.others[0].Client.Namespace(t.Context(), sealedsecrets.Namespace)) // that of the component
	must(t, m.fleet.Write("fleet/registration/"+neighbour+"/fleet/fleet-secret/values.yaml",
		"sealedSecrets: {enabled: \"true\", secretName: sealing/fleet}\npush: {refreshInterval: 5s}\n"))
	m.push(t, "A key of Sealed Secrets for "+neighbour)
	m.template(t, m.Cluster, "fleet-secret", sealedsecrets.Namespace, map[string]any{
		"clusterName": fluxHub, "externalSecret": map[string]any{"enabled": false},
		"secretStore":   map[string]any{"create": false, "kind": "ClusterSecretStore", "name": externalsecrets.Store},
		"sealedSecrets": map[string]any{"enabled": true, "secretName": "sealing/fleet"},
	})
	for _, c := range []*testcluster.Cluster{m.Cluster, m.others[0]} {
		m.eventually(t, "the key on "+c.Name, func() string {
			o, err := c.Client.Get(t.Context(), kube.Secrets, sealedsecrets.Namespace, sealedsecrets.Key)
			must(t, err)
			if o == nil {
				return "it is not there"
			}
			if o.GetLabels()[sealedsecrets.Label] != "active" {
				return fmt.Sprintf("its labels are %v", o.GetLabels())
			}
			if fluxText(o, "data", "tls.key") != base64.StdEncoding.EncodeToString([]byte(pair.Key)) {
				return "it is another key"
			}
			return ""
		})
		m.timed("key in the store, to the key on "+c.Name, began)
	}

	must(t, sealedsecrets.Start(t.Context(), sealedsecrets.Options{ // as a kubelet does, once the Secret is there that the pod mounts
		Binaries: m.Binaries, Group: m.Group, Cluster: m.Cluster.Cluster, Client: m.Client, Dir: m.Dir,
	}))
	m.readsPrivate(t, pair)
	m.timed("key in the store, to a private repository read with a sealed credential", began)
	keys, err := m.Client.List(t.Context(), kube.Secrets, sealedsecrets.Namespace, sealedsecrets.Label+"=active")
	must(t, err)
	if len(keys) != 1 || keys[sealedsecrets.Key] == nil {
		t.Errorf("the controller has made a key of its own: %d keys", len(keys))
	}
}

// template renders a chart of this checkout and applies it to a cluster.
func (m *fluxEngine) template(t *testing.T, to *testcluster.Cluster, chart, namespace string, values map[string]any) {
	t.Helper()
	text, err := json.Marshal(values)
	must(t, err)
	file := filepath.Join(m.Dir, chart+".json")
	must(t, os.WriteFile(file, text, 0o600))
	version, err := to.Client.Typed.Discovery().ServerVersion()
	must(t, err)
	manifests := m.command(t, m.Binaries.Path("helm"), "template", chart, filepath.Join(m.checkout, "charts", chart),
		"--namespace", namespace, "--values", file, "--kube-version", version.GitVersion)
	must(t, to.Client.Namespace(t.Context(), namespace))
	must(t, to.Client.Apply(t.Context(), namespace, manifests))
}

// readsPrivate commits a sealed credential to Git. Flux applies it, and reads with it a repository
// that it could not read before.
func (m *fluxEngine) readsPrivate(t *testing.T, pair sealedsecrets.Pair) {
	t.Helper()
	git, err := url.Parse(m.git.URL("private"))
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: git.Scheme, Host: git.Host})
	asks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "reader" || password != "sealed in Git" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(asks.Close)
	m.repository(t, "private", map[string]string{"README.md": "for readers\n"})
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: private}, spec: {interval: 5s, timeout: 20s, url: %q, ref: {branch: main}, secretRef: {name: git-private}}}",
		asks.URL+"/private.git")))
	m.eventually(t, "the repository asks for a credential", func() string {
		if state := fluxReady(m.get(t, flux.GitRepositories, "private")); !strings.Contains(state, "git-private") {
			return "it is " + state
		}
		return ""
	})

	sealed, err := pair.Seal(t.Context(), m.Binaries, m.Dir,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"git-private","namespace":"flux-system"},"stringData":{"username":"reader","password":"sealed in Git"}}`)
	must(t, err)
	if strings.Contains(sealed, "sealed in Git") {
		t.Fatal("the credential is not sealed")
	}
	m.repository(t, "sealed", map[string]string{"credential.yaml": sealed})
	m.kustomization(t, "sealed", "sealed", ".", "")
	m.eventually(t, "the private repository is read", func() string { return fluxReady(m.get(t, flux.GitRepositories, "private")) })
}

// repository makes a repository of these files.
func (m *fluxEngine) repository(t *testing.T, name string, files map[string]string) {
	t.Helper()
	_, err := m.git.Create(name)
	must(t, err)
	dir := filepath.Join(m.Dir, "clone-"+name)
	git := func(in string, args ...string) {
		t.Helper()
		_, err := gitcmd.Run(t.Context(), in, append([]string{"-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)...)
		must(t, err)
	}
	git(m.Dir, "init", "--quiet", "--initial-branch=main", dir)
	for file, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750))
		must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	git(dir, "add", ".")
	git(dir, "commit", "--quiet", "--message=All")
	git(dir, "push", "--quiet", m.git.URL(name), "main")
}

// kustomization has Flux apply a folder of a repository, with a kubeconfig if it names one.
func (m *fluxEngine) kustomization(t *testing.T, name, repository, folder, kubeconfig string) {
	t.Helper()
	spec := map[string]any{
		"interval": "10s", "retryInterval": "5s", "timeout": "30s", "prune": true, "path": "./" + folder, "sourceRef": map[string]any{"kind": "GitRepository", "name": repository},
	}
	if kubeconfig != "" {
		spec["kubeConfig"] = map[string]any{"secretRef": map[string]any{"name": kubeconfig}}
	}
	for _, o := range []map[string]any{
		{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": map[string]any{"name": repository}, "spec": map[string]any{
			"interval": "10s", "url": m.git.URL(repository), "ref": map[string]any{"branch": "main"},
		}},
		{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": name}, "spec": spec},
	} {
		must(t, m.Client.ApplyObject(t.Context(), flux.Namespace, &unstructured.Unstructured{Object: o}))
	}
}

// fluxHubLeastRights gives the hub a kubeconfig of the member that may edit one namespace. Flux
// applies there and is forbidden elsewhere; External Secrets renews the token before it expires; an
// expired one is nobody's.
func fluxHubLeastRights(t *testing.T, m *fluxEngine) {
	const access, account = neighbour + "-access", "fleet-access"
	member := m.others[0]
	for _, namespace := range []string{"shop", "vault"} {
		must(t, member.Client.Namespace(t.Context(), namespace))
	}
	rights := map[string]any{"shop": map[string]any{"clusterRole": "edit"}}
	m.template(t, member, "member-access", account, map[string]any{"side": "member", "namespaces": rights})
	first := m.token(t, member, account, account, "")
	must(t, m.Client.Apply(t.Context(), flux.Namespace, fmt.Appendf(nil,
		"{apiVersion: v1, kind: Secret, metadata: {name: %s, labels: {external-secrets.io/type: webhook}}, stringData: {token: %q}}", access, first)))
	began := time.Now()
	m.template(t, m.Cluster, "member-access", flux.Namespace, map[string]any{"side": "hub", "namespaces": rights, "hub": map[string]any{
		"cluster": neighbour, "server": member.URL, "caData": base64.StdEncoding.EncodeToString(member.CAData), "expirationSeconds": 600, "refreshMinutes": 1,
	}})
	token := func() string {
		text, err := base64.StdEncoding.DecodeString(fluxText(m.get(t, kube.Secrets, access), "data", "token"))
		must(t, err)
		return string(text)
	}
	m.eventually(t, "the kubeconfig", func() string {
		if fluxText(m.get(t, kube.Secrets, access), "data", "value") == "" {
			o, err := m.Client.Get(t.Context(), kube.ExternalSecrets, flux.Namespace, access)
			must(t, err)
			return "it is not there: " + fluxReady(o)
		}
		return ""
	})
	m.timed("first token, to a kubeconfig of least rights", began)
	second := token()
	if second == first {
		t.Error("the token is the first one still")
	}

	folder := func(namespace string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: delivered, namespace: " + namespace + "}, data: {by: flux}}\n"
	}
	m.repository(t, "shop", map[string]string{"allowed/cm.yaml": folder("shop"), "elsewhere/cm.yaml": folder("vault")})
	m.kustomization(t, "allowed", "shop", "allowed", access)
	m.kustomization(t, "elsewhere", "shop", "elsewhere", access)
	m.eventually(t, "what is allowed is applied", func() string { return fluxReady(m.get(t, flux.Kustomizations, "allowed")) })
	m.eventually(t, "what is elsewhere is forbidden", func() string {
		if state := fluxReady(m.get(t, flux.Kustomizations, "elsewhere")); !strings.Contains(state, "forbidden") {
			return "it is " + state
		}
		return ""
	})
	for namespace, want := range map[string]bool{"shop": true, "vault": false} {
		o, err := member.Client.Get(t.Context(), kube.ConfigMaps, namespace, "delivered")
		must(t, err)
		if got := o != nil; got != want {
			t.Errorf("namespace %s: delivered is %t, want %t", namespace, got, want)
		}
	}

	m.eventually(t, "a new token, by itself", func() string {
		if now := token(); now == second || claims(t, now).Expires <= claims(t, second).Expires { // two may be of one second
			return "it expires as before"
		}
		return ""
	})
	m.timed("first token, to the renewed one", began)
	before, now := claims(t, second), claims(t, token())
	if now.Expires <= before.Expires || now.Issued >= before.Expires {
		t.Errorf("the token of %d, which expires %d, was renewed at %d until %d", before.Issued, before.Expires, now.Issued, now.Expires)
	}
	if got := m.status(t, member, token()); got != http.StatusOK {
		t.Errorf("with the token of the Secret the member says %d, want 200", got)
	}
	if got := m.status(t, member, expired(t, filepath.Join(m.Dir, member.Name, "service-accounts.key"), token())); got != http.StatusUnauthorized {
		t.Errorf("with an expired token the member says %d, want 401", got)
	}
}

// status is the member's response to a request for a ConfigMap in the namespace that a token has
// rights in.
func (m *fluxEngine) status(t *testing.T, member *testcluster.Cluster, token string) int {
	t.Helper()
	config := member.Config()
	config.BearerToken = token
	client, err := kube.New(config)
	must(t, err)
	status := 0
	_, err = client.Typed.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/shop/configmaps/delivered").Do(t.Context()).StatusCode(&status).Raw()
	if status == 0 {
		must(t, err)
	}
	return status
}

// fluxHubIdentity compares the trust policy that charts/aws-identity writes with a token that the
// member's own API server mints: issuer, audience and subject.
func fluxHubIdentity(t *testing.T, m *fluxEngine) {
	const namespace, account, audience = "external-dns", "external-dns", "sts.amazonaws.com"
	member := m.others[0]
	must(t, member.Client.Namespace(t.Context(), namespace))
	must(t, member.Client.Apply(t.Context(), namespace, []byte("{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+account+"}}")))
	minted := claims(t, m.token(t, member, namespace, account, audience))

	values := filepath.Join(m.Dir, "identity.yaml")
	must(t, os.WriteFile(values, fmt.Appendf(nil, "type: irsa\nclusterName: %s\naccountId: \"222233334444\"\nserviceAccount: {name: %s}\noidc: {issuer: %q}\n", neighbour, account, minted.Issuer), 0o600))
	var policy struct {
		Statement []struct {
			Principal struct{ Federated string }
			Condition struct{ StringEquals map[string]string }
		}
	}
	manifests := m.command(t, m.Binaries.Path("helm"), "template", "identity", filepath.Join(m.checkout, "charts", "aws-identity"),
		"--namespace", namespace, "--values", values, "--kube-version", "1.33.0")
	objects, err := kube.Decode(manifests)
	must(t, err)
	for _, role := range kube.ByKind(objects, "Role") {
		must(t, json.Unmarshal([]byte(fluxText(role, "spec", "assumeRolePolicyDocument")), &policy))
	}
	if len(policy.Statement) != 1 {
		t.Fatalf("the policy has %d statements; expected one", len(policy.Statement))
	}
	issuer := strings.TrimPrefix(minted.Issuer, "https://")
	trusted := policy.Statement[0].Condition.StringEquals
	if trusted[issuer+":sub"] != minted.Subject || !slices.Equal(minted.Audience, []string{trusted[issuer+":aud"]}) || len(trusted) != 2 {
		t.Errorf("trusted is %v; the token is for %v, of %s, by %s", trusted, minted.Audience, minted.Subject, minted.Issuer)
	}
	if provider := policy.Statement[0].Principal.Federated; !strings.HasSuffix(provider, ":oidc-provider/"+issuer) {
		t.Errorf("trusted is %s; the token is by %s", provider, minted.Issuer)
	}
	// A token of another ServiceAccount, or for the API server itself, is not trusted.
	if other := claims(t, m.token(t, member, namespace, "default", "")); other.Subject == trusted[issuer+":sub"] || slices.Contains(other.Audience, audience) {
		t.Errorf("the token of default is trusted: %+v", other)
	}
}
