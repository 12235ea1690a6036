package team

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/labels"
)

const (
	// Folder holds the team files.
	Folder = "fleet/teams"
	// Group is the group whose components are the teams.
	Group = "teams"
	// componentPrefix keeps teams' components and projects apart from others.
	componentPrefix = "team-"
	// maxName leaves room for the prefix in a DNS-1123 label.
	maxName = 63 - len(componentPrefix)

	keyCordoned = "cordoned"
)

// Team is one team file.
type Team struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind,omitempty" jsonschema:"enum=Team"`
	Name       string `json:"name" expect:"the team's name"`
	// Tenant is the team's tenant; empty where the file does not say it.
	Tenant string `json:"tenant" is:"name" expect:"the team's tenant"`
	// Owners and Viewers are groups of the identity provider.
	Owners       []group         `json:"owners" is:"quoted" expect:"a group of the identity provider, without commas, quotes and line breaks"`
	Viewers      []group         `json:"viewers,omitempty" is:"quoted" expect:"a group of the identity provider, without commas, quotes and line breaks"`
	Clusters     labels.Selector `json:"clusters" expect:"a selector; {} selects all of the tenant's members"`
	Claimed      []claim         `json:"namespaces" expect:"at least one name or prefix"`
	Repositories []repository    `json:"repositories" is:"quoted" expect:"an address such as https://git.example.com/checkout/*, its host in full"`
	DeniedKinds  []deniedKind    `json:"deniedKinds,omitempty"`
	// Cordoned says that the team gets nothing new; what it has stays.
	Cordoned bool `json:"cordoned,omitempty"`

	Pos      problem.Pos
	Problems []problem.Problem
	// Digest is the digest of the file.
	Digest string

	root *yamldoc.Node
	// off is a catalog that removes the team's entry, and on a catalog that switches it on; values
	// are the values on a member. All clusters of the team share them.
	off, on, values *yamldoc.Node
}

// claim is one element of a team's namespaces: a name, or a prefix.
type claim struct {
	Name   string `json:"name,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	Preset string `json:"preset,omitempty"`

	text     string // empty for a claim that is wrong
	isPrefix bool
	node     *yamldoc.Node
}

// deniedKind has patterns that mean the same in Argo CD's project and in the policy of charts/team.
type deniedKind struct {
	Group string `json:"group,omitempty" pattern:"^[A-Za-z0-9.*?-]*$" expect:"a name, in which * is any text and ? a character"`
	Kind  string `json:"kind" pattern:"^[A-Za-z0-9.*?-]*$" expect:"a name, in which * is any text and ? a character"`
}

// Component returns the team's component, which is also its project in Argo CD.
func (t *Team) Component() string { return componentPrefix + t.Name }

// Account returns the ServiceAccount that Flux impersonates for a team's applications.
func Account(team string) string { return componentPrefix + team }

// Name returns the team whose file is at a path, and whether the path may be a team file's.
func Name(file string) (string, bool) {
	name, ok := strings.CutSuffix(path.Base(file), ".yaml")
	return name, ok && path.Dir(file) == Folder
}

// claimedTenant finds the tenant in a file that is not YAML.
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
	t.root = r.Decode(doc.Root, "team file", problem.InvalidTeam, t).Node
	if t.Problems = r.Problems(); !t.IsBroken() {
		t.makeNodes()
	}
	return t
}

// Check checks what concerns more than one key.
func (t *Team) Check(at yamldoc.At) {
	declared := t.Name
	if t.Name, _ = Name(t.Pos.File); declared != t.Name {
		at.Add(problem.NameMismatch, at.Node.Get("name"), `key "name"`, fmt.Sprintf("%q", declared), fmt.Sprintf("%q, as the file is named", t.Name))
	}
	if !labels.IsName(t.Name) || len(t.Name) > maxName {
		at.AddAt(problem.InvalidTeam, t.Pos, fmt.Sprintf("team %q", t.Name), "is not a team's name", fmt.Sprintf("lower case letters, digits and inner hyphens, at most %d", maxName))
	}
	for i, c := range t.Claimed {
		if slices.ContainsFunc(t.Claimed[:i], func(other claim) bool { return c.overlaps(other) && c.isPrefix == other.isPrefix }) {
			at.Item("namespaces", i).Wrong("", fmt.Sprintf("%q is claimed again", c.text), "each namespace once")
		}
	}
	t.Claimed = slices.DeleteFunc(t.Claimed, func(c claim) bool { return c.text == "" })
}

// group is a group of the identity provider.
type group string

// UnmarshalText reads a group. Argo CD refuses the same characters (validateGroupName in
// pkg/apis/application/v1alpha1/app_project_types.go): they would end a line of its policy.
func (g *group) UnmarshalText(text []byte) error {
	*g = group(text)
	switch s := string(text); {
	case strings.TrimSpace(s) != s || strings.ContainsAny(s, ",\n\r\t\""):
		return fmt.Errorf("%q is not a group's name", s)
	case strings.HasPrefix(s, "system:"):
		return fmt.Errorf("%q is a group of Kubernetes itself", s)
	}
	return nil
}

// repository is an address, or a pattern of Argo CD.
type repository string

// UnmarshalText reads an address. The host is always written in full.
func (r *repository) UnmarshalText(text []byte) error {
	s := string(text)
	*r = repository(s)
	_, rest, hasScheme := strings.Cut(s, "://")
	if !hasScheme {
		rest = s
	}
	end := strings.IndexAny(rest, "/:")
	switch {
	case strings.ContainsAny(s, " ,\n\r\t\"") || strings.HasPrefix(s, "!"):
		return fmt.Errorf("%q is not a repository", s)
	case end <= 0 || end == len(rest)-1 || strings.ContainsAny(s[:len(s)-len(rest)+end], "*?[]{}\\!"):
		return fmt.Errorf("%q leaves the host open", s)
	}
	return nil
}

// Check checks a claim.
func (c *claim) Check(at yamldoc.At) {
	text, bare := c.Name, c.Name
	if c.isPrefix = at.Has("prefix"); c.isPrefix {
		text, bare = c.Prefix, strings.TrimSuffix(c.Prefix, "-")
	}
	c.node = at.Node
	switch {
	case at.Has("name") == c.isPrefix:
		at.Wrong("", "has not exactly one of name and prefix", "a namespace's name, or what such names begin with")
	case !labels.IsName(bare) || c.isPrefix && (bare == text || len(text) > 60):
		at.Wrong("", fmt.Sprintf("%q names no namespace", text), "a DNS-1123 label; a prefix ends with a hyphen and has at most 60 characters")
	case isReserved(text):
		at.Wrong("", fmt.Sprintf("%q belongs to Kubernetes itself", text), "a namespace of the team's own")
	case c.isPrefix && at.Has("preset"):
		at.Wrong("preset", "is given for a prefix", "no preset: a prefix reserves names, and makes no namespace", "list a namespace by its name to have it made")
	default:
		if c.text = text; !c.isPrefix && !labels.IsName(c.Preset) {
			at.Wrong("preset", fmt.Sprintf("%q names no preset", c.Preset), "a preset of charts/team, such as small or isolated")
		}
	}
}

// isReserved reports whether a namespace is one of Kubernetes' own.
func isReserved(namespace string) bool {
	return namespace == "default" || strings.HasPrefix(namespace, "kube-")
}

// overlaps reports whether both claims may include one namespace.
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
// which a pattern's ** crosses folders. It allows no template, because the result is not known.
func (t *Team) Allows(address string) bool {
	if address == "" || strings.ContainsAny(address, "%\\") || strings.Contains(address, "..") || strings.Contains(address, "{{") {
		return false
	}
	return slices.ContainsFunc(t.Repositories, func(r repository) bool {
		match, err := path.Match(string(r), address)
		return match && err == nil
	})
}

// IsBroken reports whether the file has an error.
func (t *Team) IsBroken() bool { return len(problem.Errors(t.Problems)) > 0 }

// claims returns the team's claim on a namespace, and whether it has one.
func (t *Team) claims(c claim) (claim, bool) {
	i := slices.IndexFunc(t.Claimed, c.overlaps)
	if i < 0 {
		return claim{}, false
	}
	return t.Claimed[i], true
}
