package explain

import "github.com/argosy-hub/argosy/internal/base/problem"

// Explanation says where everything about one component of one cluster comes from.
type Explanation struct {
	APIVersion  string `json:"apiVersion" jsonschema:"enum=argosy.dev/v1alpha1"`
	Kind        string `json:"kind" jsonschema:"enum=Explanation"`
	Revision    string `json:"revision"`
	Hub         string `json:"hub"`
	Cluster     string `json:"cluster"`
	Tenant      string `json:"tenant"`
	Environment string `json:"environment"`
	// Member is the member file.
	Member    problem.Pos `json:"member"`
	Model     string      `json:"model" jsonschema:"enum=centralized,enum=agent"`
	Lifecycle string      `json:"lifecycle" jsonschema:"enum=active,enum=draining,enum=retired"`
	Group     string      `json:"group"`
	Component string      `json:"component"`
	// State says whether the cluster runs the component, and if not, why.
	State string `json:"state" jsonschema:"enum=deployed,enum=switched-off,enum=not-selected,enum=not-registered,enum=not-listed,enum=not-requested,enum=retired"`
	// Deletion is what becomes of the workloads of a component that the cluster must not run: they
	// are removed with the Application (cascade), or stay (orphan). Absent where the cluster must
	// run it.
	Deletion string `json:"deletion,omitempty" jsonschema:"enum=cascade,enum=orphan"`
	// Owner is whose engine owns the Application: "hub", or the member's name.
	Owner string `json:"owner"`
	// Engine is the owner's engine.
	Engine  string        `json:"engine" jsonschema:"enum=argocd,enum=flux"`
	Release ReleaseChoice `json:"release"`
	// Enabled is the catalog entry's switch; absent when no level sets it, and for the registration
	// chart.
	Enabled *Setting `json:"enabled,omitempty"`
	// Selector is the catalog entry's label selector; absent when it has none.
	Selector *Setting `json:"selector,omitempty"`
	// SelectorLabels are the cluster's labels that the selector names.
	SelectorLabels []Label `json:"selectorLabels"`
	// Source is "manifests" for a folder in Git, chart.path, and "chart" for a chart; absent for
	// the registration chart.
	Source *Setting `json:"source,omitempty"`
	// DependsOn are the components that it waits for. With Substitute, Flux replaces variables in
	// manifests by facts.
	DependsOn  *Setting `json:"dependsOn,omitempty"`
	Substitute *Setting `json:"substitute,omitempty"`
	// Chart are the chart's coordinates. Those that are not set are absent.
	Chart       ChartCoordinates `json:"chart"`
	Namespace   *Setting         `json:"namespace,omitempty"`
	ReleaseName *Setting         `json:"releaseName,omitempty"`
	// Catalog are the files with a catalog entry for the component, least specific first.
	Catalog []Layer `json:"catalog"`
	// Layers are the layers of the values, least specific first, the missing ones included.
	Layers []Layer `json:"layers"`
	// Path restricts the values; absent for all values.
	Path   string  `json:"path,omitempty"`
	Values []Value `json:"values"`
	// Conflicts are type conflicts between layers.
	Conflicts []problem.Finding `json:"conflicts"`
	// Labels are all labels of the cluster.
	Labels []Label `json:"labels"`
}

// Kind is the kind of an Explanation.
const Kind = "Explanation"

// ReleaseChoice is the cluster's release of the group, and the label that chose it. The
// registration chart has releases of its own, in versions/fleetSecrets.yaml.
type ReleaseChoice struct {
	Type string `json:"type"`
	// Label is the label that chooses a release.
	Label string `json:"label"`
	// Labelled means that the cluster has it; without, it is on the release of type "default".
	Labelled bool `json:"labelled"`
	// Position is where Git declares it; absent when only the live cluster Secret has it.
	Position problem.Pos `json:"position,omitzero"`
	// Source is the chart that brings the release's catalog, or the registration chart itself, by
	// the versions file; absent where no file mentions the group.
	Source *ReleaseSource `json:"source,omitempty"`
	// Catalog is the catalog that is shown: a file of this revision of the repository, or
	// COMMIT:FILE for one at the revision that Source names. Absent where the layout names none.
	Catalog string `json:"catalog,omitempty"`
	// CatalogRevision is the commit of that revision; absent for a file of this one.
	CatalogRevision string `json:"catalogRevision,omitempty"`
	// CatalogMissing says why the catalog of Source cannot be read. Then this revision's is shown.
	CatalogMissing string `json:"catalogMissing,omitempty"`
	// Unlisted means that the release's catalog lacks the component: no ApplicationSet of the
	// release asks for it, except a leftover one. It is shown by this revision's catalog, if that
	// has it.
	Unlisted bool `json:"unlisted,omitempty"`
}

// ReleaseSource is where the chart of a release comes from. Settings that no file has are absent.
type ReleaseSource struct {
	RepoURL        *Setting `json:"repoURL,omitempty"`
	Path           *Setting `json:"path,omitempty"`
	Chart          *Setting `json:"chart,omitempty"`
	TargetRevision *Setting `json:"targetRevision,omitempty"`
}

// ChartCoordinates are where a chart comes from.
type ChartCoordinates struct {
	RepoURL *Setting `json:"repoURL,omitempty"`
	Name    *Setting `json:"name,omitempty"`
	Path    *Setting `json:"path,omitempty"`
	Version *Setting `json:"version,omitempty"`
}

// Setting is one value of a catalog entry.
type Setting struct {
	Value any `json:"value"`
	// Level and Position are where it is set; absent for Argosy's own default.
	Level    string      `json:"level,omitempty"`
	Position problem.Pos `json:"position,omitzero"`
	// Over are the values that it overrides, the most recent first.
	Over []Overridden `json:"over,omitempty"`
}

// Layer is the file of one level.
type Layer struct {
	Level   string `json:"level"`
	Path    string `json:"path"`
	Present bool   `json:"present"`
}

// Value is one value of the merged tree: a scalar, null, an empty map, or a list.
type Value struct {
	Path     string       `json:"path"`
	Value    any          `json:"value"`
	Level    string       `json:"level"`
	Position problem.Pos  `json:"position,omitzero"`
	Over     []Overridden `json:"over,omitempty"`
}

// Overridden is a value of a lower level.
type Overridden struct {
	Value    any         `json:"value"`
	Level    string      `json:"level"`
	Position problem.Pos `json:"position,omitzero"`
}

// Label is a label of the cluster.
type Label struct {
	Key string `json:"key"`
	// Value is absent when the cluster has no such label.
	Value *string `json:"value,omitempty"`
	// Position is where Git declares it; absent for reserved labels, and for labels that only the
	// live cluster Secret has.
	Position problem.Pos `json:"position,omitzero"`
	// Live is the value of the live cluster Secret, where Value replaces it.
	Live *string `json:"live,omitempty"`
}

// The states of a component.
const (
	Deployed      = "deployed"
	SwitchedOff   = "switched-off"
	NotSelected   = "not-selected"
	NotRegistered = "not-registered"
	NotListed     = "not-listed"
	NotRequested  = "not-requested"
	Unknown       = "unknown"
	Retired       = "retired"
)

// IsSelected reports whether the catalogs select the component for the cluster, registered or not.
func (e Explanation) IsSelected() bool { return e.State != SwitchedOff && e.State != NotSelected }
