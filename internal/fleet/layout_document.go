package fleet

import (
	"fmt"
	"time"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// LayoutDocument is a layout file. Each key may be null, and then has its default.
type LayoutDocument struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind,omitempty" jsonschema:"enum=Layout"`
	// Members is the path of member files, a template over .hub, .cluster and .tenant.
	Members string `json:"members,omitempty"`
	// Hub is the hub of all members, where their path does not name it.
	Hub string `json:"hub,omitempty" is:"name quoted" expect:"a hub's name"`
	// Hubs are hubs without a member file, with the keys of one.
	Hubs map[string]*yamldoc.Node `json:"hubs,omitempty"`
	// Versions are the versions files; null for a fleet without releases.
	Versions LayoutVersions `json:"versions,omitempty"`
	// Groups are the groups by name; null removes a default one.
	Groups map[string]LayoutGroup `json:"groups,omitempty" is:"name"`
	// Levels are the levels of spokes, HubLevels the levels of hubs, least specific first.
	Levels    []LayoutLevel `json:"levels,omitempty" jsonschema:"minItems=1,maxItems=64" expect:"at least one"`
	HubLevels []LayoutLevel `json:"hubLevels,omitempty" jsonschema:"minItems=1,maxItems=64" expect:"at least one"`
	Files     LayoutFiles   `json:"files,omitempty"`
	// Merge are strategies other than Helm's, by path.
	Merge       []LayoutMerge     `json:"merge,omitempty"`
	Guard       LayoutGuard       `json:"guard,omitempty"`
	SecretNames LayoutSecretNames `json:"secretNames,omitempty"`
	// TenantSchemas are the schemas of what tenants may set, by GROUP/COMPONENT.
	TenantSchemas map[string]repositoryPath `json:"tenantSchemas,omitempty"`
	// DuplicateKeys is the severity of a key that a map has twice; with warn, the last one wins.
	DuplicateKeys bool `json:"duplicateKeys,omitempty" jsonschema:"type=string,enum=error,enum=warn"`
	// CatalogValuesWin says whether the values of catalogs come before value files or beat them.
	CatalogValuesWin bool       `json:"catalogValues,omitempty" jsonschema:"type=string,enum=first,enum=last"`
	Lint             LayoutLint `json:"lint,omitempty"`
	// Mounts are further repositories, by the path that each is joined below.
	Mounts map[string]Mount `json:"mounts,omitempty"`
}

// LayoutVersions are the paths of the versions files.
type LayoutVersions struct {
	ApplicationSets repositoryPath `json:"applicationSets,omitempty"`
	FleetSecrets    repositoryPath `json:"fleetSecrets,omitempty"`
}

// LayoutGroup is a group of components.
type LayoutGroup struct {
	// Root is the folder of the group's levels; default the group's name.
	Root repositoryPath `json:"root,omitempty"`
	// Catalog is the catalog that queries without a base start from, or a list of catalogs.
	Catalog []catalogPath `json:"catalog,omitempty" jsonschema:"oneof_type=string;array,uniqueItems=true"`
	Pos     problem.Pos   `json:"-" is:"place"`
}

// LayoutLevel is a level of the hierarchy.
type LayoutLevel struct {
	Name string `json:"name" expect:"the level's name"`
	// Dir is the level's folder, a template over the facts.
	Dir string `json:"dir" expect:"the level's folder"`
	// Required makes a missing value file of the level an error.
	Required bool `json:"required,omitempty" jsonschema:"oneof_type=boolean;string"`
	// Owner says whose the level's files are.
	Owner string      `json:"owner,omitempty" jsonschema:"enum=platform,enum=tenant"`
	Pos   problem.Pos `json:"-" is:"place"`
}

// LayoutFiles are paths inside a level's folder, templates over the facts.
type LayoutFiles struct {
	Values  string `json:"values,omitempty"`
	Catalog string `json:"catalog,omitempty"`
}

// LayoutMerge is a rule of merging.
type LayoutMerge struct {
	Path      string `json:"path" expect:"a path of keys"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Strategy is append, unique, replace, "by-key: KEY" or {by-key: KEY}.
	Strategy *yamldoc.Node `json:"strategy" jsonschema:"oneof_type=string;object" expect:"append, unique, by-key or replace"`
	Pos      problem.Pos   `json:"-" is:"place"`
}

// LayoutGuard is the removal budget and the place of approvals.
type LayoutGuard struct {
	// MaxRemovals is a number of members, or a whole percentage such as 10%.
	MaxRemovals Budget `json:"maxRemovals,omitempty"`
	// Window is how long unapproved removals count, such as 1h.
	Window    time.Duration  `json:"window,omitempty" longest:"720h"`
	Approvals repositoryPath `json:"approvals,omitempty"`
}

// LayoutSecretNames are patterns of the secrets in the store that tenants may name.
type LayoutSecretNames struct {
	Cluster []*namePattern `json:"cluster,omitempty" expect:"text such as {{ .hub }}/{{ .cluster }}, with * and ? for what may differ"`
	Git     []*namePattern `json:"git,omitempty" expect:"text such as {{ .hub }}/{{ .cluster }}, with * and ? for what may differ"`
}

// LayoutLint are options of argosy lint.
type LayoutLint struct {
	// Ignore are paths whose warnings are left out.
	Ignore []IgnoredPath `json:"ignore,omitempty" expect:"a path in the repository, such as addons/**/.keep"`
}

// repositoryPath is a path inside the repository.
type repositoryPath string

// UnmarshalText cleans the path.
func (p *repositoryPath) UnmarshalText(text []byte) error {
	clean, err := snapshot.CleanPath(string(text))
	*p = repositoryPath(clean)
	return err
}

// catalogPath is the path of a catalog.
type catalogPath string

// UnmarshalText cleans the path.
func (p *catalogPath) UnmarshalText(text []byte) error {
	clean, err := snapshot.CleanPath(string(text))
	if err == nil && hierarchy.IsTemplate(clean) {
		return problem.Problem{Found: fmt.Sprintf("%q is a template", clean), Expected: "a plain file: its strings are templates over the facts"}
	}
	*p = catalogPath(clean)
	return err
}
