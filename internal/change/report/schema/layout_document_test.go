package schema

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
