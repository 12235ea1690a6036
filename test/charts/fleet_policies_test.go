package charts_test

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

func TestFleetPoliciesGoldens(t *testing.T) { chartGoldens(t, fleetPolicies) }

var matched = regexp.MustCompile(`variables\.config\.matches\('([^']*)'\)`)

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

// A key is found in base64 wherever it begins, whatever stands around it and in whichever case: the API server of Kubernetes
// 1.33 has no function that decodes it.
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
	if len(validations) != 6 || len(patterns) != 2 {
		t.Fatalf("%d validations, the last with %d patterns; expected 6 and 2", len(validations), len(patterns))
	}
	for char := range 256 {
		for before := range 7 {
			for after := range 4 {
				text := fmt.Appendf(nil, "%s%c%s", "~~~~~~~"[:before], 0, "~~~~"[:after])
				text[before] = byte(char)
				encoded := base64.StdEncoding.EncodeToString(text)
				if got, want := patterns[0].MatchString(encoded), char == '\\'; got != want {
					t.Errorf("escape in %q: %v", text, got)
				}
				if got, want := patterns[1].MatchString(encoded), char >= 0x80; got != want {
					t.Errorf("beyond ASCII in %q: %v", text, got)
				}
			}
		}
	}
}
