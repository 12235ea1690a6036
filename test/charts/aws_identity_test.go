package charts_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const awsIdentity = repo + "/charts/aws-identity"

func TestAWSIdentityGoldens(t *testing.T) { chartGoldens(t, awsIdentity) }

// trustPolicy is a document of IAM, as its grammar has it: keys of others are an error to AWS.
type trustPolicy struct {
	Version   string
	Statement []struct {
		Effect    string
		Action    []string
		Principal map[string]string
		Condition map[string]map[string]string `json:",omitempty"`
	}
}

// TestTrustPoliciesAreThoseOfTheServiceAccount: the role of a ServiceAccount can be assumed by it
// alone: by issuer, subject and audience of its tokens, or by EKS Pod Identity of the account.
func TestTrustPoliciesAreThoseOfTheServiceAccount(t *testing.T) {
	const account = "serviceAccount: {name: external-dns}\nclusterName: prod-1\naccountId: \"123456789012\"\n"
	for name, c := range map[string]struct{ values, want string }{
		"irsa": {
			account + "type: irsa\noidc: {issuer: https://oidc.eks.eu-west-1.amazonaws.com/id/ABC/}\n",
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sts:AssumeRoleWithWebIdentity"],
				"Principal": {"Federated": "arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-west-1.amazonaws.com/id/ABC"},
				"Condition": {"StringEquals": {"oidc.eks.eu-west-1.amazonaws.com/id/ABC:sub": "system:serviceaccount:argocd:external-dns",
					"oidc.eks.eu-west-1.amazonaws.com/id/ABC:aud": "sts.amazonaws.com"}}}]}`,
		},
		"pod identity": {
			account,
			`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["sts:AssumeRole", "sts:TagSession"],
				"Principal": {"Service": "pods.eks.amazonaws.com"}, "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want trustPolicy
			for _, o := range (rendering{}).objects(t, awsIdentity, c.values) {
				if u, is := o.(*unstructured.Unstructured); is && u.GetKind() == "Role" {
					text, _, _ := unstructured.NestedString(u.Object, "spec", "assumeRolePolicyDocument")
					if err := json.Unmarshal([]byte(text), &got); err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
				}
			}
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
