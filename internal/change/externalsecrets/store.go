package externalsecrets

import (
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esmeta "github.com/external-secrets/external-secrets/apis/meta/v1"

	"github.com/argosy-hub/argosy/internal/change/plan"
)

// store returns a store with its roles: whatever identifies the store to its provider. A store that
// authenticates only by a Secret has no roles.
func store(kind, name string, spec esv1.SecretStoreSpec) plan.SecretObject {
	o := &object{at: []string{"spec", "provider"}}
	o.Store = &plan.SecretStore{Kind: kind, Name: name}
	assume := func(role string, path ...string) {
		if role != "" {
			o.use(plan.AssumeRole, *o.Store, role, path...)
		}
	}
	account := func(ref *esmeta.ServiceAccountSelector, path ...string) {
		switch {
		case ref == nil || ref.Name == "":
		case ref.Namespace != nil && *ref.Namespace != "":
			assume("ServiceAccount "+*ref.Namespace+"/"+ref.Name, path...)
		default:
			assume("ServiceAccount "+ref.Name, path...)
		}
	}
	p := spec.Provider
	if p == nil {
		return o.SecretObject
	}
	if aws := p.AWS; aws != nil {
		assume(aws.Role, "aws", "role")
		for _, role := range aws.AdditionalRoles {
			assume(role, "aws", "additionalRoles")
		}
		if aws.Auth.JWTAuth != nil {
			account(aws.Auth.JWTAuth.ServiceAccountRef, "aws", "auth", "jwt", "serviceAccountRef")
		}
	}
	if vault := p.Vault; vault != nil && vault.Auth != nil {
		if a := vault.Auth.Kubernetes; a != nil {
			assume(a.Role, "vault", "auth", "kubernetes", "role")
			account(a.ServiceAccountRef, "vault", "auth", "kubernetes", "serviceAccountRef")
		}
		if a := vault.Auth.Jwt; a != nil {
			assume(a.Role, "vault", "auth", "jwt", "role")
			if a.KubernetesServiceAccountToken != nil {
				account(&a.KubernetesServiceAccountToken.ServiceAccountRef, "vault", "auth", "jwt", "kubernetesServiceAccountToken", "serviceAccountRef")
			}
		}
		if a := vault.Auth.AppRole; a != nil {
			assume(a.RoleID, "vault", "auth", "appRole", "roleId")
		}
		if a := vault.Auth.Iam; a != nil {
			assume(a.Role, "vault", "auth", "iam", "vaultRole")
			assume(a.AWSIAMRole, "vault", "auth", "iam", "role")
			if a.JWTAuth != nil {
				account(a.JWTAuth.ServiceAccountRef, "vault", "auth", "iam", "jwt", "serviceAccountRef")
			}
		}
	}
	if gcp := p.GCPSM; gcp != nil && gcp.Auth.WorkloadIdentity != nil {
		account(&gcp.Auth.WorkloadIdentity.ServiceAccountRef, "gcpsm", "auth", "workloadIdentity", "serviceAccountRef")
	}
	if azure := p.AzureKV; azure != nil {
		if azure.IdentityID != nil {
			assume(*azure.IdentityID, "azurekv", "identityId")
		}
		account(azure.ServiceAccountRef, "azurekv", "serviceAccountRef")
	}
	if kubernetes := p.Kubernetes; kubernetes != nil {
		account(kubernetes.Auth.ServiceAccount, "kubernetes", "auth", "serviceAccount")
	}
	if alibaba := p.Alibaba; alibaba != nil && alibaba.Auth.RRSAAuth != nil {
		assume(alibaba.Auth.RRSAAuth.RoleARN, "alibaba", "auth", "rrsa", "roleArn")
	}
	if oracle := p.Oracle; oracle != nil {
		account(oracle.ServiceAccountRef, "oracle", "serviceAccountRef")
	}
	if conjur := p.Conjur; conjur != nil && conjur.Auth.Jwt != nil {
		account(conjur.Auth.Jwt.ServiceAccountRef, "conjur", "auth", "jwt", "serviceAccountRef")
	}
	if akeyless := p.Akeyless; akeyless != nil && akeyless.Auth != nil && akeyless.Auth.KubernetesAuth != nil {
		account(akeyless.Auth.KubernetesAuth.ServiceAccountRef, "akeyless", "authSecretRef", "kubernetesAuth", "serviceAccountRef")
	}
	if ibm := p.IBM; ibm != nil && ibm.Auth.ContainerAuth != nil {
		assume(ibm.Auth.ContainerAuth.Profile, "ibm", "auth", "containerAuth", "profile")
	}
	return o.SecretObject
}
