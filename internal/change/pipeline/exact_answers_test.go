package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/change/expand/manifest"
	"github.com/argosy-hub/argosy/internal/change/expand/object"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// ofCluster are the fields of a parameter set that are the cluster's. A plan names the cluster for
// them, and not each of its Applications.
var ofCluster = []string{"metadata", "tenant", "environment", "model", "server"}

// saysNothing are the fields of a parameter set that no engine does anything by.
var saysNothing = []string{"digest", "revision", "valueFiles", "clusters", "hold"}

// answered is all that a hub's engines get at one revision.
type answered struct {
	state   *fleetstate.State
	rooted  map[string]bool
	queries map[string]map[string]query.Query // by hub
	failed  []string                          // queries that have no response
	twins   map[string]bool                   // ApplicationSets and Applications that two others make, by turns
	// sets are the parameter sets without what is the cluster's, by hub, cluster, view and name;
	// clusters are what is the cluster's.
	sets     map[string]map[string]any
	clusters map[string]map[string]any
	objects  map[string]map[object.Key]*object.Object // by hub
	left     map[object.Key]bool                      // ApplicationSets that nobody makes any more
}

func pipelines(t *testing.T, next fleettest.Tree) *Pipelines {
	t.Helper()
	p, err := New(context.Background(), Options{Tools: tools})
	require.NoError(t, err)
	p.revisions["next"] = revision{err: fmt.Errorf("the clone has no revision %q", "next")}
	if next != nil {
		p.revisions["next"] = revision{snapshot: snapshot.FromMap(next)}
	}
	p.revisions["own"] = revision{err: fmt.Errorf("the clone has no revision %q", "own")}
	return p
}

// answer asks everything that the hubs' ApplicationSets ask, or without any all that there is. The
// ApplicationSets of before that nothing removes go on asking.
func answer(p *Pipelines, st, other *fleetstate.State, before *answered) *answered {
	s := st.Resolver().Snapshot
	a := &answered{
		state: st, rooted: map[string]bool{}, queries: map[string]map[string]query.Query{}, twins: map[string]bool{}, sets: map[string]map[string]any{}, clusters: map[string]map[string]any{},
		objects: map[string]map[object.Key]*object.Object{}, left: map[object.Key]bool{},
	}
	for _, hub := range st.Fleet.Hubs() {
		a.queries[hub], a.objects[hub] = map[string]query.Query{}, map[object.Key]*object.Object{}
		h := p.hub(st, s, nil, hub, nil, nil)
		a.rooted[hub] = len(h.Roots()) > 0
		for _, o := range h.All(true) {
			o = withChartValues(s, o)
			a.objects[hub][o.Key()] = o
			a.queriesOf(hub, o)
		}
		for _, x := range h.Problems() {
			if x.Reason == problem.DuplicateName {
				a.twins[hub+" "+x.Subject] = true
			}
		}
		if before != nil && st.HubEngine(hub) == before.state.HubEngine(hub) {
			for k, o := range before.objects[hub] {
				if o.ApplicationSet() && a.objects[hub][k] == nil && a.stays(hub, o) {
					a.left[k] = true
					a.queriesOf(hub, o)
				}
			}
		}
		if st.IsFluxHub(hub) || !a.rooted[hub] && !isRooted(p, other, hub) {
			a.all(hub)
		}
		for _, q := range a.queries[hub] {
			a.ask(hub, q)
		}
	}
	return a
}

// isRooted reports whether a state's snapshot has a hub's roots.
func isRooted(p *Pipelines, st *fleetstate.State, hub string) bool {
	return slices.Contains(st.Fleet.Hubs(), hub) && len(p.hub(st, st.Resolver().Snapshot, nil, hub, nil, nil).Roots()) > 0
}

// queriesOf are the queries of an ApplicationSet.
func (a *answered) queriesOf(hub string, o *object.Object) {
	if !o.ApplicationSet() {
		return
	}
	generators, _ := manifest.At(o.Tree, "spec", "generators").([]any)
	for _, g := range generators {
		if manifest.At(g, "plugin") == nil {
			continue
		}
		parameters, _ := json.Marshal(manifest.At(g, "plugin", "input", "parameters"))
		if q, err := query.Parse(parameters, hub); err == nil && q.View != query.Grants {
			a.queries[hub][fmt.Sprint(q)] = q
		}
	}
}

// stays reports whether nothing removes an object that nobody makes any more.
func (a *answered) stays(hub string, o *object.Object) bool {
	switch above := o.Parent; {
	case above == nil:
		return true // somebody has applied it
	case a.objects[hub][above.Key()] != nil:
		return above.Application() && !a.objects[hub][above.Key()].Prunes()
	default:
		return !above.HasFinalizer("resources-finalizer.argocd.argoproj.io")
	}
}

// all are the queries of all views, groups and owners of a hub.
func (a *answered) all(hub string) {
	owners := []string{fleet.OwnerHub}
	for _, m := range a.state.Fleet.Members(hub) {
		if m.Remote && m.Engine == fleet.EngineArgoCD {
			owners = append(owners, m.Name)
		}
	}
	add := func(q query.Query) { q.Hub = hub; a.queries[hub][fmt.Sprint(q)] = q }
	add(query.Query{View: query.Members})
	add(query.Query{View: query.Agents})
	for _, group := range a.state.Fleet.Layout.GroupNames() {
		for _, owner := range owners {
			if owner != fleet.OwnerHub && a.state.Fleet.Member(hub, owner).Owner(group) != owner {
				continue
			}
			add(query.Query{View: query.Components, Group: group, Owner: owner})
			if owner != fleet.OwnerHub || !a.state.IsFluxHub(hub) {
				add(query.Query{View: query.Releases, Group: group, Owner: owner})
			}
		}
	}
}

func (a *answered) ask(hub string, q query.Query) {
	text, err := response.Bytes(a.state, q)
	if err != nil {
		a.failed = append(a.failed, fmt.Sprint(q, " ", err))
		return
	}
	var got struct {
		Output struct{ Parameters []map[string]any }
	}
	if err := json.Unmarshal(text, &got); err != nil {
		panic(err)
	}
	for _, set := range got.Output.Parameters {
		a.add(hub, q.View, q.Owner, set)
	}
}

func (a *answered) add(hub string, view query.View, owner string, set map[string]any) {
	if set["deletion"] == "cascade" && view != query.Grants {
		return // it goes
	}
	cluster, _ := set["name"].(string)
	own := map[string]any{}
	for _, field := range ofCluster {
		own[field] = set[field]
		delete(set, field)
	}
	for _, field := range saysNothing {
		delete(set, field)
	}
	a.clusters[hub+"/"+cluster] = own
	set["owner"] = owner
	if owner == "" || owner == fleet.OwnerHub || view == query.Agents || view == query.Members {
		set["owner"], set["ownerEngine"] = fleet.OwnerHub, a.state.HubEngine(hub)
	} else if m := a.state.Fleet.Member(hub, owner); m != nil {
		set["ownerEngine"] = m.Engine
	}
	if components, is := set["components"].([]any); is { // what a Flux agent runs
		delete(set, "components")
		for _, c := range components {
			a.add(hub, query.Components, cluster, c.(map[string]any))
		}
	}
	a.sets[fmt.Sprintf("%s/%s %s %s", hub, cluster, view, set["applicationName"])] = set
}
