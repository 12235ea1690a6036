package expand

import (
	"encoding/json"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Query queries the generator plugin with the input.parameters of an ApplicationSet of that name.
type Query func(applicationSet string, parameters json.RawMessage) (json.RawMessage, error)

// Open opens a Git repository at a revision, which is empty for HEAD.
type Open func(repoURL, revision string) (*snapshot.Snapshot, error)

// Inputs holds what generators query.
type Inputs struct {
	Plugin Query
	Git    Open
	// Clusters are the clusters that the cluster generator lists; nil if it is not followed.
	Clusters []Cluster
}

// Cluster is a cluster in Argo CD: its cluster Secret without credentials.
type Cluster struct {
	Name, Server, Project string
	Labels, Annotations   map[string]string
}

// Parameters is one parameter set that a generator yields.
type Parameters struct {
	Values map[string]any
	// Template is what the renderer needs to know of the ApplicationSet. Index is the same for all
	// sets of one template.
	Template any
	Index    int
}

// ApplicationSets is Argo CD's ApplicationSet controller without its side effects.
type ApplicationSets interface {
	// Parameters returns the sets that an ApplicationSet's generators yield, in order.
	Parameters(set manifest.Tree, in Inputs) ([]Parameters, error)
	// Application renders one parameter set with the ApplicationSet's template.
	Application(p Parameters) (manifest.Tree, error)
	// Normalize returns an Application in the form in which Argo CD compares it with another.
	Normalize(application manifest.Tree) (manifest.Tree, error)
}

// Tools are the libraries that expand does not link. All but Remote are required; without Remote,
// nothing remote is followed.
type Tools struct {
	ApplicationSets ApplicationSets
	Charts          source.Charts
	Kustomizations  source.Kustomizations
	Remote          source.Remote
}
