package expand

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// follows reports whether there may be something below an object.
func follows(o *Object) bool { return o.ApplicationSet() || o.Deploys() || fluxOwner(o) != nil }

// objects are what a part makes; ok is false where that cannot be had, which is named. Those that it made before are others,
// with the same trees.
func (h *Hub) objects(o *Object, p part) (out []*Object, ok bool) {
	switch {
	case p.err != nil:
		h.unmade(o, p.source, p.err)
		return nil, false
	case p.chart == nil && p.built == nil:
		out, ok = h.manifestsIn(p.folder, o, p.source.directory)
		return h.connect(h.settle(o, out)), ok
	}
	manifests, err := h.manifests(p)
	if err != nil {
		h.unrendered(o, p, err)
		return nil, false
	}
	engine, pos := h.runsOn(o), o.Pos
	for _, m := range manifests {
		if p.folder != nil {
			pos = problem.Pos{File: path.Join(p.folder.dir, m.Template)}
		}
		list, several := items(m.Tree)
		if !several {
			out = append(out, &Object{Engine: engine, Tree: m.Tree, Parent: o, Pos: pos, sum: m.digest})
		}
		for _, tree := range list {
			out = append(out, &Object{Engine: engine, Tree: tree, Parent: o, Pos: pos})
		}
	}
	return h.connect(h.settle(o, out)), true
}

// settle puts what has no namespace into the Application's, as Argo CD does; of the kinds that expansion follows alone: it
// does not know which others have namespaces.
func (h *Hub) settle(o *Object, objects []*Object) []*Object {
	namespace := text(o.Tree, "spec", "destination", "namespace")
	for i, x := range objects {
		if namespace == "" || !x.ApplicationSet() && !x.Application() || text(x.Tree, "metadata", "namespace") != "" {
			continue
		}
		tree, metadata := copyOf(x.Tree), copyOf(x.Tree["metadata"])
		metadata["namespace"], tree["metadata"] = namespace, metadata
		settled := *x
		settled.Tree, settled.sum = tree, nil
		objects[i] = &settled
	}
	return objects
}

func copyOf(v any) Tree {
	m, _ := v.(Tree)
	out := make(Tree, len(m)+1)
	for k, x := range m {
		out[k] = x
	}
	return out
}

// set is one Application to be of an ApplicationSet: a parameter set that has not been rendered yet.
type set struct {
	name       string // of the parameter set
	parameters Parameters
	key        string // the memo's
}

// sets are an ApplicationSet's parameter sets; ok is false where they cannot be had.
func (h *Hub) sets(o *Object) (out []set, ok bool) {
	if kind := unsupported(o); kind != "" {
		h.faultAt(o, o.Pos, problem.Warning, fmt.Sprintf("generator %s is not followed", kind), insteadOf[kind]...)
		return nil, false
	}
	parameters, err := h.o.Tools.ApplicationSets.Parameters(o.Tree, Inputs{Plugin: h.ask, Git: h.open})
	var beyond NotFollowed
	switch {
	case errors.As(err, &beyond):
		h.faultAt(o, o.Pos, problem.Warning, beyond.Text, beyond.hints()...)
		return nil, false
	case err != nil:
		h.failed(o, err)
		return nil, false
	}
	revision, digest := readsRevision(o), o.Digest()
	out = make([]set, len(parameters))
	parallel(len(parameters), func(i int) {
		p := parameters[i]
		s := set{name: text(p.Values, "name"), parameters: p}
		// The engine's digest tells all of a set but the revision, and the object's the generator and the template.
		if d := text(p.Values, "digest"); d != "" && !revision && onlyPlugin(o) {
			s.key = strings.Join([]string{digest, d, fmt.Sprint(p.Index)}, " ")
		} else {
			s.key = digestOf(digest, p.Index, p.Values)
		}
		out[i] = s
	})
	return out, true
}

// known are the generators that are followed.
var knownGenerators = map[string]bool{"plugin": true, "list": true, "git": true, "matrix": true, "merge": true, "selector": true}

// insteadOf is what does the same and is followed.
var insteadOf = map[string][]string{"clusters": {"the plugin's view members has a set for each cluster that this repository registers"}}

// unsupported is the first generator of an ApplicationSet that is not followed.
func unsupported(o *Object) string { return unsupportedIn(At(o.Tree, "spec", "generators")) }

func unsupportedIn(v any) string {
	generators, _ := v.([]any)
	for _, g := range generators {
		m, _ := g.(Tree)
		for kind, body := range m {
			if !knownGenerators[kind] && body != nil {
				return kind
			}
			if kind == "matrix" || kind == "merge" {
				if found := unsupportedIn(At(body, "generators")); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// onlyPlugin reports whether each generator asks the plugin and nothing else.
func onlyPlugin(o *Object) bool {
	generators, _ := At(o.Tree, "spec", "generators").([]any)
	for _, g := range generators {
		m, _ := g.(Tree)
		for kind := range m {
			if kind != "plugin" && kind != "selector" {
				return false
			}
		}
	}
	return len(generators) > 0
}

// readsRevision reports whether an ApplicationSet's template may name the snapshot's revision.
func readsRevision(o *Object) bool {
	return strings.Contains(string(canonical(o.Tree)), ".revision")
}

// application renders a set. The error has been named.
func (h *Hub) application(o *Object, s set) *Object {
	tree, err := h.o.Memo.application(s.key, func() (Tree, error) { return h.o.Tools.ApplicationSets.Application(s.parameters) })
	if err != nil {
		h.fault(problem.Problem{
			Reason: problem.ExpansionFailed, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()), Cluster: s.name,
			Found: fmt.Sprintf("template fails for %q: %s", s.name, oneLine(err)), Hints: []string{"Argo CD changes none of its Applications until it is mended"},
		})
		return nil
	}
	out := &Object{Engine: o.Engine, Tree: tree, Parent: o, Pos: o.Pos, Parameters: s.name, of: entryOf(s.parameters.Values)}
	if len(o.Steps()) > 0 {
		out.Tree, out.template = inSteps(tree), tree
	}
	return out
}

// fluxOwner is the engine whose artifact an object pulls; nil for all other objects.
func fluxOwner(o *Object) *fleetstate.ID {
	if !o.is("source.toolkit.fluxcd.io", "OCIRepository") {
		return nil
	}
	_, name, ok := strings.Cut(text(o.Tree, "spec", "url"), "/flux/")
	hub, owner, found := strings.Cut(name, "/")
	if !ok || !found || strings.Contains(owner, "/") {
		return nil
	}
	return &fleetstate.ID{Hub: hub, Name: owner}
}

// pulls is what has a hub's Flux pull its artifact. It stands in no file of the fleet's: charts/agent-flux makes it, by hand.
func (h *Hub) pulls() *Object {
	return &Object{Engine: ownerHub, Pos: h.o.State.HubMember(h.o.Hub).KeyPos("remote_engine"), Tree: Tree{
		"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
		"metadata": Tree{"name": "argosy", "namespace": "flux-system"},
		"spec":     Tree{"url": "oci://generator-plugin/flux/" + h.o.Hub + "/" + ownerHub},
	}}
}

// ofArtifact reports whether an object comes from an artifact.
func (o *Object) ofArtifact() bool { return o.Parent != nil && fluxOwner(o.Parent) != nil }

// artifact are the objects that an engine's Flux pulls.
func (h *Hub) artifact(o *Object, id fleetstate.ID) []*Object {
	return h.connect(h.artifacts(o, id))
}

// artifacts are those without what they deploy.
func (h *Hub) artifacts(o *Object, id fleetstate.ID) []*Object {
	owned, err := flux.OwnedBy(h.o.State, id.Hub, id.Name)
	if err != nil {
		h.failed(o, err)
		return nil
	}
	files, problems := flux.Render(owned, flux.Options{})
	for _, p := range problem.Errors(problems) {
		h.fault(p)
	}
	var out []*Object
	for _, f := range files {
		if f.Name == "kustomization.yaml" {
			continue
		}
		docs, err := documents(snapshot.NewFile(f.Name, f.Data, int64(len(f.Data))))
		if err != nil {
			h.faultOf(o, problem.Error, oneLine(err))
			continue
		}
		for _, doc := range docs {
			if tree, ok := doc.Root.Any().(Tree); ok {
				out = append(out, &Object{Engine: o.Engine, Tree: plain(tree), Parent: o, Pos: problem.Pos{File: o.Pos.File}})
			}
		}
	}
	return out
}

// plain is a tree with the types of encoding/json: yamldoc keeps numbers exact.
func plain(tree Tree) Tree {
	var out Tree
	if err := json.Unmarshal(canonical(tree), &out); err != nil {
		return tree
	}
	return out
}
