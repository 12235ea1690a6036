package registration

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// FleetCredentials are the Git credentials among the registration chart's values that are for the
// fleet's own repository: a member with an engine of its own reads it, the hub has no use for
// another copy.
const FleetCredentials = "fleet"

// FluxNamespace is where Flux is.
const FluxNamespace = "flux-system"

// More keys of charts/fleet-secret.
const (
	keyExternalSecret = "externalSecret"
	keyGitHub         = "github"
	keyGitHubSecret   = "githubSecret"
	keyLocal          = "local"
	keyPush           = "push"
	keySealed         = "sealedSecrets"
	keySource         = "source"
)

// pushed tells whether the hub writes the member's credentials into the cluster; if so, the member
// pulls none, whatever else it has its own External Secrets for.
func pushed(m *fleet.Member) bool { return m.Remote && m.PushArgoSecrets }

// provided tells whether the member gets its credentials without anybody's help, by either way.
func provided(m *fleet.Member) bool { return m.UseExternalSecrets || pushed(m) }

// engineNamespace is where a member's own engine is, and reads its credentials.
func engineNamespace(m *fleet.Member) string {
	if m.Engine == fleet.EngineFlux {
		return FluxNamespace
	}
	return "argocd"
}

// HubValues are the values of charts/fleet-secret on the hub: the merged fleet/fleet-secret values
// with what the engine computed on top. What is for the member's engine alone is not made there, or
// made to be pushed only.
func HubValues(st *fleetstate.State, c *fleetstate.Cluster) *yamldoc.Node {
	computed := credentials(c, true)
	secret := map[string]any{"labels": tmpl.AnyMap(c.Labels.Declared), "annotations": tmpl.AnyMap(c.Annotations.Declared)}
	if m := c.Member; m.Provision != nil && m.SecretManagerSecret == "" && c.Registration.At([]string{keyExternalSecret, keySource}).IsNull() {
		secret[keySource] = "connectionSecret" // which the class writes
	}
	computed[keyExternalSecret] = secret
	push := pushed(c.Member)
	if fleetCredentials(c) != nil {
		notHere := map[string]any{catalog.KeyEnabled: false}
		if push {
			notHere = map[string]any{keyLocal: false}
		}
		computed[tenancy.GitCredentials] = map[string]any{FleetCredentials: notHere}
	}
	if _, asks := AsksForGitHub(c); asks && !hubReads(st, c) {
		if push {
			computed[keyGitHub] = map[string]any{keyLocal: false}
		} else {
			computed[keyGitHubSecret] = false
		}
	}
	if push {
		computed[keyPush] = pushValues(c)
	}
	if m := c.Member; m.Remote && m.UseExternalSecrets && !push {
		withoutSealingKey(c, computed) // the member makes it
	}
	if st.IsFluxHub(c.Member.Hub) && c.Registration.At([]string{tenancy.KeyKubeconfig, catalog.KeyEnabled}).IsNull() {
		computed[tenancy.KeyKubeconfig] = map[string]any{catalog.KeyEnabled: true}
	}
	return computedOver(c, computed)
}

// hubReads tells whether the hub's own engine has a use for the member's repository credentials
// (githubSecret): the hub deploys all groups to it, or one that has another repository there than
// on the hub, or the hierarchy says so.
func hubReads(st *fleetstate.State, c *fleetstate.Cluster) bool {
	m := c.Member
	if !m.Remote {
		return true
	}
	if here, ok := c.Registration.At([]string{keyGitHub, keyLocal}).Truth(); ok {
		return here
	}
	hubs := hubAnnotations(st, c)
	return slices.ContainsFunc(st.ResolverOf(c).Fleet.Layout.GroupNames(), func(group string) bool {
		repository := group + "_repo_url"
		url := c.Annotations.All[repository]
		return m.Owner(group) == fleet.OwnerHub && url != "" && url != hubs[repository]
	})
}

// hubAnnotations are the annotations of the hub of a member. One at home sees the hub as it was
// then.
func hubAnnotations(st *fleetstate.State, c *fleetstate.Cluster) map[string]string {
	self := st.ResolverOf(c).Fleet.HubMember(c.Member.Hub)
	switch {
	case self == nil:
		return nil
	case c.LastKnownGood != nil:
		return c.LastKnownGood.NewCluster(self, nil, st.Facts()).Annotations.All
	}
	return st.ClusterOf(self).Annotations.All
}

// pushValues switch on that the chart writes the credentials into the cluster. Where, and whether
// the token of the member's generator-plugin is among them, the hierarchy may say otherwise.
func pushValues(c *fleetstate.Cluster) map[string]any {
	out := map[string]any{catalog.KeyEnabled: true}
	if c.Registration.At([]string{keyPush, "namespace"}).IsNull() {
		out["namespace"] = engineNamespace(c.Member)
	}
	// Flux installs the service with Helm, which makes a token itself; Argo CD renders without
	// seeing the cluster.
	if c.Registration.At([]string{keyPush, "token", catalog.KeyEnabled}).IsNull() && c.Member.Engine == fleet.EngineArgoCD {
		out["token"] = map[string]any{catalog.KeyEnabled: true}
	}
	return out
}

// pushedToken is where the token is that the hub pushes for the member's generator-plugin, nil when
// it pushes none.
func pushedToken(c *fleetstate.Cluster) map[string]any {
	if !pushed(c.Member) || c.Member.Engine != fleet.EngineArgoCD {
		return nil
	}
	token := func(key string) *yamldoc.Node { return c.Registration.At([]string{keyPush, "token", key}) }
	if made, ok := token(catalog.KeyEnabled).Truth(); ok && !made {
		return nil
	}
	out := map[string]any{"existingSecret": "generator-plugin-token"}
	if n := token("secretName"); !n.IsNull() {
		out["existingSecret"] = n.Text()
	}
	if n := token("key"); !n.IsNull() {
		out["key"] = n.Text()
	}
	return out
}

// AgentCredentialValues are the values of charts/fleet-secret on a member with an engine of its
// own: the same store and the credentials of the repositories that it reads, but no cluster Secret.
// A member that does not pull secrets by itself (use_external_secrets), or is given them
// (push_argo_secrets), has none of them.
func AgentCredentialValues(c *fleetstate.Cluster) *yamldoc.Node {
	pulls := c.Member.UseExternalSecrets && !pushed(c.Member)
	computed := credentials(c, pulls)
	computed[keyExternalSecret] = map[string]any{catalog.KeyEnabled: false}
	if !pulls {
		computed[tenancy.GitCredentials] = nil
		computed[keyGitHubSecret] = false
		computed["ecr"] = map[string]any{"registries": []any{}}
		withoutSealingKey(c, computed) // the hub pushes it, or nobody brings any
		store := c.Member.Name         // the chart wants a name for a store that it does not create
		if n := c.Registration.At([]string{"secretStore", "name"}); n != nil && n.Text() != "" {
			store = n.Text()
		}
		computed["secretStore"] = map[string]any{"create": false, "name": store}
	}
	return computedOver(c, computed, tenancy.KeyKubeconfig, keyPush) // how the hub reaches the member is the hub's matter
}

// withoutSealingKey switches off the key of Sealed Secrets where the hierarchy declares one: one
// side makes it.
func withoutSealingKey(c *fleetstate.Cluster, computed map[string]any) {
	if !c.Registration.At([]string{keySealed}).IsNull() {
		computed[keySealed] = map[string]any{catalog.KeyEnabled: false}
	}
}

// credentials are the cluster's name, its secret (whose ARN names the store's region) and the
// repository credentials that its member file asks for. What the file does not name is left to the
// hierarchy.
func credentials(c *fleetstate.Cluster, pulls bool) map[string]any {
	m := c.Member
	out := map[string]any{"clusterName": m.Name}
	if !pulls {
		return out
	}
	if m.SecretManagerSecret != "" {
		out["secretManagerSecretName"] = m.SecretManagerSecret
	}
	if m.GitHubSecret {
		out[keyGitHubSecret] = true
		if m.GitHubSecretName != "" {
			out["githubSecretName"] = m.GitHubSecretName
		}
	}
	return out
}

// FleetCredentials are the credentials of the fleet's repository that the hierarchy declares for
// the member, nil for none.
func fleetCredentials(c *fleetstate.Cluster) *yamldoc.Node {
	n := c.Registration.At([]string{tenancy.GitCredentials, FleetCredentials})
	if enabled, ok := n.Get(catalog.KeyEnabled).Truth(); n.IsNull() || ok && !enabled {
		return nil
	}
	return n
}

// computedOver are the merged fleet/fleet-secret values, but for the keys to drop, below computed
// ones.
func computedOver(c *fleetstate.Cluster, computed map[string]any, drop ...string) *yamldoc.Node {
	root := &yamldoc.Node{Kind: yamldoc.Map}
	if c.Registration != nil && c.Registration.Root != nil {
		root = withoutKeys(WithoutDeclared(c.Registration.Root), drop...)
	}
	return hierarchy.Merge([]hierarchy.Layer{{Level: "hierarchy", Root: root}, {Level: "computed", Root: yamldoc.FromAny(nil, computed)}}, nil).Root
}

// WithoutDeclared takes the declared labels and annotations out: the computed ones replace them as
// a whole.
func WithoutDeclared(root *yamldoc.Node) *yamldoc.Node {
	secret := root.Get(keyExternalSecret)
	if !secret.IsMap() {
		return root
	}
	fields := append(withoutKeys(root, keyExternalSecret).Fields(), yamldoc.Field{Key: keyExternalSecret, Value: withoutKeys(secret, "labels", "annotations")})
	return yamldoc.NewMap(root.Doc, fields...)
}

// withoutKeys is a map without some of its keys.
func withoutKeys(n *yamldoc.Node, drop ...string) *yamldoc.Node {
	return yamldoc.MapAt(n, slices.DeleteFunc(slices.Clone(n.Fields()), func(f yamldoc.Field) bool { return slices.Contains(drop, f.Key) }))
}

// AsksForGitHub tells where it is said that the member is to have repository credentials of its
// own, if it is.
func AsksForGitHub(c *fleetstate.Cluster) (problem.Pos, bool) {
	if c.Member.GitHubSecret {
		return c.Member.KeyPos("githubSecret"), true
	}
	n := c.Registration.At([]string{"githubSecret"})
	asked, _ := n.Truth()
	return n.Pos(), asked
}
