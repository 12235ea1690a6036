package charts_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// provisioned are the values of a member whose cluster this one has made.
const provisioned = "clusterName: retail-dev-eu-1\nexternalSecret: {source: connectionSecret}\n"

// connectionOf is what the store of the connection Secret holds.
func connectionOf(kubeconfig string) map[string]string {
	text, err := json.Marshal(map[string]string{"value": kubeconfig})
	if err != nil {
		panic(err)
	}
	return map[string]string{"retail-dev-eu-1-kubeconfig": string(text)}
}

// kubeconfig is one with two contexts, of which the second is the current one.
func kubeconfig(t *testing.T, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["other"], config.AuthInfos["other"] = &clientcmdapi.Cluster{Server: "https://other.example.com"}, &clientcmdapi.AuthInfo{Token: "other"}
	config.Contexts["a"] = &clientcmdapi.Context{Cluster: "other", AuthInfo: "other"}
	config.Clusters["new"], config.AuthInfos["admin"] = cluster, user
	config.Contexts["b"], config.CurrentContext = &clientcmdapi.Context{Cluster: "new", AuthInfo: "admin"}, "b"
	text, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return string(text)
}

// TestProvisionedClusterIsReachedAsItsKubeconfigSays: Argo CD connects with the cluster Secret as
// client-go does with the kubeconfig that it is made of.
func TestProvisionedClusterIsReachedAsItsKubeconfigSays(t *testing.T) {
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, provisioned), "retail-dev-eu-1")
	for name, c := range map[string]struct {
		cluster clientcmdapi.Cluster
		user    clientcmdapi.AuthInfo
	}{
		"token":       {clientcmdapi.Cluster{Server: "https://new.example.com:6443", CertificateAuthorityData: []byte("ca")}, clientcmdapi.AuthInfo{Token: "t{{ .kubeconfig }}"}},
		"certificate": {clientcmdapi.Cluster{Server: "https://new.example.com", TLSServerName: "in", CertificateAuthorityData: []byte("ca")}, clientcmdapi.AuthInfo{ClientCertificateData: []byte("cert"), ClientKeyData: []byte("key")}},
		"insecure":    {clientcmdapi.Cluster{Server: "https://10.0.0.1", InsecureSkipTLSVerify: true, ProxyURL: "http://proxy.example.com"}, clientcmdapi.AuthInfo{Token: "t"}},
	} {
		text := kubeconfig(t, &c.cluster, &c.user)
		secret, err := reconcile(t, es, connectionOf(text), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
		require.NoError(t, err)
		cluster := v1alpha1.Cluster{Server: string(secret.Data["server"]), Name: string(secret.Data["name"])}
		require.NoError(t, json.Unmarshal(secret.Data["config"], &cluster.Config), "%s", name)
		got, err := cluster.RawRestConfig()
		require.NoError(t, err, "%s", name)
		if diff := cmp.Diff(connection(want), connection(got)); diff != "" || cluster.Name != "retail-dev-eu-1" {
			t.Errorf("%s: (-client-go +Argo CD):\n%s", name, diff)
		}
		assert.Equal(t, cluster.Config.ProxyUrl, c.cluster.ProxyURL, "%s: the proxy", name)
	}
}

// connection is what decides where a client connects, and as whom.
func connection(c *rest.Config) any {
	return []any{c.Host, c.BearerToken, c.Insecure, c.ServerName, string(c.CAData), string(c.CertData), string(c.KeyData)}
}

// TestNoCommandComesFromAKubeconfig: a kubeconfig that Argo CD could use only with a command or a
// file of its writer's choice registers nothing, nor does one that leads nowhere.
func TestNoCommandComesFromAKubeconfig(t *testing.T) {
	objects := rendering{}.objects(t, fleetSecret, provisioned+"kubeconfig: {enabled: true, namespace: flux-system}\n")
	const server = "https://new.example.com"
	at := &clientcmdapi.Cluster{Server: server}
	for message, text := range map[string]string{
		"no token, and no client-certificate-data": kubeconfig(t, at, &clientcmdapi.AuthInfo{Username: "u", Password: "p"}),
		"exec, a command":                          kubeconfig(t, at, &clientcmdapi.AuthInfo{Token: "t", Exec: &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}),
		"tokenFile, a file":                        kubeconfig(t, at, &clientcmdapi.AuthInfo{TokenFile: "/etc/passwd"}),
		"certificate-authority, a file":            kubeconfig(t, &clientcmdapi.Cluster{Server: server, CertificateAuthority: "/etc/ca"}, &clientcmdapi.AuthInfo{Token: "t"}),
		"is no address of an API server":           kubeconfig(t, &clientcmdapi.Cluster{Server: "http://new.example.com"}, &clientcmdapi.AuthInfo{Token: "t"}),
		`no context "nobody"`:                      strings.Replace(kubeconfig(t, at, &clientcmdapi.AuthInfo{Token: "t"}), "current-context: b", "current-context: nobody", 1),
		"holds no kubeconfig":                      "- a list",
	} {
		for _, name := range []string{"retail-dev-eu-1", "retail-dev-eu-1-kubeconfig"} {
			_, err := reconcile(t, one[*esv1.ExternalSecret](t, objects, name), connectionOf(text), nil)
			if err == nil || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v; want %q", name, err, message)
			}
		}
	}
}

// TestConnectionIsReadWithARightToItAlone: what reads the provisioned Secret may read that Secret
// and nothing else, and the store of the member's other secrets is not there for it.
func TestConnectionIsReadWithARightToItAlone(t *testing.T) {
	objects := rendering{}.objects(t, fleetSecret, provisioned+"connectionSecret: {namespace: clusters}\nkubeconfig: {enabled: true, namespace: flux-system}\n")
	roles := all[*rbacv1.Role](objects)
	want := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"retail-dev-eu-1-kubeconfig"}, Verbs: []string{"get"}}}
	if len(roles) != 1 || roles[0].Namespace != "clusters" || !cmp.Equal(roles[0].Rules, want) {
		t.Errorf("roles: %+v", roles)
	}
	for _, s := range all[*esv1.SecretStore](objects) {
		if s.Name != "retail-dev-eu-1.connection" || s.Spec.Provider.Kubernetes.RemoteNamespace != "clusters" {
			t.Errorf("a store %s/%s", s.Namespace, s.Name)
		}
	}
	if n := len(all[*rbacv1.RoleBinding](objects)[0].Subjects); n != 2 {
		t.Errorf("%d readers; want that of Argo CD's namespace and Flux's", n)
	}
}

// TestProvisionedKubeconfigIsMadeWhereItIsNotYet: where the provisioned Secret is what Flux names,
// no second one is made.
func TestProvisionedKubeconfigIsMadeWhereItIsNotYet(t *testing.T) {
	isKubeconfig := func(o runtime.Object) bool {
		es, is := o.(*esv1.ExternalSecret)
		return is && es.Name == "retail-dev-eu-1-kubeconfig"
	}
	for values, made := range map[string]bool{
		"kubeconfig: {enabled: true}":                                                            false,
		"kubeconfig: {enabled: true, namespace: flux-system}":                                    true,
		"kubeconfig: {enabled: true}\nconnectionSecret: {namespace: clusters}":                   true,
		"kubeconfig: {enabled: true, name: mine}\nconnectionSecret: {name: mine}":                false,
		"kubeconfig: {enabled: true}\nconnectionSecret: {name: other, key: kubeconfig}":          true,
		"push: {enabled: true, token: {enabled: true}}":                                          false,
		"push: {enabled: true, token: {enabled: true}}\nconnectionSecret: {namespace: clusters}": true,
	} {
		if got := slices.ContainsFunc(rendering{}.objects(t, fleetSecret, provisioned+values), isKubeconfig); got != made {
			t.Errorf("%s: made %v", values, got)
		}
	}
	for values, message := range map[string]string{
		"connectionSecret: {key: kubeconfig}":                     `connectionSecret.key: "kubeconfig"`,
		"secretManagerSecretName: fleet/a":                        "externalSecret.source: connectionSecret contradicts secretManagerSecretName",
		"connectionSecret: {name: A}":                             "'A' does not match pattern",
		"connectionSecret: {password: a}":                         "additional properties 'password' not allowed",
		"githubSecret: true\ngithubSecretName: github/retail/app": "secretStore.aws.region is required",
	} {
		rendering{}.fails(t, message, fleetSecret, provisioned+values)
	}
}
