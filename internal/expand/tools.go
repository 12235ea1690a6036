package expand

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Ask is the generator plugin: the answer to the input.parameters of an ApplicationSet of that name.
type Ask func(applicationSet string, parameters json.RawMessage) (json.RawMessage, error)

// Open is a Git repository at a revision, which is empty for HEAD.
type Open func(repoURL, revision string) (*snapshot.Snapshot, error)

// Inputs are what generators ask.
type Inputs struct {
	Plugin Ask
	Git    Open
}

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
	Parameters(set Tree, in Inputs) ([]Parameters, error)
	// Application is what the ApplicationSet's template makes of one of them.
	Application(p Parameters) (Tree, error)
}

// Reference names a chart that is not in this repository, as an Application's source has it.
type Reference struct {
	// RepoURL is a Helm repository's, or an OCI registry's with the folder that the chart is in. Version is one, or a range.
	RepoURL, Name, Version string
}

// Archive is a chart from elsewhere, packed as Helm does it.
type Archive struct {
	// Digest is the same for the same bytes. Version is the one that the reference comes to.
	Digest, Version string
	// Open reads the archive.
	Open func() ([]byte, error)
}

// Place is a folder or a file of another Git repository, as an Application's source has it. The path is clean.
type Place struct{ RepoURL, Revision, Path string }

func (p Place) String() string {
	return fmt.Sprintf("%s at %s of %s", p.Path, cmp.Or(p.Revision, "HEAD"), shown(p.RepoURL))
}

// Elsewhere gets what is not in this repository. It may be used by several goroutines, and answers alike each time; what it
// refuses it explains with *Unavailable.
type Elsewhere interface {
	Chart(r Reference) (Archive, error)
	// At is what stands at a place and below, by paths of its repository.
	At(p Place) (*snapshot.Snapshot, error)
	// Values is the file of values at a URL.
	Values(url string) ([]byte, error)
}

// Unavailable is why something from elsewhere cannot be had, for people: without any secret. Hint may be empty. Missing tells
// that its repository could be read, and does not have it.
type Unavailable struct {
	Detail, Hint string
	Missing      bool
}

func (u *Unavailable) Error() string { return u.Detail }

// Chart is a chart, and how an Application renders it.
type Chart struct {
	// Name is for messages: the folder's path, or what the reference says.
	Name string
	// Files are by paths relative to the chart, sorted; of a chart from elsewhere there is the Archive instead.
	Files   []*snapshot.File
	Archive *Archive
	// ReleaseName and Namespace are Helm's.
	ReleaseName, Namespace string
	// Values are the files of values, the later wins.
	Values []Values
	// Parameters are `--set` and `--set-string`, after Values.
	Parameters []Parameter
	// SkipCRDs leaves the chart's own definitions out, which are objects otherwise; SkipSchema does not check the values.
	SkipCRDs, SkipSchema bool
	// KubeVersion and APIVersions are what the cluster is said to be and to have; default and besides Helm's own.
	KubeVersion string
	APIVersions []string

	own []*snapshot.File // the files of values that are in this repository
}

// Values are a file of values: its text, or the name of a file of the chart. At and URL are where it is elsewhere, until it
// has been read. Optional ones may be missing.
type Values struct {
	Text, File string
	At         *Place `json:",omitempty"`
	URL        string `json:",omitempty"`
	Optional   bool
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
	// Size is that of its text, in bytes, unless it is shared with other renderings of the chart.
	Size   int
	digest func() string
}

// NewManifest is one whose digest is computed once, when it is asked for.
func NewManifest(template string, tree Tree, size int) Manifest {
	return Manifest{Template: template, Tree: tree, Size: size, digest: sync.OnceValue(func() string { return digestOf(tree) })}
}

// Charts is Helm, as `helm template` has it. It may be used by several goroutines.
type Charts interface {
	Template(c Chart) ([]Manifest, error)
}

// Kustomization is what a folder is built into: as it says itself, or as Flux's Kustomization says besides.
type Kustomization struct {
	Snapshot *snapshot.Snapshot
	Dir      string
	Flux     *Flux // nil for Argo CD
}

// Flux is what Flux builds a folder with.
type Flux struct {
	// Spec is the Kustomization's.
	Spec Tree
	// Ignore is its source's spec.ignore, and SourceIgnore the files of the repository with further names to be ignored.
	Ignore       string
	SourceIgnore []*snapshot.File `json:"-"`
	// Variables are those of spec.postBuild.substituteFrom, and Unknown what may have others.
	Variables map[string]string
	Unknown   string
}

// Kustomizations is kustomize. It may be used by several goroutines. What it does not follow is a NotFollowed.
type Kustomizations interface {
	// Folders are those that a kustomization is built of, its own among them.
	Folders(k Kustomization) ([]string, error)
	// Build is what it makes.
	Build(k Kustomization) ([]Manifest, error)
}

// KustomizationFiles are the names that a folder's kustomization may have.
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Tools are what expand does not link. All but Elsewhere are required: without it, what is not in this repository is not followed.
type Tools struct {
	ApplicationSets ApplicationSets
	Charts          Charts
	Kustomizations  Kustomizations
	Elsewhere       Elsewhere
}
