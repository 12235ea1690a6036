package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/placement"
	"github.com/argosy-hub/argosy/internal/registration"
)

// argocdIngress is the component of the group fleet that the flag use_argocd_ingress selects.
const argocdIngress = "argocd-ingress"

// flags reports flags of a member without effect.
func (l *linter) flags(c *fleetstate.Cluster) {
	m := c.Member
	if len(c.Broken) > 0 || m.Lifecycle == fleet.Retired {
		return
	}
	l.ingress(c)
	if g := c.Groups[fleetstate.FleetGroup]; g == nil || !g.HasCatalog() { // else they are errors of the state
		l.problems = append(l.problems, l.st.Resolver().MissingEngines(c)...)
	}
	l.github(c)
	if m.Remote {
		l.engine(c)
		l.credentials(c)
	}
}

func (l *linter) warn(c *fleetstate.Cluster, p problem.Problem) {
	p.Severity, p.Hub, p.Cluster = problem.Warning, c.Member.Hub, c.Member.Name
	l.problems = append(l.problems, p)
}

// ingress reports use_argocd_ingress without an Argo CD to make reachable: on a cluster that the
// hub deploys to, and where the engine is Flux. A component that is selected there explicitly is
// not reported.
func (l *linter) ingress(c *fleetstate.Cluster) {
	m := c.Member
	if m.Flag("use_argocd_ingress") != "true" || m.IsHub || m.Remote && m.Engine == fleet.EngineArgoCD {
		return
	}
	if r, _ := l.fleetComponent(c, argocdIngress); r.Enabled {
		return
	}
	why := "the hub deploys to this cluster"
	if m.Remote {
		why = "its engine is flux"
	}
	l.warn(c, problem.Problem{
		Reason: problem.NoEffect, Pos: m.KeyPos("use_argocd_ingress"), Subject: `key "use_argocd_ingress"`,
		Found: `"true" has no effect: ` + why, Expected: "a hub, or an agent with an Argo CD of its own",
	})
}

// github reports a member's githubSecret without effect, or without the secret's name.
// charts/fleet-secret refuses such values, and with them the member's registration.
func (l *linter) github(c *fleetstate.Cluster) {
	at, asked := registration.AsksForGitHub(c)
	if said := c.Member.KeyPos("githubSecret"); asked && !c.Member.GitHubSecret && said.Line > 0 {
		l.warn(c, problem.Problem{
			Reason: problem.NoEffect, Pos: said, Subject: `key "githubSecret"`, Found: `"false" has no effect: its fleet/fleet-secret values ask for the credential`,
			Expected: "githubSecret: false there, at the level of the cluster", Related: []problem.Pos{at},
		})
	}
	if !asked || c.Member.GitHubSecretName != "" {
		return
	}
	if n := c.Registration.At([]string{"githubSecretName"}); n.IsNull() || n.Text() == "" {
		l.warn(c, problem.Problem{
			Reason: problem.MissingCredential, Pos: at, Subject: `key "githubSecret"`, Found: `"true" without githubSecretName`,
			Expected: "the name of the secret in the store, in the member file or in its fleet/fleet-secret values",
		})
	}
}

// fleetComponent returns a component of the group fleet on a cluster, or false if the fleet has
// none of that name.
func (l *linter) fleetComponent(c *fleetstate.Cluster, component string) (fleetstate.Component, bool) {
	g := c.Groups[fleetstate.FleetGroup]
	if g == nil || !slices.Contains(g.Components(), component) {
		return fleetstate.Component{}, false
	}
	r, problems := l.st.Resolver().Resolve(c, g, component, nil)
	return r, len(problems) == 0 && r.EntryTree != nil
}

// engine reports an agent whose engine cannot start: the agent is registered and bootstrapped, and
// then nothing happens. An engine that no catalog has is an error of the member.
func (l *linter) engine(c *fleetstate.Cluster) {
	m := c.Member
	component := placement.Engines[m.Engine]
	if c.Brings(fleetstate.FleetGroup, component) != placement.Brought {
		return
	}
	p := problem.Problem{
		Reason: problem.MissingEngine, Pos: m.KeyPos(placement.FlagRemote), Subject: fmt.Sprintf("agent %q", m.Name),
		Hints: []string{placement.ExternalEngineHint},
	}
	if m.Owner(fleetstate.FleetGroup) == m.Name {
		// Not an error: an engine that exists already can own itself, and the repository does not
		// say whether it exists.
		p.Pos = m.KeyPos("enable_remote_" + fleetstate.FleetGroup)
		p.Found, p.Expected = fmt.Sprintf("its engine, %s, is to install itself (enable_remote_%s)", m.Engine, fleetstate.FleetGroup), "the hub to own the group "+fleetstate.FleetGroup
		l.warn(c, p)
		return
	}
	r, known := l.fleetComponent(c, component)
	if crds := r.Values.At([]string{"crds", "install"}); known && m.Engine == fleet.EngineArgoCD && saysFalse(crds) {
		p.Found, p.Expected = fmt.Sprintf("component %q of group %q leaves its definitions out (crds.install: false)", component, fleetstate.FleetGroup), "its definitions from the hub"
		p.Related = []problem.Pos{crds.Pos()}
		l.warn(c, p)
	}
}

func saysFalse(n *yamldoc.Node) bool {
	v, ok := n.Truth()
	return ok && !v
}

// credentials reports repositories that an agent reads without credentials for them.
func (l *linter) credentials(c *fleetstate.Cluster) {
	m := c.Member
	declared := repositories(c)
	if !m.UseExternalSecrets && !m.PushArgoSecrets {
		for _, r := range declared {
			l.warn(c, problem.Problem{
				Reason: problem.MissingCredential, Pos: m.KeyPos("use_external_secrets"), Subject: fmt.Sprintf("agent %q", m.Name),
				Found: "nothing provides its credentials " + r.name, Expected: "use_external_secrets or push_argo_secrets", Related: []problem.Pos{r.pos},
			})
		}
	}
	self := l.st.Fleet.HubMember(m.Hub)
	if self == nil {
		return
	}
	url := c.Annotations.All["fleet_repo_url"]
	covers := func(r repository) bool { return r.url == "" || within(url, r.url) }
	hubs := repositories(l.st.ClusterOf(self).Desired())
	needs := slices.IndexFunc(hubs, func(r repository) bool { return r.url != "" && within(url, r.url) })
	if url == "" || needs < 0 || slices.ContainsFunc(declared, covers) {
		return
	}
	l.warn(c, problem.Problem{
		Reason: problem.MissingCredential, Pos: m.KeyPos("use_remote_argo"), Subject: fmt.Sprintf("agent %q", m.Name),
		Found: "it has no credentials for the fleet's repository, " + url, Expected: "gitCredentials." + registration.FleetCredentials + " in its fleet/fleet-secret values, as the hub needs " + hubs[needs].name,
		Related: []problem.Pos{hubs[needs].pos},
	})
}

// within reports whether an address is a repository's address or below it, as Argo CD matches
// credentials.
func within(url, prefix string) bool {
	trim := func(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git") }
	url, prefix = trim(url), trim(prefix)
	return url == prefix || strings.HasPrefix(url, prefix+"/")
}

// repository is a declared credential.
type repository struct {
	name, url string // url is empty when only the secret knows it
	pos       problem.Pos
}

// repositories returns the Git credentials that the member file and the merged fleet/fleet-secret
// values declare.
func repositories(c *fleetstate.Cluster) []repository {
	var out []repository
	text := func(n *yamldoc.Node, key string) string {
		if v := n.Get(key); !v.IsNull() {
			return v.Text()
		}
		return ""
	}
	if pos, asked := registration.AsksForGitHub(c); asked {
		out = append(out, repository{"githubSecret", text(c.Registration.At([]string{"github"}), "url"), pos})
	}
	if all := c.Registration.At([]string{tenancy.GitCredentials}); all.IsMap() {
		for _, f := range all.Fields() {
			if f.Value.IsMap() && !saysFalse(f.Value.Get(catalog.KeyEnabled)) {
				out = append(out, repository{tenancy.GitCredentials + "." + f.Key, text(f.Value, "url"), all.KeyPos(f.Key)})
			}
		}
	}
	return out
}
