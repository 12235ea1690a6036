package charts_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestRecordCannotChooseWhoGetsAnIdentityOfTheHub: where a record names the server, Argo CD logs in
// with an identity of its own at servers of externalSecret.loginDomains alone, also if the
// platform's values name the login.
func TestRecordCannotChooseWhoGetsAnIdentityOfTheHub(t *testing.T) {
	t.Parallel()
	const byRecord, byToken = `{"awsAuthConfig":{"clusterName":"c"}}`, `{"bearerToken":"t"}`
	const byValues = "externalSecret: {config: {execProviderConfig: {command: argocd-k8s-auth, args: [gcp]}}}"
	domains := func(list string) string { return "externalSecret: {loginDomains: " + list + "}" }
	for name, c := range map[string]struct {
		server, config, values string
		ok                     bool
	}{
		"EKS":                        {inEKS, byRecord, "", true},
		"EKS, dual stack":            {"https://ABCD.xyz.eks-cluster.eu-west-1.api.aws", byRecord, "", true},
		"EKS in China":               {"https://ABCD.sk1.cn-north-1.eks.amazonaws.com.cn:443/", byRecord, "", true},
		"AKS":                        {"https://prod-dns-1.hcp.westeurope.azmk8s.io:443", byRecord, "", true},
		"GKE by its name":            {"https://gke-1234.europe-west1.gke.goog", byRecord, "", true},
		"capital letters of a host":  {"https://ABCD.EKS.AMAZONAWS.COM", byRecord, "", true},
		"another service of a cloud": {"https://lambda.eu-west-1.api.aws", byRecord, "", false},
		"elsewhere":                  {"https://evil.example.com", byRecord, "", false},
		"elsewhere, with a token":    {"https://evil.example.com", byToken, "", true},
		"the same end of a name":     {"https://evil-eks.amazonaws.com", byRecord, "", false},
		"a path":                     {"https://evil.example.com/x.eks.amazonaws.com", byRecord, "", false},
		"a fragment":                 {"https://evil.example.com#x.eks.amazonaws.com", byRecord, "", false},
		"a query":                    {"https://evil.example.com?x.eks.amazonaws.com", byRecord, "", false},
		"a user":                     {"https://x.eks.amazonaws.com@evil.example.com", byRecord, "", false},
		"a user with a port":         {"https://x.eks.amazonaws.com:443@evil.example.com", byRecord, "", false},
		"a backslash":                {`https://evil.example.com\\x.eks.amazonaws.com`, byRecord, "", false},
		"a second line":              {"https://evil.example.com\nhttps://x.eks.amazonaws.com", byRecord, "", false},
		"a longer domain":            {"https://x.eks.amazonaws.com.example.com", byRecord, "", false},
		"values, elsewhere":          {"https://evil.example.com", byToken, byValues, false},
		"values, at a cloud":         {inEKS, byToken, byValues, true},
		"own domains":                {"https://a.k8s.example.com", byRecord, domains("[k8s.example.com]"), true},
		"an address":                 {"https://34.1.2.3", byRecord, domains("[34.1.2.3]"), true},
		"another address":            {"https://34.1.2.30", byRecord, domains("[34.1.2.3]"), false},
		"a letter for a dot":         {"https://34x1.2.3", byRecord, domains("[34.1.2.3]"), false},
		"not the clouds any more":    {inEKS, byRecord, domains("[k8s.example.com]"), false},
		"none":                       {inEKS, byRecord, domains("[]"), false},
		"any":                        {"https://10.0.0.1:6443", byRecord, domains("['*']"), true},
		"the platform's server":      {"https://evil.example.com", byRecord, "externalSecret: {server: https://10.0.0.1}", true},
		"the hub itself, any":        {"https://KUBERNETES.default.svc/", byRecord, domains("['*']"), false},
		"the hub itself by a token":  {"https://kubernetes.default.svc", byToken, "", false},
		"the hub itself, longer":     {"https://kubernetes.default.svc.cluster.local:443", byToken, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member, c.values), "retail-dev-eu-1")
			_, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(map[string]any{"server": c.server, "config": c.config})}, nil)
			if (err == nil) != c.ok {
				t.Errorf("%s: %v", c.server, err)
			}
		})
	}
	for _, domain := range []string{"", "a b", "https://a", ".a", "a)|(.", "[a]", "a.*b"} {
		rendering{}.fails(t, "loginDomains", fleetSecret, member, domains("['"+domain+"']"))
	}
}

// TestArgoCDReadsTheSettingsThatWereChecked: Argo CD reads keys of JSON in any case, and the last
// of several equal ones. What the chart lets through is the same for both.
func TestArgoCDReadsTheSettingsThatWereChecked(t *testing.T) {
	t.Parallel()
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member), "retail-dev-eu-1")
	const own, foreign = `"command":"argocd-k8s-auth"`, `"command":"/bin/sh","args":["-c","id"]`
	passed := 0
	for _, config := range []string{
		`{"execProviderConfig":{` + own + `}}`,
		`{"execProviderConfig":{` + foreign + `}}`,
		`{"execProviderConfig":{` + foreign + `},"execProviderConfig":{` + own + `}}`,
		`{"execProviderConfig":{` + own + `},"execProviderConfig":{` + foreign + `}}`,
		`{"execProviderConfig":{` + own + `},"execproviderconfig":{` + foreign + `}}`,
		`{"EXECPROVIDERCONFIG":{` + foreign + `}}`,
		`{"execProviderConfig":{` + own + `,"COMMAND":"/bin/sh"}}`,
		`{"execProviderConfig":{` + own + `,"command":"/bin/sh"}}`,
		`{"execProviderConfig":{"command":"/bin/sh",` + own + `}}`,
		`{"execProviderConfig":{` + own + `,"Args":["-c"]}}`,
		`{"\u0065xecProviderConfig":{` + foreign + `}}`,
		`{"execProviderConfig":{` + foreign + `}, "execProviderConfig": null}`,
		`{"execProviderConfig":[{` + foreign + `}]}`,
		`{} {"execProviderConfig":{` + foreign + `}}`,
		`{"execProviderConfig":{` + foreign + `},}`,
	} {
		secret, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": terraform(map[string]any{"server": inEKS, "config": config})}, nil)
		if err != nil {
			continue
		}
		passed++
		var read v1alpha1.ClusterConfig
		assert.NoError(t, json.Unmarshal(secret.Data["config"], &read), "%s: Argo CD cannot read %s", config, secret.Data["config"])
		if exec := read.ExecProviderConfig; exec != nil && (exec.Command != "argocd-k8s-auth" || len(exec.Args) > 0) {
			t.Errorf("%s: Argo CD would run %s %q", config, exec.Command, exec.Args)
		}
	}
	if passed < 3 {
		t.Errorf("%d records passed; expected some", passed)
	}
}

// TestEachSettingOfArgoCDPasses: a record, and the values, may have each setting that Argo CD knows
// of a connection, and each environment variable that the schema has.
func TestEachSettingOfArgoCDPasses(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(recordSchema)
	require.NoError(t, err)
	var schema struct {
		Defs struct {
			Config struct {
				Properties struct {
					Exec struct {
						Properties struct {
							Env struct{ Properties map[string]any }
						}
					} `json:"execProviderConfig"`
				}
			}
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	env := map[string]string{}
	for name := range schema.Defs.Config.Properties.Exec.Properties.Env.Properties {
		env[name] = "x"
	}
	if len(env) < 5 {
		t.Fatalf("the schema has the environment variables %v", env)
	}
	direct := v1alpha1.ClusterConfig{
		Username: "u", Password: "p", BearerToken: "t", DisableCompression: true,
		TLSClientConfig:    v1alpha1.TLSClientConfig{Insecure: true, ServerName: "s", CertData: []byte("c"), KeyData: []byte("k"), CAData: []byte("a")},
		AWSAuthConfig:      &v1alpha1.AWSAuthConfig{ClusterName: "c", RoleARN: "r", Profile: "p"},
		ExecProviderConfig: &v1alpha1.ExecProviderConfig{Command: "argocd-k8s-auth", Args: []string{"aws"}, Env: env, APIVersion: "v", InstallHint: "h"},
	}
	proxied := v1alpha1.ClusterConfig{BearerToken: "t", ProxyUrl: "http://proxy.example.com"}
	for name, config := range map[string]v1alpha1.ClusterConfig{"direct": direct, "proxied": proxied} {
		settings, err := json.Marshal(config)
		require.NoError(t, err)
		record := terraform(map[string]any{"server": inEKS, "config": string(settings)})
		for from, values := range map[string]string{"record": "", "values": "externalSecret: {config: " + string(settings) + "}"} {
			var read v1alpha1.ClusterConfig
			require.NoError(t, json.Unmarshal(clusterSecret(t, record, member, values).Data["config"], &read))
			assert.Equal(t, config, read, "%s, of the %s", name, from)
		}
	}
}

// TestServerOfAClusterHasOneName: Argo CD leaves out slashes behind a server, and so does the
// chart: policies compare servers as they are written.
func TestServerOfAClusterHasOneName(t *testing.T) {
	t.Parallel()
	const server = "https://10.0.0.1:6443"
	record := terraform(map[string]any{"server": server + "//", "config": `{"bearerToken":"t"}`})
	written := kubeconfig(t, &clientcmdapi.Cluster{Server: server + "/"}, &clientcmdapi.AuthInfo{Token: "t"})
	for name, c := range map[string]struct {
		values string
		remote map[string]string
	}{
		"record":     {member, map[string]string{"fleet/retail-dev-eu-1": record}},
		"values":     {strings.Replace(member, "externalSecret:\n", "externalSecret:\n  server: "+server+"/\n", 1), map[string]string{"fleet/retail-dev-eu-1": record}},
		"kubeconfig": {provisioned, connectionOf(written)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, c.values), "retail-dev-eu-1")
			secret, err := reconcile(t, es, c.remote, nil)
			require.NoError(t, err)
			assert.Equal(t, server, string(secret.Data["server"]), "server")
			assert.Equal(t, server, secret.Annotations["argosy.dev/server"], "argosy.dev/server")
		})
	}
}

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
		require.NoError(t, err)
		assert.Equal(t, want, secret.Annotations["argosy.dev/server"], "provisioned, by the proxy %q: the annotation", proxy)
	}
}
