package charts_test

import (
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The pages probe the address that Argo CD has, but for clusters that only Argo CD reaches: by a
// proxy, or because the member's values say so.
func TestOnlyReachableClustersAreProbed(t *testing.T) {
	t.Parallel()
	const server, proxied = "https://retail.example.com", `{"tlsClientConfig":{}, "proxyUrl" : "http://proxy.example.com:3128"}`
	for name, c := range map[string]struct{ config, values, want string }{
		"direct":                      {`{"tlsClientConfig":{}}`, "", server},
		"no proxy":                    {`{"proxyUrl":""}`, "", server},
		"a proxy":                     {proxied, "", ""},
		"a proxy by an escape":        {`{"proxy\u0055rl":"http://proxy.example.com:3128"}`, "", ""},
		"switched off":                {`{}`, "externalSecret: {probe: false}", ""},
		"switched off by a text":      {`{}`, `externalSecret: {probe: "false"}`, ""},
		"a proxy, and another server": {proxied, "externalSecret: {server: https://other.example.com}", ""},
		"another server":              {`{}`, "externalSecret: {server: https://other.example.com}", "https://other.example.com"},
		"own settings":                {proxied, "externalSecret: {config: {tlsClientConfig: {serverName: a}}}", server},
		"own settings with a proxy":   {`{}`, "externalSecret: {config: {proxyUrl: 'http://proxy.example.com'}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := clusterSecret(t, terraform(map[string]any{"config": c.config}), member, c.values)
			if got, is := secret.Annotations["argosy.dev/server"]; got != c.want || !is && c.want != "" {
				t.Errorf("the annotation is %q; expected %q", got, c.want)
			}
		})
	}
	for proxy, want := range map[string]string{"": "https://new.example.com:6443", "http://proxy.example.com": ""} {
		es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, provisioned), "retail-dev-eu-1")
		text := kubeconfig(t, &clientcmdapi.Cluster{Server: "https://new.example.com:6443", CertificateAuthorityData: []byte("ca"), ProxyURL: proxy}, &clientcmdapi.AuthInfo{Token: "t"})
		secret, err := reconcile(t, es, connectionOf(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := secret.Annotations["argosy.dev/server"]; got != want {
			t.Errorf("provisioned, by the proxy %q: the annotation is %q; expected %q", proxy, got, want)
		}
	}
}
