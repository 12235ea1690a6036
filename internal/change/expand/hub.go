package expand

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/response"
)

// Bootstrap is the folder of the roots: a file and a folder for each hub.
const Bootstrap = "fleet/bootstrap"

// Options configures an expansion. State, Snapshot, Hub and Tools are required; State must have
// been built from Snapshot.
type Options struct {
	State    *fleetstate.State
	Snapshot *snapshot.Snapshot
	// Beside is the snapshot that Snapshot will be compared with, so that both have the same roots;
	// nil for none.
	Beside *snapshot.Snapshot
	Hub    string
	Tools  Tools
	// Cache is shared with other revisions. It defaults to a new cache.
	Cache *rendercache.Cache
	// At reads another revision of this repository. Without it, other revisions cannot be read.
	At func(revision string) (*snapshot.Snapshot, error)
	// KubeVersion and APIVersions are what Argo CD finds on the clusters, for charts. They default
	// to Helm's own.
	KubeVersion string
	APIVersions []string
	// HasNoFleet means that the roots are the repository's own Applications and ApplicationSets, or
	// the ones at Roots. Cluster generators list Clusters; nil if they are not followed.
	HasNoFleet bool
	Roots      []string
	Clusters   []Cluster
	// Other reads another repository that is at hand; nil for one that is not. missing says why a
	// revision of it cannot be read. It defaults to none.
	Other func(repoURL, revision string) (snap *snapshot.Snapshot, missing string)
}

// Hub is the expansion of a hub at one revision. It may be used by several goroutines.
type Hub struct {
	o       Options
	roots   []*object.Object
	folders source.Folders
	urls    map[string]string // the tracked revision, by this repository's addresses
	resumes bool              // it follows what Flux has suspended, too
	unread  map[string]bool   // files of roots that cannot be read

	mu       sync.Mutex
	problems []problem.Problem
	reported map[string]bool // problems reported so far
}

// New reads the roots of a hub. A hub without roots has no objects, which is reported as a problem.
// A hub that runs Flux has its artifact as root.
func New(o Options) *Hub {
	if o.Cache == nil {
		o.Cache = &rendercache.Cache{}
	}
	h := &Hub{o: o, urls: map[string]string{}, unread: map[string]bool{}, reported: map[string]bool{}}
	if o.State.HubEngine(o.Hub) == fleet.EngineFlux {
		h.roots = []*object.Object{h.pulls()}
		h.adoptDeclared()
		return h
	}
	if o.HasNoFleet {
		h.roots = append(h.ownRoots(), h.fluxRoots()...)
		return h
	}
	file, dir := path.Join(Bootstrap, o.Hub+".yaml"), path.Join(Bootstrap, o.Hub)
	if f := o.Snapshot.File(file); f != nil {
		h.roots, _ = h.writtenObjects(f, nil, ownerHub)
		h.adopt(dir)
	}
	if len(h.roots) == 0 {
		for _, p := range o.Snapshot.Under(dir) {
			if manifest.IsFile(p) && path.Dir(p) == dir {
				objects, _ := h.writtenObjects(o.Snapshot.File(p), nil, ownerHub)
				h.roots = append(h.roots, objects...)
			}
		}
	}
	if len(h.urls) == 0 && o.State.HubMember(o.Hub) != nil {
		h.adoptDeclared() // no root names this repository
	}
	if len(h.roots) == 0 {
		h.report(problem.Problem{
			Reason: problem.NotExpanded, Severity: problem.Warning, Pos: problem.Pos{File: dir}, Hub: o.Hub,
			Subject: fmt.Sprintf("hub %q", o.Hub), Found: "has no roots", Expected: "Applications or ApplicationSets in " + file + " or " + dir,
		})
	}
	return h
}

// adopt learns this repository's addresses from the Applications that point to the hub's own
// folder.
func (h *Hub) adopt(dir string) {
	for _, o := range h.roots {
		if !o.Application() {
			continue
		}
		for _, s := range o.Sources() {
			if path.Clean(s.Path) == dir {
				h.urls[source.Address(s.RepoURL)] = s.Revision
			}
		}
	}
}

// adoptDeclared learns this repository's address from the hub's member file, where no root
// Application names it.
func (h *Hub) adoptDeclared() {
	if url, revision := h.o.State.HubMember(h.o.Hub).FleetRepository(); url.Value != "" {
		h.urls[source.Address(url.Value)] = revision.Value
	}
}

// Renders reports whether remote charts are rendered.
func (h *Hub) Renders() bool { return h.o.Tools.Remote != nil }

// Roots returns the objects that a user applies, in order.
func (h *Hub) Roots() []*object.Object { return h.roots }

// At returns the snapshot that a source of the hub's Applications names, or nil for another
// repository. missing says why a revision of this repository cannot be read.
func (h *Hub) At(repoURL, revision, path string) (snap *snapshot.Snapshot, missing string) {
	return h.local(source.Source{RepoURL: repoURL, Revision: revision, Path: path})
}

// Name returns the hub's name.
func (h *Hub) Name() string { return h.o.Hub }

// Problems returns the problems of everything computed so far, in order.
func (h *Hub) Problems() []problem.Problem {
	h.mu.Lock()
	defer h.mu.Unlock()
	return problem.Sorted(slices.Clone(h.problems))
}

// Report adds a problem of the hub that the caller has found, once.
func (h *Hub) Report(p problem.Problem) { h.report(p) }

// report adds a problem once.
func (h *Hub) report(p problem.Problem) {
	if p.Hub == "" {
		p.Hub = h.o.Hub
	}
	key := p.Cluster + " " + p.Error()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reported[key] {
		h.reported[key] = true
		h.problems = append(h.problems, p)
	}
}

// reportOf adds a problem of an object.
func (h *Hub) reportOf(o *object.Object, severity problem.Severity, found string) {
	h.reportAt(o, o.Pos, severity, found)
}

// reportAt adds a problem of an object at another position.
func (h *Hub) reportAt(o *object.Object, pos problem.Pos, severity problem.Severity, found string, hints ...string) {
	reason := problem.ExpansionFailed
	if severity == problem.Warning {
		reason = problem.NotExpanded
	}
	h.report(problem.Problem{
		Reason: reason, Severity: severity, Pos: pos, Subject: fmt.Sprintf("%s %q", o.Kind(), o.Name()), Found: found, Hints: hints,
		Cluster: o.Label("argosy.dev/cluster"),
	})
}

// reportFailure reports why an object's expansion failed: with the resolver's problems, if it
// refused the query.
func (h *Hub) reportFailure(o *object.Object, err error) {
	var refused *problem.QueryError
	if errors.As(err, &refused) && len(refused.Problems) > 0 {
		for _, p := range problem.Cut(refused.Problems, problem.OfCluster) {
			h.report(p)
		}
		h.reportOf(o, problem.Error, "makes nothing: the plugin refuses to answer, and what there is stays as it is")
		return
	}
	h.reportOf(o, problem.Error, oneLine(err))
}

func oneLine(err error) string { return problem.OneLine(err.Error(), 600) }

// query returns the plugin's response to an ApplicationSet.
func (h *Hub) query(applicationSet string, parameters json.RawMessage) (json.RawMessage, error) {
	r, err := h.request(applicationSet, parameters)
	if err != nil {
		return nil, err
	}
	found, err := response.Respond(h.o.State, r)
	if err != nil {
		return nil, err
	}
	return found.Bytes(), nil
}

// openRepository opens a repository for the git generator; only this repository is read.
func (h *Hub) openRepository(repoURL, revision string) (*snapshot.Snapshot, error) {
	s := source.Source{RepoURL: repoURL, Revision: revision}
	snap, missing := h.revision(s)
	switch {
	case missing != "":
		return nil, h.missingRevision("generator git", s, missing)
	case snap == nil:
		hint := ""
		if h.o.HasNoFleet {
			hint = "--repository " + source.Shown(repoURL) + "=DIR names a clone of it"
		}
		return nil, source.NotFollowed{Text: "generator git is not followed: it reads " + source.Shown(repoURL) + ", which is a different repository", Hint: hint}
	}
	return snap, nil
}

func (h *Hub) request(applicationSet string, parameters json.RawMessage) (query.Query, error) {
	r, err := query.Parse(parameters, h.o.Hub)
	r.ApplicationSet = applicationSet
	return r, err
}
