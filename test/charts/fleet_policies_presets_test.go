package charts_test

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
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

// TestPresetsAdmit: what the values and presets admit of a repository's Secret.
func TestPresetsAdmit(t *testing.T) {
	const region, hosts = "presets: [one-region]\nfleet: {region: eu-west-1}\n", "presets: [fleet-hosts]\nfleet: {repositories: ['', 'git@git.example:a/b', 'https://u@code.example:8443/x']}\n"
	for _, c := range []struct {
		values, address, keys string
		want                  bool
	}{
		{"", "https://any.example/x", "username password", true},
		{"", "https://any.example/x", "bearerToken", false},
		{"", "https://any.example/x", "password proxy", false},
		{"repositories: {credentials: [bearerToken], forbidden: []}\n", "https://any.example/x", "bearerToken insecure", true},
		{"repositories: {hosts: [git.example], addresses: ['git@code.example:x']}\n", "git@code.example:x/y", "sshPrivateKey", true},
		{"repositories: {hosts: [git.example]}\n", "ssh://git@git.example/x", "sshPrivateKey", true},
		{"repositories: {hosts: [git.example]}\n", "https://git.example.evil/x", "password", false},
		{"repositories: {hosts: [git.example]}\n", "http://git.example/x", "password", false},
		{"presets: [ssh-only]\n", "git@git.example:x", "sshPrivateKey", true},
		{"presets: [ssh-only]\n", "https://git.example/x", "", false},
		{"presets: [ssh-only]\n", "git@git.example:x", "password", false},
		{"presets: [github-app-only]\n", "https://github.com/x", "githubAppID githubAppPrivateKey", true},
		{"presets: [github-app-only]\n", "https://github.com/x", "password", false},
		{"presets: [github-app-only, ssh-only]\n", "https://github.com/x", "githubAppPrivateKey", false},
		{"presets: [fleet-hosts]\n", "https://github.com/x", "password", false},
		{hosts, "https://git.example/x", "password", true},
		{hosts, "https://code.example:8443/y", "password", true},
		{hosts, "https://code.example/y", "password", false},
		{region, "https://git-codecommit.eu-west-1.amazonaws.com/v1/x", "password", true},
		{region, "https://git-codecommit.us-east-1.amazonaws.com/v1/x", "password", false},
		{region, "https://git-codecommit.us-east-1.amazonaws.com/.eu-west-1.amazonaws.com/", "password", false},
		{region, "123456789012.dkr.ecr.eu-west-1.amazonaws.com/x", "password", true},
		{region, "evil.ex/abcd.dkr.ecr.eu-west-1.amazonaws.com/x", "password", false},
		{region, "oci://99999:999999.dkr.ecr.eu-west-1.amazonaws.com/x", "password", false},
	} {
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, c.values), "fleet-repository-secrets")
		if got := admits(t, policy.Spec.Validations, c.address, strings.Fields(c.keys)); got != c.want {
			t.Errorf("%q: %s with %s: admitted %t", c.values, c.address, c.keys, got)
		}
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
