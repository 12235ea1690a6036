package lint

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/lint/secretpolicy"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/registration"
)

// fleetPolicies is the component of a hub that installs charts/fleet-policies.
const fleetPolicies = "fleet-policies"

// secretPolicies reports Secrets of members that the policies of their hub refuse.
func (l *linter) secretPolicies() {
	for _, hub := range l.st.Fleet.Hubs() {
		p := l.secretPolicy(hub)
		if p == nil {
			continue
		}
		for _, m := range l.st.Fleet.Members(hub) {
			of := l.st.ClusterOf(m)
			if of == nil || of.Desired().Registration == nil || m.Lifecycle == fleet.Retired {
				continue
			}
			c := of.Desired()
			check := policyCheck{l, p, c}
			if all := c.Registration.At([]string{tenancy.GitCredentials}); all.IsMap() {
				for _, f := range all.Fields() {
					check.credential(tenancy.GitCredentials+"."+f.Key, f.Value, "")
				}
			}
			if _, asks := registration.AsksForGitHub(c); asks {
				check.credential("github", c.Registration.At([]string{"github"}), "githubApp") // the chart's default
			}
			check.settings(c.Registration.At([]string{"externalSecret", "config"}))
		}
	}
}

// secretPolicy returns the policy that a hub's component configures, or nil without one.
func (l *linter) secretPolicy(hub string) *secretpolicy.Policy {
	self := l.st.HubMember(hub)
	if self == nil {
		return nil
	}
	of := l.st.ClusterOf(self)
	if of == nil { // a hub that cannot be computed
		return nil
	}
	c := of.Desired()
	g := c.Groups[fleetstate.FleetGroup]
	if g == nil || len(g.Errors) > 0 {
		return nil
	}
	r, problems := l.st.Resolver().Resolve(c, g, fleetPolicies, nil)
	if len(problems) > 0 || !r.Enabled {
		return nil
	}
	text, err := l.st.Resolver().ValuesText(r, r.Values)
	var p *secretpolicy.Policy
	if err == nil {
		p, err = secretpolicy.New([]byte(text))
	}
	if err != nil {
		l.problems = append(l.problems, problem.Problem{
			Reason: problem.SecretPolicy, Severity: problem.Error, Pos: r.EntryTree.Root.Pos(), Hub: hub, Cluster: self.Name,
			Subject: fmt.Sprintf("component %q of group %q", fleetPolicies, g.Name), Found: err.Error(), Expected: "values that the chart takes",
		})
		return nil
	}
	return p
}

// policyCheck checks one member against its hub's policies.
type policyCheck struct {
	*linter
	policy *secretpolicy.Policy
	c      *fleetstate.Cluster
}

func (k policyCheck) refuse(at *yamldoc.Node, subject, found, expected string) {
	severity := problem.Warning
	if k.policy.Denies {
		severity = problem.Error
	}
	p := problem.Problem{
		Reason: problem.SecretPolicy, Severity: severity, Pos: at.Pos(), Hub: k.c.Member.Hub, Cluster: k.c.Member.Name,
		Subject: fmt.Sprintf("key %q of fleet-secret's values", subject), Found: found, Expected: expected,
	}
	k.problems = append(k.problems, p)
}

// keysOf maps a type of Git credentials to the keys of Argo CD's Secret
// (charts/fleet-secret/templates/_credentials.tpl).
var keysOf = map[string][]string{
	"githubApp": {"githubAppID", "githubAppInstallationID", "githubAppPrivateKey"}, "http": {"username", "password"}, "ssh": {"sshPrivateKey"},
}

// template is the kind of a Secret whose credentials count for all addresses that begin with its
// own. wholeHost matches an address without a path
// (charts/fleet-secret/templates/_credentials.tpl).
const template = "repo-creds"

var wholeHost = regexp.MustCompile(`^https?://[^/]+$`)

// credential checks Git credentials; kind is their type if they do not name one.
func (k policyCheck) credential(subject string, n *yamldoc.Node, kind string) {
	if !n.IsMap() {
		return
	}
	if enabled, ok := n.Get(catalog.KeyEnabled).Truth(); ok && !enabled {
		return
	}
	place := n
	if t := n.Get("type"); !t.IsNull() {
		kind, place = t.Text(), t
	}
	address := ""
	if u := n.Get("url"); !u.IsNull() {
		address = u.Text()
		place = u
	}
	keys := slices.Clone(keysOf[kind])
	if data := n.Get("data"); data.IsMap() {
		for _, f := range data.Fields() {
			keys = append(keys, f.Key)
		}
		for _, key := range []string{"githubAppEnterpriseBaseUrl", "githubAppBaseURL"} { // Argo CD's, and Flux'
			if server := data.Get(key); !server.IsNull() {
				if found, expected := k.policy.Server(server.Text()); found != "" {
					k.refuse(server, subject+".data."+key, found, expected)
				}
			}
		}
	}
	secret := cmp.Or(n.Get("kind").Text(), template) // the chart's default
	if found, expected := k.policy.Kind(secret); found != "" {
		k.refuse(place, subject, found, expected)
	}
	if secret == template && wholeHost.MatchString(address) {
		address += "/" // as the chart writes it
	}
	if found, expected := k.policy.Repository(address, keys); found != "" {
		k.refuse(place, subject, found, expected)
	}
}

// settings checks a cluster's connection settings, at all depths as the policies do.
func (k policyCheck) settings(n *yamldoc.Node) {
	if !n.IsMap() {
		return
	}
	for _, f := range n.Fields() {
		if k.policy.IsForbidden(f.Key) {
			k.refuse(f.Value, "externalSecret.config."+f.Key, "is a credential that does not expire", "a role: awsAuthConfig or execProviderConfig")
		}
		k.settings(f.Value)
	}
}
