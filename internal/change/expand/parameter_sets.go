package expand

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/run"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
)

// set is a parameter set of an ApplicationSet, to be rendered as an Application.
type set struct {
	name       string // of the parameter set
	parameters Parameters
	key        string // in the rendercache.Cache
}

// sets returns an ApplicationSet's parameter sets. Without ok the generators failed, which is
// reported.
func (h *Hub) sets(o *object.Object) (out []set, ok bool) { return h.setsOf(o, h.query) }

// setsOf is sets with other responses of the plugin.
func (h *Hub) setsOf(o *object.Object, plugin Query) (out []set, ok bool) {
	if kind := h.unsupported(o); kind != "" {
		hints := alternatives[kind]
		if h.o.HasNoFleet && kind == "clusters" {
			hints = []string{"--clusters FILE has the cluster Secrets, or" + source.ClusterFlags(o.Tree)}
		}
		h.reportAt(o, o.Pos, problem.Warning, fmt.Sprintf("generator %s is not followed", kind), hints...)
		return nil, false
	}
	parameters, err := h.o.Tools.ApplicationSets.Parameters(o.Tree, Inputs{Plugin: plugin, Git: h.openRepository, Clusters: h.clustersOf(o.Engine)})
	var beyond source.NotFollowed
	switch {
	case errors.As(err, &beyond):
		h.reportAt(o, o.Pos, problem.Warning, beyond.Text, beyond.Hints()...)
		return nil, false
	case err != nil:
		h.reportFailure(o, err)
		return nil, false
	}
	if o.Engine != ownerHub && len(parameters) > 0 && source.ClusterLabels(o.Tree) != nil {
		h.report(problem.Problem{
			Reason: problem.NotExpanded, Severity: problem.Warning, Subject: fmt.Sprintf("cluster %q", o.Engine),
			Found: "its own Argo CD is taken to know itself alone, by the labels that its Secret has here",
		})
	}
	revision, digest := readsRevision(o), o.Digest()
	out = make([]set, len(parameters))
	run.Each(len(parameters), func(i int) {
		p := parameters[i]
		s := set{name: manifest.Text(p.Values, "name"), parameters: p}
		// The resolver's digest covers a whole set but the revision and the hold; the object's
		// digest covers the generator and the template.
		if d := manifest.Text(p.Values, "digest"); d != "" && !revision && onlyPlugin(o) {
			s.key = strings.Join([]string{digest, d, manifest.Text(p.Values, "hold"), fmt.Sprint(p.Index)}, " ")
		} else {
			s.key = manifest.Digest(digest, p.Index, p.Values)
		}
		out[i] = s
	})
	return out, true
}

// followedGenerators are the generators that expansion follows.
var followedGenerators = map[string]bool{"plugin": true, "list": true, "git": true, "matrix": true, "merge": true, "selector": true}

// alternatives names followed generators with the same result.
var alternatives = map[string][]string{"clusters": {"the plugin's view members has a set for each cluster that this repository registers"}}

// unsupported returns the first generator of an ApplicationSet that is not followed.
func (h *Hub) unsupported(o *object.Object) string {
	return h.unsupportedIn(manifest.At(o.Tree, "spec", "generators"))
}

func (h *Hub) unsupportedIn(v any) string {
	generators, _ := v.([]any)
	for _, g := range generators {
		m, _ := g.(manifest.Tree)
		for kind, body := range m {
			if !followedGenerators[kind] && body != nil && (kind != "clusters" || h.o.Clusters == nil) {
				return kind
			}
			if kind == "matrix" || kind == "merge" {
				if found := h.unsupportedIn(manifest.At(body, "generators")); found != "" {
					return found
				}
			}
		}
	}
	return ""
}

// onlyPlugin reports whether the plugin is the only generator.
func onlyPlugin(o *object.Object) bool {
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	for _, g := range generators {
		m, _ := g.(manifest.Tree)
		for kind := range m {
			if kind != "plugin" && kind != "selector" {
				return false
			}
		}
	}
	return len(generators) > 0
}

// revisionField matches a template that names the snapshot's revision: .revision, "revision" or,
// without Go templates, {{revision}}.
var revisionField = regexp.MustCompile("(?:\\{\\{-?\\s*|[.\"`])revision\\b")

// readsRevision reports whether an ApplicationSet's template may name the snapshot's revision.
func readsRevision(o *object.Object) bool { return revisionField.Match(manifest.Canonical(o.Tree)) }

// application renders a set. It reports an error and returns nil.
func (h *Hub) application(o *object.Object, s set) *object.Object {
	tree, err := h.o.Cache.Application(s.key, func() (manifest.Tree, error) { return h.o.Tools.ApplicationSets.Application(s.parameters) })
	if err != nil {
		h.report(problem.Problem{
			Reason: problem.ExpansionFailed, Severity: problem.Error, Pos: o.Pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()), Cluster: s.name,
			Found: fmt.Sprintf("template fails for %q: %s", s.name, oneLine(err)), Hints: []string{"Argo CD changes none of its Applications until the template is fixed"},
		})
		return nil
	}
	out := &object.Object{Engine: o.Engine, Tree: tree, Parent: o, Pos: o.Pos, Parameters: s.name, Entry: object.EntryOf(s.parameters.Values)}
	if len(o.Steps()) > 0 {
		out.Tree, out.Template = object.InSteps(tree), tree
	}
	return out
}
