package object

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/yamldoc"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// Object is a Kubernetes object that expansion found. Objects are shared and must not be changed.
type Object struct {
	// Engine names the owner of the engine that runs the object: fleet.OwnerHub, or a member's
	// name.
	Engine string
	Tree   manifest.Tree
	// Parent is the object that made it, nil for a root.
	Parent *Object
	// Pos is the position of its text: a document of a file, or a chart's template.
	Pos problem.Pos
	// Parameters names the parameter set of an Application that an ApplicationSet made. It is
	// mostly the cluster's name.
	Parameters string

	digest   string
	Sum      func() string // the digest, if it shares its tree with other objects
	Document *yamldoc.Doc  // of an object that is written as it is
	Entry    Entry
	// Flux is what one of Flux's objects deploys. Siblings are the objects that came with it.
	Flux     *Deployed
	Siblings Siblings

	Template manifest.Tree // the template's result, where Argo CD changes it afterwards
}

// Stub returns the object's place and parent, without its tree.
func (o *Object) Stub() *Object { return &Object{Engine: o.Engine, Pos: o.Pos, Parent: o.Parent} }

// Key identifies an object of a hub's expansion, whatever the version of its API. The group is
// empty for Kubernetes' core.
type Key struct{ Engine, Group, Kind, Namespace, Name string }

// String returns the object's name for people.
func (k Key) String() string { return k.Kind + " " + k.Name }

// Key returns the object's key.
func (o *Object) Key() Key {
	group, _, isGrouped := strings.Cut(o.APIVersion(), "/")
	if !isGrouped {
		group = ""
	}
	return Key{Engine: o.Engine, Group: group, Kind: o.Kind(), Namespace: manifest.Text(o.Tree, "metadata", "namespace"), Name: o.Name()}
}

// Kind returns the object's kind.
func (o *Object) Kind() string { return manifest.Text(o.Tree, "kind") }

// APIVersion returns the object's apiVersion.
func (o *Object) APIVersion() string { return manifest.Text(o.Tree, "apiVersion") }

// Name returns the object's name.
func (o *Object) Name() string { return manifest.Text(o.Tree, "metadata", "name") }

// Label returns one of the object's labels.
func (o *Object) Label(name string) string { return manifest.Text(o.Tree, "metadata", "labels", name) }

// Digest returns the same text for objects with the same contents.
func (o *Object) Digest() string {
	if o.digest == "" {
		if o.Sum != nil {
			o.digest = o.Sum()
		} else {
			o.digest = manifest.Digest(o.Tree)
		}
	}
	return o.digest
}

// Is reports whether an object is of a kind, in any version of its group.
func (o *Object) Is(group, kind string) bool {
	return o.Kind() == kind && strings.HasPrefix(manifest.Text(o.Tree, "apiVersion"), group+"/")
}

// ApplicationSet reports whether the object is an ApplicationSet.
func (o *Object) ApplicationSet() bool { return o.Is("argoproj.io", "ApplicationSet") }

// IsSet is ApplicationSet, and false for nil.
func (o *Object) IsSet() bool { return o != nil && o.ApplicationSet() }

// Application reports whether the object is an Application.
func (o *Object) Application() bool { return o.Is("argoproj.io", "Application") }

// OfExternalSecrets reports whether the object's kind belongs to External Secrets.
func (o *Object) OfExternalSecrets() bool {
	return strings.HasPrefix(o.APIVersion(), "external-secrets.io/")
}

// CompareKeys sorts by engine, kind, namespace, name and group.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
}

// At returns the position of a path of the object: in its manifest as far as the path goes there,
// or in the chart's template.
func (o *Object) At(path ...string) problem.Pos {
	if o == nil {
		return problem.Pos{}
	}
	if o.Document == nil {
		return o.Pos
	}
	pos, n := o.Pos, o.Document.Root
	for _, key := range path {
		i, err := strconv.Atoi(key)
		switch {
		case n.Get(key) != nil:
			pos, n = n.KeyPos(key), n.Get(key)
		case n.Kind == yamldoc.List && err == nil && i < len(n.Items()):
			n = n.Items()[i]
			pos = n.Pos()
		default:
			return pos
		}
	}
	return pos
}

// Entry is the subject of a parameter set: a component of a cluster's catalog, or a release.
type Entry struct {
	Cluster, Group, Component string
	Release                   string
}

// EntryOf returns the subject of a parameter set with these values.
func EntryOf(values map[string]any) Entry {
	return Entry{manifest.Text(values, "name"), manifest.Text(values, "group"), manifest.Text(values, "component"), manifest.Text(values, "release", "type")}
}

// Written reports whether a file holds the object as it is.
func (o *Object) Written() bool { return o != nil && o.Document != nil }

// Deployed is what one of Flux's objects deploys, and to which cluster.
type Deployed struct {
	Source  source.Source
	Cluster string // "" for the engine's own
}

// Deploys reports whether an object deploys charts or manifests: an Application, or one of Flux's
// objects that is not suspended.
func (o *Object) Deploys() bool { return o.Application() || o.Flux != nil }

// IsDeployer reports whether an object deploys others, unless it is suspended.
func (o *Object) IsDeployer() bool {
	return o.Application() || o.Is("kustomize.toolkit.fluxcd.io", "Kustomization") || o.Is("helm.toolkit.fluxcd.io", "HelmRelease")
}

// Siblings are the objects that came together, by kind and name.
type Siblings map[[2]string][]*Object

// Namespace returns the namespace in the object's manifest.
func (o *Object) Namespace() string { return manifest.Text(o.Tree, "metadata", "namespace") }

// TargetNamespace returns where an Application, or one of Flux's objects, puts objects without a
// namespace.
func (o *Object) TargetNamespace() string {
	return cmp.Or(manifest.Text(o.Tree, "spec", "destination", "namespace"), manifest.Text(o.Tree, "spec", "targetNamespace"))
}

// KeepsItself reports whether an object forbids Argo CD to prune it.
func (o *Object) KeepsItself() bool {
	options := manifest.Text(o.Tree, "metadata", "annotations", "argocd.argoproj.io/sync-options")
	return slices.ContainsFunc(strings.Split(options, ","), func(option string) bool { return strings.TrimSpace(option) == "Prune=false" })
}

// Prunes reports whether Argo CD prunes an Application by itself.
func (o *Object) Prunes() bool {
	app := o.Unsteered().Tree
	prune, _ := manifest.At(app, "spec", "syncPolicy", "automated", "prune").(bool)
	return prune && manifest.IsAutomated(app)
}

// HasFinalizer reports whether the object has a finalizer whose name begins with prefix.
func (o *Object) HasFinalizer(prefix string) bool {
	all, _ := manifest.At(o.Tree, "metadata", "finalizers").([]any)
	return slices.ContainsFunc(all, func(f any) bool {
		name, _ := f.(string)
		return strings.HasPrefix(name, prefix)
	})
}

// Sources returns the sources of an Application, or of one of Flux's objects.
func (o *Object) Sources() []source.Source {
	if o.Flux != nil {
		return []source.Source{o.Flux.Source}
	}
	return source.Of(o.Tree)
}

// HasNoNamespace reports whether objects of a kind are known to have no namespace.
func HasNoNamespace(kind string) bool {
	switch kind, _, _ = strings.Cut(kind, "."); kind {
	case "Namespace", "CustomResourceDefinition", "StorageClass", "PriorityClass", "IngressClass", "RuntimeClass", "PersistentVolume", "APIService",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return true
	}
	return strings.HasPrefix(kind, "Cluster")
}
