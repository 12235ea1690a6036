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

var contained = regexp.MustCompile(`contains\('([^']*)'\)`)

// A text is found in base64 wherever it begins and whatever stands around it: the API server of Kubernetes 1.33 has no
// function that decodes it.
func TestFleetPoliciesFindTextsInBase64(t *testing.T) {
	policy := one[*admissionv1.ValidatingAdmissionPolicy](t, rendering{}.objects(t, fleetPolicies), "fleet-cluster-secrets")
	texts := []string{"", `"bearerToken"`, `"username"`, `"password"`, `"keyData"`, `\u00`}
	if len(policy.Spec.Validations) != len(texts) {
		t.Fatalf("%d validations", len(policy.Spec.Validations))
	}
	for i, text := range texts {
		if text == "" {
			continue
		}
		parts := contained.FindAllStringSubmatch(policy.Spec.Validations[i].Expression, -1)
		if len(parts) != 3 {
			t.Fatalf("%s: %s", text, policy.Spec.Validations[i].Expression)
		}
		for before := range 12 {
			for after := range 4 {
				encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("{", before) + text + strings.Repeat("}", after)))
				if !strings.Contains(encoded, parts[0][1]) && !strings.Contains(encoded, parts[1][1]) && !strings.Contains(encoded, parts[2][1]) {
					t.Errorf("%s with %d before and %d behind is not found", text, before, after)
				}
			}
		}
		other := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"awsAuthConfig":{"clusterName":"c","roleARN":"arn:aws:iam::123456789012:role/x"},"tlsClientConfig":{"caData":"%0200d"}}`, 7))
		for _, p := range parts {
			if strings.Contains(other, p[1]) {
				t.Errorf("%s is found where it is not", text)
			}
		}
	}
}
