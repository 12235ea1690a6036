package charts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// applied is what OpenTofu made of terraform/hub and terraform/spokes: the golden file that
// test/e2e/internal/terraform compares with a run of both.
type applied struct {
	Members     map[string]string          // by cluster: what its file says
	Store       map[string]json.RawMessage // by the names of the secrets
	Connections map[string]json.RawMessage // records of only the module
	Facts       map[string]facts.Cluster
	Releases    map[string]string // by chart: the values
}

func terraformed(t *testing.T) (a applied) {
	t.Helper()
	text, err := os.ReadFile("testdata/terraform.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &a))
	return a
}

// secretName is the name in an ARN of a secret, or the name itself.
var secretName = regexp.MustCompile(`^(?:arn:aws:secretsmanager:[^:]*:[^:]*:secret:(.*)-.{6}|([^:]*))$`)

// nameOf is the name of the secret that a member's file names; "" if it is neither name nor ARN.
func nameOf(secret string) string {
	m := append(secretName.FindStringSubmatch(secret), "", "", "")
	return m[1] + m[2]
}

// record is the record of a member, as the secret manager finds it by what the member's file says.
func (a applied) record(cluster string) string { return string(a.Store[nameOf(a.Members[cluster])]) }

// fleetOf is this repository's fleet with the names of the records that Terraform has written, and
// with Terraform's facts.
func (a applied) fleetOf(t *testing.T) *fleetstate.State {
	t.Helper()
	copied := t.TempDir()
	for _, folder := range []string{"addons", "charts", "fleet", "provisioning", "resources", "versions", "workloads"} {
		require.NoError(t, os.CopyFS(filepath.Join(copied, folder), os.DirFS(filepath.Join(repo, folder))))
	}
	var clusters []facts.Cluster
	for cluster, secret := range a.Members {
		known := a.Facts[cluster]
		known.Name = cluster
		clusters = append(clusters, known)
		files, err := filepath.Glob(filepath.Join(copied, "fleet/fleet-members/*", cluster+".yaml"))
		if err != nil || len(files) != 1 {
			t.Fatalf("files of %s: %v, %v", cluster, files, err)
		}
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		text = regexp.MustCompile(`(?m)^secretManagerSecretName: .*$`).ReplaceAll(text, []byte("secretManagerSecretName: "+secret))
		require.NoError(t, os.WriteFile(files[0], text, 0o600))
	}
	folder, err := dir.New(copied, source.Limits{})
	require.NoError(t, err)
	s, err := folder.Snapshot(t.Context())
	require.NoError(t, err)
	state, err := fleetstate.Build(nil, s, facts.NewSet(false, clusters...))
	require.NoError(t, err)
	return state
}

// spokesOf are the members in the golden file, by hub.
var spokesOf = map[string][]string{"hub-eu": {"analytics-dev-eu-1", "payments-prod-eu-1"}, "hub-us": {"retail-prod-us-1"}}

// registrations are the ExternalSecrets that register the members of the golden file.
func (a applied) registrations(t *testing.T) map[string]*esv1.ExternalSecret {
	t.Helper()
	state := a.fleetOf(t)
	out := map[string]*esv1.ExternalSecret{}
	for hub, spokes := range spokesOf {
		for _, s := range asks(t, state, fmt.Sprintf(`{"view":"members","hub":%q}`, hub)) {
			if slices.Contains(spokes, s.Name) {
				out[s.Name] = one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, s.HelmValues), s.Name)
			}
		}
	}
	return out
}

// register makes the cluster Secrets of some records, and the errors, by cluster.
func register(t *testing.T, registrations map[string]*esv1.ExternalSecret, records map[string]string) (map[string]*corev1.Secret, map[string]error) {
	t.Helper()
	secrets, errs := map[string]*corev1.Secret{}, map[string]error{}
	for cluster, es := range registrations {
		key := es.Spec.DataFrom[0].Extract.Key
		secret, err := reconcile(t, es, map[string]string{key: records[cluster]}, nil)
		if err != nil {
			errs[cluster] = err
			continue
		}
		secrets[cluster] = secret
	}
	return secrets, errs
}

// TestTerraformRegistersMembers: with the outputs of terraform/spokes in the members' files, the
// chart names exactly the records and the store that Terraform has made, and each record becomes a
// cluster Secret with its connection and its facts.
func TestTerraformRegistersMembers(t *testing.T) {
	a := terraformed(t)
	state := a.fleetOf(t)
	hub := one[*esv1.ClusterSecretStore](t, rendering{APIVersions: externalSecretsAPI}.objects(t, hubChart, a.Releases["hub"]), "")
	for hubName, spokes := range spokesOf {
		for _, s := range asks(t, state, fmt.Sprintf(`{"view":"members","hub":%q}`, hubName)) {
			if !slices.Contains(spokes, s.Name) {
				continue
			}
			objects := rendering{}.objects(t, fleetSecret, s.HelmValues)
			es := one[*esv1.ExternalSecret](t, objects, s.Name)
			if key := es.Spec.DataFrom[0].Extract.Key; key != a.Members[s.Name] {
				t.Errorf("%s is registered by %s; Terraform has written %s", s.Name, key, a.Members[s.Name])
			}
			ref := es.Spec.SecretStoreRef
			if own := all[*esv1.SecretStore](objects); ref.Kind == "SecretStore" {
				// A store of the member's own reads the same secrets, as the same role.
				p := own[0].Spec.Provider.AWS
				if len(own) != 1 || own[0].Name != ref.Name || p == nil || p.Role != "" || p.Region != hub.Spec.Provider.AWS.Region {
					t.Errorf("%s is registered from %+v, with %d stores", s.Name, ref, len(own))
				}
			} else if ref.Kind != "ClusterSecretStore" || ref.Name != hub.Name {
				t.Errorf("%s is registered from %+v; terraform/hub makes the ClusterSecretStore %s", s.Name, ref, hub.Name)
			}
		}
	}
	records := map[string]string{}
	for cluster := range a.Members {
		records[cluster] = a.record(cluster)
	}
	secrets, errs := register(t, a.registrations(t), records)
	if len(secrets) != 3 || len(errs) != 0 {
		t.Fatalf("registered are %d, refused %v", len(secrets), errs)
	}
	for cluster, secret := range secrets {
		var record struct {
			Server string
			Config json.RawMessage
		}
		require.NoError(t, json.Unmarshal([]byte(records[cluster]), &record))
		var want, got any
		if json.Unmarshal(record.Config, &want) != nil || json.Unmarshal(secret.Data["config"], &got) != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: config is %s; expected %s", cluster, secret.Data["config"], record.Config)
		}
		if string(secret.Data["server"]) != record.Server || string(secret.Data["name"]) != cluster {
			t.Errorf("%s: %s at %s; expected %s", cluster, secret.Data["name"], secret.Data["server"], record.Server)
		}
		for key, value := range a.Facts[cluster].Annotations {
			assert.Equal(t, value, secret.Annotations[key], "%s: annotation %s", cluster, key)
		}
		for key, value := range a.Facts[cluster].Labels {
			assert.Equal(t, value, secret.Labels[key], "%s: label %s", cluster, key)
		}
	}
}

// TestTerraformInstallsTheHub: the values that terraform/hub gives to charts/hub make the store of
// the convention and register the hub with its facts, and charts/fleet-secret makes the Secret of
// the GitHub App that they name.
func TestTerraformInstallsTheHub(t *testing.T) {
	a := terraformed(t)
	names := recordNames(t)
	objects := rendering{APIVersions: externalSecretsAPI}.objects(t, hubChart, a.Releases["hub"])
	store := one[*esv1.ClusterSecretStore](t, objects, "")
	if p := store.Spec.Provider.AWS; store.Name != names["store"] || p == nil || p.Region != "eu-west-1" || p.Service != esv1.AWSServiceSecretsManager {
		t.Errorf("store %s: %+v; expected %s", store.Name, store.Spec.Provider, names["store"])
	}
	hub := one[*corev1.Secret](t, objects, "hub-cluster")
	for key, value := range a.Facts["hub-eu"].Annotations {
		assert.Equal(t, value, hub.Annotations[key], "annotation %s of the hub", key)
	}
	var values struct {
		Service struct {
			Source struct {
				Git struct{ URL, CredentialsSecret string }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(a.Releases["hub"]), &values))
	git := values.Service.Source.Git
	es := one[*esv1.ExternalSecret](t, rendering{}.objects(t, fleetSecret, a.Releases["fleet-secret"]), git.CredentialsSecret)
	if ref := es.Spec.SecretStoreRef; ref.Kind != "ClusterSecretStore" || ref.Name != store.Name {
		t.Errorf("the GitHub App is read from %+v; expected the store %s", ref, store.Name)
	}
	key := es.Spec.DataFrom[0].Extract.Key
	secret, err := reconcile(t, es, map[string]string{key: string(a.Store[key])}, nil)
	require.NoError(t, err)
	want := map[string]string{"type": "git", "url": git.URL, "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "PEM"}
	if diff := cmp.Diff(want, texts(secret.Data)); diff != "" || secret.Labels["argocd.argoproj.io/secret-type"] != "repository" {
		t.Errorf("the Secret of the GitHub App, labels %v:\n%s", secret.Labels, diff)
	}
}

// TestRecordsOfTerraformAreValid: what is written fulfils the contract, whatever the connection.
func TestRecordsOfTerraformAreValid(t *testing.T) {
	a := terraformed(t)
	for cluster := range a.Members {
		assert.NoError(t, validRecord(t, a.record(cluster)), "%s", cluster)
	}
	for name, record := range a.Connections {
		assert.NoError(t, validRecord(t, string(record)), "%s", name)
	}
	if len(a.Members) != 5 || len(a.Connections) != 2 {
		t.Errorf("%d members and %d connections", len(a.Members), len(a.Connections))
	}
}

// TestARecordWithAKeyTooFewOrTooManyIsItsMembersAlone: the cluster Secret of the member stays as it
// was, or says what is ignored. The Secrets of all others are the same.
func TestARecordWithAKeyTooFewOrTooManyIsItsMembersAlone(t *testing.T) {
	const member = "payments-prod-eu-1"
	a := terraformed(t)
	records := map[string]string{}
	for cluster := range a.Members {
		records[cluster] = a.record(cluster)
	}
	registrations := a.registrations(t)
	before, _ := register(t, registrations, records)
	for _, key := range []string{"server", "config", "extra"} {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(records[member]), &record))
		if key == "extra" {
			record[key] = "x"
		} else {
			delete(record, key)
		}
		text, err := json.Marshal(record)
		require.NoError(t, err)
		changed := map[string]string{}
		for cluster, record := range records {
			changed[cluster] = record
		}
		changed[member] = string(text)
		after, errs := register(t, registrations, changed)
		switch {
		case key == "extra":
			if got := after[member].Annotations["argosy.dev/ignored-keys"]; got != key {
				t.Errorf("the Secret names %q as ignored", got)
			}
			delete(after[member].Annotations, "argosy.dev/ignored-keys")
			assert.Equal(t, before, after)
		case errs[member] == nil || !strings.Contains(errs[member].Error(), "the secret has no key "+key+"; expected cluster_name, server and config"):
			t.Errorf("without %s: %v", key, errs[member])
		default:
			for cluster, secret := range before {
				if cluster != member && !cmp.Equal(secret, after[cluster]) {
					t.Errorf("without %s of %s, %s is another one", key, member, cluster)
				}
			}
		}
	}
}

// recordNames is the convention of names.
func recordNames(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(recordSchema)
	require.NoError(t, err)
	var schema struct {
		Names map[string]string `json:"x-names"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	return schema.Names
}

// TestNamesAreThoseOfTheContract: the layouts, the charts and the example have the names of
// docs/schemas/cluster-secret.json. Package test/e2e/internal/terraform, where OpenTofu runs,
// compares the names of terraform/.
func TestNamesAreThoseOfTheContract(t *testing.T) {
	names := recordNames(t)
	template := strings.NewReplacer("<hub>", "{{ .hub }}", "<cluster>", "{{ .cluster }}", "<tenant>", "{{ .tenant }}", "<name>", "*")
	unmarshal := func(file string, into any) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(repo, file))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, into))
	}
	type layout struct {
		SecretNames map[string][]string
	}
	var own layout
	unmarshal("fleet/layout.yaml", &own)
	record := template.Replace(names["record"])
	want := map[string][]string{
		"cluster": {record, "arn:aws:secretsmanager:*:*:secret:" + record + "-??????"},
		"git":     {template.Replace(names["repositoryCredentials"])},
	}
	assert.Equal(t, want, own.SecretNames, "secretNames of fleet/layout.yaml (-convention)")
	type store struct {
		SecretStore struct{ Name, Kind string }
	}
	var hub store
	unmarshal("charts/hub/values.yaml", &hub)
	assert.Equal(t, names["store"], hub.SecretStore.Name, "charts/hub makes the store")
	for _, file := range []string{
		"addons/defaults/fleet/fleet-secret/values.yaml", "examples/fleet/addons/defaults/fleet/fleet-secret/values.yaml", "internal/change/scaffold/templates/fleet-secret.yaml",
		"charts/fleet-secret/ci/push-values.yaml", "charts/fleet-secret/ci/provisioned-values.yaml",
	} {
		var s store
		if unmarshal(file, &s); s.SecretStore.Name != names["store"] || s.SecretStore.Kind != "ClusterSecretStore" {
			t.Errorf("%s names the %s %s; expected the ClusterSecretStore %s", file, s.SecretStore.Kind, s.SecretStore.Name, names["store"])
		}
	}
	var known struct{ Clusters []facts.Cluster }
	unmarshal("examples/facts.yaml", &known)
	accounts := map[string]string{}
	for _, c := range known.Clusters {
		accounts[c.Name] = c.Annotations["aws_account_id"]
	}
	members, err := filepath.Glob(repo + "/fleet/fleet-members/*/*.yaml")
	if err != nil || len(members) < 10 {
		t.Fatalf("members: %v, %v", members, err)
	}
	for _, file := range members {
		hub, cluster := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".yaml")
		var m struct{ SecretManagerSecretName string }
		unmarshal(filepath.Join("fleet/fleet-members", hub, cluster+".yaml"), &m)
		want := strings.NewReplacer("<hub>", hub, "<cluster>", cluster).Replace(names["record"])
		if hub != cluster && nameOf(m.SecretManagerSecretName) != want {
			t.Errorf("%s names %q; expected %s", file, m.SecretManagerSecretName, want)
		}
		// A secret of another account than the hub's has to be named by its ARN.
		if arn := strings.Split(m.SecretManagerSecretName, ":"); len(arn) > 4 && arn[4] != accounts[cluster] || len(arn) == 1 && accounts[hub] != accounts[cluster] {
			t.Errorf("%s names %q; the cluster is in account %s, its hub in %s", file, m.SecretManagerSecretName, accounts[cluster], accounts[hub])
		}
	}
	// The roles that charts/aws-identity permits Argo CD to assume, and the annotations it reads.
	catalog, err := os.ReadFile(repo + "/charts/aws-identity/catalogs/fleet.yaml")
	require.NoError(t, err)
	pattern := "arn:aws:iam::*:role/" + strings.NewReplacer("<cluster>", "*").Replace(names["spokeRole"])
	if strings.Count(string(catalog), pattern) == 0 || strings.Count(string(catalog), ":role/") != strings.Count(string(catalog), pattern) {
		t.Errorf("charts/aws-identity/catalogs/fleet.yaml names other roles than %s", pattern)
	}
	written := terraformed(t).Facts["payments-prod-eu-1"].Annotations
	for _, read := range regexp.MustCompile(`aws_role_[a-z_]+`).FindAllString(string(catalog), -1) {
		if read != "aws_role_" && written[read] == "" {
			t.Errorf("charts/aws-identity/catalogs/fleet.yaml reads the annotation %s; Terraform writes %v", read, written)
		}
	}
}
