package charts_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestMemberAccessGoldens(t *testing.T) { chartGoldens(t, repo+"/charts/member-access") }

// The role of a binding cannot change in place: other rights are another binding.
func TestMemberAccessRightsMayChange(t *testing.T) {
	binding := func(rights string) *rbacv1.RoleBinding {
		for _, b := range all[*rbacv1.RoleBinding](rendering{}.objects(t, repo+"/charts/member-access", "{side: member, namespace: argocd, namespaces: {shop: "+rights+"}}\n")) {
			if b.Namespace == "shop" {
				return b
			}
		}
		t.Fatal("no binding")
		return nil
	}
	was := binding("{clusterRole: admin}")
	for _, rights := range []string{"{clusterRole: edit}", "{rules: [{apiGroups: [batch], resources: [jobs], verbs: [get]}]}"} {
		if is := binding(rights); is.Name == was.Name && is.RoleRef != was.RoleRef {
			t.Errorf("%s: %s would change its role from %s to %s", rights, is.Name, was.RoleRef.Name, is.RoleRef.Name)
		}
	}
}
