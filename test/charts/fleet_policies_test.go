package charts_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func TestFleetPoliciesGoldens(t *testing.T) { chartGoldens(t, fleetPolicies) }

var addressed = regexp.MustCompile(`variables\.url\.matches\('([^']*)'\)`)

var matched = regexp.MustCompile(`variables\.config\.matches\('([^']*)'\)`)

// kyvernoPolicy is what of a ClusterPolicy says what holds.
type kyvernoPolicy struct {
	Metadata struct{ Name string }
	Spec     struct {
		Rules []struct {
			Match struct {
				Any []struct {
					Resources struct{ Kinds, Operations, Namespaces []string }
				}
			}
			CELPreconditions []admissionv1.MatchCondition
			Validate         struct {
				CEL struct {
					ParamKind   *admissionv1.ParamKind
					ParamRef    *admissionv1.ParamRef
					Variables   []admissionv1.Variable
					Expressions []admissionv1.Validation
				}
			}
		}
	}
}

// Kyverno's policies say what Kubernetes' own say, word for word, of the same requests.
func TestFleetPoliciesAreTheSameForKyverno(t *testing.T) {
	values := "namespaces: [argocd, teams]\nrepositories: {hosts: [github.com], addresses: [git@other.example:x]}\nengine: "
	native := rendering{}.objects(t, fleetPolicies, values+"vap")
	docs, _, err := rendering{}.render(fleetPolicies, valuesFile(t, values+"kyverno"))
	require.NoError(t, err)
	both, _, err := rendering{}.render(fleetPolicies, valuesFile(t, values+"both"))
	if err != nil || len(both) != len(docs)+len(native) || len(docs) != 6 || len(native) != 12 {
		t.Fatalf("%d objects for both, %d for Kyverno, %d for Kubernetes: %v", len(both), len(docs), len(native), err)
	}
	for _, doc := range docs {
		var p kyvernoPolicy
		if err := yaml.Unmarshal([]byte(doc), &p); err != nil || len(p.Spec.Rules) != 1 {
			t.Fatalf("%v in\n%s", err, doc)
		}
		rule := p.Spec.Rules[0]
		want := one[*admissionv1.ValidatingAdmissionPolicy](t, native, p.Metadata.Name).Spec
		binding := one[*admissionv1.ValidatingAdmissionPolicyBinding](t, native, p.Metadata.Name).Spec
		kinds := map[string][]string{"secrets": {"v1/Secret"}, "externalsecrets": {"external-secrets.io/*/ExternalSecret"}, "externalsecrets pushsecrets": {"external-secrets.io/*/ExternalSecret", "external-secrets.io/*/PushSecret"}}
		var operations []string
		for _, o := range want.MatchConstraints.ResourceRules[0].Operations {
			operations = append(operations, string(o))
		}
		for what, c := range map[string][2]any{
			"conditions": {want.MatchConditions, rule.CELPreconditions}, "variables": {want.Variables, rule.Validate.CEL.Variables},
			"validations": {want.Validations, rule.Validate.CEL.Expressions}, "kinds": {kinds[strings.Join(want.MatchConstraints.ResourceRules[0].Resources, " ")], rule.Match.Any[0].Resources.Kinds},
			"parameters": {want.ParamKind, rule.Validate.CEL.ParamKind}, "which": {binding.ParamRef, rule.Validate.CEL.ParamRef},
			"operations": {operations, rule.Match.Any[0].Resources.Operations},
			"namespaces": {binding.MatchResources.NamespaceSelector.MatchExpressions[0].Values, rule.Match.Any[0].Resources.Namespaces},
		} {
			assert.Equal(t, c[0], c[1], "%s: %s (-Kubernetes +Kyverno)", p.Metadata.Name, what)
		}
	}
}

// A server that ends with a slash is refused, of whatever length, and no other.
func TestFleetPoliciesRefuseASlashBehindTheServer(t *testing.T) {
	policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, "engine: vap"), "fleet-cluster-secrets")
	var found []string
	for _, v := range policy.Spec.Validations {
		if m := regexp.MustCompile(`object\.data\.server\)\.matches\('([^']*)'\)`).FindStringSubmatch(v.Expression); m != nil {
			found = append(found, m[1])
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d expressions look at the server: %q", len(found), found)
	}
	slash := regexp.MustCompile(found[0])
	for length := range 4 {
		for last := range 256 {
			server := "https://" + strings.Repeat("a", length) + string([]byte{byte(last)})
			if got := slash.MatchString(base64.StdEncoding.EncodeToString([]byte(server))); got != (last == '/') {
				t.Errorf("%q: refused: %t", server, got)
			}
		}
	}
	if slash.MatchString("") {
		t.Error("no server is refused")
	}
}

// An address counts as allowed by its beginning alone, whatever follows, and no other does.
func TestFleetPoliciesFindHostsInBase64(t *testing.T) {
	pattern := func(values string) *regexp.Regexp {
		policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies, values), "fleet-repository-secrets")
		return regexp.MustCompile(addressed.FindStringSubmatch(policy.Spec.Validations[0].Expression)[1])
	}
	hosts := pattern("repositories: {hosts: [github.com, 'git.example:8443'], addresses: [keys@code.example:v1/]}")
	for _, allowed := range []string{
		"https://github.com/", "ssh://git@github.com/", "git@github.com:", "oci://github.com/", "github.com/",
		"https://git.example:8443/", "ssh://git@git.example:8443/", "keys@code.example:v1/",
	} {
		for char := range 256 {
			for after := range 4 {
				url := allowed + strings.Repeat(string([]byte{byte(char)}), after)
				if !hosts.MatchString(base64.StdEncoding.EncodeToString([]byte(url))) {
					t.Fatalf("%q is refused", url)
				}
			}
		}
	}
	for _, url := range []string{
		"", "https://github.com", "https://github.com.evil.example/", "https://github.com@evil.example/", "https://github.com:8443/", "http://github.com/", "https://u:p@github.com/",
		"https://evil.example/https://github.com/", " https://github.com/", "HTTPS://github.com/", "ssh://root@github.com/", "git@github.com.evil.example:x", "https://git.example/", "git@git.example:8443:x",
		"keys@code.example:v2/", "other@code.example:v1/", "https://code.example/", "https://github.co", "file:///github.com/", "ext::https://github.com/",
	} {
		if hosts.MatchString(base64.StdEncoding.EncodeToString([]byte(url))) {
			t.Errorf("%q is allowed", url)
		}
	}
	// Whatever the last byte of what is allowed is: the byte before and behind it in the alphabet
	// of bytes is another one.
	for length := range 3 {
		for _, last := range []byte("aop09") {
			address := "h" + strings.Repeat("x", length) + ":" + string(last)
			p := pattern("repositories: {addresses: ['" + address + "']}")
			for _, other := range []byte{last - 1, last, last + 1} {
				url := address[:len(address)-1] + string(other) + "y"
				if p.MatchString(base64.StdEncoding.EncodeToString([]byte(url))) != (other == last) {
					t.Errorf("%q with %q allowed", url, address)
				}
			}
		}
	}
}

// clusterPatterns are the regular expressions of each validation of fleet-cluster-secrets.
func clusterPatterns(t *testing.T) [][]*regexp.Regexp {
	t.Helper()
	policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies), "fleet-cluster-secrets")
	var out [][]*regexp.Regexp
	for _, v := range policy.Spec.Validations {
		var patterns []*regexp.Regexp
		for _, m := range matched.FindAllStringSubmatch(v.Expression, -1) {
			patterns = append(patterns, regexp.MustCompile(m[1])) // CEL's are Go's
		}
		out = append(out, patterns)
	}
	return out
}

// A key is found in base64 wherever it begins, whatever stands around it and in whichever case: the
// API server of Kubernetes 1.33 has no function that decodes it.
func TestFleetPoliciesFindKeysInBase64(t *testing.T) {
	validations := clusterPatterns(t)
	other := base64.StdEncoding.EncodeToString([]byte(`{"awsAuthConfig":{"clusterName":"c","roleARN":"arn:aws:iam::123456789012:role/x"},"tlsClientConfig":{"caData":"02007d"}}`))
	for i, key := range []string{"awsAuthConfig", "bearerToken", "username", "password", "keyData"} {
		pattern := validations[i][0]
		for _, written := range []string{key, strings.ToLower(key), strings.ToUpper(key), strings.ToUpper(key[:3]) + key[3:]} {
			for before := range 12 {
				for after := range 4 {
					text := strings.Repeat("{", before) + `"` + written + `"` + strings.Repeat("}", after)
					if !pattern.MatchString(base64.StdEncoding.EncodeToString([]byte(text))) {
						t.Errorf("%s is not found", text)
					}
				}
			}
		}
		if pattern.MatchString(other) != (i == 0) {
			t.Errorf("%s in %s: expected %v", key, other, i == 0)
		}
	}
}

// Every byte that could hide a key is found at every place, and no other is.
func TestFleetPoliciesFindEscapesInBase64(t *testing.T) {
	validations := clusterPatterns(t)
	patterns := validations[len(validations)-1]
	if len(validations) != 8 || len(patterns) != 2 {
		t.Fatalf("%d validations, the last with %d patterns; expected 8 and 2", len(validations), len(patterns))
	}
	for char := range 256 {
		for before := range 7 {
			for after := range 4 {
				text := fmt.Appendf(nil, "%s%c%s", "~~~~~~~"[:before], 0, "~~~~"[:after])
				text[before] = byte(char)
				encoded := base64.StdEncoding.EncodeToString(text)
				assert.Equal(t, char == '\\', patterns[0].MatchString(encoded), "escape in %q", text)
				assert.Equal(t, char >= 0x80, patterns[1].MatchString(encoded), "beyond ASCII in %q", text)
			}
		}
	}
}

// Argo CD runs no program for a cluster but the allowed one, however its config is written.
func TestFleetPoliciesAllowCommands(t *testing.T) {
	patterns := clusterPatterns(t)[5]
	if len(patterns) != 3 {
		t.Fatalf("%d patterns; expected the key, the key twice, and the allowed texts", len(patterns))
	}
	for config, want := range map[string]bool{
		`{"awsAuthConfig":{}}`:                                                                  true,
		`{"execProviderConfig":{"command":"argocd-k8s-auth"}}`:                                  true,
		`{"execProviderConfig":{"command":"argocd-k8s-auth","args":["aws"]}}`:                   true,
		`{"execProviderConfig":{"args":["gcp"], "command": "argocd-k8s-auth"}, "x": 1}`:         true,
		`{"execProviderConfig":{"command":"sh"}}`:                                               false,
		`{"execProviderConfig":{"COMMAND":"sh"}}`:                                               false,
		`{"execProviderConfig":{"command":"argocd-k8s-auth2"}}`:                                 false,
		`{"execProviderConfig":{"command":"argocd-k8s-auth/../../bin/sh"}}`:                     false,
		`{"execProviderConfig":{"command":"/tmp/argocd-k8s-auth"}}`:                             false,
		`{"execProviderConfig":{"command":"argocd-k8s-auth","command":"sh"}}`:                   false,
		`{"execProviderConfig":{"command":"sh"},"awsAuthConfig":{"command":"argocd-k8s-auth"}}`: false,
		`{"execProviderConfig":{"Command":"sh","args":["command","argocd-k8s-auth"]}}`:          false,
		`{"execProviderConfig":{"command"` + "\n" + `:"sh"},"x":"command:argocd-k8s-auth"}`:     false,
	} {
		for before := range 3 { // all three forms of a text in base64
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + config))
			got := !patterns[0].MatchString(encoded) || !patterns[1].MatchString(encoded) && patterns[2].MatchString(encoded)
			assert.Equal(t, want, got, "%d before %s: allowed", before, config)
		}
	}
}
