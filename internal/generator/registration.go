package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// The Git credentials among the registration chart's values that are for the fleet's own repository: a member with an
// engine of its own reads it, the hub has no use for another copy.
const (
	gitCredentials   = "gitCredentials"
	fleetCredentials = "fleet"
)

// fluxNamespace is where Flux is.
const fluxNamespace = "flux-system"

// More keys of charts/fleet-secret.
const (
	keyGitHub       = "github"
	keyGitHubSecret = "githubSecret"
	keyKubeconfig   = "kubeconfig"
	keyLocal        = "local"
	keyPush         = "push"
)

// pushed tells whether the hub writes the member's credentials into the cluster; if so, the member pulls none, whatever
// else it has its own External Secrets for.
func pushed(m *fleet.Member) bool { return m.Remote && m.PushArgoSecrets }

// provided tells whether the member gets its credentials without anybody's help, by either way.
func provided(m *fleet.Member) bool { return m.UseExternalSecrets || pushed(m) }

// engineNamespace is where a member's own engine is, and reads its credentials.
func engineNamespace(m *fleet.Member) string {
	if m.Engine == fleet.EngineFlux {
		return fluxNamespace
	}
	return "argocd"
}

// registrationValues are the values of charts/fleet-secret on the hub: the merged fleet/fleet-secret values with what
// the engine computed on top. What is for the member's engine alone is not made there, or made to be pushed only.
func (st *State) registrationValues(c *cluster) *yamldoc.Node {
	computed := c.credentials(true)
	computed["externalSecret"] = map[string]any{"labels": anyMap(c.labels.Declared), "annotations": anyMap(c.annotations.Declared)}
	push := pushed(c.member)
	if c.fleetCredentials() != nil {
		notHere := map[string]any{keyEnabled: false}
		if push {
			notHere = map[string]any{keyLocal: false}
		}
		computed[gitCredentials] = map[string]any{fleetCredentials: notHere}
	}
	if _, asks := c.asksForGitHubAt(); asks && !st.readsFor(c) {
		if push {
			computed[keyGitHub] = map[string]any{keyLocal: false}
		} else {
			computed[keyGitHubSecret] = false
		}
	}
	if push {
		computed[keyPush] = c.pushValues()
	}
	if st.isFluxHub(c.member.Hub) && c.registration.At([]string{keyKubeconfig, keyEnabled}).IsNull() {
		computed[keyKubeconfig] = map[string]any{keyEnabled: true}
	}
	return c.computedOver(computed)
}

// readsFor tells whether the hub's own engine has a use for the member's repository credentials (githubSecret): the hub
// deploys all groups to it, or one that has another repository there than on the hub, or the hierarchy says so.
func (st *State) readsFor(c *cluster) bool {
	m := c.member
	if !m.Remote {
		return true
	}
	if here, ok := c.registration.At([]string{keyGitHub, keyLocal}).Truth(); ok {
		return here
	}
	hubs := st.hubAnnotations(c)
	return slices.ContainsFunc(st.of(c).Fleet.Layout.GroupNames(), func(group string) bool {
		repository := group + "_repo_url"
		url := c.annotations.All[repository]
		return m.Owner(group) == fleet.OwnerHub && url != "" && url != hubs[repository]
	})
}

// hubAnnotations are the annotations of the hub of a member. One at home sees the hub as it was then.
func (st *State) hubAnnotations(c *cluster) map[string]string {
	self := st.of(c).Fleet.HubMember(c.member.Hub)
	switch {
	case self == nil:
		return nil
	case c.home != nil:
		return c.home.newCluster(self, nil, st.facts).annotations.All
	}
	return st.clusterOf(self).annotations.All
}

// pushValues switch on that the chart writes the credentials into the cluster. Where, and whether the token of the
// member's generator-plugin is among them, the hierarchy may say otherwise.
func (c *cluster) pushValues() map[string]any {
	out := map[string]any{keyEnabled: true}
	if c.registration.At([]string{keyPush, "namespace"}).IsNull() {
		out["namespace"] = engineNamespace(c.member)
	}
	// Flux installs the service with Helm, which makes a token itself; Argo CD renders without seeing the cluster.
	if c.registration.At([]string{keyPush, "token", keyEnabled}).IsNull() && c.member.Engine == fleet.EngineArgoCD {
		out["token"] = map[string]any{keyEnabled: true}
	}
	return out
}

// pushedToken is where the token is that the hub pushes for the member's generator-plugin, nil when it pushes none.
func (c *cluster) pushedToken() map[string]any {
	if !pushed(c.member) || c.member.Engine != fleet.EngineArgoCD {
		return nil
	}
	token := func(key string) *yamldoc.Node { return c.registration.At([]string{keyPush, "token", key}) }
	if made, ok := token(keyEnabled).Truth(); ok && !made {
		return nil
	}
	out := map[string]any{"existingSecret": "generator-plugin-token"}
	if n := token("secretName"); !n.IsNull() {
		out["existingSecret"] = n.Text
	}
	if n := token("key"); !n.IsNull() {
		out["key"] = n.Text
	}
	return out
}

// credentialValues are the values of charts/fleet-secret on a member with an engine of its own: the same store and the
// credentials of the repositories that it reads, but no cluster Secret. A member that does not pull secrets by itself
// (use_external_secrets), or is given them (push_argo_secrets), has none of them.
func (st *State) credentialValues(c *cluster) *yamldoc.Node {
	pulls := c.member.UseExternalSecrets && !pushed(c.member)
	computed := c.credentials(pulls)
	computed["externalSecret"] = map[string]any{keyEnabled: false}
	if !pulls {
		computed[gitCredentials] = nil
		computed[keyGitHubSecret] = false
		computed["ecr"] = map[string]any{"registries": []any{}}
		store := c.member.Name // the chart wants a name for a store that it does not create
		if n := c.registration.At([]string{"secretStore", "name"}); n != nil && n.Text != "" {
			store = n.Text
		}
		computed["secretStore"] = map[string]any{"create": false, "name": store}
	}
	return c.computedOver(computed, keyKubeconfig, keyPush) // how the hub reaches the member is the hub's matter
}

// credentials are the cluster's name, its secret (whose ARN names the store's region) and the repository credentials that
// its member file asks for. What the file does not name is left to the hierarchy.
func (c *cluster) credentials(pulls bool) map[string]any {
	m := c.member
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

// fleetCredentials are the credentials of the fleet's repository that the hierarchy declares for the member, nil for
// none.
func (c *cluster) fleetCredentials() *yamldoc.Node {
	n := c.registration.At([]string{gitCredentials, fleetCredentials})
	if enabled, ok := n.Get(keyEnabled).Truth(); n.IsNull() || ok && !enabled {
		return nil
	}
	return n
}

// computedOver are the merged fleet/fleet-secret values, but for the keys to drop, below computed ones.
func (c *cluster) computedOver(computed map[string]any, drop ...string) *yamldoc.Node {
	root := emptyMap
	if c.registration != nil && c.registration.Root != nil {
		root = withoutKeys(withoutComputed(c.registration.Root), drop...)
	}
	return hierarchy.Merge([]hierarchy.Layer{{Level: "hierarchy", Root: root}, {Level: "computed", Root: yamldoc.FromAny(nil, computed)}}, nil).Root
}

// withoutComputed takes the declared labels and annotations out: the computed ones replace them as a whole.
func withoutComputed(root *yamldoc.Node) *yamldoc.Node {
	secret := root.Get("externalSecret")
	if !secret.IsMap() {
		return root
	}
	out := withoutKeys(root, "externalSecret")
	out.Fields = append(out.Fields, yamldoc.Field{Key: "externalSecret", Value: withoutKeys(secret, "labels", "annotations")})
	return yamldoc.NewMap(root.Doc, out.Fields...)
}

// withoutKeys is a map without some of its keys.
func withoutKeys(n *yamldoc.Node, drop ...string) *yamldoc.Node {
	out := *n
	out.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f yamldoc.Field) bool { return slices.Contains(drop, f.Key) })
	return &out
}
