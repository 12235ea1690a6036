package fleet

import (
	"github.com/argosy-hub/argosy/internal/base/problem"
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
	Groups map[string]Group `json:"groups,omitempty" is:"name"`
	// Levels are the levels of spokes, HubLevels the levels of hubs, least specific first.
	Levels    []LayoutLevel `json:"levels,omitempty" jsonschema:"minItems=1,maxItems=64" expect:"at least one"`
	HubLevels []LayoutLevel `json:"hubLevels,omitempty" jsonschema:"minItems=1,maxItems=64" expect:"at least one"`
	Files     LayoutFiles   `json:"files,omitempty"`
	// Merge are strategies other than Helm's, by path.
	Merge       []LayoutMerge `json:"merge,omitempty"`
	Guard       Guard         `json:"guard,omitempty"`
	SecretNames SecretNames   `json:"secretNames,omitempty"`
	// TenantSchemas are the schemas of what tenants may set, by GROUP/COMPONENT.
	TenantSchemas map[string]string `json:"tenantSchemas,omitempty" is:"path"`
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
	ApplicationSets string `json:"applicationSets,omitempty" is:"path"`
	FleetSecrets    string `json:"fleetSecrets,omitempty" is:"path"`
}

// LayoutLevel is a level of the hierarchy.
type LayoutLevel struct {
	hierarchy.LevelSpec
	// Owner says whose the level's files are.
	Owner string `json:"owner,omitempty" jsonschema:"enum=platform,enum=tenant"`
}

// LayoutFiles are paths inside a level's folder, templates over the facts.
type LayoutFiles struct {
	Values  string `json:"values,omitempty"`
	Catalog string `json:"catalog,omitempty"`
}

// LayoutMerge is a rule of merging.
type LayoutMerge struct {
	hierarchy.Rule
	// By is append, unique, replace, "by-key: KEY" or {by-key: KEY}.
	By *yamldoc.Node `json:"strategy" jsonschema:"oneof_type=string;object" expect:"append, unique, by-key or replace"`

	rule hierarchy.Rules // the one, compiled
}

// Check reads the strategy, and checks the rule.
func (m *LayoutMerge) Check(at yamldoc.At) {
	if m.By.IsMap() {
		var by struct {
			Key string `json:"by-key"`
		}
		at.Below("strategy", problem.InvalidLayout, &by)
		m.Strategy, m.Key = hierarchy.ByKey, by.Key
	} else {
		m.Strategy, m.Key = hierarchy.ParseStrategy(m.By.Text())
	}
	if m.Pattern == "" || m.By == nil || m.By.IsMap() && m.Key == "" {
		return // reported
	}
	var err error
	m.rule, err = hierarchy.NewRules(m.Rule)
	at.Fail("", err)
}

// LayoutLint are options of argosy lint.
type LayoutLint struct {
	// Ignore are paths whose warnings are left out.
	Ignore []IgnoredPath `json:"ignore,omitempty" expect:"a path in the repository, such as addons/**/.keep"`
}
