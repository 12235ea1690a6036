package generator

import (
	"slices"

	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// The Git credentials among the registration chart's values that are for the fleet's own repository: a member with an
// engine of its own reads it, the hub has no use for another copy.
const (
	gitCredentials   = "gitCredentials"
	fleetCredentials = "fleet"
)

// registrationValues are the values of charts/fleet-secret on the hub: the merged fleet/fleet-secret values with what
// the engine computed on top.
func (st *State) registrationValues(c *cluster) *yamldoc.Node {
	computed := c.credentials(true)
	computed["externalSecret"] = map[string]any{"labels": anyMap(c.labels.Declared), "annotations": anyMap(c.annotations.Declared)}
	if c.fleetCredentials() != nil {
		computed[gitCredentials] = map[string]any{fleetCredentials: map[string]any{keyEnabled: false}}
	}
	return c.computedOver(computed)
}

// credentialValues are the values of charts/fleet-secret on a member with an engine of its own: the same store and the
// credentials of the repositories that it reads, but no cluster Secret. A member that does not pull secrets by itself
// (use_external_secrets) has none of them.
func (st *State) credentialValues(c *cluster) *yamldoc.Node {
	pulls := c.member.UseExternalSecrets
	computed := c.credentials(pulls)
	computed["externalSecret"] = map[string]any{keyEnabled: false}
	if !pulls {
		computed[gitCredentials] = nil
		computed["githubSecret"] = false
		computed["ecr"] = map[string]any{"registries": []any{}}
		store := c.member.Name // the chart wants a name for a store that it does not create
		if n := c.registration.At([]string{"secretStore", "name"}); n != nil && n.Text != "" {
			store = n.Text
		}
		computed["secretStore"] = map[string]any{"create": false, "name": store}
	}
	return c.computedOver(computed)
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
		out["githubSecret"] = true
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

// computedOver are the merged fleet/fleet-secret values below computed ones.
func (c *cluster) computedOver(computed map[string]any) *yamldoc.Node {
	root := emptyMap
	if c.registration != nil && c.registration.Root != nil {
		root = withoutComputed(c.registration.Root)
	}
	return hierarchy.Merge([]hierarchy.Layer{{Level: "hierarchy", Root: root}, {Level: "computed", Root: yamldoc.FromAny(nil, computed)}}, nil).Root
}

// withoutComputed takes the declared labels and annotations out: the computed ones replace them as a whole.
func withoutComputed(root *yamldoc.Node) *yamldoc.Node {
	secret := root.Get("externalSecret")
	if !secret.IsMap() {
		return root
	}
	keep := func(n *yamldoc.Node, drop ...string) *yamldoc.Node {
		out := *n
		out.Fields = slices.DeleteFunc(slices.Clone(n.Fields), func(f yamldoc.Field) bool { return slices.Contains(drop, f.Key) })
		return &out
	}
	out := keep(root, "externalSecret")
	out.Fields = append(out.Fields, yamldoc.Field{Key: "externalSecret", Value: keep(secret, "labels", "annotations")})
	return yamldoc.NewMap(root.Doc, out.Fields...)
}
