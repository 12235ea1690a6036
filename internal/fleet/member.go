package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/provision"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
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

// Flags are the boolean keys of a member file that become labels of their own name (rule L3);
// enable_remote_<group> comes with each group.
var Flags = []string{"use_remote_argo", "use_external_secrets", "push_argo_secrets", "githubSecret", "use_fleet_ack", "use_argocd_ingress"}

var identityKeys = []string{
	keyClusterName, "tenant", "environment", keyFleetMember, "secretManagerSecretName", "remote_engine",
	"githubSecretName", "labels", "annotations", "lifecycle", "deletion", provision.Key, provision.KeyInfrastructure,
}

var repoKeys = []string{"url", "path", "basepath", "revision"}

// Member is a cluster registered by one file.
type Member struct {
	Hub, Name, Tenant string
	// Environment may be empty: then there is no level of it, and no label.
	Environment string
	// IsHub marks the hub's own member file.
	IsHub bool
	// Remote marks an agent; Engine is the agent's engine.
	Remote bool
	Engine string
	// Lifecycle is Active, Draining or Retired.
	Lifecycle string
	// Deletion says what becomes of the workloads when the member retires: Orphan or Cascade (D3).
	Deletion string
	// Provision is what the file says of the cluster itself, nil for one that somebody else made.
	Provision             *provision.Spec
	SecretManagerSecret   string
	GitHubSecret          bool
	GitHubSecretName      string
	UseExternalSecrets    bool
	PushArgoSecrets       bool
	Labels, Annotations   []labels.Entry // of the file's own maps
	FlagLabels            []labels.Entry // of the declared flags (L3)
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

// Absent are the facts that the member does not have: levels whose folders depend on them are left
// out.
func (m *Member) Absent() []string {
	if m.Environment == "" {
		return []string{"environment"}
	}
	return nil
}

// Model is Agent if the member's own engine deploys, else Centralized.
func (m *Member) Model() string {
	if m.Remote {
		return Agent
	}
	return Centralized
}

// Owner names the engine that owns a group's Applications for this member: OwnerHub or the member's
// own name. Every view calls it (M1). What makes the cluster is always the hub's (C1).
func (m *Member) Owner(group string) string {
	if m.Remote && m.remoteGroups[group] && group != provision.Group {
		return m.Name
	}
	return OwnerHub
}

// OwnGroup is a group that the member's own engine owns, the first by name; empty for none.
func (m *Member) OwnGroup() string {
	for _, group := range slices.Sorted(maps.Keys(m.remoteGroups)) {
		if m.Owner(group) != OwnerHub {
			return group
		}
	}
	return ""
}

// KeyPos is the place of the value of one of the file's own keys, or the file when it does not set
// the key.
func (m *Member) KeyPos(key string) problem.Pos {
	if v := m.root.Get(key); v != nil {
		return v.Pos()
	}
	return problem.Pos{File: m.Pos.File}
}

// AsAgent is the member as it is with an engine of its own, though its file says that it has none
// any more.
func (m *Member) AsAgent() *Member {
	out := *m
	out.Remote = true
	out.UseExternalSecrets = m.UseExternalSecrets || m.root.Get("use_external_secrets") == nil // the default of agents
	return &out
}

// Content is the member file's content as templates see it; it must not be changed.
func (m *Member) Content() map[string]any { return m.content }

// Flag is the file's value of a boolean key as text, "false" when it is not declared. The defaults
// of the two flags about secrets depend on the model.
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

// memberReader reads one member file of a layout.
type memberReader struct {
	layout *Layout
	r      *yamldoc.Reader
	m      *yamldoc.MapReader
	out    *Member
}

// readMember reads a member file. The member keeps the file's problems.
func readMember(layout *Layout, hub, name string, file *snapshot.File, doc *yamldoc.Doc, err error) *Member {
	out := newMember(hub, name, problem.Pos{File: file.Path})
	out.digest = file.Digest
	if err != nil {
		out.Problems = problem.From(err, problem.InvalidMember, out.Pos)
		return out.concerns()
	}
	r := yamldoc.NewReader(doc)
	mr := memberReader{layout: layout, r: r, out: out, m: r.Map(doc.Root, "member file")}
	mr.readAll()
	out.Problems = append(out.Problems, secondHub(layout, out)...)
	return out.concerns()
}

// newMember is a member of which no key has been read.
func newMember(hub, name string, pos problem.Pos) *Member {
	return &Member{Hub: hub, Name: name, Lifecycle: Active, Deletion: Orphan, Engine: EngineArgoCD, Pos: pos}
}

// readAll reads the keys and keeps the problems.
func (mr *memberReader) readAll() {
	mr.read()
	mr.out.root = mr.m.Node()
	mr.out.content, _ = mr.out.root.AnyAsWritten().(map[string]any)
	mr.out.Problems = mr.r.Problems()
}

// concerns attributes the problems to the member.
func (m *Member) concerns() *Member {
	for i := range m.Problems {
		m.Problems[i].Hub, m.Problems[i].Cluster = m.Hub, m.Name
	}
	return m
}

func (mr *memberReader) read() {
	known := slices.Concat(identityKeys, Flags)
	for _, g := range mr.layout.GroupNames() {
		known = append(known, enableRemote+g)
		for _, k := range repoKeys {
			known = append(known, g+"_repo_"+k)
		}
	}
	mr.m.Known(known...)
	mr.identity()
	mr.model()
	mr.flags()
	mr.noEffect()
	mr.repositories()
	mr.out.Labels = mr.entries(labels.Label, "labels")
	mr.out.Annotations = mr.entries(labels.Annotation, "annotations")
	mr.out.SecretManagerSecret = mr.m.String("secretManagerSecretName")
	mr.out.GitHubSecretName = mr.m.String("githubSecretName")
	mr.out.GitHubSecret = mr.m.Bool("githubSecret", false)
	mr.tenancyRules()
}

func (mr *memberReader) identity() {
	out := mr.out
	declared := mr.name(keyClusterName, "cluster")
	out.Tenant = mr.name("tenant", "tenant")
	if mr.m.Has("environment") {
		out.Environment = mr.name("environment", "environment")
	}
	for _, n := range []struct{ what, name string }{{"hub", out.Hub}, {"cluster", out.Name}} {
		if !labels.IsName(n.name) {
			mr.r.AddAt(problem.InvalidMember, out.Pos, fmt.Sprintf("%s %q", n.what, n.name), "the path's name is no DNS-1123 label", "lower case letters, digits and inner hyphens, at most 63")
		}
	}
	if declared != "" && declared != out.Name {
		mr.r.Add(problem.NameMismatch, mr.m.Node().Get(keyClusterName), `key "clusterName"`, fmt.Sprintf("%q", declared), fmt.Sprintf("%q, as the file is named", out.Name))
	}
	switch kind := mr.m.String(keyFleetMember); kind {
	case "", Spoke:
	case HubCluster:
		if out.IsHub = !mr.ofTenant(); !out.IsHub {
			mr.r.Add(problem.ForbiddenFolder, mr.m.Node().Get(keyFleetMember), fmt.Sprintf("key %q", keyFleetMember), "a hub among the member files of tenants", "a spoke",
				"the platform declares a hub in "+LayoutFile+", as hubs."+out.Hub)
		}
	default:
		mr.choice(keyFleetMember, kind, Spoke, HubCluster)
	}
	if out.Name == OwnerHub && !out.IsHub {
		mr.r.AddAt(problem.ReservedName, out.Pos, fmt.Sprintf("cluster %q", out.Name), "the name stands for the hub's engine", "another name")
	}
	if l := mr.m.String("lifecycle"); l != "" {
		out.Lifecycle = l
		if l != Active && l != Draining && l != Retired {
			mr.choice("lifecycle", l, Active, Draining, Retired)
		}
	}
	mr.deletion()
	_, hasGroup := mr.layout.Groups[provision.Group]
	out.Provision = provision.Read(mr.r, mr.m, out.IsHub, hasGroup)
}

func (mr *memberReader) deletion() {
	out := mr.out
	switch d := mr.m.String("deletion"); d {
	case "", Orphan:
	case Cascade:
		if out.IsHub {
			mr.r.Add(problem.InvalidMember, mr.m.Node().Get("deletion"), `key "deletion"`, "cascade for a hub", "orphan: a hub cannot remove itself")
		}
		out.Deletion = d
	default:
		mr.choice("deletion", d, Orphan, Cascade)
	}
}

// name is a required DNS-1123 name that no level's folder has.
func (mr *memberReader) name(key, fact string) string {
	n := mr.m.Node().Get(key)
	v := mr.m.String(key)
	switch {
	case n.IsNull() || v == "":
		mr.r.AddAt(problem.InvalidMember, mr.m.KeyPos(key), fmt.Sprintf("key %q", key), "missing or empty", "the "+fact+"'s name")
		return ""
	case n.Kind != yamldoc.String:
		mr.r.Add(problem.InvalidMember, n, fmt.Sprintf("key %q", key), "is a "+n.Kind.String(), "text", "put it in quotes")
	case !labels.IsName(v):
		mr.r.Add(problem.InvalidMember, n, fmt.Sprintf("key %q", key), fmt.Sprintf("%q is no DNS-1123 label", v), "lower case letters, digits and inner hyphens, at most 63")
	case slices.Contains(mr.layout.reserved[fact], v):
		mr.r.Add(problem.ReservedName, n, fmt.Sprintf("%s %q", fact, v), "a folder of the hierarchy is called so", "another name")
	}
	return v
}

func (mr *memberReader) choice(key, found string, options ...string) {
	hints := problem.Nearest(found, options)
	mr.r.Add(problem.InvalidMember, mr.m.Node().Get(key), fmt.Sprintf("key %q", key), fmt.Sprintf("%q", found), strings.Join(options, " or "), hints...)
}

func (mr *memberReader) model() {
	out := mr.out
	out.Remote = mr.m.Bool("use_remote_argo", false)
	if e := mr.m.String("remote_engine"); e != "" {
		out.Engine = e
		if e != EngineArgoCD && e != EngineFlux {
			mr.choice("remote_engine", e, EngineArgoCD, EngineFlux)
		}
		out.FlagLabels = append(out.FlagLabels, labels.Entry{Key: "remote_engine", Value: e, Pos: mr.m.Node().Get("remote_engine").Pos()})
	}
	if out.IsHub && out.Remote {
		mr.r.Add(problem.InvalidMember, mr.m.Node().Get("use_remote_argo"), `key "use_remote_argo"`, "true for a hub", "false: a hub deploys to itself")
	}
	out.UseExternalSecrets = mr.m.Bool("use_external_secrets", out.Remote)
	out.PushArgoSecrets = mr.m.Bool("push_argo_secrets", false)
	out.remoteGroups = map[string]bool{}
	for _, g := range mr.layout.GroupNames() {
		out.remoteGroups[g] = mr.m.Bool(enableRemote+g, false)
	}
}

// flags gives every declared flag the label of its name, and nothing else (L3).
func (mr *memberReader) flags() {
	names := slices.Clone(Flags)
	for _, g := range mr.layout.GroupNames() {
		names = append(names, enableRemote+g)
	}
	for _, name := range names {
		if mr.m.Has(name) {
			mr.out.FlagLabels = append(mr.out.FlagLabels, labels.Entry{
				Key: name, Value: fmt.Sprint(mr.m.Bool(name, false)), Pos: mr.m.Node().Get(name).Pos(),
			})
		}
	}
}

func (mr *memberReader) repositories() {
	mr.out.repositoryRoots = map[string]string{}
	for _, g := range mr.layout.GroupNames() {
		for _, k := range repoKeys {
			key := g + "_repo_" + k
			if !mr.m.Has(key) {
				continue
			}
			v := mr.m.String(key)
			if n := mr.m.Node().Get(key); k == "revision" && n.Kind == yamldoc.Number {
				mr.r.Add(problem.InvalidValue, n, fmt.Sprintf("key %q", key), "is a number", "text", "put it in quotes: YAML reads 1.10 as 1.1")
				continue
			}
			if k == "basepath" {
				clean, err := snapshot.CleanPath(strings.TrimSuffix(v, "/"))
				if err != nil {
					mr.r.Add(problem.OutsideRepository, mr.m.Node().Get(key), fmt.Sprintf("key %q", key), err.Error(), "a folder inside the repository")
					continue
				}
				mr.out.repositoryRoots[g] = clean
			}
			mr.out.RepositoryAnnotations = append(mr.out.RepositoryAnnotations, labels.Entry{Key: key, Value: v, Pos: mr.m.Node().Get(key).Pos()})
		}
	}
}

func (mr *memberReader) entries(kind labels.Kind, key string) []labels.Entry {
	declared := mr.m.Node().Get(key)
	if declared.IsMap() {
		for _, f := range declared.Fields() {
			if f.Value.IsNull() {
				mr.r.Warn(problem.NoEffect, f.Value, fmt.Sprintf("%s %q", kind, f.Key),
					"null has no effect: what the hierarchy or the cluster Secret declares stays", "a value, or no such key")
			}
		}
	}
	entries, problems := labels.FromNode(kind, declared)
	for _, p := range problems {
		mr.r.AddAt(p.Reason, p.Pos, p.Subject, p.Found, p.Expected, p.Hints...)
	}
	return entries
}
