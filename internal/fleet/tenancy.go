package fleet

import (
	"errors"
	"fmt"
	"maps"
	slashpath "path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/tmpl"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/pathpattern"
	"github.com/argosy-hub/argosy/internal/labels"
)

// Kinds of secrets in the secret store that a member may name.
const (
	ClusterSecrets = "cluster" // the cluster's own credential
	GitSecrets     = "git"     // credentials of repositories
)

// SecretNames are patterns, over the member's identity, of the secrets of the store that a tenant's
// files may name. A kind without patterns is not checked.
type SecretNames struct {
	Cluster []*namePattern `json:"cluster,omitempty" expect:"text such as {{ .hub }}/{{ .cluster }}, with * and ? for what may differ"`
	Git     []*namePattern `json:"git,omitempty" expect:"text such as {{ .hub }}/{{ .cluster }}, with * and ? for what may differ"`
}

// namePattern is a template of names, in which * stands for any text without a slash and ? for one
// character.
type namePattern struct {
	text string
	t    *tmpl.Template
}

// ReadNode reads a pattern and tries it.
func (p *namePattern) ReadNode(n *yamldoc.Node) error {
	if n.Kind != yamldoc.String || n.Text() == "" || strings.ContainsAny(n.Text(), `[\`) {
		return errors.New("is not a pattern")
	}
	t, err := tmpl.Parse(n.Pos(), n.Text())
	if err == nil {
		_, err = t.Execute(memberFacts(sentinel("hub"), sentinel("cluster"), sentinel("tenant"), sentinel("environment")))
	}
	*p = namePattern{n.Text(), t}
	return err
}

// memberFacts returns the facts of name patterns: the member's identity, and nothing that its file
// sets freely.
func memberFacts(hub, cluster, tenant, environment string) map[string]any {
	return map[string]any{"hub": hub, "cluster": cluster, "tenant": tenant, "environment": environment}
}

// Check reports whether the member's tenant may give a name to a secret of the kind.
func (s SecretNames) Check(kind string, m *Member, name string) (expected string, ok bool) {
	patterns := s.Cluster
	if kind == GitSecrets {
		patterns = s.Git
	}
	if len(patterns) == 0 || name == "" {
		return "", true
	}
	var allowed []string
	for _, p := range patterns {
		pattern, err := p.t.Execute(memberFacts(m.Hub, m.Name, m.Tenant, m.Environment))
		if err != nil {
			continue // tried when the layout was loaded; a pattern that fails allows nothing
		}
		if match, err := slashpath.Match(pattern, name); match && err == nil {
			return "", true
		}
		allowed = append(allowed, pattern)
	}
	return strings.Join(allowed, " or "), false
}

// Forbidden returns the problem of a name that Check refuses.
func Forbidden(key, name, expected string) (subject, found, want string, hints []string) {
	return fmt.Sprintf("key %q", key), fmt.Sprintf("%q is not among the secrets that the tenant may name", name), expected,
		[]string{"secretNames of " + LayoutFile + " says which"}
}

// ofTenant reports whether the path says that a tenant writes the member file.
func (mr *memberReader) ofTenant() bool {
	_, is := mr.layout.Members.Tenant(mr.Pos.File)
	return is
}

// tenancyRules checks what a tenant's member file may not say although its form is right. The
// secrets of a hub are the platform's.
func (mr *memberReader) tenancyRules() {
	out := mr.Member
	mr.ownRoots()
	if out.IsHub {
		return
	}
	if mr.ofTenant() && mr.layout.Hubs[out.Hub] == nil {
		mr.at.AddAt(problem.MissingHubMember, out.Pos, fmt.Sprintf("hub %q", out.Hub), "the layout does not declare it", "a hub of the layout: tenants write the member files, and make none",
			problem.Nearest(out.Hub, slices.Sorted(maps.Keys(mr.layout.Hubs)))...)
	}
	for key, kind := range map[string]string{"secretManagerSecretName": ClusterSecrets, "githubSecretName": GitSecrets} {
		if expected, ok := mr.layout.SecretNames.Check(kind, out, mr.at.Text(key)); !ok {
			subject, found, want, hints := Forbidden(key, mr.at.Text(key), expected)
			mr.at.Add(problem.ForbiddenSecret, mr.at.Node.Get(key), subject, found, want, hints...)
		}
	}
	if t, ok := mr.layout.Members.Tenant(out.Pos.File); ok && out.Tenant != "" && t != out.Tenant {
		mr.at.Add(problem.NameMismatch, mr.at.Node.Get("tenant"), `key "tenant"`, fmt.Sprintf("%q", out.Tenant), fmt.Sprintf("%q, as the folder is named", t))
	}
}

// ownRoots checks the roots that a member, or a hub for its members, names: none may be a tenant's
// folder.
func (mr *memberReader) ownRoots() {
	for _, g := range mr.layout.GroupNames() {
		if tenant := mr.layout.tenantOf(mr.repositoryRoots[g]); tenant != "" {
			key := g + "_repo_basepath"
			mr.at.Add(problem.ForbiddenFolder, mr.at.Node.Get(key), fmt.Sprintf("key %q", key), fmt.Sprintf("lies in the folder of tenant %q", tenant),
				"a folder with levels of its own", "a tenant's folder has no system's defaults: they would be the tenant's")
		}
	}
}

// tenantOf returns the tenant whose folder a path is in, by the levels and the member files that
// name the tenant in this place; else "".
func (l *Layout) tenantOf(file string) string {
	if file == "" {
		return ""
	}
	if t := l.Members.TenantAbove(file); t != "" {
		return t
	}
	parts := strings.Split(file, "/")
	for _, dir := range l.dirs {
		i := slices.Index(dir, sentinel("tenant"))
		if i < 0 {
			continue
		}
		for at, part := range parts { // a root may have several parts
			if !slices.Contains(l.reserved["tenant"], part) && l.under(parts[:at], dir[:i]) {
				return part
			}
		}
	}
	return ""
}

// under reports whether a level's folder begins with a path, for some root and some cluster. A hub
// or a member may have another root than the layout: below a folder that the level itself names,
// every root counts.
func (l *Layout) under(parts, dir []string) bool {
	if len(dir) > 0 && dir[0] == sentinel("root") {
		below := dir[1:]
		n := len(parts) - len(below)
		if n < 1 || !l.under(parts[n:], below) {
			return false
		}
		if slices.ContainsFunc(below, func(part string) bool { return !strings.Contains(part, "<") }) {
			return true
		}
		root := strings.Join(parts[:n], "/")
		return slices.ContainsFunc(slices.Collect(maps.Values(l.Groups)), func(g Group) bool { return g.Root == root })
	}
	return len(parts) == len(dir) && pathpattern.Agree(dir, parts)
}

// tenantFacts are the facts that differ from tenant to tenant, or from cluster to cluster of one
// tenant.
var tenantFacts = [][]string{{"tenant"}, {"cluster"}, {"name"}, {"server"}, {"labels", "tenant"}, {"metadata", "labels", "tenant"}, {"member", "tenant"}, {"member", "clusterName"}}

// tenantLevels returns as owned the spokes' levels whose folders depend on the tenant or the
// cluster, even if only in a condition. A level may name its owner instead. Chosen has the levels
// that depend on other facts of the member.
func (p layoutParser) tenantLevels() (owned, chosen map[string]bool) {
	owned, chosen = map[string]bool{}, map[string]bool{}
	for _, level := range p.d.Levels {
		t := level.Template
		if t == nil {
			continue // reported
		}
		isTenants := slices.ContainsFunc(tenantFacts, func(path []string) bool { return t.Reads(path...) })
		owned[level.Name] = level.Owner == "tenant" || level.Owner != "platform" && isTenants
		chosen[level.Name] = !isTenants && !t.ReadsOnly("root", "group", "hub")
	}
	return owned, chosen
}

// TenantAt returns the tenant in whose folder a member file, such as by a label, would put a level
// of the platform below a root; empty for none. Where the layout itself has the level there, as
// env-<environment> beside <tenant>, no member chooses it. A folder named only by a label may be
// any tenant's.
func (l *Layout) TenantAt(level, dir, root string) string {
	i := slices.Index(l.levelNames, level)
	if i < 0 || !l.chosenLevels[level] || l.tenantLevels[level] {
		return ""
	}
	own := l.tenantOf(strings.ReplaceAll(strings.Join(l.dirs[i], "/"), sentinel("root"), root))
	if own != "" && (own == sentinel("environment") || !strings.HasPrefix(own, "<") || !strings.HasSuffix(own, ">")) {
		return ""
	}
	return l.tenantOf(dir)
}

// OfTenant reports whether a level's folder belongs to a tenant or to one of its clusters: the
// tenant writes its files.
func (l *Layout) OfTenant(level string) bool { return l.tenantLevels[level] }

// SchemaFile is a file of the repository with a schema; an empty path stands for none.
type SchemaFile struct {
	Path string
	Pos  problem.Pos
}

// tenantSchemas reads which components land on the hub, and the schemas of what a tenant's level
// may set of them.
func (p layoutParser) tenantSchemas(groups map[string]Group) map[string]SchemaFile {
	out := map[string]SchemaFile{}
	at := p.at.In("tenantSchemas")
	for key, path := range p.d.TenantSchemas {
		group, component, ok := strings.Cut(key, "/")
		if _, known := groups[group]; !ok || !known || !labels.IsName(component) {
			at.AddAt(problem.InvalidLayout, at.Pos(key), fmt.Sprintf("key %q", "tenantSchemas."+key), "names no component", "GROUP/COMPONENT, with a group of the layout")
			continue
		}
		out[key] = SchemaFile{Path: path, Pos: at.Node.Get(key).Pos()}
	}
	return out
}

// OfHubsAlone reports whether a path below a group's root is in a folder of the hubs' levels, and
// in none of the spokes' levels.
func (l *Layout) OfHubsAlone(p string) bool { return inFolders(p, l.hubDirs) && !inFolders(p, l.dirs) }

// inFolders reports whether a path below a group's root is in one of the folders.
func inFolders(p string, dirs [][]string) bool {
	parts := strings.Split(p, "/")
	return slices.ContainsFunc(dirs, func(dir []string) bool {
		if len(dir) > 0 && dir[0] == sentinel("root") {
			dir = dir[1:]
		}
		return len(dir) > 0 && len(parts) > len(dir) && pathpattern.Agree(dir, parts)
	})
}
