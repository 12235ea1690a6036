package fleetstate

import (
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// Keys of the registration chart's values that name secrets.
const (
	GitCredentials = "gitCredentials"
	KeyKubeconfig  = "kubeconfig"
)

// forbiddenSecrets are names of secrets in the registration chart's values that come from a
// tenant's own files and are not among those that the tenant may name. What stands at a level that
// all tenants share is the platform's.
func (b *Resolver) forbiddenSecrets(c *Cluster) []problem.Problem {
	names := b.Fleet.Layout.SecretNames
	if c.Member.IsHub || len(names) == 0 {
		return nil
	}
	own := map[string]bool{}
	for _, l := range c.Registration.Layers() {
		if b.Fleet.Layout.OfTenant(l.Level) {
			own[l.Path] = true
		}
	}
	var out []problem.Problem
	check := func(kind, key string, n *yamldoc.Node) {
		if n.IsNull() || n.Doc == nil || !own[n.Doc.File] {
			return
		}
		if expected, ok := names.Check(kind, c.Member, n.Text); !ok {
			p := problem.Problem{Reason: problem.ForbiddenSecret, Severity: problem.Error, Pos: n.Pos()}
			p.Subject, p.Found, p.Expected, p.Hints = fleet.Forbidden(key, n.Text, expected)
			out = append(out, p)
		}
	}
	at := func(path ...string) *yamldoc.Node { return c.Registration.At(path) }
	check(fleet.ClusterSecrets, "secretManagerSecretName", at("secretManagerSecretName"))
	check(fleet.ClusterSecrets, KeyKubeconfig+".secretName", at(KeyKubeconfig, "secretName"))
	check(fleet.GitSecrets, "githubSecretName", at("githubSecretName"))
	if all := at(GitCredentials); all.IsMap() {
		for _, f := range all.Fields {
			check(fleet.GitSecrets, GitCredentials+"."+f.Key+".secretName", f.Value.Get("secretName"))
		}
	}
	return c.Attribute(out)
}
