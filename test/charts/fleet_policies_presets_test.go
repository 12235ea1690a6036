package charts_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/argosy-hub/argosy/internal/change/lint/secretpolicy"
)

var (
	refusedKeys = regexp.MustCompile(`^!variables\.keys\.exists\(k, k in (\[.*\])\)$`)
	refusedKey  = regexp.MustCompile(`^!\('([A-Za-z]+)' in variables\.keys\)$`)
	appServer   = regexp.MustCompile(`^variables\.(?:app|fluxApp) == '' \|\| variables\.(?:app|fluxApp)\.matches\('([^']*)'\)$`)
)

// admits evaluates the validations of fleet-repository-secrets that judge addresses and keys.
func admits(t *testing.T, validations []admissionv1.Validation, address string, keys []string) bool {
	t.Helper()
	for _, v := range validations {
		expression := strings.TrimSpace(v.Expression)
		switch {
		case addressed.MatchString(expression):
			if !regexp.MustCompile(addressed.FindStringSubmatch(expression)[1]).MatchString(base64.StdEncoding.EncodeToString([]byte(address))) {
				return false
			}
		case refusedKeys.MatchString(expression):
			var refused []string
			if err := json.Unmarshal([]byte(refusedKeys.FindStringSubmatch(expression)[1]), &refused); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(refused, key) }) {
				return false
			}
		case refusedKey.MatchString(expression):
			if slices.Contains(keys, refusedKey.FindStringSubmatch(expression)[1]) {
				return false
			}
		case !strings.Contains(expression, "variables.type in") && !appServer.MatchString(expression):
			t.Fatalf("a validation that this test does not know: %s", expression)
		}
	}
	return true
}

// TestLintSaysWhatThePoliciesSay: whatever the values and presets, lint refuses a repository's
// credentials exactly if the rendered policies do.
func TestLintSaysWhatThePoliciesSay(t *testing.T) {
	fleet := "fleet: {region: eu-west-1, repositories: ['https://git.example/fleet', '', 'git@code.example:a/b', 'https://u@port.example:8443/x']}\n"
	addresses := []string{
		"https://git.example/x", "https://git.example", "https://git.example.evil/x", "ssh://git@git.example/x", "git@git.example:x", "git@code.example:x", "oci://code.example/x",
		"https://port.example:8443/x", "https://port.example/x", "https://github.com/acme/x", "git@github.com:acme/x", "ssh://git@github.com:22/x", "http://git.example/x",
		"https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/x", "https://git-codecommit.us-east-1.amazonaws.com/v1/repos/x", "https://git-codecommit.us-east-1.amazonaws.com/.eu-west-1.amazonaws.com/x",
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "123456789012.dkr.ecr.us-east-1.amazonaws.com/x",
		"12345678901a.dkr.ecr.eu-west-1.amazonaws.com/x", "evil.ex/abcd.dkr.ecr.eu-west-1.amazonaws.com/x", "oci://evil.ex:1/ab.dkr.ecr.eu-west-1.amazonaws.com/x", "oci://99999:999999.dkr.ecr.eu-west-1.amazonaws.com/x",
	}
	keys := [][]string{{"username", "password"}, {"sshPrivateKey"}, {"githubAppID", "githubAppPrivateKey"}, {"bearerToken"}, {"password", "insecure"}, nil}
	admitted, refused := 0, 0
	for _, values := range []string{
		"", "presets: [ssh-only]\n", "presets: [github-app-only]\n", "presets: [ssh-only, github-app-only]\n", "presets: [fleet-hosts]\n" + fleet, "presets: [one-region]\n" + fleet,
		"presets: [fleet-hosts, one-region]\n" + fleet, "presets: [fleet-hosts]\n", "presets: [no-bearer-token, ssh-only, fleet-hosts, one-region]\n" + fleet,
		"repositories: {hosts: [github.com, 'port.example:8443'], addresses: ['git@git.example:x']}\npresets: [one-region]\n" + fleet,
		"repositories: {credentials: [bearerToken], forbidden: []}\n", "repositories: {hosts: [github.com], credentials: []}\n",
	} {
		p, err := secretpolicy.New([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, values), "fleet-repository-secrets")
		for _, address := range addresses {
			for _, has := range keys {
				found, _ := p.Repository(address, has)
				want := admits(t, policy.Spec.Validations, address, has)
				if (found == "") != want {
					t.Errorf("%q: %s with %v: the policies admit it: %t; lint says %q", values, address, has, want, found)
				}
				if want {
					admitted++
				} else {
					refused++
				}
			}
		}
		for _, server := range addresses {
			want := true
			for _, v := range policy.Spec.Validations {
				if found := appServer.FindStringSubmatch(strings.TrimSpace(v.Expression)); found != nil {
					want = regexp.MustCompile(found[1]).MatchString(base64.StdEncoding.EncodeToString([]byte(server)))
				}
			}
			if found, _ := p.Server(server); (found == "") != want {
				t.Errorf("%q: an App at %s: the policies admit it: %t; lint says %q", values, server, want, found)
			}
		}
		for _, key := range []string{"bearerToken", "password", "keyData", "awsAuthConfig", "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET"} {
			cluster := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, values), "fleet-cluster-secrets")
			says := slices.ContainsFunc(cluster.Spec.Validations, func(v admissionv1.Validation) bool { return strings.HasPrefix(v.Message, "config has "+key+",") })
			if says != p.IsForbidden(key) {
				t.Errorf("%q: %s is forbidden: policies %t", values, key, says)
			}
		}
	}
	if admitted < 100 || refused < 100 {
		t.Errorf("%d admitted, %d refused: the table does not test much", admitted, refused)
	}
}

// TestNoBearerTokenForbidsSecretsOfPrograms: the preset forbids the secret that a program of
// execProviderConfig gets by its environment, and so do values that name it; an identity without a
// secret passes.
func TestNoBearerTokenForbidsSecretsOfPrograms(t *testing.T) {
	const key = "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET"
	config := func(env string) string {
		return `{"execProviderConfig":{"args":["azure"],"command":"argocd-k8s-auth","env":{` + env + `}}}`
	}
	for _, values := range []string{"presets: [no-bearer-token]\n", "clusterSecrets: {forbidden: [" + key + "]}\n"} {
		isJudged := false
		for _, v := range one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, values), "fleet-cluster-secrets").Spec.Validations {
			if !strings.HasPrefix(v.Message, "config has "+key+",") {
				continue
			}
			isJudged = true
			pattern := regexp.MustCompile(matched.FindStringSubmatch(v.Expression)[1])
			for env, want := range map[string]bool{`"AAD_LOGIN_METHOD":"spn","` + key + `":"x"`: true, `"AAD_LOGIN_METHOD":"workloadidentity"`: false} {
				for before := range 3 { // all three forms of a text in base64
					if got := pattern.MatchString(base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + config(env)))); got != want {
						t.Errorf("%s: %s: found %t", values, env, got)
					}
				}
			}
		}
		if !isJudged {
			t.Errorf("%s: no validation is about %s", values, key)
		}
	}
}
