package expand

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-hub/argosy/internal/flux"
	"github.com/argosy-hub/argosy/internal/generator"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// follows reports whether there may be something below an object.
func follows(o *Object) bool { return o.ApplicationSet() || o.Application() || fluxOwner(o) != nil }

// part is a part of what is below an Application: a folder, and how it is rendered. Parts of equal keys make equal objects.
type part struct {
	folder *folder
	chart  *Chart
	source source
	key    string
}

// parts are those of an Application that lie in this repository.
func (h *Hub) parts(o *Object) []part {
	var out []part
	for _, s := range sources(o) {
		snap, missing := h.local(s)
		if missing != "" {
			h.faultOf(o, problem.Warning, fmt.Sprintf("%s at revision %s of this repository is not followed: %s", s.path, s.revision, missing),
				"fetch that revision, or say which to take for it")
		}
		if snap == nil {
			continue
		}
		dir, err := snapshot.CleanPath(s.path)
		if err != nil {
			h.faultOf(o, problem.Error, err.Error())
			continue
		}
		f := h.folder(snap, dir)
		switch {
		case len(f.files) == 0:
			h.faultOf(o, problem.Error, missingFolder(s, snap))
		case f.helm:
			c, err := h.chart(o, s, f)
			if err != nil {
				h.faultOf(o, problem.Error, oneLine(err))
				continue
			}
			out = append(out, part{folder: f, chart: c, source: s, key: digestOf(f.dir, f.digest, c.ReleaseName, c.Namespace, c.Values, c.Parameters, c.SkipCRDs, c.APIVersions)})
		case f.kustomize:
			h.faultOf(o, problem.Warning, fmt.Sprintf("%s is kustomize's, which is not followed", dir))
		default:
			out = append(out, part{folder: f, source: s, key: digestOf(f.dir, f.digest, s.recurse)})
		}
	}
	return out
}

// lives reports whether a part may make objects that expansion follows.
func (p part) lives() bool {
	if p.folder.lives || p.chart == nil {
		return p.folder.lives
	}
	for _, v := range p.chart.Values {
		if lives([]byte(v)) {
			return true
		}
	}
	return false
}

// chart is a source's chart with what Argo CD gives to Helm: value files, then values, then parameters.
func (h *Hub) chart(o *Object, s source, f *folder) (*Chart, error) {
	c := &Chart{Name: f.dir, ReleaseName: text(s.helm, "releaseName"), Namespace: text(o.Tree, "spec", "destination", "namespace")}
	for _, file := range f.files {
		if file.Err != nil {
			return nil, file.Err
		}
		relative := *file
		relative.Path = below(f.dir, file.Path)
		c.Files = append(c.Files, &relative)
	}
	if c.ReleaseName == "" {
		c.ReleaseName = o.Name()
	}
	c.SkipCRDs, _ = s.helm["skipCrds"].(bool)
	optional, _ := s.helm["ignoreMissingValueFiles"].(bool)
	for _, name := range list(s.helm["valueFiles"]) {
		file, err := valueFile(f, name)
		switch {
		case err != nil:
			return nil, err
		case file == nil && optional:
		case file == nil:
			return nil, fmt.Errorf("value file %s is not in %s", name, f.dir)
		default:
			c.Values = append(c.Values, string(file.Data))
		}
	}
	if object, ok := s.helm["valuesObject"].(Tree); ok && len(object) > 0 { // Argo CD: it wins over values as a whole
		c.Values = append(c.Values, string(canonical(object)))
	} else if v := text(s.helm, "values"); v != "" {
		c.Values = append(c.Values, v)
	}
	parameters, _ := s.helm["parameters"].([]any)
	for _, p := range parameters {
		forced, _ := At(p, "forceString").(bool)
		c.Parameters = append(c.Parameters, Parameter{Name: text(p, "name"), Value: text(p, "value"), ForceString: forced})
	}
	c.APIVersions = list(s.helm["apiVersions"])
	return c, nil
}

func list(v any) []string {
	items, _ := v.([]any)
	out := make([]string, 0, len(items))
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// valueFile is a value file: relative to the chart, or with a slash in front to the repository.
func valueFile(f *folder, name string) (*snapshot.File, error) {
	if strings.Contains(name, "://") || strings.HasPrefix(name, "$") {
		return nil, fmt.Errorf("value file %s is of another source, which is not followed", name)
	}
	p := path.Join(f.dir, name)
	if strings.HasPrefix(name, "/") {
		p = strings.TrimPrefix(path.Clean(name), "/")
	}
	if _, err := snapshot.CleanPath(p); err != nil {
		return nil, err
	}
	file := f.snap.File(p)
	if file != nil && file.Err != nil {
		return nil, file.Err
	}
	return file, nil
}

// objects are what a part makes. Those that it made before are others, with the same trees.
func (h *Hub) objects(o *Object, p part) []*Object {
	engine := h.runsOn(o)
	var out []*Object
	if p.chart == nil {
		for _, file := range p.folder.files {
			if isManifest(file.Path) && (p.source.recurse || path.Dir(file.Path) == p.folder.dir) {
				out = append(out, h.written(file, o, engine)...)
			}
		}
	} else {
		manifests, err := h.o.Memo.chart(p.key, func() ([]Manifest, error) { return h.o.Tools.Charts.Template(*p.chart) })
		if err != nil {
			h.faultOf(o, problem.Error, oneLine(err))
		}
		for _, m := range manifests {
			out = append(out, &Object{Engine: engine, Tree: m.Tree, Parent: o, Pos: problem.Pos{File: path.Join(p.folder.dir, m.Template)}})
		}
	}
	return h.settle(o, out)
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
		settled.Tree = tree
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
		h.faultOf(o, problem.Warning, fmt.Sprintf("generator %s is not followed", kind))
		return nil, false
	}
	parameters, err := h.o.Tools.ApplicationSets.Parameters(o.Tree, h.ask)
	if err != nil {
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
var knownGenerators = map[string]bool{"plugin": true, "list": true, "matrix": true, "merge": true, "selector": true}

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
	return &Object{Engine: o.Engine, Tree: tree, Parent: o, Pos: o.Pos, Parameters: s.name}
}

// fluxOwner is the engine whose artifact an object pulls; nil for all other objects.
func fluxOwner(o *Object) *generator.ID {
	if !o.is("source.toolkit.fluxcd.io", "OCIRepository") {
		return nil
	}
	_, name, ok := strings.Cut(text(o.Tree, "spec", "url"), "/flux/")
	hub, owner, found := strings.Cut(name, "/")
	if !ok || !found || strings.Contains(owner, "/") {
		return nil
	}
	return &generator.ID{Hub: hub, Name: owner}
}

// artifact are the objects that an engine's Flux pulls.
func (h *Hub) artifact(o *Object, id generator.ID) []*Object {
	owned, err := h.o.State.Owned(id.Hub, id.Name)
	if err != nil {
		h.failed(o, err)
		return nil
	}
	files, problems := flux.Render(owned, flux.Options{Pos: h.o.State.EntryPos})
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
