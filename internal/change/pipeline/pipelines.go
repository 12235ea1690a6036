package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/bootstrap"
	"github.com/argosy-hub/argosy/internal/change/expand"
	"github.com/argosy-hub/argosy/internal/change/expand/rendercache"
	"github.com/argosy-hub/argosy/internal/change/expand/source"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleet/catalog"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	snapshots "github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
)

// Options say how pipelines are followed. Repository and Tools are required.
type Options struct {
	Repository Repository
	Tools      expand.Tools
	// Remotes, if not nil, fetches remote charts, folders and value files.
	Remotes Remotes
	// Secrets, if not nil, reads the objects of External Secrets for a plan.
	Secrets plan.SecretReader
	// KubeVersion and APIVersions are the cluster versions that charts are rendered for; default
	// Helm's own.
	KubeVersion string
	APIVersions []string
	// Instead names revisions to read in place of the revisions that charts and catalogs name:
	// NAME=REV.
	Instead []string
	// Roots are the files and folders of the roots of a repository without a fleet; default all.
	Roots []string
	// Clusters is what cluster generators list, where the repository has no fleet; nil if unknown.
	// A cluster without a server gets the address of unknownServer.
	Clusters []expand.Cluster
	// Other reads other repositories there (expand.Options.Other); default none.
	Other func(repoURL, revision string) (snap *snapshot.Snapshot, missing string)
}

// Remotes fetches for two revisions. The base may fetch what it names, and the head only what the
// base names. The function named is called when it is needed.
type Remotes interface {
	Base() source.Remote
	Head(named func() map[string]bool) source.Remote
}

// Pipelines follows the pipelines of hubs. It reads other revisions of the repository, each once.
type Pipelines struct {
	o         Options
	context   context.Context //nolint:containedctx // of the command, which ends with it; expand reads revisions without one
	instead   map[string]string
	cache     rendercache.Cache
	mu        sync.Mutex
	revisions map[string]revision
	catalogs  map[string]*catalog.ReleaseCatalog // of other revisions, by revision and file
}

// revision is another revision of the repository, or why it cannot be read.
type revision struct {
	snapshot *snapshot.Snapshot
	err      error
}

// New checks the options. The context bounds everything that the pipelines read.
func New(ctx context.Context, o Options) (*Pipelines, error) {
	p := &Pipelines{o: o, context: ctx, instead: map[string]string{}, revisions: map[string]revision{}, catalogs: map[string]*catalog.ReleaseCatalog{}}
	p.o.Clusters = slices.Clone(o.Clusters)
	for i, c := range o.Clusters {
		p.o.Clusters[i].Server = cmp.Or(c.Server, unknownServer(c.Name))
	}
	for _, pair := range o.Instead {
		name, rev, ok := strings.Cut(pair, "=")
		if !ok || name == "" || rev == "" {
			return nil, problem.Usage([]string{"for example --revision release-next=HEAD"}, "--revision %q: expected NAME=REV", pair)
		}
		p.instead[name] = rev
	}
	return p, nil
}

// hub returns the expansion of a hub's pipeline. Without remote, nothing remote is followed. Beside
// is what it will be compared with; nil for nothing.
func (p *Pipelines) hub(st *fleetstate.State, s, beside *snapshot.Snapshot, hub string, cache *rendercache.Cache, remote source.Remote) *expand.Hub {
	tools := p.o.Tools
	tools.Remote = remote
	o := expand.Options{
		State: st, Snapshot: s, Beside: beside, Hub: hub, Tools: tools, Cache: cache, At: p.at, KubeVersion: p.o.KubeVersion, APIVersions: p.o.APIVersions,
	}
	if o.HasNoFleet = hasStandIn(s); o.HasNoFleet {
		o.Roots, o.Clusters = p.o.Roots, p.o.Clusters
		if p.o.Other != nil {
			o.Other = func(repoURL, revision string) (*snapshot.Snapshot, string) {
				return p.o.Other(repoURL, cmp.Or(p.instead[revision], revision))
			}
		}
	}
	return expand.New(o)
}

// hubs returns the expansions of all hubs of a state, by name, or only of one. They follow nothing
// remote, and have no roots without a fleet: nothing there queries the service.
func (p *Pipelines) hubs(st *fleetstate.State, s *snapshot.Snapshot, only string) map[string]*expand.Hub {
	out := map[string]*expand.Hub{}
	if hasStandIn(s) {
		s = snapshot.FromMap(nil)
	}
	for _, hub := range st.Fleet.Hubs() {
		if only == "" || only == hub {
			out[hub] = p.hub(st, s, nil, hub, &p.cache, nil)
		}
	}
	return out
}

// requestedBy returns a function that reports whether an ApplicationSet of the hub queries for an
// Application of the hub's engine, before or after a change.
func requestedBy(base, head map[string]*expand.Hub) plan.Requested {
	requests := func(of, other map[string]*expand.Hub) map[string]*bootstrap.Roots {
		out := map[string]*bootstrap.Roots{}
		for name, h := range of {
			if len(h.Roots()) == 0 && other[name] != nil && len(other[name].Roots()) > 0 {
				out[name] = &bootstrap.Roots{} // the hub's bootstrap is here, but has no roots
				continue
			}
			out[name] = bootstrap.Of(h)
		}
		return out
	}
	before, after := requests(base, head), requests(head, base)
	return func(hub string, a inventory.Application) (bool, bool) {
		has := func(all map[string]*bootstrap.Roots) bool {
			r, known := all[hub]
			return !known || a.Owner != fleet.OwnerHub || r.MayAsk(a.View, a.Group)
		}
		if _, is := before[hub]; !is { // a new hub: no ApplicationSet of before goes on querying
			return has(after), has(after)
		}
		return has(before), has(after)
	}
}

// Explain explains a component of a state of this repository. A component that no ApplicationSet of
// the hub queries for is not deployed, whatever the catalogs say.
func (p *Pipelines) Explain(st *fleetstate.State, t explain.Target, path []string) (explain.Explanation, error) {
	e, err := explain.Component(st, t, path)
	if err != nil || e.State != explain.Deployed || e.Owner != fleet.OwnerHub {
		return e, err
	}
	view := query.Components
	if t.Group == fleetstate.FleetGroup && t.Component == fleetstate.Registration {
		view = query.Members
	}
	if !bootstrap.Of(p.hub(st, st.Resolver().Snapshot, nil, e.Hub, &p.cache, nil)).MayAsk(view, t.Group) {
		e.State = explain.NotRequested
	}
	return e, nil
}

// at reads a revision that charts or catalogs name.
func (p *Pipelines) at(name string) (*snapshot.Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.revisions[name]; ok {
		return r.snapshot, r.err
	}
	candidates := git.InClone(name)
	if other, ok := p.instead[name]; ok {
		candidates = []string{other}
	}
	var r revision
	if r.snapshot, r.err = git.FirstRevision(p.context, p.o.Repository.Location, Charts, candidates...); r.err != nil && !errors.Is(r.err, snapshots.AmbiguousRef) {
		r.err = fmt.Errorf("the clone has no revision %q", candidates[0])
	}
	p.revisions[name] = r
	return r.snapshot, r.err
}

// State returns the state of the repository with the catalogs of releases at other revisions of it.
func (p *Pipelines) State(ctx context.Context, f facts.Set) (*fleetstate.State, error) {
	st, s, err := p.o.Repository.State(ctx, f)
	if err != nil {
		return nil, err
	}
	return st.WithCatalogs(p.catalogsOf(st, s, nil)), nil
}
