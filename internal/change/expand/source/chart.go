package source

import (
	"cmp"
	"fmt"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
)

// Reference names a remote chart, as an Application's source does.
type Reference struct {
	// RepoURL is a Helm repository's, or an OCI registry's with the folder that the chart is in.
	// Version is one, or a range.
	RepoURL, Name, Version string
}

// Archive is a remote chart, packed as Helm packs it.
type Archive struct {
	// Digest is the same for the same bytes. Version is the one that the reference comes to.
	Digest, Version string
	// Open reads the archive.
	Open func() ([]byte, error)
}

// Place is a folder or a file of a remote Git repository, as an Application's source names it. The
// path is clean.
type Place struct{ RepoURL, Revision, Path string }

func (p Place) String() string {
	return fmt.Sprintf("%s at %s of %s", p.Path, cmp.Or(p.Revision, "HEAD"), Shown(p.RepoURL))
}

// Remote fetches remote charts, folders and value files. It may be used by several goroutines, and
// returns the same each time. Its refusals are *Unavailable.
type Remote interface {
	Chart(r Reference) (Archive, error)
	// At is what stands at a place and below, by paths of its repository.
	At(p Place) (*snapshot.Snapshot, error)
	// Values is the file of values at a URL.
	Values(url string) ([]byte, error)
}

// Unavailable is why something remote cannot be fetched, without any secret. Hint may be empty.
// Missing means that the repository was read and does not have it.
type Unavailable struct {
	Detail, Hint string
	Missing      bool
}

func (u *Unavailable) Error() string { return u.Detail }

// Chart is a chart, and how an Application renders it.
type Chart struct {
	// Name is for messages: the folder's path, or what the reference says.
	Name string
	// Files are by paths relative to the chart, sorted; a remote chart has the Archive instead.
	Files   []*snapshot.File
	Archive *Archive
	// ReleaseName and Namespace are Helm's.
	ReleaseName, Namespace string
	// Values are the files of values, the later wins.
	Values []Values
	// Parameters are `--set` and `--set-string`, after Values.
	Parameters []Parameter
	// SkipCRDs leaves the chart's own definitions out, which are objects otherwise; SkipSchema does
	// not check the values.
	SkipCRDs, SkipSchema bool
	// KubeVersion and APIVersions are what the cluster is said to be and to have; default and
	// besides Helm's own.
	KubeVersion string
	APIVersions []string

	Own []*snapshot.File // the files of values that are in this repository
}

// Values are a value file: its text, or the name of a file of the chart. At and URL name a remote
// one until it is read. Optional ones may be missing.
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

// Charts renders charts as `helm template` does. It may be used by several goroutines.
type Charts interface {
	Template(c Chart) ([]manifest.Manifest, error)
}

// Kustomization is a folder to build: by its own kustomization, or also by one of Flux.
type Kustomization struct {
	Snapshot *snapshot.Snapshot
	Dir      string
	Flux     *Flux // nil for Argo CD
}

// Flux is what one of Flux's Kustomizations adds to a build.
type Flux struct {
	// Spec is the Kustomization's.
	Spec manifest.Tree
	// Ignore is its source's spec.ignore, and SourceIgnore the files of the repository with further
	// names to be ignored.
	Ignore       string
	SourceIgnore []*snapshot.File `json:"-"`
	// Variables are those of spec.postBuild.substituteFrom, and Unknown what may have others.
	Variables map[string]string
	Unknown   string
}

// Kustomizations is kustomize. It may be used by several goroutines. It returns NotFollowed for
// features that it does not follow.
type Kustomizations interface {
	// Folders are those that a kustomization is built of, its own among them.
	Folders(k Kustomization) ([]string, error)
	// Build is what it makes.
	Build(k Kustomization) ([]manifest.Manifest, error)
}

// KustomizationFiles are the names that a folder's kustomization may have.
var KustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// Options are everything besides the files that a chart is rendered with.
func (c *Chart) Options() any {
	return []any{c.ReleaseName, c.Namespace, c.Values, c.Parameters, c.SkipCRDs, c.SkipSchema, c.KubeVersion, c.APIVersions}
}

// Key is equal for kustomizations that build equal objects.
func (k Kustomization) Key(of []*Folder) string {
	parts := []any{"kustomize", k.Dir, digests(of)}
	if k.Flux != nil {
		parts = append(parts, k.Flux)
		for _, f := range k.Flux.SourceIgnore {
			parts = append(parts, f.Path, f.Digest)
		}
	}
	return manifest.Digest(parts...)
}

// digests are those of folders, with their paths.
func digests(all []*Folder) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.Dir, f.Digest)
	}
	return out
}
