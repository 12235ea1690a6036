package flux

import (
	"github.com/argosy-hub/argosy/internal/fleet/team"
	"github.com/argosy-hub/argosy/internal/paramset"
)

// access says how Flux reaches the cluster of a component, and as whom: it applies a team's
// application as the team's ServiceAccount beside Flux, which charts/team binds only in the team's
// namespaces. With a kubeconfig, too, the other cluster sees that name (fluxcd/pkg/runtime
// v0.110.3, client/impersonator.go, clientForKubeConfig). The account must be there for the removal
// of the workloads (CanImpersonate).
func (r *renderer) access(c paramset.ComponentSet, own bool, spec object) {
	if !own {
		spec["kubeConfig"] = object{"secretRef": object{"name": c.Name + "-kubeconfig"}}
	}
	if c.Team == "" {
		return
	}
	name := team.Account(c.Team)
	spec["serviceAccountName"] = name
	r.share(c, "teams/"+name+".yaml", object{
		"apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
		"metadata": r.named(name, object{labelManagedBy: managedBy, "argosy.dev/team": c.Team}),
	})
}
