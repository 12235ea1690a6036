package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/provision"
	"github.com/argosy-hub/argosy/internal/labels"
)

// The values of member files' keys.
const (
	Spoke      = "spoke"
	HubCluster = "hub-cluster"

	EngineArgoCD = "argocd"
	EngineFlux   = "flux"

	Active   = "active"
	Draining = "draining"
	Retired  = "retired"

	Orphan  = "orphan"
	Cascade = "cascade"

	Centralized = "centralized"
	Agent       = "agent"
)

// OwnerHub is the owner that stands for the hub's engine. Only a hub can have this name.
const OwnerHub = "hub"

const (
	enableRemote   = "enable_remote_"
	keyClusterName = "clusterName"
	keyFleetMember = "fleet_member"
)

// Flags are the boolean keys of a member file that become labels of the same name;
// enable_remote_<group> comes with each group.
var Flags = []string{"use_remote_argo", "use_external_secrets", "push_argo_secrets", "githubSecret", "use_fleet_ack", "use_argocd_ingress"}

var repoKeys = []string{"url", "path", "basepath", "revision"}

// Member is a cluster registered by one file.
type Member struct {
	Hub    string
	Name   string `json:"clusterName" is:"name quoted" expect:"the cluster's name"`
	Tenant string `json:"tenant" is:"name quoted" expect:"the tenant's name"`
	// Environment may be empty: then it has neither a level nor a label.
	Environment string `json:"environment,omitempty" is:"name quoted" expect:"the environment's name"`
	// IsHub marks the hub's own member file.
	IsHub bool `json:"fleet_member,omitempty" jsonschema:"enum=spoke,enum=hub-cluster"`
	// Remote marks an agent; Engine is the agent's engine.
	Remote bool   `json:"use_remote_argo,omitempty"`
	Engine string `json:"remote_engine,omitempty" jsonschema:"enum=argocd,enum=flux"`
	// Lifecycle is Active, Draining or Retired.
	Lifecycle string `json:"lifecycle,omitempty" jsonschema:"enum=active,enum=draining,enum=retired"`
	// Deletion says what becomes of the workloads when the member retires: Orphan or Cascade.
	Deletion string `json:"deletion,omitempty" jsonschema:"enum=orphan,enum=cascade"`
	// Provision is what the file says of the cluster itself; nil for a cluster made elsewhere.
	Provision             *provision.Spec
	SecretManagerSecret   string         `json:"secretManagerSecretName,omitempty"`
	GitHubSecret          bool           `json:"githubSecret,omitempty"`
	GitHubSecretName      string         `json:"githubSecretName,omitempty"`
	UseExternalSecrets    bool           `json:"use_external_secrets,omitempty"`
	PushArgoSecrets       bool           `json:"push_argo_secrets,omitempty"`
	Labels, Annotations   []labels.Entry // of the file's own maps
	FlagLabels            []labels.Entry // of the declared flags
	RepositoryAnnotations []labels.Entry // of the declared <group>_repo_* keys
	Pos                   problem.Pos
	Problems              []problem.Problem
	remoteGroups          map[string]bool
	repositoryRoots       map[string]string
	content               map[string]any
	root                  *yamldoc.Node
	digest                string
}

// Affiliation names a member's tenant and, if it has one, its environment.
func Affiliation(tenant, environment string) string {
	if environment == "" {
		return "tenant " + tenant
	}
	return "tenant " + tenant + ", environment " + environment
}

// Absent returns the facts that the member does not have: levels whose folders depend on them are
// left out.
func (m *Member) Absent() []string {
	if m.Environment == "" {
		return []string{"environment"}
	}
	return nil
}

// Model returns Agent if the member's own engine deploys, else Centralized.
func (m *Member) Model() string {
	if m.Remote {
		return Agent
	}
	return Centralized
}

// Owner names the engine that owns a group's Applications for this member: OwnerHub or the member's
// own name. Every view calls it. The group that makes the cluster is always the hub's.
func (m *Member) Owner(group string) string {
	if m.Remote && m.remoteGroups[group] && group != provision.Group {
		return m.Name
	}
	return OwnerHub
}

// OwnGroup returns the first group by name that the member's own engine owns; empty for none.
func (m *Member) OwnGroup() string {
	for _, group := range slices.Sorted(maps.Keys(m.remoteGroups)) {
		if m.Owner(group) != OwnerHub {
			return group
		}
	}
	return ""
}

// KeyPos returns the place of the value of one of the file's own keys, or of the file when it does
// not set the key.
func (m *Member) KeyPos(key string) problem.Pos {
	if v := m.root.Get(key); v != nil {
		return v.Pos()
	}
	return problem.Pos{File: m.Pos.File}
}

// AsAgent returns the member as an agent, though its file no longer gives it an engine of its own.
func (m *Member) AsAgent() *Member {
	out := *m
	out.Remote = true
	out.UseExternalSecrets = m.UseExternalSecrets || m.root.Get("use_external_secrets") == nil // the default of agents
	return &out
}

// Content returns the member file's content as templates see it; it must not be changed.
func (m *Member) Content() map[string]any { return m.content }

// Flag returns the file's value of a boolean key as text, "false" when it is not declared. The
// defaults of the two flags about secrets depend on the model.
func (m *Member) Flag(name string) string {
	switch name {
	case "use_external_secrets":
		return fmt.Sprint(m.UseExternalSecrets)
	case "push_argo_secrets":
		return fmt.Sprint(m.PushArgoSecrets)
	}
	for _, e := range m.FlagLabels {
		if e.Key == name {
			return e.Value
		}
	}
	return "false"
}

// memberReader reads one member file: the member's own keys, and the keys that the layout's groups
// add.
type memberReader struct {
	*Member
	layout *Layout
	name   string // from the path
	at     yamldoc.At

	Ack     bool          `json:"use_fleet_ack,omitempty"`
	Ingress bool          `json:"use_argocd_ingress,omitempty"`
	Labels  *yamldoc.Node `json:"labels,omitempty"`
	Notes   *yamldoc.Node `json:"annotations,omitempty"`
	Cluster *yamldoc.Node `json:"provision,omitempty"`
	Deletes bool          `json:"infrastructure,omitempty" jsonschema:"enum=keep,enum=delete"`
}

// readMember reads a member file. The member keeps the file's problems.
func readMember(layout *Layout, hub, name string, file *snapshot.File, doc *yamldoc.Doc, err error) *Member {
	out := newMember(hub, name, problem.Pos{File: file.Path})
	out.digest = file.Digest
	if err != nil {
		out.Problems = problem.From(err, problem.InvalidMember, out.Pos)
		return out.concerns()
	}
	out.read(layout, doc.Root, yamldoc.NewReader(doc), "member file")
	out.Problems = append(out.Problems, secondHub(layout, out)...)
	return out.concerns()
}

// read reads the keys and keeps the problems.
func (m *Member) read(layout *Layout, n *yamldoc.Node, r *yamldoc.Reader, what string) {
	m.root = r.Decode(n, what, problem.InvalidMember, &memberReader{Member: m, layout: layout, name: m.Name}).Node
	m.content, _ = m.root.AnyAsWritten().(map[string]any)
	m.Problems = r.Problems()
}

// newMember makes a member without any key read.
func newMember(hub, name string, pos problem.Pos) *Member {
	return &Member{Hub: hub, Name: name, Lifecycle: Active, Deletion: Orphan, Engine: EngineArgoCD, Pos: pos}
}

// concerns attributes the problems to the member.
func (m *Member) concerns() *Member {
	for i := range m.Problems {
		m.Problems[i].Hub, m.Problems[i].Cluster = m.Hub, m.Name
	}
	return m
}

// MoreKeys returns the keys of the groups.
func (mr *memberReader) MoreKeys() (out []string) {
	for _, g := range mr.layout.GroupNames() {
		out = append(out, enableRemote+g)
		for _, k := range repoKeys {
			out = append(out, g+"_repo_"+k)
		}
	}
	return out
}

// Check reads the keys of the groups, and checks what concerns more than one key.
func (mr *memberReader) Check(at yamldoc.At) {
	mr.at = at
	mr.identity()
	mr.model()
	mr.flags()
	mr.noEffect()
	mr.repositories()
	mr.Member.Labels = mr.entries(labels.Label, mr.Labels)
	mr.Annotations = mr.entries(labels.Annotation, mr.Notes)
	mr.tenancyRules()
}

func (mr *memberReader) identity() {
	out, declared := mr.Member, mr.Name
	if out.Name = mr.name; declared != mr.name {
		mr.at.Add(problem.NameMismatch, mr.at.Node.Get(keyClusterName), `key "clusterName"`, fmt.Sprintf("%q", declared), fmt.Sprintf("%q, as the file is named", mr.name))
	}
	for _, n := range []struct{ what, name string }{{"hub", out.Hub}, {"cluster", out.Name}} {
		if !labels.IsName(n.name) {
			mr.at.AddAt(problem.InvalidMember, out.Pos, fmt.Sprintf("%s %q", n.what, n.name), "the path's name is not a DNS-1123 label", "lower case letters, digits and inner hyphens, at most 63")
		}
	}
	for _, n := range []struct{ key, fact, name string }{{keyClusterName, "cluster", declared}, {"tenant", "tenant", out.Tenant}, {"environment", "environment", out.Environment}} {
		if slices.Contains(mr.layout.reserved[n.fact], n.name) {
			mr.at.Add(problem.ReservedName, mr.at.Node.Get(n.key), fmt.Sprintf("%s %q", n.fact, n.name), "a folder of the hierarchy is called so", "another name")
		}
	}
	if out.IsHub && mr.ofTenant() {
		out.IsHub = false
		mr.at.Add(problem.ForbiddenFolder, mr.at.Node.Get(keyFleetMember), fmt.Sprintf("key %q", keyFleetMember), "a hub among the member files of tenants", "a spoke",
			"the platform declares a hub in "+LayoutFile+", as hubs."+out.Hub)
	}
	if out.Name == OwnerHub && !out.IsHub {
		mr.at.AddAt(problem.ReservedName, out.Pos, fmt.Sprintf("cluster %q", out.Name), "the name stands for the hub's engine", "another name")
	}
	if out.IsHub && out.Deletion == Cascade {
		mr.at.Wrong("deletion", "cascade for a hub", "orphan: a hub cannot remove itself")
	}
	_, hasGroup := mr.layout.Groups[provision.Group]
	out.Provision = provision.Read(mr.at, mr.Deletes, out.IsHub, hasGroup)
}

func (mr *memberReader) model() {
	out := mr.Member
	if n := mr.at.Node.Get("remote_engine"); n.Text() != "" {
		out.FlagLabels = append(out.FlagLabels, labels.Entry{Key: "remote_engine", Value: out.Engine, Pos: n.Pos()})
	}
	if out.IsHub && out.Remote {
		mr.at.Wrong("use_remote_argo", "true for a hub", "false: a hub deploys to itself")
	}
	if !mr.at.Has("use_external_secrets") {
		out.UseExternalSecrets = out.Remote
	}
	out.remoteGroups = map[string]bool{}
	for _, g := range mr.layout.GroupNames() {
		out.remoteGroups[g] = mr.at.Flag(enableRemote + g)
	}
}

// flags gives every declared flag the label of its name, and no other label.
func (mr *memberReader) flags() {
	names := slices.Clone(Flags)
	for _, g := range mr.layout.GroupNames() {
		names = append(names, enableRemote+g)
	}
	for _, name := range names {
		if mr.at.Has(name) {
			mr.FlagLabels = append(mr.FlagLabels, labels.Entry{
				Key: name, Value: fmt.Sprint(mr.at.Flag(name)), Pos: mr.at.Node.Get(name).Pos(),
			})
		}
	}
}

func (mr *memberReader) repositories() {
	mr.repositoryRoots = map[string]string{}
	for _, g := range mr.layout.GroupNames() {
		for _, k := range repoKeys {
			key := g + "_repo_" + k
			if !mr.at.Has(key) {
				continue
			}
			v := mr.at.Text(key)
			if n := mr.at.Node.Get(key); k == "revision" && n.Kind == yamldoc.Number {
				mr.at.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", key), "is a number", "text", "put it in quotes: YAML reads 1.10 as 1.1")
				continue
			}
			if k == "basepath" {
				clean, err := snapshot.CleanPath(strings.TrimSuffix(v, "/"))
				if err != nil {
					mr.at.Add(problem.OutsideRepository, mr.at.Node.Get(key), fmt.Sprintf("key %q", key), err.Error(), "a folder inside the repository")
					continue
				}
				mr.repositoryRoots[g] = clean
			}
			mr.RepositoryAnnotations = append(mr.RepositoryAnnotations, labels.Entry{Key: key, Value: v, Pos: mr.at.Node.Get(key).Pos()})
		}
	}
}

// FleetRepository returns the URL and the revision of the fleet repository, as far as the file
// declares them. A nil member declares none.
func (m *Member) FleetRepository() (url, revision labels.Entry) {
	if m != nil {
		for _, e := range m.RepositoryAnnotations {
			switch e.Key {
			case "fleet_repo_url":
				url = e
			case "fleet_repo_revision":
				revision = e
			}
		}
	}
	return url, revision
}

func (mr *memberReader) entries(kind labels.Kind, declared *yamldoc.Node) []labels.Entry {
	if declared.IsMap() {
		for _, f := range declared.Fields() {
			if f.Value.IsNull() {
				mr.at.Warn(problem.NoEffect, f.Value, fmt.Sprintf("%s %q", kind, f.Key),
					"null has no effect: what the hierarchy or the cluster Secret declares stays", "a value, or no such key")
			}
		}
	}
	entries, problems := labels.FromNode(kind, declared)
	for _, p := range problems {
		mr.at.AddAt(p.Reason, p.Pos, p.Subject, p.Found, p.Expected, p.Hints...)
	}
	return entries
}
