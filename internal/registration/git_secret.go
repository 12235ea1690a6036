package registration

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/tenancy"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// GitSecret is a Secret beside an engine with the credentials of Git repositories, as
// charts/fleet-secret makes it.
type GitSecret struct {
	Name string
	Type string // http, githubApp or ssh: which keys it has
	URL  string
	Many bool        // for every repository below URL, not for that one alone
	Pos  problem.Pos // where it is declared
}

// GitSecrets are the Secrets on a member with an engine of its own, as far as the hierarchy says
// what they are for: one whose URL is in the secret store alone is not among them. A member that
// neither pulls its credentials nor is given them has none.
func GitSecrets(c *fleetstate.Cluster) []GitSecret {
	m := c.Member
	if !m.Remote || !provided(m) || c.Registration == nil {
		return nil
	}
	var out []GitSecret
	add := func(name string, n *yamldoc.Node, kind string) {
		if n.IsNull() || !n.IsMap() {
			return
		}
		if enabled, ok := n.Get(catalog.KeyEnabled).Truth(); ok && !enabled {
			return
		}
		s := GitSecret{Name: m.Name + "-git-" + name, Type: kind, Many: true, Pos: n.Pos()}
		if t := n.Get("type"); t != nil {
			s.Type = t.Text
		}
		if k := n.Get("kind"); k != nil {
			s.Many = k.Text != "repository"
		}
		if u := n.Get("url"); u != nil {
			s.URL = u.Text
		}
		if s.URL != "" {
			out = append(out, s)
		}
	}
	if all := c.Registration.At([]string{tenancy.GitCredentials}); all.IsMap() {
		for _, f := range all.Fields {
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
// one for that repository, else the one with the longest URL that the repository's begins with.
func GitSecretFor(all []GitSecret, url string) (GitSecret, bool) {
	plain := func(s string) string { return strings.TrimSuffix(strings.TrimRight(strings.ToLower(s), "/"), ".git") }
	url = plain(url)
	var best GitSecret
	found := false
	for _, s := range all {
		switch own := plain(s.URL); {
		case !s.Many && own == url:
			return s, true
		case s.Many && strings.HasPrefix(url, own) && (!found || len(own) > len(plain(best.URL))):
			best, found = s, true
		}
	}
	return best, found
}
