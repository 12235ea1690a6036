package charts_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v2/pkg/apis/application/v1alpha1"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// recordSchema is the contract of what provisions, such as Terraform, and of charts/fleet-secret.
const recordSchema = repo + "/docs/schemas/cluster-secret.json"

// validRecord says what is wrong with a member's record, JSON within its texts included.
func validRecord(t *testing.T, record string) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertContent()
	schema, err := compiler.Compile(recordSchema)
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(record))
	require.NoError(t, err)
	return schema.Validate(value)
}

// inEKS is the address of an API server in EKS.
const inEKS = "https://ABCD.gr7.eu-west-1.eks.amazonaws.com"

// TestRecordOfAMemberIsWhatTheChartReads: what the schema accepts becomes a cluster Secret with
// each of its fields; what it refuses the chart refuses or leaves out by name.
func TestRecordOfAMemberIsWhatTheChartReads(t *testing.T) {
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, member), "retail-dev-eu-1")
	for name, record := range map[string]string{
		"least":   terraform(nil),
		"objects": terraform(map[string]any{"config": map[string]any{"bearerToken": "t", "tlsClientConfig": map[string]any{"caData": "YQ=="}}}),
		"a role":  terraform(map[string]any{"server": inEKS, "config": map[string]any{"awsAuthConfig": map[string]any{"clusterName": "c", "roleARN": "arn:aws:iam::123456789012:role/spoke"}}}),
		"a command": terraform(map[string]any{"server": inEKS, "config": map[string]any{"execProviderConfig": map[string]any{
			"command": "argocd-k8s-auth", "args": []string{"aws", "--cluster-name", "c"}, "apiVersion": "client.authentication.k8s.io/v1beta1", "env": map[string]any{"AWS_REGION": "eu-west-1"},
		}}}),
		"a proxy": terraform(map[string]any{"config": map[string]any{"bearerToken": "t", "proxyUrl": "http://proxy.example.com:3128"}}),
		"facts": terraform(map[string]any{
			"metadata": map[string]any{"aws_account_id": "123456789012", "subnets": []string{"a"}, "argosy.dev/note": "x"},
			"addons":   map[string]any{"enable_karpenter": true, "kubernetes_version": "1.33", "workers": 3},
		}),
		"facts as text": terraform(map[string]any{"metadata": `{"vpc": "vpc-1"}`, "addons": `{"ring": "early"}`}),
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, validRecord(t, record), "the schema refuses it")
			secret, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": record}, nil)
			require.NoError(t, err, "the chart refuses it")
			var fields map[string]any
			require.NoError(t, json.Unmarshal([]byte(record), &fields))
			if got := texts(secret.Data); got["name"] != fields["cluster_name"] || got["server"] != fields["server"] {
				t.Errorf("the Secret has %v", got)
			}
			var config v1alpha1.ClusterConfig
			assert.NoError(t, json.Unmarshal(secret.Data["config"], &config), "config is none of Argo CD's")
			for field, in := range map[string]map[string]string{"metadata": secret.Annotations, "addons": secret.Labels} {
				for key := range jsonObject(t, fields[field]) {
					if in[key] == "" {
						t.Errorf("%s.%s is not in the Secret", field, key)
					}
				}
			}
		})
	}
	for name, c := range map[string]struct{ record, refused, ignored string }{
		"another cluster":        {record: terraform(map[string]any{"cluster_name": "other"}), refused: `the secret is that of cluster "other"`},
		"no server":              {record: terraform(map[string]any{"server": nil}), refused: "the secret has no key server"},
		"no TLS":                 {record: terraform(map[string]any{"server": "http://10.0.0.1"}), refused: `server: "http://10.0.0.1" is no address`},
		"no config":              {record: terraform(map[string]any{"config": nil}), refused: "the secret has no key config"},
		"config of words":        {record: terraform(map[string]any{"config": "kubeconfig"}), refused: "config is not a JSON object"},
		"config, a list":         {record: terraform(map[string]any{"config": []string{"a"}}), refused: "config is not a JSON object"},
		"a command of its own":   {record: terraform(map[string]any{"server": inEKS, "config": map[string]any{"execProviderConfig": map[string]any{"command": "/bin/sh"}}}), refused: `config.execProviderConfig.command: "/bin/sh"`},
		"a setting that is none": {record: terraform(map[string]any{"config": map[string]any{"EXECPROVIDERCONFIG": map[string]any{"command": "/bin/sh"}}}), refused: "config.EXECPROVIDERCONFIG is no setting"},
		"a second command": {
			record:  terraform(map[string]any{"server": inEKS, "config": map[string]any{"execProviderConfig": map[string]any{"command": "argocd-k8s-auth", "Command": "/bin/sh"}}}),
			refused: "config.execProviderConfig.Command is no setting",
		},
		"an identity provider of its own": {record: terraform(map[string]any{"server": inEKS, "config": map[string]any{"execProviderConfig": map[string]any{
			"command": "argocd-k8s-auth", "args": []string{"azure"}, "env": map[string]any{"AZURE_AUTHORITY_HOST": "https://evil.example.com"},
		}}}), refused: "config.execProviderConfig.env.AZURE_AUTHORITY_HOST: "},
		"a proxy beside a role": {record: terraform(map[string]any{"server": inEKS, "config": map[string]any{"awsAuthConfig": map[string]any{"clusterName": "c"}, "proxyUrl": "http://evil.example.com"}}), refused: "config.proxyUrl: "},
		"the hub itself":        {record: terraform(map[string]any{"server": "https://kubernetes.default.svc", "config": map[string]any{}}), refused: "is the cluster that Argo CD itself runs in"},
		"a role elsewhere":      {record: terraform(map[string]any{"config": map[string]any{"awsAuthConfig": map[string]any{"clusterName": "c"}}}), refused: "is in no domain of externalSecret.loginDomains"},
		"metadata, a list":      {record: terraform(map[string]any{"metadata": []string{"a"}}), refused: "metadata is not a JSON object"},
		"addons, a list":        {record: terraform(map[string]any{"addons": []string{"a"}}), refused: "addons is not a JSON object"},
		"no label":              {record: terraform(map[string]any{"addons": map[string]any{"ring": "a b"}}), ignored: "ring"},
		"another key":           {record: terraform(map[string]any{"labels": map[string]any{"ring": "early"}}), ignored: "labels"},
	} {
		t.Run(name, func(t *testing.T) {
			// whose record it is, and where Argo CD may log in, the schema cannot know
			if name != "another cluster" && name != "a role elsewhere" && validRecord(t, c.record) == nil {
				t.Error("the schema accepts it")
			}
			secret, err := reconcile(t, es, map[string]string{"fleet/retail-dev-eu-1": c.record}, nil)
			switch {
			case c.refused == "" && err == nil:
				assert.Equal(t, "", secret.Labels["ring"], "the Secret has the label ring")
				if ignored := secret.Annotations["argosy.dev/ignored-labels"] + secret.Annotations["argosy.dev/ignored-keys"]; ignored != c.ignored {
					t.Errorf("the Secret names %q as ignored, want %q", ignored, c.ignored)
				}
			case err == nil || !strings.Contains(err.Error(), c.refused):
				t.Errorf("the chart says %v, want %q", err, c.refused)
			case strings.Contains(err.Error(), "tlsClientConfig"):
				t.Errorf("the error shows the connection's settings: %v", err)
			}
		})
	}
}

// jsonObject is a field of a record, which may be an object or its text.
func jsonObject(t *testing.T, field any) map[string]any {
	t.Helper()
	if text, is := field.(string); is {
		require.NoError(t, json.Unmarshal([]byte(text), &field))
	}
	out, _ := field.(map[string]any)
	return out
}

// TestSchemaOfARecordNamesEachField: every field that a template of the chart reads, and every
// setting that Argo CD knows of a connection, is in the schema with a description.
func TestSchemaOfARecordNamesEachField(t *testing.T) {
	text, err := os.ReadFile(recordSchema)
	require.NoError(t, err)
	type node struct {
		Description string          `json:"description"`
		Properties  map[string]node `json:"properties"`
	}
	var schema struct {
		node
		Defs map[string]node `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	files, err := filepath.Glob(fleetSecret + "/files/*.gotmpl")
	if err != nil || len(files) < 5 {
		t.Fatalf("files of the chart: %v, %v", files, err)
	}
	templates, err := filepath.Glob(fleetSecret + "/templates/*")
	require.NoError(t, err)
	read := map[string]bool{}
	for _, file := range slices.Concat(files, templates) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`index \. \\?"([A-Za-z_]+)\\?"`).FindAllStringSubmatch(string(text), -1) {
			read[found[1]] = true
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(schema.Properties)), slices.Sorted(maps.Keys(read)), "fields of the schema (-) and those that templates read (+)")
	for name, field := range schema.Properties {
		if field.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	config := schema.Defs["config"]
	for at, c := range map[string]struct {
		node node
		of   reflect.Type
	}{
		"config":                    {config, reflect.TypeFor[v1alpha1.ClusterConfig]()},
		"config.tlsClientConfig":    {config.Properties["tlsClientConfig"], reflect.TypeFor[v1alpha1.TLSClientConfig]()},
		"config.awsAuthConfig":      {config.Properties["awsAuthConfig"], reflect.TypeFor[v1alpha1.AWSAuthConfig]()},
		"config.execProviderConfig": {config.Properties["execProviderConfig"], reflect.TypeFor[v1alpha1.ExecProviderConfig]()},
	} {
		var known []string
		for i := range c.of.NumField() {
			name, _, _ := strings.Cut(c.of.Field(i).Tag.Get("json"), ",")
			known = append(known, name)
		}
		slices.Sort(known)
		assert.Equal(t, known, slices.Sorted(maps.Keys(c.node.Properties)), "%s: Argo CD's settings (-) and the schema's (+)", at)
	}
}
