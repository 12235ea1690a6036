package source

import (
	"cmp"
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Reference names a remote chart, as an Application's source does.
type Reference struct {
	// RepoURL is the URL of a Helm repository, or of an OCI registry with the chart's folder.
	// Version is a version or a range.
	RepoURL, Name, Version string
}

// Archive is a remote chart, packed as Helm packs it.
type Archive struct {
	// Digest is the same for the same bytes. Version is the one to which the reference resolves.
	Digest, Version string
	// Open reads the archive.
	Open func() ([]byte, error)
}

// Place is a folder or a file of a remote Git repository, as an Application's source names it. Its
// Path is clean.
type Place struct{ RepoURL, Revision, Path string }

func (p Place) String() string {
	return fmt.Sprintf("%s at %s of %s", p.Path, cmp.Or(p.Revision, "HEAD"), Shown(p.RepoURL))
}

// Remote fetches remote charts, folders and value files. It may be used by several goroutines, and
// returns the same each time. Its errors are *Unavailable.
type Remote interface {
	Chart(r Reference) (Archive, error)
	// At returns the files at a place and below, by paths of its repository.
	At(p Place) (*snapshot.Snapshot, error)
	// Values returns the value file at a URL.
	Values(url string) ([]byte, error)
}

// Unavailable says why something remote cannot be fetched, without any secret. Hint may be empty.
// Missing means that the repository was read and does not have it.
type Unavailable struct {
	Detail, Hint string
	Missing      bool
}

func (u *Unavailable) Error() string { return u.Detail }

// Chart is a chart, and how an Application renders it.
type Chart struct {
	// Name is for messages: the folder's path, or the reference.
	Name string
	// Files are sorted, with paths relative to the chart. A remote chart has an Archive instead.
	Files   []*snapshot.File
	Archive *Archive
	// ReleaseName and Namespace are Helm's.
	ReleaseName, Namespace string
	// Values are the value files; later ones win.
	Values []Values
	// Parameters are `--set` and `--set-string`, after Values.
	Parameters []Parameter
	// SkipCRDs leaves out the chart's own definitions, SkipTests what is also a test. SkipSchema
	// does not check the values.
	SkipCRDs, SkipTests, SkipSchema bool
	// KubeVersion and APIVersions describe the cluster. KubeVersion defaults to Helm's own;
	// APIVersions are added to Helm's own.
	KubeVersion string
	APIVersions []string

	Own []*snapshot.File // the files of values that are in this repository
}

// Values is a value file: its text, or the name of a file of the chart. At and URL name a remote
// file until it is read. An Optional one may be missing.
type Values struct {
	Text, File string
	// Path is the file of this repository that has the text, if there is one.
	Path     string `json:"-"`
	At       *Place `json:",omitempty"`
	URL      string `json:",omitempty"`
	Optional bool
}

// Parameter is one of source.helm.parameters.
type Parameter struct {
	Name, Value string
	ForceString bool
}

// Charts renders charts as `helm template` does. It may be used by several goroutines.
type Charts interface {
	Template(c Chart) ([]manifest.Manifest, error)
}

// Kustomization is a folder to build, for Argo CD or with one of Flux's Kustomizations.
type Kustomization struct {
	Snapshot *snapshot.Snapshot
	Dir      string
	Flux     *Flux // nil for Argo CD
	// Options are those of Argo CD (source.kustomize); nil for none.
	Options manifest.Tree
	// Inflated is what the charts of a kustomization make, by its file. They make nothing without.
	Inflated map[string][]string
}

// InflatedChart is one of a kustomization's helmCharts. Chart has no files and no values.
type InflatedChart struct {
	File      string // of the kustomization, with the chart at Index
	Index     int
	Home      string // the folder of charts that are in the repository
	Reference Reference
	Chart     Chart
	Values    []InflatedValues // later ones win
	// SkipHooks leaves out what the chart makes for Helm's hooks.
	SkipHooks bool
}

// InflatedValues are a value file of the repository, or the text of values.
type InflatedValues struct{ File, Text string }

// Flux holds what one of Flux's Kustomizations adds to a build.
type Flux struct {
	// Spec is the Kustomization's spec.
	Spec manifest.Tree
	// Ignore is its source's spec.ignore. SourceIgnore holds the repository's files that name
	// further files to ignore.
	Ignore       string
	SourceIgnore []*snapshot.File `json:"-"`
	// Without names further files that the source does not have, in the form of .sourceignore.
	Without []string
	// Variables are from spec.postBuild.substituteFrom. Unknown names an object that may have
	// others.
	Variables map[string]string
	Unknown   string
}

// Kustomizations builds with kustomize. It may be used by several goroutines. It returns
// NotFollowed for features that it does not follow.
type Kustomizations interface {
	// Folders returns the folders from which a kustomization is built, including its own.
	Folders(k Kustomization) ([]string, error)
	// Charts returns the Helm charts of a kustomization and of what it is built from.
	Charts(k Kustomization) ([]InflatedChart, error)
	// Build returns the objects that a kustomization makes.
	Build(k Kustomization) ([]manifest.Manifest, error)
}

// KustomizationFiles are the names that a folder's kustomization may have.
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Options returns everything besides the files with which a chart is rendered.
func (c *Chart) Options() any {
	return []any{c.ReleaseName, c.Namespace, c.Values, c.Parameters, c.SkipCRDs, c.SkipTests, c.SkipSchema, c.KubeVersion, c.APIVersions}
}

// Key returns the same key for kustomizations that build the same objects.
func (k Kustomization) Key(of []*Folder) string {
	parts := []any{"kustomize", k.Dir, digests(of), k.Options}
	if k.Flux != nil {
		parts = append(parts, k.Flux)
		for _, f := range k.Flux.SourceIgnore {
			parts = append(parts, f.Path, f.Digest)
		}
	}
	return manifest.Digest(parts...)
}

// digests returns the paths and digests of folders.
func digests(all []*Folder) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.Dir, f.Digest)
	}
	return out
}
