package expand

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/problem"
	"github.com/argosy-hub/argosy/internal/query"
	"github.com/argosy-hub/argosy/internal/queryerr"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/snapshot"
)

// Bootstrap is the folder of the roots: a file and a folder for each hub.
const Bootstrap = "fleet/bootstrap"

// Options say what to expand. State, Snapshot, which the state was built from, Hub and Tools are required.
type Options struct {
	State    *fleetstate.State
	Snapshot *snapshot.Snapshot
	Hub      string
	Tools    Tools
	// Memo is shared with other revisions; default one of its own.
	Memo *Memo
	// At is another revision of this repository, for what names one; default none can be had.
	At func(revision string) (*snapshot.Snapshot, error)
	// KubeVersion and APIVersions are what Argo CD finds the clusters to be and to have, for charts; default Helm's own.
	KubeVersion string
	APIVersions []string
}

// Hub is the expansion of a hub at one revision. It may be used by several goroutines.
type Hub struct {
	o     Options
	roots []*Object
	urls  map[string]string // the tracked revision, by this repository's addresses

	mu       sync.Mutex
	problems []problem.Problem
	known    map[string]bool // problems that have been named
	folders  map[folderKey]*folder
	ignoring map[*snapshot.Snapshot][]*snapshot.File // by files called .sourceignore
}

// New reads the roots of a hub. A hub without any has no objects: that is a problem of it. One that runs Flux has its artifact.
func New(o Options) *Hub {
	if o.Memo == nil {
		o.Memo = &Memo{}
	}
	h := &Hub{o: o, urls: map[string]string{}, known: map[string]bool{}, folders: map[folderKey]*folder{}, ignoring: map[*snapshot.Snapshot][]*snapshot.File{}}
	if o.State.HubEngine(o.Hub) == fleet.EngineFlux {
		h.roots = []*Object{h.pulls()}
		h.adoptDeclared()
		return h
	}
	file, dir := path.Join(Bootstrap, o.Hub+".yaml"), path.Join(Bootstrap, o.Hub)
	if f := o.Snapshot.File(file); f != nil {
		h.roots, _ = h.written(f, nil, ownerHub)
		h.adopt(dir)
	}
	if len(h.roots) == 0 {
		for _, p := range o.Snapshot.Under(dir) {
			if isManifest(p) && path.Dir(p) == dir {
				objects, _ := h.written(o.Snapshot.File(p), nil, ownerHub)
				h.roots = append(h.roots, objects...)
			}
		}
	}
	if len(h.roots) == 0 {
		h.fault(problem.Problem{
			Reason: problem.NotExpanded, Severity: problem.Warning, Pos: problem.Pos{File: dir}, Hub: o.Hub,
			Subject: fmt.Sprintf("hub %q", o.Hub), Found: "has no roots", Expected: "Applications or ApplicationSets in " + file + " or " + dir,
		})
	}
	return h
}

// adopt learns this repository's addresses from the Applications that point to the hub's own folder (rule 3).
func (h *Hub) adopt(dir string) {
	for _, o := range h.roots {
		if !o.Application() {
			continue
		}
		for _, s := range sources(o) {
			if path.Clean(s.path) == dir {
				h.urls[address(s.repoURL)] = s.revision
			}
		}
	}
}

// adoptDeclared learns this repository's address from the hub's own member file, where it has no root Application (rule 3).
func (h *Hub) adoptDeclared() {
	declared := map[string]string{}
	for _, e := range h.o.State.HubMember(h.o.Hub).RepositoryAnnotations {
		declared[e.Key] = e.Value
	}
	if url := declared["fleet_repo_url"]; url != "" {
		h.urls[address(url)] = declared["fleet_repo_revision"]
	}
}

// Renders reports whether charts that are not in this repository are rendered, too.
func (h *Hub) Renders() bool { return h.o.Tools.Elsewhere != nil }

// Roots are the objects that are applied by hand, in order.
func (h *Hub) Roots() []*Object { return h.roots }

// At is the snapshot that a source of an Application of the hub's names (rule 3): nil with an empty reason where it is none of this
// repository's, and with one where it is but cannot be had.
func (h *Hub) At(repoURL, revision, path string) (snap *snapshot.Snapshot, missing string) {
	return h.local(source{repoURL: repoURL, revision: revision, path: path})
}

// Asks reports whether an ApplicationSet among the roots, or in the folder of one, asks the plugin for a view.
func (h *Hub) Asks(view query.View) bool {
	objects := slices.Clone(h.roots)
	for _, o := range h.roots {
		if o.Application() {
			for _, p := range h.parts(o) {
				below, _ := h.objects(o, p)
				objects = append(objects, below...)
			}
		}
	}
	return slices.ContainsFunc(objects, func(o *Object) bool { return o.ApplicationSet() && asksFor(At(o.Tree, "spec", "generators"), view) })
}

func asksFor(generators any, view query.View) bool {
	all, _ := generators.([]any)
	return slices.ContainsFunc(all, func(g any) bool {
		return text(g, "plugin", "input", "parameters", "view") == string(view) || asksFor(At(g, "matrix", "generators"), view) || asksFor(At(g, "merge", "generators"), view)
	})
}

// Name is the hub's.
func (h *Hub) Name() string { return h.o.Hub }

// Problems are those of all that has been computed so far, in order.
func (h *Hub) Problems() []problem.Problem {
	h.mu.Lock()
	defer h.mu.Unlock()
	return problem.Sorted(slices.Clone(h.problems))
}

// fault names a problem once.
func (h *Hub) fault(p problem.Problem) {
	if p.Hub == "" {
		p.Hub = h.o.Hub
	}
	key := p.Cluster + " " + p.Error()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.known[key] {
		h.known[key] = true
		h.problems = append(h.problems, p)
	}
}

// faultOf names a problem of an object.
func (h *Hub) faultOf(o *Object, severity problem.Severity, found string) {
	h.faultAt(o, o.Pos, severity, found)
}

// faultAt names a problem of an object at another place.
func (h *Hub) faultAt(o *Object, pos problem.Pos, severity problem.Severity, found string, hints ...string) {
	reason := problem.ExpansionFailed
	if severity == problem.Warning {
		reason = problem.NotExpanded
	}
	h.fault(problem.Problem{
		Reason: reason, Severity: severity, Pos: pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()), Found: found, Hints: hints,
		Cluster: o.Label("argosy.dev/cluster"),
	})
}

// failed names what made an object's expansion fail: the engine's own problems, if it is the engine that refuses.
func (h *Hub) failed(o *Object, err error) {
	var refused *queryerr.Error
	if errors.As(err, &refused) && len(refused.Problems) > 0 {
		for _, p := range problem.Cut(refused.Problems, problem.OfCluster) {
			h.fault(p)
		}
		h.faultOf(o, problem.Error, "makes nothing: the plugin refuses to answer, and what there is stays as it is")
		return
	}
	h.faultOf(o, problem.Error, oneLine(err))
}

// oneLine is an error's text, bounded and without line breaks.
func oneLine(err error) string {
	return problem.Truncate(strings.Join(strings.Fields(err.Error()), " "), 600)
}

// ask is the plugin.
func (h *Hub) ask(applicationSet string, parameters json.RawMessage) (json.RawMessage, error) {
	r, err := h.request(applicationSet, parameters)
	if err != nil {
		return nil, err
	}
	told, err := response.Respond(h.o.State, r)
	if err != nil {
		return nil, err
	}
	return told.Bytes(), nil
}

// open is what the git generator reads: this repository alone.
func (h *Hub) open(repoURL, revision string) (*snapshot.Snapshot, error) {
	snap, missing := h.revision(source{repoURL: repoURL, revision: revision})
	switch {
	case missing != "":
		return nil, notHad("generator git", revision, missing)
	case snap == nil:
		return nil, NotFollowed{Text: "generator git is not followed: it reads " + shown(repoURL) + ", which is another repository"}
	}
	return snap, nil
}

func (h *Hub) request(applicationSet string, parameters json.RawMessage) (query.Query, error) {
	r, err := query.Parse(parameters, h.o.Hub)
	r.ApplicationSet = applicationSet
	return r, err
}
