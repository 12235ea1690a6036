package fleet

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/fleet/pathpattern"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/hierarchy"
	"github.com/argosy-hub/argosy/internal/labels"
)

// LayoutFile is the path of a repository's layout.
const LayoutFile = "fleet/layout.yaml"

// APIVersion is the version of all of Argosy's own files and outputs.
const APIVersion = "argosy.dev/v1alpha1"

//go:embed default_layout.yaml
var defaultLayout []byte

// Group is a set of components that are owned and released together.
type Group struct {
	Name string `json:"-"`
	// Root is the folder of the group's levels; default the group's name.
	Root string `json:"root,omitempty" is:"path"`
	// Catalogs is the catalog that queries without a base start from, or a list of catalogs.
	Catalogs []string `json:"catalog,omitempty" is:"path" jsonschema:"oneof_type=string;array,uniqueItems=true"`
	// OwnCatalogs says that the layout lists the catalogs: the fleet's own, beside the catalog of
	// charts/application-sets. The releases view hands their entries to the chart.
	OwnCatalogs bool        `json:"-"`
	Pos         problem.Pos `json:"-" is:"place"`
}

// Workloads is the group of the teams' applications: its catalogs are the fleet's own.
const Workloads = "workloads"

// Layout says where the files of a repository are.
type Layout struct {
	// File is the layout's path: LayoutFile, or the file that is read instead.
	File string
	// Members is the path of member files.
	Members *pathpattern.Members
	// Hub is the hub of all member files, where their path does not name it.
	Hub string
	// Hubs are the hubs that the layout declares, by name: they have no member file.
	Hubs map[string]*Member
	// ApplicationSets and FleetSecrets are the versions files; empty where the layout has none.
	ApplicationSets, FleetSecrets string
	// Groups are the groups, by name.
	Groups map[string]Group
	// Levels are the levels of spokes, HubLevels the levels of hubs.
	Levels, HubLevels *hierarchy.Hierarchy
	// Values and Catalog are the files inside a level's folder, templates over the facts.
	Values, Catalog *FileTemplate
	// CatalogValuesWin says that the values of catalog entries beat value files.
	CatalogValuesWin bool
	// LintIgnore are the paths whose warnings lint leaves out.
	LintIgnore []IgnoredPath
	// Merge has the merge strategies other than Helm's.
	Merge hierarchy.Rules
	// DuplicateKeys is the severity of keys that a map has twice.
	DuplicateKeys problem.Severity
	// Guard is the removal budget and the folder of approvals.
	Guard Guard
	// SecretNames are the secrets that tenants may name.
	SecretNames SecretNames
	// Mounts are other repositories that are joined, by path.
	Mounts []Mount
	// Shape is the same for two layouts that find the same files for the same members.
	Shape string
	// TenantSchemas are the files that say what a tenant's level may set of components that land on
	// the hub, by "group/component". For an empty path, it may set nothing.
	TenantSchemas map[string]SchemaFile
	// dirs are the folders of the spokes' levels, in parts, with sentinels for the facts; hubDirs
	// are the folders of the hubs' levels. tenantLevels are the levels that belong to a tenant.
	dirs, hubDirs [][]string
	tenantLevels  map[string]bool
	chosenLevels  map[string]bool
	levelNames    []string // of the spokes' levels, in the order of dirs
	// reserved are names that a tenant, environment or cluster cannot have, because they are the
	// names of a level's own folders.
	reserved map[string][]string
}

// GroupNames returns the names of the groups, sorted.
func (l *Layout) GroupNames() []string { return slices.Sorted(maps.Keys(l.Groups)) }

// LevelsOf returns the levels that apply to a member.
func (l *Layout) LevelsOf(m *Member) *hierarchy.Hierarchy {
	if m.IsHub {
		return l.HubLevels
	}
	return l.Levels
}

// DefaultLayout returns the layout of a repository without a layout file.
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
	d := LayoutDocument{Guard: Guard{MaxRemovals: Budget{rollout.Limit{Percent: 10}}, Approvals: "fleet/approvals"}}
	at := r.Decode(hierarchy.Merge(layers, nil).Root, "the layout", problem.InvalidLayout, &d)
	l := layoutParser{at: at, d: &d}.parse()
	l.File = file
	if err := r.Err(); err != nil {
		return nil, err
	}
	return l, nil
}

// layoutParser makes a layout of a decoded file.
type layoutParser struct {
	at yamldoc.At
	d  *LayoutDocument
}

func (p layoutParser) parse() *Layout {
	d := p.d
	if !labels.IsName(d.Hub) {
		d.Hub = "" // reported
	}
	l := &Layout{
		Hub: d.Hub, ApplicationSets: d.Versions.ApplicationSets, FleetSecrets: d.Versions.FleetSecrets, CatalogValuesWin: d.CatalogValuesWin,
		LintIgnore: d.Lint.Ignore, SecretNames: d.SecretNames, Guard: d.Guard, DuplicateKeys: problem.Error,
	}
	if d.DuplicateKeys {
		l.DuplicateKeys = problem.Warning
	}
	l.Members = p.members(l.Hub)
	l.Groups = p.groups()
	files := p.at.In("files")
	l.Values = p.valuesFile(files)
	l.Catalog = p.file(files, "catalog", []string{"level"}, "group")
	l.Levels, l.dirs = p.levels("levels", d.Levels)
	l.HubLevels, l.hubDirs = p.levels("hubLevels", d.HubLevels)
	for _, m := range d.Merge {
		l.Merge = append(l.Merge, m.rule...)
	}
	l.reserved = reservedNames(slices.Concat(l.dirs, l.hubDirs))
	l.Shape = p.shape()
	l.TenantSchemas = p.tenantSchemas(l.Groups)
	l.tenantLevels, l.chosenLevels = p.tenantLevels()
	if l.Members != nil { // else it was reported
		l.Hubs = p.hubs(l)
		l.Mounts = p.mounts(l)
		l.addMountLevels(d.Levels)
	}
	return l
}

// shape returns a digest of the keys that say where files are.
func (p layoutParser) shape() string {
	h := sha256.New()
	for _, key := range []string{"members", "hub", "hubs", "versions", "groups", "levels", "hubLevels", "files", "catalogValues"} {
		text, err := p.at.Node.Get(key).YAML()
		fmt.Fprintf(h, "%s %d %v\n%s", key, len(text), err, text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (p layoutParser) members(hub string) *pathpattern.Members {
	pattern, err := pathpattern.NewMembers(p.d.Members, hub)
	p.at.Fail("members", err)
	return pattern
}

func (p layoutParser) groups() map[string]Group {
	out := map[string]Group{}
	for name, g := range p.d.Groups {
		catalogs := p.at.Node.Get("groups").Get(name).Get("catalog")
		g.Name, g.Root, g.OwnCatalogs = name, cmp.Or(g.Root, name), name == Workloads || catalogs != nil && catalogs.Kind == yamldoc.List
		out[name] = g
		for i, n := range slices.Concat(catalogs.Items(), []*yamldoc.Node{catalogs}) {
			if key := "groups." + name + ".catalog"; hierarchy.IsTemplate(n.Text()) {
				if n != catalogs {
					key = fmt.Sprintf("%s[%d]", key, i)
				}
				p.at.Add(problem.InvalidLayout, n, fmt.Sprintf("key %q", key), fmt.Sprintf("%q is a template", n.Text()), "a plain file: its strings are templates over the facts")
			}
		}
	}
	if len(out) == 0 {
		p.at.Wrong("groups", "names no group", "at least one")
	}
	return out
}

// levels compiles and tries a list of levels. It also returns their folders with sentinels for the
// facts.
func (p layoutParser) levels(key string, levels []LayoutLevel) (*hierarchy.Hierarchy, [][]string) {
	var specs []hierarchy.LevelSpec
	var dirs [][]string
	for i := range levels {
		at, level := p.at.Item(key, i), &levels[i]
		if level.Name == "" || level.Dir == "" {
			continue // reported
		}
		if slices.ContainsFunc(levels[:i], func(other LayoutLevel) bool { return other.Name == level.Name }) {
			at.Wrong("name", fmt.Sprintf("%q is given again", level.Name), "each level once")
			continue
		}
		if level.Template = p.template(at, "dir", nil); level.Template == nil {
			continue
		}
		if out, err := try(level.Template); err == nil {
			dirs = append(dirs, strings.Split(out, "/"))
		}
		specs = append(specs, level.LevelSpec)
	}
	return hierarchy.New(specs...), dirs
}
