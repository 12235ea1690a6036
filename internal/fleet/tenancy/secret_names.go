package tenancy

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// Keys of the registration chart's values that name secrets.
const (
	GitCredentials = "gitCredentials"
	KeyKubeconfig  = "kubeconfig"
)

// ForbiddenSecrets reports names of secrets in the registration chart's values that come from a
// tenant's own files and that the tenant may not name. The platform owns the levels that all
// tenants share.
func ForbiddenSecrets(layout *fleet.Layout, m *fleet.Member, registration *hierarchy.Tree) []problem.Problem {
	names := layout.SecretNames
	if m.IsHub {
		return nil
	}
	own := map[string]bool{}
	for _, l := range registration.Layers() {
		if layout.OfTenant(l.Level) {
			own[l.Path] = true
		}
	}
	var out []problem.Problem
	check := func(kind, key string, n *yamldoc.Node) {
		if n.IsNull() || n.Doc == nil || !own[n.Doc.File] {
			return
		}
		if expected, ok := names.Check(kind, m, n.Text()); !ok {
			p := problem.Problem{Reason: problem.ForbiddenSecret, Severity: problem.Error, Pos: n.Pos()}
			p.Subject, p.Found, p.Expected, p.Hints = fleet.Forbidden(key, n.Text(), expected)
			out = append(out, p)
		}
	}
	at := func(path ...string) *yamldoc.Node { return registration.At(path) }
	check(fleet.ClusterSecrets, "secretManagerSecretName", at("secretManagerSecretName"))
	check(fleet.ClusterSecrets, KeyKubeconfig+".secretName", at(KeyKubeconfig, "secretName"))
	check(fleet.GitSecrets, "githubSecretName", at("githubSecretName"))
	if all := at(GitCredentials); all.IsMap() {
		for _, f := range all.Fields() {
			check(fleet.GitSecrets, GitCredentials+"."+f.Key+".secretName", f.Value.Get("secretName"))
		}
	}
	return out
}
