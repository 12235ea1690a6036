package team

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

const (
	// Folder holds the team files.
	Folder = "fleet/teams"
	// Group is the group whose components are the teams.
	Group = "teams"
	// componentPrefix keeps teams' components and projects apart from those of other names.
	componentPrefix = "team-"
	// maxName leaves room for the prefix in a DNS-1123 label.
	maxName = 63 - len(componentPrefix)

	kind = "Team"

	keyCordoned = "cordoned"
)

// Team is one team file.
type Team struct {
	Name string
	// Tenant is the team's tenant; empty where the file does not say it.
	Tenant   string
	Pos      problem.Pos
	Problems []problem.Problem
	// Digest is the file's.
	Digest string
	// Cordoned says that the team gets nothing new; what it has stays.
	Cordoned bool

	selector   labels.Selector
	namespaces []claim
	root       *yamldoc.Node
	// off and on are catalogs that remove the team's entry, and switch it on; values are those of a
	// member. Clusters share them.
	off, on, values *yamldoc.Node
}

// claim is one element of a team's namespaces: a name, or a prefix.
type claim struct {
	text     string
	isPrefix bool
	node     *yamldoc.Node
}

// Component is the team's component, and its project in Argo CD.
func (t *Team) Component() string { return componentPrefix + t.Name }

// Account is the ServiceAccount that Flux impersonates for a team's applications.
func Account(team string) string { return componentPrefix + team }

// Name is the team whose file is at a path, and whether the path is that of a team file.
func Name(file string) (string, bool) {
	name, ok := strings.CutSuffix(path.Base(file), ".yaml")
	return name, ok && path.Dir(file) == Folder
}

// claimedTenant finds the tenant in a file that is no YAML.
var claimedTenant = regexp.MustCompile(`(?m)^tenant:[ \t]*["']?([a-z0-9-]+)["']?[ \t]*(#.*)?\r?$`)

// Parse reads a team file. The team keeps the file's problems.
func Parse(file *snapshot.File, doc *yamldoc.Doc, err error) *Team {
	name, _ := Name(file.Path)
	t := &Team{Name: name, Pos: problem.Pos{File: file.Path}, Digest: file.Digest}
	if err != nil {
		t.Problems = problem.From(err, problem.InvalidTeam, t.Pos)
		if m := claimedTenant.FindSubmatch(file.Data); m != nil {
			t.Tenant = string(m[1])
		}
		return t
	}
	r := yamldoc.NewReader(doc)
	p := parser{t: t, r: r, m: r.Map(doc.Root, "team file")}
	p.parse()
	t.root, t.Problems = p.m.Node(), r.Problems()
	if !t.IsBroken() {
		t.makeNodes()
	}
	return t
}

type parser struct {
	t *Team
	r *yamldoc.Reader
	m *yamldoc.MapReader
}

func (p parser) parse() {
	p.m.Known("apiVersion", "kind", "name", "tenant", "owners", "viewers", "clusters", "namespaces", "repositories", "deniedKinds", keyCordoned)
	p.m.Const("apiVersion", fleet.APIVersion)
	p.m.Const("kind", kind)
	if declared := p.required("name"); declared != "" && declared != p.t.Name {
		p.fail(p.m.Node().Get("name"), problem.NameMismatch, `key "name"`, fmt.Sprintf("%q", declared), fmt.Sprintf("%q, as the file is named", p.t.Name))
	}
	if !labels.IsName(p.t.Name) || len(p.t.Name) > maxName {
		p.r.AddAt(problem.InvalidTeam, p.t.Pos, fmt.Sprintf("team %q", p.t.Name), "is no name of a team", fmt.Sprintf("lower case letters, digits and inner hyphens, at most %d", maxName))
	}
	p.t.Tenant = p.required("tenant")
	if p.t.Tenant != "" && !labels.IsName(p.t.Tenant) {
		p.wrong(p.m.Node().Get("tenant"), `key "tenant"`, fmt.Sprintf("%q is no DNS-1123 label", p.t.Tenant), "a tenant's name, as member files have it")
	}
	p.people("owners", true)
	p.people("viewers", false)
	p.clusters()
	p.namespaces()
	p.repositories()
	p.deniedKinds()
	p.t.Cordoned = p.m.Bool(keyCordoned, false)
}

func (p parser) fail(n *yamldoc.Node, reason problem.Reason, subject, found, expected string, hints ...string) {
	p.r.Add(reason, n, subject, found, expected, hints...)
}

func (p parser) wrong(n *yamldoc.Node, subject, found, expected string, hints ...string) {
	p.fail(n, problem.InvalidTeam, subject, found, expected, hints...)
}

// required is the text of a key that every team file has.
func (p parser) required(key string) string {
	text := p.m.String(key)
	if text == "" {
		p.missing(key, "the team's "+key)
	}
	return text
}

func (p parser) missing(key, expected string) {
	p.r.AddAt(problem.InvalidTeam, p.m.KeyPos(key), fmt.Sprintf("key %q", key), "missing or empty", expected)
}

// texts are the elements of a list of texts.
func (p parser) texts(key string, needed bool, check func(text string) (found, expected string)) {
	items := p.m.List(key)
	if needed && len(items) == 0 && (p.m.Node().Get(key).IsNull() || p.m.Node().Get(key).Kind == yamldoc.List) {
		p.missing(key, "at least one")
	}
	for i, n := range items {
		subject := fmt.Sprintf("key %q", fmt.Sprintf("%s[%d]", key, i))
		if n.Kind != yamldoc.String {
			p.wrong(n, subject, "is a "+n.Kind.String(), "text")
		} else if found, expected := check(n.Text()); found != "" {
			p.wrong(n, subject, found, expected)
		}
	}
}

// people reads groups of the identity provider. Argo CD refuses the same characters
// (validateGroupName in pkg/apis/application/v1alpha1/app_project_types.go): they would end a line
// of its policy.
func (p parser) people(key string, needed bool) {
	p.texts(key, needed, func(text string) (string, string) {
		switch {
		case strings.TrimSpace(text) == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, ",\n\r\t\""):
			return fmt.Sprintf("%q is no group's name", text), "text without commas, quotes and line breaks"
		case strings.HasPrefix(text, "system:"):
			return fmt.Sprintf("%q is a group of Kubernetes itself", text), "a group of the identity provider"
		}
		return "", ""
	})
}

func (p parser) clusters() {
	n := p.m.Node().Get("clusters")
	if !n.IsMap() {
		if n.IsNull() {
			p.missing("clusters", "a selector; {} selects all of the tenant's members")
			return
		}
		p.wrong(n, `key "clusters"`, "is a "+n.Kind.String(), "matchLabels and matchExpressions")
		return
	}
	p.m.Map("clusters").Known("matchLabels", "matchExpressions")
	if len(n.Fields()) > 0 && n.Get("matchLabels").IsNull() && n.Get("matchExpressions").IsNull() {
		return // unknown keys, which are reported, or a null, which is none
	}
	selector, err := labels.ParseSelector(n.Any())
	if err != nil {
		p.wrong(n, `key "clusters"`, err.Error(), "a selector over the labels of member files")
	}
	p.t.selector = selector
}

// isReserved reports whether a namespace is one of Kubernetes' own.
func isReserved(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-")
}

func (p parser) namespaces() {
	items := p.m.List("namespaces")
	if len(items) == 0 {
		p.missing("namespaces", "at least one name or prefix")
	}
	for i, n := range items {
		at := fmt.Sprintf("namespaces[%d]", i)
		m := p.r.Map(n, at)
		m.Known("name", "prefix", "preset")
		c := claim{text: m.String("name"), node: n}
		bare := c.text
		if m.Has("prefix") {
			c.text, c.isPrefix = m.String("prefix"), true
			bare = strings.TrimSuffix(c.text, "-")
		}
		switch {
		case m.Has("name") == m.Has("prefix"):
			p.wrong(n, fmt.Sprintf("key %q", at), "has not exactly one of name and prefix", "a namespace's name, or what such names begin with")
			continue
		case !labels.IsName(bare) || c.isPrefix && (bare == c.text || len(c.text) > 60):
			p.wrong(n, fmt.Sprintf("key %q", at), fmt.Sprintf("%q names no namespace", c.text), "a DNS-1123 label; a prefix ends with a hyphen and has at most 60 characters")
			continue
		case isReserved(c.text):
			p.wrong(n, fmt.Sprintf("key %q", at), fmt.Sprintf("%q belongs to Kubernetes itself", c.text), "a namespace of the team's own")
			continue
		case c.isPrefix && m.Has("preset"):
			p.wrong(m.Node().Get("preset"), fmt.Sprintf("key %q", at+".preset"), "is given for a prefix", "no preset: a prefix reserves names, and makes no namespace", "list a namespace by its name to have it made")
		case !c.isPrefix && !labels.IsName(m.String("preset")):
			p.wrong(n, fmt.Sprintf("key %q", at+".preset"), fmt.Sprintf("%q names no preset", m.String("preset")), "a preset of charts/team, such as small or isolated")
		}
		for _, other := range p.t.namespaces {
			if c.overlaps(other) && c.isPrefix == other.isPrefix {
				p.wrong(n, fmt.Sprintf("key %q", at), fmt.Sprintf("%q is claimed again", c.text), "each namespace once")
			}
		}
		p.t.namespaces = append(p.t.namespaces, c)
	}
}

// repositories reads addresses and patterns of Argo CD's. The host is always given as a whole.
func (p parser) repositories() {
	p.texts("repositories", true, func(text string) (string, string) {
		const expected = "an address such as https://git.example.com/checkout/*, its host in full"
		_, rest, hasScheme := strings.Cut(text, "://")
		if !hasScheme {
			rest = text
		}
		end := strings.IndexAny(rest, "/:")
		switch {
		case strings.ContainsAny(text, " ,\n\r\t\"") || strings.HasPrefix(text, "!"):
			return fmt.Sprintf("%q is no repository", text), expected
		case end <= 0 || end == len(rest)-1 || strings.ContainsAny(text[:len(text)-len(rest)+end], "*?[]{}\\!"):
			return fmt.Sprintf("%q leaves the host open", text), expected
		}
		return "", ""
	})
}

func (p parser) deniedKinds() {
	for i, n := range p.m.List("deniedKinds") {
		at := fmt.Sprintf("deniedKinds[%d]", i)
		m := p.r.Map(n, at)
		m.Known("group", "kind")
		if strings.TrimSpace(m.String("kind")) == "" {
			p.wrong(n, fmt.Sprintf("key %q", at+".kind"), "missing or empty", "a kind, or * for all kinds of the group")
		}
		for _, key := range []string{"group", "kind"} {
			if s := m.String(key); !kindPattern.MatchString(s) {
				p.wrong(m.Node().Get(key), fmt.Sprintf("key %q", at+"."+key), fmt.Sprintf("%q", s), "a name, in which * is any text and ? a character")
			}
		}
	}
}

// kindPattern are the patterns that mean the same in Argo CD's project and in the policy of
// charts/team.
var kindPattern = regexp.MustCompile(`^[A-Za-z0-9.*?-]*$`)

// overlaps reports whether a namespace may be both claims'.
func (c claim) overlaps(other claim) bool {
	switch {
	case c.isPrefix && other.isPrefix:
		return strings.HasPrefix(c.text, other.text) || strings.HasPrefix(other.text, c.text)
	case c.isPrefix:
		return strings.HasPrefix(other.text, c.text)
	case other.isPrefix:
		return strings.HasPrefix(c.text, other.text)
	}
	return c.text == other.text
}

// Claims reports whether the team has a namespace.
func (t *Team) Claims(namespace string) bool {
	_, claimed := t.claims(claim{text: namespace})
	return claimed && labels.IsName(namespace)
}

// Allows reports whether the team may deploy from a repository. It is stricter than Argo CD, for
// which a pattern's ** crosses folders, and allows no template, which may become anything.
func (t *Team) Allows(repository string) bool {
	if repository == "" || strings.ContainsAny(repository, "%\\") || strings.Contains(repository, "..") || strings.Contains(repository, "{{") {
		return false
	}
	return slices.ContainsFunc(t.root.Get("repositories").Items(), func(n *yamldoc.Node) bool {
		match, err := path.Match(n.Text(), repository)
		return match && err == nil
	})
}

// IsBroken reports whether the file has an error.
func (t *Team) IsBroken() bool { return len(problem.Errors(t.Problems)) > 0 }

// claims is the claim of the team on a namespace, and whether it has one.
func (t *Team) claims(c claim) (claim, bool) {
	i := slices.IndexFunc(t.namespaces, c.overlaps)
	if i < 0 {
		return claim{}, false
	}
	return t.namespaces[i], true
}
