package adopt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
)

// Refusal says why an ApplicationSet is not handed over.
type Refusal struct{ Text, Hint string }

// Proposal is the input from which Prepare makes a record.
type Proposal struct {
	// Name is the ApplicationSet's name.
	Name string
	Live Observed
	// Argosy are the fleet's Applications, with the ApplicationSets that create them.
	Argosy []*object.Object
	// Names maps names of live Applications to the fleet's names, where these differ.
	Names map[string]string
	// Normalize is Argo CD's normalization (expand.ApplicationSets).
	Normalize func(Tree) (Tree, error)
}

// preparation collects refusals.
type preparation struct {
	Proposal
	made     map[string]*object.Object
	old      Tree
	record   *Record
	refusals []Refusal
}

func (p *preparation) refuse(hint, format string, args ...any) {
	p.refusals = append(p.refusals, Refusal{fmt.Sprintf(format, args...), hint})
}

// Prepare returns the record of a handover that has not begun, or why it must not begin.
func Prepare(in Proposal) (*Record, []Refusal) {
	p := &preparation{Proposal: in, made: map[string]*object.Object{}, record: &Record{}}
	if p.old = in.Live.Sets[in.Name]; p.old == nil {
		p.refuse("kubectl get applicationsets -n argocd lists them", "ApplicationSet %q does not live", in.Name)
		return nil, p.refusals
	}
	if isDeleting(p.old) {
		p.refuse("its finalizers keep it: "+strings.Join(finalizers(p.old), ", "), "ApplicationSet %q is being deleted", in.Name)
	}
	p.checkManager(p.old)
	for _, o := range in.Argosy {
		if o.Application() {
			p.made[o.Name()] = o
		}
	}
	p.record.Old = unowned(p.old)
	for _, app := range sortedValues(in.Live.Applications) {
		if ownerOf(app) == uidOf(p.old) {
			p.pair(app)
		}
	}
	if len(p.record.Applications) == 0 && len(p.refusals) == 0 {
		p.refuse("", "ApplicationSet %q has no Application", in.Name)
	}
	if len(p.refusals) > 0 {
		return nil, p.refusals
	}
	return p.record, nil
}

// pair adds an Application of the old ApplicationSet to the record.
func (p *preparation) pair(app Tree) {
	name := nameOf(app)
	to := name
	if other := p.Names[name]; other != "" {
		to = other
	}
	o := p.made[to]
	if o == nil || !o.Parent.IsSet() {
		p.refuse("argosy verify says more", "Application %q has no counterpart that an ApplicationSet of the fleet makes", name)
		return
	}
	p.checkNames(app, to)
	if !p.checkSet(o, name != to) {
		return
	}
	oldSpec, err := p.spec(app)
	if err != nil {
		p.refuse("", "Application %q: %v", name, err)
		return
	}
	newSpec, err := p.spec(o.Tree)
	if err != nil {
		p.refuse("", "Application %q: %v", to, err)
		return
	}
	objects, pruned := objectsOf(app)
	switch {
	case isDeleting(app):
		p.refuse("", "Application %q is being deleted", name)
	case manifest.Text(app, "status", "sync", "status") == "" || manifest.Text(app, "status", "sync", "status") == "Unknown":
		p.refuse("without a comparison, there is none to compare with later", "Argo CD cannot compare Application %q%s", name, problems(app))
	case name != to && len(pruned) > 0:
		p.refuse("argocd app sync "+name+" --prune deletes them; or put them back into Git", "Application %q has objects that are not in Git any more, and would lose them: %s", name, some(pruned))
	case name != to && slices.Contains(manifest.Strings(manifest.At(newSpec, "syncPolicy", "syncOptions")), "FailOnSharedResource=true"):
		p.refuse("remove the option until the Applications are handed over", "Application %q gets the name %q, and its sync option FailOnSharedResource=true forbids to take over objects", name, to)
	}
	p.record.Applications = append(p.record.Applications, Pair{
		Old: name, New: to, Set: o.Parent.Name(), OldSpec: oldSpec, NewSpec: newSpec, OldMetadata: metadataOf(app), NewMetadata: metadataOf(o.Tree),
		Synced: manifest.Text(app, "status", "sync", "status") == synced, Objects: objects,
	})
}

func (p *preparation) spec(app Tree) (Tree, error) {
	normal, err := p.Normalize(app)
	if err != nil {
		return nil, err
	}
	spec, _ := normal["spec"].(Tree)
	return manifest.Plain(spec), nil
}

// checkNames refuses a name that another object has.
func (p *preparation) checkNames(app Tree, to string) {
	name := nameOf(app)
	if other := p.Live.Applications[to]; name != to && other != nil {
		who := "no ApplicationSet made it"
		if ownerOf(other) != "" {
			who = ownerName(other) + " made it"
		}
		p.refuse("rename or delete it first, or give the component another name", "Application %q would be called %q, and such an Application lives: %s", name, to, who)
	}
	for _, earlier := range p.record.Applications {
		if earlier.New == to {
			p.refuse("", "Applications %q and %q would both be called %q", earlier.Old, name, to)
		}
	}
}

// checkSet adds the ApplicationSet that creates an Application of the fleet to the record, if it
// can take over single Applications.
func (p *preparation) checkSet(o *object.Object, renamed bool) bool {
	set := o.Parent
	if i := slices.IndexFunc(p.record.New, func(s Set) bool { return nameOf(s.Manifest) == set.Name() }); i >= 0 {
		return true
	}
	before := len(p.refusals)
	live := p.Live.Sets[set.Name()]
	switch {
	case set.Name() == p.Name:
		p.refuse("rename it in "+set.Pos.String(), "the fleet's ApplicationSet has the name %q, too", p.Name)
	case set.Namespace() != "" && set.Namespace() != manifest.Text(p.old, "metadata", "namespace"):
		p.refuse("an ApplicationSet takes over Applications of its own namespace alone", "the fleet's ApplicationSet %q is for namespace %q", set.Name(), set.Namespace())
	case live != nil && !isStaged(live) && renamed:
		p.refuse("delete it with kubectl delete --cascade=orphan; adopt creates it when it is time", "ApplicationSet %q lives already, and would make Applications of other names beside those of %q", set.Name(), p.Name)
	}
	generators, _ := manifest.At(set.Tree, "spec", "generators").([]any)
	for _, g := range generators {
		if manifest.At(g, "plugin") == nil {
			p.refuse("adopt restricts plugin generators with view: components by a selector", "a generator of the fleet's ApplicationSet %q is no plugin", set.Name())
			break
		}
	}
	s := Set{Manifest: unowned(set.Tree)}
	for _, other := range p.Argosy {
		if other.Application() && other.Parent == set {
			s.All = append(s.All, other.Name())
			if want := catalog.ApplicationName(other.Entry.Component, other.Entry.Cluster); want != other.Name() {
				p.refuse("its template names Applications {{ .applicationName }}", "the fleet's ApplicationSet %q makes Application %q, which its parameter set calls %q", set.Name(), other.Name(), want)
				break
			}
		}
	}
	if live != nil {
		p.checkManager(live)
	}
	if metadata := manifest.Copy(s.Manifest["metadata"]); metadata["namespace"] == nil {
		metadata["namespace"] = manifest.Text(p.old, "metadata", "namespace")
		s.Manifest["metadata"] = metadata
	}
	p.record.New = append(p.record.New, s)
	return len(p.refusals) == before
}

// checkManager refuses an ApplicationSet that an Application would restore.
func (p *preparation) checkManager(set Tree) {
	if text := Manager(set, p.Live.Applications); text != "" {
		p.refuse("in Git, give it the annotation argocd.argoproj.io/sync-options: Prune=false, and then remove it there", "ApplicationSet %q is deployed by Application %q, which syncs by itself and would put it back", nameOf(set), text)
	}
}

// Manager returns the Application that deploys an ApplicationSet and syncs by itself. It is empty
// where the ApplicationSet has been removed from Git and is kept by Prune=false.
func Manager(set Tree, applications map[string]Tree) string {
	options := strings.Split(manifest.Text(set, "metadata", "annotations", "argocd.argoproj.io/sync-options"), ",")
	for _, app := range sortedValues(applications) {
		if !manifest.IsAutomated(app) {
			continue
		}
		resources, _ := manifest.At(app, "status", "resources").([]any)
		for _, r := range resources {
			if manifest.Text(r, "kind") != kindApplicationSet || manifest.Text(r, "name") != nameOf(set) || manifest.Text(r, "namespace") != manifest.Text(set, "metadata", "namespace") {
				continue
			}
			if gone, _ := manifest.At(r, "requiresPruning").(bool); !gone || !slices.Contains(options, "Prune=false") {
				return nameOf(app)
			}
		}
	}
	return ""
}

// metadataOf returns the labels and annotations of an Application, without requests to Argo CD.
func metadataOf(app Tree) Tree {
	out := Tree{}
	if labels, ok := manifest.At(app, "metadata", "labels").(Tree); ok {
		out["labels"] = labels
	}
	annotations := manifest.Copy(manifest.At(app, "metadata", "annotations"))
	delete(annotations, "argocd.argoproj.io/refresh")
	delete(annotations, markAnnotation)
	if len(annotations) > 0 {
		out["annotations"] = annotations
	}
	return out
}

// unowned returns an ApplicationSet as it is written, without the fields that the API server and
// Argo CD add.
func unowned(set Tree) Tree {
	out := Tree{"apiVersion": apiVersion, "kind": kindApplicationSet, "spec": set["spec"]}
	metadata := Tree{"name": nameOf(set)}
	for _, key := range []string{"namespace", "labels", "annotations", "finalizers"} {
		if v := manifest.At(set, "metadata", key); v != nil {
			metadata[key] = v
		}
	}
	out["metadata"] = metadata
	return manifest.Plain(out)
}
