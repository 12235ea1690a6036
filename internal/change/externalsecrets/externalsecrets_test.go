package externalsecrets

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

func tree(t *testing.T, kind, spec string) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, yaml.Unmarshal([]byte("kind: "+kind+"\nmetadata: {name: it}\nspec:\n"+spec), &out))
	return out
}

// uses writes one line a use: verb, store, name, path.
func uses(all []plan.SecretUse) string {
	var out strings.Builder
	for _, u := range all {
		fmt.Fprintf(&out, "%v %s/%s %s at %s\n", u.Verb, u.Store.Kind, u.Store.Name, u.Name, strings.Join(u.Path, "."))
	}
	return out.String()
}

// Every use of a secret and of a role has its path, for each provider that has roles.
func TestUsesOfObjects(t *testing.T) {
	for name, c := range map[string]struct{ kind, spec, want string }{
		"entries, and their own store": {"ExternalSecret", `
  secretStoreRef: {name: vault, kind: ClusterSecretStore}
  data:
    - {secretKey: a, remoteRef: {key: app/a}}
    - {secretKey: b, remoteRef: {key: app/b}, sourceRef: {storeRef: {name: local}}}
`, `read ClusterSecretStore/vault app/a at spec.data.0
read SecretStore/local app/b at spec.data.1
`},
		"extract, searches and generators": {"ExternalSecret", `
  secretStoreRef: {name: vault}
  dataFrom:
    - extract: {key: app/all}
    - find: {path: app, name: {regexp: "^db-"}, tags: {team: shop, env: dev}}
    - find: {}
    - sourceRef: {generatorRef: {apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, name: random}}
    - {sourceRef: {storeRef: {name: other, kind: ClusterSecretStore}}, extract: {key: x}}
`, `read SecretStore/vault app/all at spec.dataFrom.0
read SecretStore/vault all names below app, matching ^db-, with tags {"env":"dev","team":"shop"} at spec.dataFrom.1
read SecretStore/vault all names at spec.dataFrom.2
read Password/random what it generates at spec.dataFrom.3
read ClusterSecretStore/other x at spec.dataFrom.4
`},
		"a search before a name, and a name before a generator": {"ExternalSecret", `
  secretStoreRef: {name: vault}
  dataFrom:
    - {extract: {key: app/own}, find: {name: {regexp: ".*"}}}
    - {find: {path: admin}, sourceRef: {generatorRef: {apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, name: random}}}
    - {extract: {key: admin/root}, sourceRef: {generatorRef: {apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, name: random}}}
`, `read SecretStore/vault all names matching .* at spec.dataFrom.0
read SecretStore/vault all names below admin at spec.dataFrom.1
read SecretStore/vault admin/root at spec.dataFrom.2
`},
		"a key in another case is another key": {"ExternalSecret", `
  secretStoreRef: {name: vault, kind: ClusterSecretStore}
  secretstoreref: {name: own, kind: SecretStore}
  data: [{secretKey: a, remoteRef: {key: admin/root}, remoteref: {key: team/own}}]
`, "read ClusterSecretStore/vault admin/root at spec.data.0\n"},
		"Vault's account for AWS": {"ClusterSecretStore", `
  provider: {vault: {server: 'https://v.example.com', auth: {iam: {vaultRole: v, jwt: {serviceAccountRef: {name: eso, namespace: infra}}}}}}
`, `assume ClusterSecretStore/it ServiceAccount infra/eso at spec.provider.vault.auth.iam.jwt.serviceAccountRef
assume ClusterSecretStore/it v at spec.provider.vault.auth.iam.vaultRole
`},
		"Alibaba":  {"SecretStore", "  provider: {alibaba: {regionID: r, auth: {rrsa: {roleArn: 'acs:ram::1:role/a'}}}}\n", "assume SecretStore/it acs:ram::1:role/a at spec.provider.alibaba.auth.rrsa.roleArn\n"},
		"Oracle":   {"SecretStore", "  provider: {oracle: {region: r, vault: v, principalType: Workload, serviceAccountRef: {name: eso}}}\n", "assume SecretStore/it ServiceAccount eso at spec.provider.oracle.serviceAccountRef\n"},
		"Conjur":   {"SecretStore", "  provider: {conjur: {url: 'https://c.example.com', auth: {jwt: {account: a, serviceID: s, serviceAccountRef: {name: eso}}}}}\n", "assume SecretStore/it ServiceAccount eso at spec.provider.conjur.auth.jwt.serviceAccountRef\n"},
		"Akeyless": {"SecretStore", "  provider: {akeyless: {akeylessGWApiURL: 'https://a.example.com', authSecretRef: {kubernetesAuth: {accessID: p, k8sConfName: k, serviceAccountRef: {name: eso}}}}}\n", "assume SecretStore/it ServiceAccount eso at spec.provider.akeyless.authSecretRef.kubernetesAuth.serviceAccountRef\n"},
		"IBM":      {"SecretStore", "  provider: {ibm: {auth: {containerAuth: {profile: reader}}}}\n", "assume SecretStore/it reader at spec.provider.ibm.auth.containerAuth.profile\n"},
		"in each namespace": {"ClusterExternalSecret", `
  externalSecretSpec: {secretStoreRef: {name: vault}, data: [{secretKey: a, remoteRef: {key: k}}]}
`, "read SecretStore/vault k at spec.externalSecretSpec.data.0\n"},
		"pushed to each store": {"PushSecret", `
  selector: {secret: {name: s}}
  secretStoreRefs: [{name: one}, {name: two, kind: ClusterSecretStore}]
  data: [{match: {secretKey: a, remoteRef: {remoteKey: out/a}}}]
`, `write SecretStore/one out/a at spec.data.0
write ClusterSecretStore/two out/a at spec.data.0
`},
		"pushed from each namespace": {"ClusterPushSecret", `
  pushSecretSpec: {secretStoreRefs: [{name: one}], selector: {secret: {name: s}}, data: [{match: {secretKey: a, remoteRef: {remoteKey: out/a}}}]}
`, "write SecretStore/one out/a at spec.pushSecretSpec.data.0\n"},
		"AWS": {"SecretStore", `
  provider: {aws: {service: SecretsManager, region: eu-west-1, role: arn:aws:iam::1:role/a, additionalRoles: [arn:aws:iam::1:role/b], auth: {jwt: {serviceAccountRef: {name: reader}}}}}
`, `assume SecretStore/it arn:aws:iam::1:role/b at spec.provider.aws.additionalRoles
assume SecretStore/it ServiceAccount reader at spec.provider.aws.auth.jwt.serviceAccountRef
assume SecretStore/it arn:aws:iam::1:role/a at spec.provider.aws.role
`},
		"Vault": {"ClusterSecretStore", `
  provider: {vault: {server: 'https://vault.example.com', auth: {kubernetes: {role: reader, mountPath: k, serviceAccountRef: {name: eso, namespace: infra}}, jwt: {path: jwt, role: jwt-reader}, appRole: {path: p, roleId: app, secretRef: {name: s}}, iam: {vaultRole: v, role: arn:aws:iam::1:role/c}}}}
`, `assume ClusterSecretStore/it app at spec.provider.vault.auth.appRole.roleId
assume ClusterSecretStore/it arn:aws:iam::1:role/c at spec.provider.vault.auth.iam.role
assume ClusterSecretStore/it v at spec.provider.vault.auth.iam.vaultRole
assume ClusterSecretStore/it jwt-reader at spec.provider.vault.auth.jwt.role
assume ClusterSecretStore/it reader at spec.provider.vault.auth.kubernetes.role
assume ClusterSecretStore/it ServiceAccount infra/eso at spec.provider.vault.auth.kubernetes.serviceAccountRef
`},
		"GCP": {"ClusterSecretStore", `
  provider: {gcpsm: {projectID: p, auth: {workloadIdentity: {clusterLocation: l, clusterName: c, serviceAccountRef: {name: eso, namespace: infra}}}}}
`, "assume ClusterSecretStore/it ServiceAccount infra/eso at spec.provider.gcpsm.auth.workloadIdentity.serviceAccountRef\n"},
		"Azure": {"ClusterSecretStore", `
  provider: {azurekv: {vaultUrl: 'https://v.example.com', authType: ManagedIdentity, identityId: 1234, serviceAccountRef: {name: eso}}}
`, "cannot be decoded"}, // an identity is a string
		"Azure's identity": {"ClusterSecretStore", `
  provider: {azurekv: {vaultUrl: 'https://v.example.com', identityId: "1234", serviceAccountRef: {name: eso}}}
`, `assume ClusterSecretStore/it 1234 at spec.provider.azurekv.identityId
assume ClusterSecretStore/it ServiceAccount eso at spec.provider.azurekv.serviceAccountRef
`},
		"Kubernetes": {"SecretStore", `
  provider: {kubernetes: {remoteNamespace: infra, auth: {serviceAccount: {name: eso}}}}
`, "assume SecretStore/it ServiceAccount eso at spec.provider.kubernetes.auth.serviceAccount\n"},
		"a store without a role":      {"SecretStore", "  provider: {fake: {data: []}}\n", ""},
		"a store without a provider":  {"SecretStore", "  refreshInterval: 5\n", ""},
		"another kind has no uses":    {"ExternalSecretSomething", "  data: 5\n", ""},
		"a generator has no uses":     {"Password", "  length: 42\n", ""},
		"what a later version brings": {"ExternalSecret", "  laterField: {a: 1}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, faults := Read(tree(t, c.kind, c.spec))
			switch {
			case c.want == "cannot be decoded":
				if len(got) > 0 || len(faults) != 1 || !strings.Contains(faults[0].Found, "identityId is a JSON number") || faults[0].Expected != "a string" {
					t.Errorf("uses %+v, faults %+v", got, faults)
				}
			case len(faults) > 0 && !strings.Contains(name, "before a"): // one that the webhook refuses
				t.Error(faults)
			default:
				assert.Equal(t, c.want, uses(got))
			}
		})
	}
}

// A field of another type is a fault at its path, because the API server refuses the object.
func TestWrongTypesAreFaults(t *testing.T) {
	for spec, want := range map[string]string{
		"  data: x\n":                         "spec.data: a list",
		"  secretStoreRef: []\n":              "spec.secretStoreRef: an object",
		"  secretStoreRef: {name: 5}\n":       "spec.secretStoreRef.name: a string",
		"  target: {immutable: 'yes'}\n":      "spec.target.immutable: true or false",
		"  refreshInterval: not-a-duration\n": "spec: ",
	} {
		got, faults := Read(tree(t, "ExternalSecret", spec))
		if len(got) > 0 || len(faults) != 1 {
			t.Errorf("%sis no fault: %v, %v", spec, got, faults)
			continue
		}
		fault := faults[0]
		assert.Equal(t, want, strings.Join(fault.Path, ".")+": "+fault.Expected, "%sis a fault at", spec)
	}
}

// An entry of dataFrom that External Secrets' webhook refuses is a fault.
func TestRefusedEntriesAreFaults(t *testing.T) {
	for entry, want := range map[string]string{
		"{extract: {key: a}, find: {path: b}}": "spec.dataFrom.0: extract, find, or generatorRef cannot be set at the same time",
		"{extract: {key: a}, sourceRef: {generatorRef: {apiVersion: generators.external-secrets.io/v1alpha1, kind: Password, name: p}}}": "spec.dataFrom.0: extract, find, or generatorRef cannot be set at the same time",
		"{}": "spec.dataFrom.0: either extract, find, or sourceRef must be set to dataFrom",
		"{extract: {key: a}, sourceRef: {storeRef: {name: other}}}": "",
	} {
		got, faults := Read(tree(t, "ExternalSecret", "  dataFrom: ["+entry+"]\n"))
		switch {
		case len(got) != 1, want == "" && len(faults) > 0, want != "" && (len(faults) != 1 || faults[0].Found != want || strings.Join(faults[0].Path, ".") != "spec.dataFrom.0"):
			t.Errorf("%s: %+v, faults %+v, want %q", entry, got, faults, want)
		}
	}
}

// Stores that labels choose are others with other labels, whatever name is beside them.
func TestStoresByLabels(t *testing.T) {
	for ref, want := range map[string]string{
		"kind: ClusterSecretStore, name: own":                                  "ClusterSecretStore own",
		"kind: ClusterSecretStore, name: own, labelSelector: {}":               "every ClusterSecretStore",
		"labelSelector: {matchLabels: {env: dev}}":                             "every SecretStore with labels env=dev",
		"name: own, labelSelector: {matchLabels: {env: prod, team: payments}}": "every SecretStore with labels env=prod,team=payments",
	} {
		got, faults := Read(tree(t, "PushSecret", "  selector: {secret: {name: s}}\n  secretStoreRefs: [{"+ref+"}]\n  data: [{match: {remoteRef: {remoteKey: out/a}}}]\n"))
		if len(faults) > 0 || len(got) != 1 {
			t.Fatalf("%s: %+v, %v", ref, got, faults)
		}
		assert.Equal(t, want, got[0].Store.String(), "{%s}", ref)
	}
}

// Templates parse with External Secrets' functions, and without those that read the environment.
func TestTemplates(t *testing.T) {
	for text, want := range map[string]bool{
		"{{ .password | b64enc }}":                                     true,
		"{{ .bundle | pkcs12cert }}{{ filterPEM \"CERTIFICATE\" .x }}": true,
		"{{ toYaml . }}":       true,
		"{{ env \"HOME\" }}":   false,
		"{{ expandenv .x }}":   false,
		"{{ .unclosed":         false,
		"{{ nosuchfunction }}": false,
	} {
		for field, spec := range map[string]string{
			"spec.target.template.data.k":                  "  target: {template: {data: {k: TEXT}}}\n",
			"spec.target.template.metadata.annotations.k":  "  target: {template: {metadata: {annotations: {k: TEXT}}}}\n",
			"spec.target.template.metadata.labels.k":       "  target: {template: {metadata: {labels: {k: TEXT}}}}\n",
			"spec.target.template.templateFrom.0.literal":  "  target: {template: {templateFrom: [{literal: TEXT}]}}\n",
			"spec.dataFrom.0.rewrite.0.transform.template": "  dataFrom: [{extract: {key: a}, rewrite: [{transform: {template: TEXT}}]}]\n",
		} {
			quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
			_, faults := Read(tree(t, "ExternalSecret", strings.ReplaceAll(spec, "TEXT", quoted)))
			if want != (len(faults) == 0) {
				t.Errorf("%s in %s: faults %+v", text, field, faults)
			} else if !want && strings.Join(faults[0].Path, ".") != field {
				t.Errorf("%s in %s: fault at %v", text, field, faults[0].Path)
			}
		}
	}
	_, faults := Read(tree(t, "ExternalSecret", "  target: {template: {engineVersion: v1, data: {k: '{{ v1function }}'}}}\n"))
	if len(faults) > 0 {
		t.Errorf("the engine v1 has other functions: %+v", faults)
	}
}
