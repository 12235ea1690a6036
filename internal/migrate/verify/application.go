package verify

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/hierarchy"
)

// InCluster is the address by which Argo CD reaches the cluster that it runs on. InClusterName is
// the name of that cluster where no Secret names it.
const (
	InCluster     = "https://kubernetes.default.svc"
	InClusterName = "in-cluster"
)

// Application is an Application in its normal form.
type Application struct {
	Name string
	// Cluster is the destination's name; the hub's own for the cluster that Argo CD runs on.
	Cluster string
	// Spec is the normal form.
	Spec manifest.Tree
	// Lines counts the lines of each value file, and of each other text of values, that it is made
	// of.
	Lines map[string]int
	// Values say where the values of each source come from.
	Values []Values
}

// Values are the values of a source: files, least specific first, and the values that Argo CD puts
// over them.
type Values struct {
	Files []ValueFile
	Over  manifest.Tree
}

// ValueFile is a value file that an Application lists. File is nil where it does not exist.
type ValueFile struct {
	Repository, Path string
	File             *snapshot.File
	Snapshot         *snapshot.Snapshot
}

// Reader reads Applications, one at a time. Clusters may be missing.
type Reader struct {
	*Repositories
	// Normalize is Argo CD's normalization (expand.ApplicationSets).
	Normalize func(manifest.Tree) (manifest.Tree, error)
	// SetParameters is Helm's function.
	SetParameters func(values map[string]any, parameters []source.Parameter) error
	// Clusters are the clusters with a known server.
	Clusters []expand.Cluster
	// Hub is the name of the cluster that Argo CD runs on.
	Hub string

	layers  map[*snapshot.File]hierarchy.Layer // of value files that have been read
	guessed map[string]bool                    // value files of the repository that is a guess, and whether they are there
}

// Unreadable says why an Application has no normal form. Hint may be empty.
type Unreadable struct{ Text, Hint string }

func (u *Unreadable) Error() string { return u.Text }

// Read returns the normal form of an Application.
func (r *Reader) Read(tree manifest.Tree) (Application, error) {
	if !manifest.IsAutomated(tree) { // a policy that is switched off counts as none
		tree = object.InSteps(tree)
	}
	normal, err := r.Normalize(tree)
	if err != nil {
		return Application{}, err
	}
	a := Application{Name: manifest.Text(tree, "metadata", "name"), Lines: map[string]int{}}
	a.Spec, _ = normal["spec"].(manifest.Tree)
	switch {
	case a.Spec == nil:
		return Application{}, &Unreadable{Text: "has no spec"}
	case a.Spec["sourceHydrator"] != nil:
		return Application{}, &Unreadable{Text: "spec.sourceHydrator is not followed"}
	}
	destination := manifest.Copy(a.Spec["destination"])
	if a.Cluster, err = r.cluster(destination); err != nil {
		return Application{}, err
	}
	delete(destination, "server")
	destination["name"] = a.Cluster
	a.Spec["destination"] = destination
	if a.Spec["sources"], err = r.sources(&a); err != nil {
		return Application{}, err
	}
	delete(a.Spec, "source")
	return a, nil
}

// Doubt returns an error if the assumed repository has none of the value files that Applications
// list. It is then another repository, and the comparison would have no values.
func (r *Reader) Doubt() *Away {
	for _, isThere := range r.guessed {
		if isThere {
			return nil
		}
	}
	if len(r.guessed) == 0 {
		return nil
	}
	of := source.Shown(r.Own.URL)
	return &Away{
		Text: fmt.Sprintf("repository %s is taken for that of --from, which has none of the value files that Applications list (%d), as %s", of, len(r.guessed), slices.Min(slices.Collect(maps.Keys(r.guessed)))),
		Hint: fmt.Sprintf("--repository %s=DIR names a clone of it; --from-url %s says that --from is one", of, of),
	}
}

// address returns a server as Argo CD compares it (v2.14 and v3.2, util/db/cluster.go).
func address(server string) string { return strings.TrimRight(server, "/") }

// cluster returns the name of a destination's cluster.
func (r *Reader) cluster(destination manifest.Tree) (string, error) {
	name, server := manifest.Text(destination, "name"), address(manifest.Text(destination, "server"))
	if name == "" && server == "" {
		return "", &Unreadable{Text: "has no destination"}
	}
	for _, c := range r.Clusters {
		if name == c.Name || name == "" && server == address(c.Server) {
			if address(c.Server) == InCluster {
				return r.Hub, nil
			}
			return c.Name, nil
		}
	}
	switch {
	case server == InCluster || name == InClusterName:
		return r.Hub, nil
	case name == "":
		return "", &Unreadable{
			Text: fmt.Sprintf("deploys to %s, and no cluster is known to have that server", source.Shown(server)),
			Hint: "--clusters takes the exported cluster Secrets, with their names and servers",
		}
	}
	return name, nil
}

// sources returns the sources of an Application in their normal form.
func (r *Reader) sources(a *Application) ([]any, error) {
	all := source.Of(manifest.Tree{"spec": a.Spec})
	list, _ := a.Spec["sources"].([]any)
	if len(list) == 0 {
		list = []any{a.Spec["source"]}
	}
	var out []any
	values := make([]Values, len(all))
	for i, s := range all {
		tree := manifest.Copy(list[i])
		if manifest.Text(tree, "targetRevision") == "" {
			tree["targetRevision"] = "HEAD"
		}
		if err := r.overridden(a.Name, s); err != nil {
			return nil, err
		}
		environmentOf(a, s).named(tree)
		s.Helm, _ = tree["helm"].(manifest.Tree)
		isChart, err := r.isChart(s)
		if err != nil {
			return nil, err
		}
		if isChart {
			if tree["helm"], values[i], err = r.helm(a, s, all); err != nil {
				return nil, err
			}
		}
		out = append(out, tree)
	}
	left := []any{}
	for i, s := range out {
		if s := withoutReference(s, out); s != nil {
			left, a.Values = append(left, s), append(a.Values, values[i])
		}
	}
	return left, nil
}

// isChart reports whether Helm renders a source. For a source without options, Argo CD looks into
// its folder.
func (r *Reader) isChart(s source.Source) (bool, error) {
	switch {
	case s.Chart != "" || s.Helm != nil:
		return true, nil
	case len(s.Explicit) > 0 || s.Path == "":
		return false, nil
	}
	snap, err := r.Open(s.RepoURL, s.Revision)
	if err != nil {
		return false, err
	}
	return snap.File(path.Join(s.Path, "Chart.yaml")) != nil, nil
}

// overridden returns an error if a file beside the manifests changes one Application's source, or
// options of Helm. The fleet's values do not merge with such options.
func (r *Reader) overridden(application string, s source.Source) error {
	const hint = "move what it sets into the Application's source"
	if s.Chart != "" || s.Path == "" {
		return nil
	}
	snap := r.Known(s.RepoURL, s.Revision)
	if snap == nil {
		return nil
	}
	if own := path.Join(s.Path, ".argocd-source-"+application+".yaml"); snap.File(own) != nil {
		return &Unreadable{Text: own + " is only for an Application of this name", Hint: hint}
	}
	of := path.Join(s.Path, ".argocd-source.yaml")
	f := snap.File(of)
	if f == nil {
		return nil
	}
	layer, err := layerOf(of, f.Data)
	if err != nil || layer.Root.Get("helm") != nil {
		return &Unreadable{Text: of + " changes Helm's options of the Application", Hint: hint}
	}
	return nil
}

// withoutReference returns a source without its ref, if no value file names it any longer; nil for
// a source that has nothing else.
func withoutReference(s any, all []any) any {
	tree, _ := s.(manifest.Tree)
	ref := manifest.Text(tree, "ref")
	if ref == "" || slices.ContainsFunc(all, func(s any) bool {
		return strings.Contains(string(manifest.Canonical(manifest.At(s, "helm"))), `"$`+ref+"/")
	}) {
		return tree
	}
	tree = maps.Clone(tree)
	delete(tree, "ref")
	if tree["path"] == nil && tree["chart"] == nil && len(all) > 1 {
		return nil
	}
	return tree
}
