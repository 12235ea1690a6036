package charts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/dir"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
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
			require.NoError(t, json.Unmarshal([]byte(c.want), &want))
			assert.Equal(t, want, got)
		})
	}
}

// TestIdentitiesOfTheCatalogs: with the catalogs of charts/aws-identity behind those of the groups,
// each component that uses AWS brings the role of its ServiceAccount where the member's flag says
// so, and nothing where it does not.
func TestIdentitiesOfTheCatalogs(t *testing.T) {
	const member, account = "retail-dev-eu-1", "123456789012"
	folder, err := dir.New(repo, source.Limits{})
	require.NoError(t, err)
	original, err := folder.Snapshot(context.Background())
	require.NoError(t, err)
	entries := map[string]map[string]bool{} // by group
	for _, group := range []string{"addons", "fleet", "monitoring"} {
		text, err := os.ReadFile(awsIdentity + "/catalogs/" + group + ".yaml")
		require.NoError(t, err)
		var catalog struct {
			Components map[string]struct{ Companions map[string]any }
		}
		require.NoError(t, yaml.UnmarshalStrict(text, &catalog))
		entries[group] = map[string]bool{}
		for component, entry := range catalog.Components {
			for companion := range entry.Companions {
				entries[group][component+"/"+companion] = true
			}
		}
	}
	for flag, want := range map[string]int{"true": 1, "false": 0} {
		files := map[string]string{}
		for _, p := range original.Paths() {
			files[p] = string(original.File(p).Data)
		}
		labels := map[string]string{
			"enable_aws_identity": flag, "region": "eu-west-1", "enable_external_dns": "true", "enable_cert_manager": "true", "enable_external_secrets": "true",
			"enable_argocd": "true", "enable_aws_for_fluentbit": "true", "enable_aws_ebs_csi_driver": "true", "enable_aws_efs_csi_driver": "true", "enable_aws_load_balancer_controller": "true",
		}
		for group, of := range entries {
			own := "catalog: charts/application-sets/catalogs/" + group + ".yaml"
			files["fleet/layout.yaml"] = strings.Replace(files["fleet/layout.yaml"], own, "catalog: [charts/application-sets/catalogs/"+group+".yaml, charts/aws-identity/catalogs/"+group+".yaml]", 1)
			var on strings.Builder
			for name := range of {
				component, _, _ := strings.Cut(name, "/")
				if !strings.Contains(on.String(), "  "+component+":") {
					fmt.Fprintf(&on, "  %s: {enabled: true}\n", component)
				}
			}
			files["addons/tenants/retail/clusters/"+member+"/application-sets/"+group+".yaml"] = "components:\n" + on.String()
		}
		asked := map[string]bool{}
		// The autoscaler and Karpenter exclude each other.
		for _, karpenter := range []string{"true", "false"} {
			labels["enable_karpenter"] = karpenter
			labels["enable_cluster_autoscaler"] = map[string]string{"true": "false", "false": "true"}[karpenter]
			declared, err := yaml.Marshal(map[string]any{
				"clusterName": member, "tenant": "retail", "environment": "dev", "secretManagerSecretName": "hub-eu/" + member, "labels": labels,
				"annotations": map[string]string{"aws_account_id": account, "aws_cluster_name": "eks-1"},
			})
			require.NoError(t, err)
			files["fleet/fleet-members/hub-eu/"+member+".yaml"] = string(declared)
			state, err := fleetstate.Build(nil, snapshot.FromMap(files), facts.NewSet(false))
			require.NoError(t, err)
			for _, p := range state.Problems {
				if strings.Contains(p.Error(), member) {
					t.Error(p.Error())
				}
			}
			for group, of := range entries {
				for _, s := range asks(t, state, fmt.Sprintf(`{"view":"components","hub":"hub-eu","group":%q}`, group)) {
					for companion, is := range s.Companions {
						name := s.Component + "/" + companion
						if s.Name != member || !of[name] {
							continue
						}
						asked[name] = true
						identityOf(t, name, s.Namespace, is.HelmValues, want)
					}
				}
			}
		}
		all := map[string]bool{}
		for _, of := range entries {
			maps.Copy(all, of)
		}
		assert.Equal(t, slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(asked)), "companions of %s (-catalogs +answered)", member)
	}
}

// identityOf checks the objects of an identity: as many roles and associations as are wanted, each
// with policies that are whole.
func identityOf(t *testing.T, name, namespace, values string, want int) {
	t.Helper()
	var given struct{ ServiceAccount struct{ Name string } }
	require.NoError(t, yaml.Unmarshal([]byte(values), &given))
	found := map[string]int{}
	docs, _, err := rendering{Name: "x", Namespace: namespace}.render(awsIdentity, valuesFile(t, values))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for _, o := range decodeObjects(t, docs) {
		u, is := o.(*unstructured.Unstructured)
		if !is {
			t.Errorf("%s: %T", name, o)
			continue
		}
		found[u.GetKind()]++
		spec, _ := u.Object["spec"].(map[string]any)
		switch u.GetKind() {
		case "PodIdentityAssociation":
			if spec["clusterName"] != "eks-1" || spec["namespace"] != namespace || spec["serviceAccount"] != given.ServiceAccount.Name {
				t.Errorf("%s: %v", name, spec)
			}
		case "Role":
			managed, _ := spec["policies"].([]any)
			inline, _ := spec["inlinePolicies"].(map[string]any)
			if len(managed)+len(inline) == 0 {
				t.Errorf("%s: the role may do nothing", name)
			}
			for _, arn := range managed {
				if text, _ := arn.(string); !strings.HasPrefix(text, "arn:aws:iam::aws:policy/") && !strings.HasPrefix(text, "arn:aws:iam::123456789012:policy/") {
					t.Errorf("%s: policy %q", name, text)
				}
			}
			for _, document := range inline {
				text, _ := document.(string)
				var policy struct {
					Version   string
					Statement []struct {
						Effect           string
						Action, Resource []string
						Condition        map[string]map[string]string `json:",omitempty"`
					}
				}
				if err := yaml.UnmarshalStrict([]byte(text), &policy); err != nil || policy.Version != "2012-10-17" || len(policy.Statement) == 0 || strings.Contains(text, "{{") {
					t.Errorf("%s: %v in %s", name, err, text)
				}
				for _, s := range policy.Statement {
					if s.Effect != "Allow" || len(s.Action) == 0 || len(s.Resource) == 0 || slices.Contains(s.Action, "*") {
						t.Errorf("%s: %+v", name, s)
					}
				}
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"Role": want, "PodIdentityAssociation": want}, found); want > 0 && diff != "" || want == 0 && len(found) > 0 {
		t.Errorf("%s has %v, want %d of each", name, found, want)
	}
}
