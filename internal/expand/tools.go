package expand

import (
	"encoding/json"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Ask is the generator plugin: the answer to the input.parameters of an ApplicationSet of that name.
type Ask func(applicationSet string, parameters json.RawMessage) (json.RawMessage, error)

// Parameters is one parameter set that a generator yields.
type Parameters struct {
	Values map[string]any
	// Template is what the renderer needs to know of the ApplicationSet; Index is the same for all sets of one template.
	Template any
	Index    int
}

// ApplicationSets is Argo CD's ApplicationSet controller, as far as it is a function.
type ApplicationSets interface {
	// Parameters are the sets that an ApplicationSet's generators yield, in order.
	Parameters(set Tree, ask Ask) ([]Parameters, error)
	// Application is what the ApplicationSet's template makes of one of them.
	Application(p Parameters) (Tree, error)
}

// Chart is a chart, and how an Application renders it.
type Chart struct {
	// Name is the folder's path, for messages. Files are by paths relative to the chart, sorted.
	Name  string
	Files []*snapshot.File
	// ReleaseName and Namespace are Helm's.
	ReleaseName, Namespace string
	// Values are texts, the later wins.
	Values []string
	// Parameters are `--set` and `--set-string`, after Values.
	Parameters []Parameter
	// SkipCRDs leaves the chart's own definitions out, which are objects otherwise.
	SkipCRDs bool
	// APIVersions are what the cluster is said to have, besides Helm's defaults.
	APIVersions []string
}

// Parameter is one of source.helm.parameters.
type Parameter struct {
	Name, Value string
	ForceString bool
}

// Manifest is an object that a chart made.
type Manifest struct {
	// Template is the file, relative to the chart.
	Template string
	Tree     Tree
}

// Charts is Helm, as `helm template` has it.
type Charts interface {
	Template(c Chart) ([]Manifest, error)
}

// Tools are what expand does not link. Both are required.
type Tools struct {
	ApplicationSets ApplicationSets
	Charts          Charts
}
