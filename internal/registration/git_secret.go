package registration

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/tenancy"
	"github.com/argosy-hub/argosy/internal/fleetstate"
)

// GitSecret is a Secret beside an engine with the credentials of Git repositories, as
// charts/fleet-secret makes it.
type GitSecret struct {
	Name string
	Type string // http, githubApp or ssh: which keys it has
	URL  string
	Many bool        // for every repository below URL, not for that one alone
	Pos  problem.Pos // where it is declared

	local bool // for the engine beside the chart, too
}

// GitSecrets are the Secrets on a member with an engine of its own, as far as the hierarchy says
// what they are for: one whose URL is in the secret store alone is not among them. A member that
// neither pulls its credentials nor is given them has none.
func GitSecrets(c *fleetstate.Cluster) []GitSecret {
	if m := c.Member; !m.Remote || !provided(m) {
		return nil
	}
	return gitSecrets(c)
}

// HubGitSecrets are the Secrets on the hub of a member that the hub deploys to, for what the hub
// reads for that member: no other's repository is read with them.
func HubGitSecrets(c *fleetstate.Cluster) []GitSecret {
	if m := c.Member; m.IsHub || m.Remote {
		return nil
	}
	fleets := c.Member.Name + "-git-" + FleetCredentials // which a hub does not get
	return slices.DeleteFunc(gitSecrets(c), func(s GitSecret) bool { return !s.local || s.Name == fleets })
}

// gitSecrets are the Secrets that the values of charts/fleet-secret declare.
func gitSecrets(c *fleetstate.Cluster) []GitSecret {
	if c.Registration == nil {
		return nil
	}
	m := c.Member
	var out []GitSecret
	add := func(name string, n *yamldoc.Node, kind string) {
		if n.IsNull() || !n.IsMap() {
			return
		}
		if enabled, ok := n.Get(catalog.KeyEnabled).Truth(); ok && !enabled {
			return
		}
		s := GitSecret{Name: m.Name + "-git-" + name, Type: kind, Many: true, Pos: n.Pos(), local: true}
		if local, ok := n.Get(keyLocal).Truth(); ok {
			s.local = local
		}
		if t := n.Get("type"); t != nil {
			s.Type = t.Text()
		}
		if k := n.Get("kind"); k != nil {
			s.Many = k.Text() != "repository"
		}
		if u := n.Get("url"); u != nil {
			s.URL = u.Text()
		}
		if s.URL != "" {
			out = append(out, s)
		}
	}
	if all := c.Registration.At([]string{tenancy.GitCredentials}); all.IsMap() {
		for _, f := range all.Fields() {
			add(f.Key, f.Value, "")
		}
	}
	if _, asks := AsksForGitHub(c); asks {
		add(keyGitHub, c.Registration.At([]string{keyGitHub}), "githubApp") // the chart's default
	}
	slices.SortFunc(out, func(a, b GitSecret) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// GitSecretFor is the Secret with a repository's credentials, as Argo CD chooses among them: the
// one for that repository, else the one with the longest URL that the repository's begins with. No
// other host gets them: https://git.example.evil begins with https://git.example, too.
func GitSecretFor(all []GitSecret, url string) (GitSecret, bool) {
	plain := func(s string) string { return strings.TrimSuffix(strings.TrimRight(strings.ToLower(s), "/"), ".git") }
	url = plain(url)
	var best GitSecret
	found := false
	for _, s := range all {
		switch own := plain(s.URL); {
		case !s.Many && own == url:
			return s, true
		case s.Many && strings.HasPrefix(url, own) && HostOf(url) == HostOf(own) && (!found || len(own) > len(plain(best.URL))):
			best, found = s, true
		}
	}
	return best, found
}

// HostOf is the host of a repository's URL, with its port, or of an address such as git@host:path.
func HostOf(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	ends := "/?#\\"
	if !ok {
		rest, ends = url, ends+":"
	}
	if i := strings.IndexAny(rest, ends); i >= 0 {
		rest = rest[:i]
	}
	return rest[strings.LastIndex(rest, "@")+1:]
}
