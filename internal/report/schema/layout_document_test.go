package schema

// LayoutDocument is a layout file as its JSON Schema describes it. fleet.ParseLayout reads it
// with positions. Each key may be null, and then has its default.
type LayoutDocument struct {
	APIVersion string `json:"apiVersion,omitempty" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind       string `json:"kind,omitempty" jsonschema:"enum=Layout"`
	// Members is the path of member files, a template over .hub, .cluster and .tenant.
	Members string `json:"members,omitempty"`
	// Hub is the hub of all members, where their path does not name it.
	Hub string `json:"hub,omitempty"`
	// Hubs are hubs without a member file, with the keys of one.
	Hubs map[string]map[string]any `json:"hubs,omitempty"`
	// Versions are the versions files; null for a fleet without releases.
	Versions LayoutVersions `json:"versions,omitempty"`
	// Groups are the groups by name; null removes a default one.
	Groups map[string]LayoutGroup `json:"groups,omitempty"`
	// Levels are those of spokes, HubLevels those of hubs, least specific first.
	Levels    []LayoutLevel `json:"levels,omitempty" jsonschema:"minItems=1,maxItems=64"`
	HubLevels []LayoutLevel `json:"hubLevels,omitempty" jsonschema:"minItems=1,maxItems=64"`
	Files     LayoutFiles   `json:"files,omitempty"`
	// Merge are strategies other than Helm's, by path.
	Merge       []LayoutMerge     `json:"merge,omitempty"`
	Guard       LayoutGuard       `json:"guard,omitempty"`
	SecretNames LayoutSecretNames `json:"secretNames,omitempty"`
	// TenantSchemas are the schemas of what tenants may set, by GROUP/COMPONENT.
	TenantSchemas map[string]string `json:"tenantSchemas,omitempty"`
	// DuplicateKeys says what a key is that a map has twice; with warn, the last one wins.
	DuplicateKeys string `json:"duplicateKeys,omitempty" jsonschema:"enum=error,enum=warn"`
	// SecretStores are ClusterSecretStores that exist although no object of the fleet makes them.
	SecretStores   []string             `json:"secretStores,omitempty"`
	CatalogMapping LayoutCatalogMapping `json:"catalogMapping,omitempty"`
	// CatalogValues says whether the values of catalogs come before value files or beat them.
	CatalogValues string     `json:"catalogValues,omitempty" jsonschema:"enum=first,enum=last"`
	Lint          LayoutLint `json:"lint,omitempty"`
	// Mounts are further repositories, by the path that each is joined below.
	Mounts map[string]LayoutMount `json:"mounts,omitempty"`
}

// LayoutVersions are the paths of the versions files.
type LayoutVersions struct {
	ApplicationSets string `json:"applicationSets,omitempty"`
	FleetSecrets    string `json:"fleetSecrets,omitempty"`
}

// LayoutGroup is a group of components.
type LayoutGroup struct {
	// Root is the folder of the group's levels; default the group's name.
	Root string `json:"root,omitempty"`
	// Catalog is the catalog that queries without a base start from, or a list of catalogs.
	Catalog any `json:"catalog,omitempty" jsonschema:"oneof_type=string;array"`
}

// LayoutLevel is a level of the hierarchy.
type LayoutLevel struct {
	Name string `json:"name"`
	// Dir is the level's folder, a template over the facts.
	Dir string `json:"dir"`
	// Required makes a missing value file of the level an error.
	Required any `json:"required,omitempty" jsonschema:"oneof_type=boolean;string"`
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
	Path      string `json:"path"`
	Group     string `json:"group,omitempty"`
	Component string `json:"component,omitempty"`
	// Strategy is append, unique, replace, "by-key: KEY" or {by-key: KEY}.
	Strategy any `json:"strategy" jsonschema:"oneof_type=string;object"`
}

// LayoutGuard is the removal budget and the place of approvals.
type LayoutGuard struct {
	// MaxRemovals is a number of members, or a whole percentage such as 10%.
	MaxRemovals any `json:"maxRemovals,omitempty" jsonschema:"oneof_type=integer;string"`
	// Window is how long unapproved removals count, such as 1h.
	Window    string `json:"window,omitempty"`
	Approvals string `json:"approvals,omitempty"`
}

// LayoutSecretNames are patterns of the secrets in the store that tenants may name.
type LayoutSecretNames struct {
	Cluster []string `json:"cluster,omitempty"`
	Git     []string `json:"git,omitempty"`
}

// LayoutLint are options of argosy lint.
type LayoutLint struct {
	// Ignore are paths whose warnings are left out.
	Ignore []string `json:"ignore,omitempty"`
}

// LayoutMount is a repository that is joined below a path.
type LayoutMount struct {
	URL string `json:"url"`
	// Ref is a branch, a tag or a commit; default main.
	Ref         string `json:"ref,omitempty"`
	Team        string `json:"team"`
	Credentials string `json:"credentials,omitempty"`
}

// LayoutCatalogMapping reads catalogs in another format.
type LayoutCatalogMapping struct {
	Keys LayoutMappedKeys `json:"keys,omitempty"`
	// UnderscoresToDashes makes a - of each _ of a component's name.
	UnderscoresToDashes any `json:"underscoresToDashes,omitempty" jsonschema:"oneof_type=boolean;string"`
	// Ignore are keys beside the components that are none.
	Ignore []string `json:"ignore,omitempty"`
	// Companions are further charts of entries, by the companion's name.
	Companions map[string]LayoutMappedCompanion `json:"companions,omitempty"`
	// Source is the repository of charts whose entries have a path and no repository.
	Source LayoutMappedSource `json:"source,omitempty"`
}

// LayoutMappedKeys are Argosy's keys, each with the name that entries have for it, or a list of
// names, of which the first that is there holds.
type LayoutMappedKeys struct {
	Enabled        any `json:"enabled,omitempty" jsonschema:"oneof_type=string;array"`
	ChartRepoURL   any `json:"chart.repoURL,omitempty" jsonschema:"oneof_type=string;array"`
	ChartNamespace any `json:"chart.namespace,omitempty" jsonschema:"oneof_type=string;array"`
	ChartName      any `json:"chart.name,omitempty" jsonschema:"oneof_type=string;array"`
	ChartVersion   any `json:"chart.version,omitempty" jsonschema:"oneof_type=string;array"`
	ChartPath      any `json:"chart.path,omitempty" jsonschema:"oneof_type=string;array"`
	Folder         any `json:"folder,omitempty" jsonschema:"oneof_type=string;array"`
	Namespace      any `json:"namespace,omitempty" jsonschema:"oneof_type=string;array"`
	ReleaseName    any `json:"releaseName,omitempty" jsonschema:"oneof_type=string;array"`
	Selector       any `json:"selector,omitempty" jsonschema:"oneof_type=string;array"`
	Values         any `json:"values,omitempty" jsonschema:"oneof_type=string;array"`
	Kind           any `json:"kind,omitempty" jsonschema:"oneof_type=string;array"`
	DependsOn      any `json:"dependsOn,omitempty" jsonschema:"oneof_type=string;array"`
}

// LayoutMappedCompanion is a further chart that entries have below a key of their own, or switch by
// one.
type LayoutMappedCompanion struct {
	// From is that key, or a path of keys.
	From string                     `json:"from"`
	Keys LayoutMappedCompanionsKeys `json:"keys,omitempty"`
	// When are the values that keys below From have where an entry means this companion.
	When map[string]string `json:"when,omitempty"`
	// Flag is the chart's value that gets what the entry says.
	Flag  string            `json:"flag,omitempty"`
	Chart LayoutMappedChart `json:"chart,omitempty"`
	// Values are values of the chart on all clusters, templates over the facts.
	Values map[string]any `json:"values,omitempty"`
}

// LayoutMappedChart is the chart of a companion that entries switch.
type LayoutMappedChart struct {
	RepoURL string `json:"repoURL,omitempty"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	Path    string `json:"path,omitempty"`
}

// LayoutMappedCompanionsKeys are Argosy's keys of a companion, each with the name that it has below
// the companion's key.
type LayoutMappedCompanionsKeys struct {
	ChartRepoURL string `json:"chart.repoURL,omitempty"`
	ChartName    string `json:"chart.name,omitempty"`
	ChartVersion string `json:"chart.version,omitempty"`
	ChartPath    string `json:"chart.path,omitempty"`
	ReleaseName  string `json:"releaseName,omitempty"`
	Values       string `json:"values,omitempty"`
}

// LayoutMappedSource are templates over the facts.
type LayoutMappedSource struct {
	RepoURL  string `json:"repoURL"`
	Revision string `json:"revision"`
}
