package fleet

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/catalog"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
	"github.com/argosy-hub/argosy/internal/pathpattern"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
	"github.com/argosy-hub/argosy/internal/yamldoc"
)

// LayoutFile is where a repository's layout is read from.
const LayoutFile = "fleet/layout.yaml"

// APIVersion is the version of all of Argosy's own files and outputs.
const APIVersion = "argosy.dev/v1alpha1"

const layoutKind = "Layout"

//go:embed default_layout.yaml
var defaultLayout []byte

// Group is a set of components that are owned and released together.
type Group struct {
	Name string
	// Root is the folder that holds the group's levels.
	Root string
	// Catalogs are the files that queries without a base start from, the later wins.
	Catalogs []string
	// OwnCatalogs says that the layout lists them: the fleet's own catalogs, beside that of
	// charts/application-sets. The releases view hands their entries to the chart.
	OwnCatalogs bool
	Pos         problem.Pos
}

// Workloads is the group of the teams' applications: its catalogs are the fleet's own.
const Workloads = "workloads"

// Layout says where the files of a repository are.
type Layout struct {
	// File is where the layout stands: LayoutFile, or the file that is read instead.
	File string
	// Members is the path of member files.
	Members *pathpattern.Members
	// Hub is the hub of all member files, where their path does not name it.
	Hub string
	// Hubs are the hubs that the layout declares, by name: they have no member file.
	Hubs map[string]*Member
	// ApplicationSets and FleetSecrets are the versions files; empty where the layout has none.
	ApplicationSets, FleetSecrets string
	// Groups by name.
	Groups map[string]Group
	// Levels are those of spokes, HubLevels those of hubs.
	Levels, HubLevels *hierarchy.Hierarchy
	// Values and Catalog are the files inside a level's folder, templates over the facts.
	Values, Catalog *FileTemplate
	// Mapping makes Argosy's entries of catalogs in another format; nil for catalogs in its own.
	Mapping *catalog.Mapping
	// CatalogValuesWin says that the values of catalog entries beat value files.
	CatalogValuesWin bool
	// LintIgnore are the paths whose warnings lint leaves out.
	LintIgnore []IgnoredPath
	// Merge are the rules of H4.
	Merge hierarchy.Rules
	// DuplicateKeys is the severity of keys that a map has twice (H9).
	DuplicateKeys problem.Severity
	// Guard is the removal budget and the place of approvals (G3).
	Guard Guard
	// SecretNames are the secrets that tenants may name.
	SecretNames SecretNames
	// SecretStores are ClusterSecretStores that exist although no object of the fleet makes them.
	SecretStores []string
	// Mounts are other repositories that are joined, by path.
	Mounts []Mount
	// Shape is the same for two layouts that find the same files for the same members.
	Shape string
	// TenantSchemas are the files that say what a tenant's level may set of components that land on
	// the hub, by "group/component"; a component with an empty path may be set nothing of.
	TenantSchemas map[string]SchemaFile
	// dirs are the folders of the spokes' levels, in parts, with sentinels for the facts; hubDirs
	// those of the hubs'.
	// tenantLevels are the levels that belong to a tenant.
	dirs, hubDirs [][]string
	tenantLevels  map[string]bool
	chosenLevels  map[string]bool
	levelNames    []string // of the spokes' levels, as dirs has them
	// reserved are names that a tenant, environment or cluster cannot have, because a level's own
	// folder has them.
	reserved map[string][]string
}

// GroupNames are the names of the groups, sorted.
func (l *Layout) GroupNames() []string { return slices.Sorted(maps.Keys(l.Groups)) }

// LevelsOf are the levels that apply to a member.
func (l *Layout) LevelsOf(m *Member) *hierarchy.Hierarchy {
	if m.IsHub {
		return l.HubLevels
	}
	return l.Levels
}

// DefaultLayout is the layout of a repository without a layout file.
func DefaultLayout() *Layout {
	l, err := ParseLayout(nil)
	if err != nil {
		panic(fmt.Sprintf("the default layout is broken: %v", err)) //nolint:forbidigo // part of the program, covered by a test
	}
	return l
}

// ParseLayout reads a layout; a nil document gives the default one. The error is a problem.List.
func ParseLayout(doc *yamldoc.Doc) (*Layout, error) {
	base, err := yamldoc.Parse("default layout", defaultLayout)
	if err != nil {
		return nil, err
	}
	layers := []hierarchy.Layer{{Level: "default", Root: base.Root}}
	r := yamldoc.NewReader(base)
	file := LayoutFile
	if doc != nil {
		file = doc.File
		r = yamldoc.NewReader(doc)
		own := r.Map(doc.Root, "the layout")
		layers = append(layers, hierarchy.Layer{Level: "layout", Root: own.Node()})
	}
	merged := hierarchy.Merge(layers, nil)
	p := layoutParser{r: r, root: r.Map(merged.Root, "the layout")}
	l := p.parse()
	l.File = file
	if err := r.Err(); err != nil {
		return nil, err
	}
	return l, nil
}

type layoutParser struct {
	r    *yamldoc.Reader
	root *yamldoc.MapReader
}

func (p layoutParser) parse() *Layout {
	p.root.Known("apiVersion", "kind", "members", "hub", "hubs", "versions", "groups", "levels", "hubLevels", "files", "merge", "guard", "secretNames", "tenantSchemas", "duplicateKeys", "secretStores", "catalogMapping", "catalogValues", "lint", "mounts")
	p.root.Const("apiVersion", APIVersion)
	p.root.Const("kind", layoutKind)
	versions := p.root.Map("versions")
	versions.Known("applicationSets", "fleetSecrets")
	files := p.root.Map("files")
	files.Known("values", "catalog")

	l := &Layout{Groups: map[string]Group{}}
	l.Hub = p.hub()
	l.Members = p.members(l.Hub)
	if versions.Has("applicationSets") { // null: a fleet without releases
		l.ApplicationSets = p.path(versions, "applicationSets")
	}
	if versions.Has("fleetSecrets") {
		l.FleetSecrets = p.path(versions, "fleetSecrets")
	}
	p.groups(l)
	l.Values = p.valuesFile(files)
	l.Catalog = p.file(files, "catalog", []string{"level"}, "group")
	l.Mapping, l.CatalogValuesWin = p.catalogMapping(), p.catalogValues()
	l.LintIgnore = p.lintIgnore()
	var dirs, hubDirs [][]string
	l.Levels, dirs = p.levels("levels")
	l.HubLevels, hubDirs = p.levels("hubLevels")
	l.Merge = p.merge()
	l.DuplicateKeys = p.duplicateKeys()
	l.Guard = p.guard()
	l.SecretStores = p.secretStores()
	l.reserved = reservedNames(slices.Concat(dirs, hubDirs))
	l.SecretNames = p.secretNames()
	l.Shape = p.shape()
	l.TenantSchemas = p.tenantSchemas(l.Groups)
	l.dirs, l.hubDirs = dirs, hubDirs
	l.tenantLevels, l.chosenLevels = p.tenantLevels()
	if l.Members != nil { // else it has been reported
		l.Hubs = p.hubs(l)
		l.Mounts = p.mounts(l)
		l.addMountLevels(p.root.List("levels"))
	}
	return l
}

// shape is a digest of the keys that say where files are.
func (p layoutParser) shape() string {
	h := sha256.New()
	for _, key := range []string{"members", "hub", "hubs", "versions", "groups", "levels", "hubLevels", "files", "catalogMapping", "catalogValues"} {
		text, err := p.root.Node().Get(key).YAML()
		fmt.Fprintf(h, "%s %d %v\n%s", key, len(text), err, text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (p layoutParser) fail(n *yamldoc.Node, subject string, err error) {
	for _, e := range problem.From(err, problem.InvalidLayout, n.Pos()) {
		if e.Pos.File == "" || e.Pos.Line == 0 {
			e.Pos = n.Pos()
		}
		if e.Subject == "" || e.Subject == "template" {
			e.Subject = subject
		}
		p.r.AddAt(problem.InvalidLayout, e.Pos, e.Subject, e.Found, e.Expected, e.Hints...)
	}
}

// hub is the name of the hub that all member files belong to; empty if their path names it.
func (p layoutParser) hub() string {
	if !p.root.Has("hub") {
		return ""
	}
	n, name := p.root.Node().Get("hub"), p.root.String("hub")
	if n.Kind != yamldoc.String || !labels.IsName(name) {
		p.r.Add(problem.InvalidLayout, n, `key "hub"`, fmt.Sprintf("%q is no DNS-1123 label", n.Text()), "a hub's name: lower case letters, digits and inner hyphens")
		return ""
	}
	return name
}

func (p layoutParser) members(hub string) *pathpattern.Members {
	text := p.root.String("members")
	pattern, err := pathpattern.NewMembers(text, hub)
	if err != nil {
		p.fail(p.root.Node().Get("members"), `key "members"`, err)
	}
	return pattern
}

func (p layoutParser) path(m *yamldoc.MapReader, key string) string {
	clean, err := snapshot.CleanPath(m.String(key))
	if err != nil {
		p.fail(m.Node().Get(key), fmt.Sprintf("key %q", key), err)
	}
	return clean
}

func (p layoutParser) groups(l *Layout) {
	groups := p.root.Map("groups")
	for _, f := range groups.Node().Fields() {
		if f.Value.IsNull() {
			continue // null takes a default group away
		}
		g := groups.Map(f.Key)
		g.Known("root", "catalog")
		if !labels.IsName(f.Key) {
			p.r.AddAt(problem.InvalidLayout, groups.KeyPos(f.Key), fmt.Sprintf("group %q", f.Key), "is no DNS-1123 name", "lower case letters, digits and inner hyphens")
			continue
		}
		group := Group{Name: f.Key, Root: f.Key, Pos: f.Value.Pos(), OwnCatalogs: f.Key == Workloads}
		if g.Has("root") {
			group.Root = p.path(g, "root")
		}
		p.catalogs(g, &group)
		l.Groups[f.Key] = group
	}
	if len(l.Groups) == 0 {
		p.r.AddAt(problem.InvalidLayout, p.root.KeyPos("groups"), `key "groups"`, "names no group", "at least one")
	}
}

// catalogs reads one path or a list of paths.
func (p layoutParser) catalogs(g *yamldoc.MapReader, group *Group) {
	declared := g.Node().Get("catalog")
	nodes := []*yamldoc.Node{declared}
	switch {
	case declared.IsNull():
		return
	case declared.Kind == yamldoc.List:
		nodes, group.OwnCatalogs = g.List("catalog"), true
	}
	for _, n := range nodes {
		file, err := snapshot.CleanPath(n.Text())
		switch {
		case n.Kind != yamldoc.String:
			p.r.Add(problem.InvalidLayout, n, `key "catalog"`, "is a "+n.Kind.String(), "a path, or a list of paths")
		case err != nil:
			p.fail(n, `key "catalog"`, err)
		case hierarchy.IsTemplate(file):
			p.r.Add(problem.InvalidLayout, n, `key "catalog"`, fmt.Sprintf("%q is a template", file), "a plain file: its strings are templates over the facts")
		case slices.Contains(group.Catalogs, file):
			p.r.Add(problem.InvalidLayout, n, `key "catalog"`, fmt.Sprintf("%q is given again", file), "each file once")
		default:
			group.Catalogs = append(group.Catalogs, file)
		}
	}
}

// levels compiles and tries a list of levels. It also returns their folders with sentinels for the
// facts.
func (p layoutParser) levels(key string) (*hierarchy.Hierarchy, [][]string) {
	var specs []hierarchy.LevelSpec
	var dirs [][]string
	seen := map[string]bool{}
	items := p.root.List(key)
	for i, item := range items {
		m := p.r.Map(item, fmt.Sprintf("level %d", i+1))
		m.Known("name", "dir", "required", "owner")
		s := hierarchy.LevelSpec{Name: m.String("name"), Dir: m.String("dir"), Required: m.Bool("required", false), Pos: item.Pos()}
		switch {
		case s.Name == "" || s.Dir == "":
			p.r.Add(problem.InvalidLayout, item, fmt.Sprintf("level %d", i+1), "lacks name or dir", "both")
			continue
		case seen[s.Name]:
			p.r.Add(problem.InvalidLayout, item, fmt.Sprintf("level %q", s.Name), "given again", "each level once")
		}
		seen[s.Name] = true
		if t := p.template(m, "dir", nil); t != nil {
			if out, err := try(t); err == nil {
				dirs = append(dirs, strings.Split(out, "/"))
			}
		}
		specs = append(specs, s)
	}
	if n := p.root.Node().Get(key); len(items) == 0 && (n.IsNull() || n.Kind == yamldoc.List) {
		p.r.AddAt(problem.InvalidLayout, p.root.KeyPos(key), fmt.Sprintf("key %q", key), "names no level", "at least one")
		return nil, nil
	}
	if p.r.Err() != nil {
		return nil, dirs
	}
	h, err := hierarchy.New(specs)
	if err != nil {
		p.fail(p.root.Node().Get(key), fmt.Sprintf("key %q", key), err)
	}
	return h, dirs
}

func (p layoutParser) merge() hierarchy.Rules {
	var rules []hierarchy.Rule
	items := p.root.List("merge")
	for i, item := range items {
		m := p.r.Map(item, fmt.Sprintf("merge rule %d", i+1))
		m.Known("path", "group", "component", "strategy")
		rule := hierarchy.Rule{Pattern: m.String("path"), Group: m.String("group"), Component: m.String("component"), Pos: item.Pos()}
		if s := m.Node().Get("strategy"); s.IsMap() {
			by := m.Map("strategy")
			by.Known(string(hierarchy.ByKey))
			rule.Strategy, rule.Key = hierarchy.ByKey, by.String(string(hierarchy.ByKey))
		} else {
			rule.Strategy, rule.Key = hierarchy.ParseStrategy(m.String("strategy"))
		}
		if _, err := hierarchy.NewRules(rule); err != nil {
			p.fail(item, fmt.Sprintf("merge rule %d", i+1), err)
			continue
		}
		rules = append(rules, rule)
	}
	out, err := hierarchy.NewRules(rules...)
	if err != nil {
		p.fail(p.root.Node(), `key "merge"`, err)
	}
	return out
}
