package registration

import (
	"maps"

	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/labels"
)

// AgentValues are the values of charts/generator-plugin on the member: who it is, where the fleet's
// repository is, and its labels and annotations as the hub sees them, which are the facts of the
// member's own engine: both must come to the same selections (M1).
func AgentValues(c *fleetstate.Cluster) map[string]any {
	git := map[string]any{}
	for key, annotation := range map[string]string{"url": "fleet_repo_url", "ref": "fleet_repo_revision"} {
		if v := c.Annotations.All[annotation]; v != "" {
			git[key] = v
		}
	}
	if n := fleetCredentials(c); n != nil && provided(c.Member) && n.Get("type") != nil && n.Get("type").Text() == "http" {
		// The service takes a user name and a password from the Secret that charts/fleet-secret
		// makes for Argo CD; the other types have keys that only Argo CD knows.
		git["credentialsSecret"] = c.Member.Name + "-git-" + FleetCredentials
	}
	ownLabels := maps.Clone(c.Labels.All)
	delete(ownLabels, labels.SecretType) // the chart's own
	out := map[string]any{
		"hub": c.Member.Hub, "owner": c.Member.Name, "source": map[string]any{"git": git},
		"localCluster": map[string]any{"labels": tmpl.AnyMap(ownLabels), "annotations": tmpl.AnyMap(c.Annotations.All)},
	}
	if token := pushedToken(c); token != nil {
		out["token"] = token
	}
	return out
}
