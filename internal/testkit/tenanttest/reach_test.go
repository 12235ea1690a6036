package tenanttest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/inventory"
	"github.com/argosy-hub/argosy/internal/lifecycle"
	"github.com/argosy-hub/argosy/internal/resolve/explain"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/service/access"
	"github.com/argosy-hub/argosy/internal/testkit/tenanttest"
	"github.com/argosy-hub/argosy/internal/web/overview"
)

// reach is what a state says about everybody but tenant Red: texts by what they are about. Two
// states that differ by Red's commit have the same.
type reach map[string]string

// routes are the service's routes, each with what it says. A new route fails TestEveryRouteIsWalked
// until it has a line here.
var routes = map[string]func(reach, *fleetstate.State, queries) error{
	access.GetParams:  reach.parameters,
	access.FluxInputs: reach.inputs,
	access.Registry:   reach.artifacts,
	access.FleetRoute: reach.summaries,
	access.Explain:    reach.explanations,
	access.Web:        reach.pages,
	access.Webhook:    func(reach, *fleetstate.State, queries) error { return nil }, // it says nothing
}

// TestEveryRouteIsWalked: the property looks at all that the service says, and a new route or view
// is part of it.
func TestEveryRouteIsWalked(t *testing.T) {
	for _, route := range access.Routes {
		if routes[route] == nil {
			t.Errorf("route %s: what it says about other tenants is not looked at", route)
		}
	}
	for v := range tenanttest.Variants {
		f := fleetOf(tenanttest.Variant(v))
		for _, view := range query.Views {
			if !slices.ContainsFunc(f.queries.always, func(q query.Query) bool { return string(q.View) == view }) {
				t.Errorf("fleet %d: view %s is not looked at", v, view)
			}
		}
	}
}

// queries are those that a fleet without tenant Red responds to. Not every commit is tried with all
// of them: inputs and artifacts are other forms of the same sets.
type queries struct {
	always, sometimes, inputs []query.Query
	artifacts, people         bool // what Flux reads, and what people read
}

// queriesOf finds the queries by trying: all combinations of the keys that a query may have.
func queriesOf(st *fleetstate.State) (q queries) {
	owners := []string{tenanttest.Hub, "blue-1", "blue-2"} // those with an engine
	base := map[string]any{"enabled": true, "chart": map[string]any{"repoURL": "r", "name": "n", "version": "1"}, "values": map[string]any{"cluster": "{{ .cluster }}"}}
	for _, view := range query.Views {
		groups := st.Groups()
		if _, err := response.Respond(st, query.Query{View: query.View(view), Hub: tenanttest.Hub}); err == nil {
			groups = []string{""} // it is about all
		}
		for _, group := range groups {
			for _, owner := range owners {
				for i, more := range []query.Query{
					{},
					{Component: "dns"},
					{Component: "own"},
					{Component: "dns", Base: base},
					{Component: "new", Base: base},
					{Component: "web", Base: base},
					{Release: "canary"},
					{Selector: map[string]any{"matchLabels": map[string]any{"tenant": tenanttest.Blue}}},
				} {
					more.View, more.Hub, more.Group, more.Owner = query.View(view), tenanttest.Hub, group, owner
					if _, err := response.Respond(st, more); err != nil {
						continue
					}
					if i == 0 {
						q.always = append(q.always, more)
					} else {
						q.sometimes = append(q.sometimes, more)
					}
				}
			}
		}
	}
	return q
}

// all are all queries, in every form.
func (q queries) all() queries {
	all := slices.Concat(q.always, q.sometimes)
	return queries{always: all, inputs: all, artifacts: true, people: true}
}

// of are some of the queries, which differ from commit to commit: all take thirty times as long.
func (q queries) of(seed int) (some queries) {
	every := func(n int, of []query.Query) (out []query.Query) {
		for i := seed % n; i < len(of); i += n {
			out = append(out, of[i])
		}
		return out
	}
	some.always = slices.Concat(every(16, q.always), every(80, q.sometimes))
	for _, is := range q.always { // with what Red's own members have on the hub
		if is.Owner == tenanttest.Hub && (is.View == query.Members || is.View == query.Components && is.Group == "addons") && !slices.ContainsFunc(some.always, func(o query.Query) bool { return describe(o) == describe(is) }) {
			some.always = append(some.always, is)
		}
	}
	some.inputs = every(12, some.always)
	some.artifacts, some.people = seed%32 == 1, seed%4 == 1
	return some
}

// keys are the queries by what their texts are called.
func (q queries) keys() map[string]bool {
	keys := map[string]bool{}
	for _, query := range q.always {
		keys[describe(query)] = true
	}
	for _, query := range q.inputs {
		keys[inputs+describe(query)] = true
	}
	return keys
}

// reachOf is all that a state says about everybody but tenant Red. The error is a response that is
// refused.
func reachOf(st *fleetstate.State, q queries) (reach, error) {
	r := reach{}
	for _, route := range access.Routes {
		if err := routes[route](r, st, q); err != nil {
			return nil, fmt.Errorf("route %s: %w", route, err)
		}
	}
	for _, c := range st.ClustersOf(tenanttest.Hub) {
		if !tenanttest.IsRed(c.Member.Name) {
			holdings, known := lifecycle.Holdings(st, c)
			r["holdings "+c.Member.Name] = fmt.Sprint(holdings, known)
		}
	}
	return r, nil
}

// The words that texts' names begin with.
const (
	inputs    = "inputs "
	ofFlux    = "flux "
	ofExplain = "explain "
	ofPages   = "page "
	// onHub is what a member of Red has on the hub besides labels and annotations.
	onHub = "on the hub: "
	// atLeast is what may be more, never less and never other.
	atLeast = "at least "
)

func describe(q query.Query) string {
	return fmt.Sprintf("{%s %s %s %s base %t selector %t owner %s}", q.View, q.Group, q.Component, q.Release, q.Base != nil, q.Selector != nil, q.Owner)
}

func (r reach) parameters(st *fleetstate.State, q queries) error {
	for _, query := range q.always {
		b, err := response.Bytes(st, query)
		if err != nil {
			return fmt.Errorf("%s: %w", describe(query), err)
		}
		if err := r.sets(st, describe(query), query, setsOf(b)); err != nil {
			return err
		}
	}
	return nil
}

func (r reach) inputs(st *fleetstate.State, q queries) error {
	for _, query := range q.inputs {
		res, err := response.Inputs(st, query)
		if err != nil {
			return fmt.Errorf("%s: %w", describe(query), err)
		}
		if err := r.sets(st, inputs+describe(query), query, setsOf(res.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// setsOf are the texts of a response's sets.
func setsOf(response []byte) (all []string) {
	_, list, _ := strings.Cut(string(response), ":[")
	depth, from, quoted := 0, 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			if depth++; depth == 1 {
				from = i
			}
		case c == '}':
			if depth--; depth == 0 {
				all = append(all, list[from:i+1])
			}
		}
	}
	return all
}

// sets notes the sets of a response that are not about Red's members, in their order.
func (r reach) sets(st *fleetstate.State, of string, q query.Query, sets []string) error {
	for _, text := range sets {
		if strings.Contains(text[:min(len(text), 200)], `"name":"blue-`) && q.View != query.Releases {
			r[of] += text + "\n" // which spares to read it
			continue
		}
		if err := r.set(st, of, q, text); err != nil {
			return err
		}
	}
	return nil
}

func (r reach) set(st *fleetstate.State, of string, q query.Query, text string) error {
	var set struct {
		Name, ApplicationName, Tenant, Component, Group, HelmValues, Namespace, ReleaseName string

		Chart      any
		Companions map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return err
	}
	switch {
	case q.View == query.Releases && !tenanttest.IsRed(set.Name):
		return r.release(of, text)
	case !tenanttest.IsRed(set.Name):
		r[of] += text + "\n"
	case !strings.HasSuffix(set.ApplicationName, set.Name) && len(set.ApplicationName) < 63:
		return fmt.Errorf("%s: a set of %s makes Application %s", of, set.Name, set.ApplicationName)
	case q.View == query.Members && set.Tenant == tenanttest.Red:
		rest, err := registrationBeyondLabels(set.HelmValues)
		if err != nil {
			return err
		}
		r[onHub+set.Name] = rest
	case landsOnHub(st, set.Group, set.Component) && q.Base == nil:
		var values map[string]any
		if err := yaml.Unmarshal([]byte(set.HelmValues), &values); err != nil {
			return err
		}
		delete(values, "title") // which the schema allows
		for _, c := range set.Companions {
			delete(c, "valueFiles") // a file without values is read, too
		}
		r[onHub+set.ApplicationName] = fmt.Sprint(set.Chart, set.Companions, set.Namespace, set.ReleaseName, values)
	}
	return nil
}

// landsOnHub reports whether a component is one of those that the fleet deploys to the hub.
func landsOnHub(st *fleetstate.State, group, component string) bool {
	all := st.Fleet.Layout.TenantSchemas
	_, hasSchema := all[group+"/"+component]
	return hasSchema || len(all) > 0 && group == "addons" && component == "portal"
}

// registrations are the results of registrationBeyondLabels: most commits change none.
var registrations sync.Map

// registrationBeyondLabels are the values of a member's registration without the labels and
// annotations that its tenant may set.
func registrationBeyondLabels(values string) (string, error) {
	if rest, ok := registrations.Load(values); ok {
		return rest.(string), nil
	}
	var v map[string]any
	if err := yaml.Unmarshal([]byte(values), &v); err != nil {
		return "", err
	}
	secret, _ := v["externalSecret"].(map[string]any)
	if secret == nil {
		return "", errors.New("no externalSecret")
	}
	for _, kind := range []string{"labels", "annotations"} {
		all, _ := secret[kind].(map[string]any)
		maps.DeleteFunc(all, func(key string, _ any) bool { return mayRedSet(kind, key) })
	}
	text, err := yaml.Marshal(v)
	if err == nil && len(values) < 4096 {
		registrations.Store(values, string(text))
	}
	return string(text), err
}

// mayRedSet reports whether a tenant may set a label or an annotation of its own cluster Secret:
// not what says which cluster it is, where Git is, or what belongs to a controller.
func mayRedSet(kind, key string) bool {
	switch {
	case strings.Contains(key, "argoproj.io/"), strings.Contains(key, "argosy.dev/"):
		return false
	case kind == "labels":
		return key != "tenant" && key != "environment" && key != "fleet_member"
	default:
		return key != "cluster_name" && !strings.HasSuffix(key, "_repo_url")
	}
}

// release notes what a release's set says beyond Red: without Red's clusters, and each component
// that is on. A component that Red alone switches on adds an entry, as a release that it alone is
// on adds a set: so alone these may be more.
func (r reach) release(of, text string) error {
	var set map[string]any
	if err := json.Unmarshal([]byte(text), &set); err != nil {
		return err
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(fmt.Sprint(set["helmValues"])), &values); err != nil {
		return err
	}
	clusters, _ := set["clusters"].([]any)
	set["clusters"] = slices.DeleteFunc(clusters, func(c any) bool { return tenanttest.IsRed(fmt.Sprint(c)) })
	components, _ := values["components"].(map[string]any)
	delete(values, "components")
	delete(set, "digest")
	set["helmValues"] = values
	rest, err := json.Marshal(set)
	if err != nil {
		return err
	}
	at := fmt.Sprintf("%s%s release %v", atLeast, of, set["applicationName"])
	if len(set["clusters"].([]any)) > 0 {
		r[at] = string(rest)
	}
	for name, entry := range components {
		r[at+" component "+name] = fmt.Sprint(entry)
	}
	return nil
}

// artifacts are the objects of Flux: those of each engine, and of the hub's those that are not
// Red's.
func (r reach) artifacts(st *fleetstate.State, q queries) error {
	if !q.artifacts {
		return nil
	}
	for _, owner := range []string{"hub", "blue-1"} {
		owned, err := flux.OwnedBy(st, tenanttest.Hub, owner)
		if err != nil {
			return fmt.Errorf("%s: %w", owner, err)
		}
		if owner == "hub" && !st.IsFluxHub(tenanttest.Hub) {
			continue
		}
		files, problems := flux.Render(owned)
		if files == nil {
			return fmt.Errorf("%s: %v", owner, problems)
		}
		for _, f := range files {
			cluster := strings.TrimSuffix(f.Name[strings.LastIndex(f.Name, "red-")+1:], ".yaml")
			isRed := strings.Contains(f.Name, "red-") && strings.Count(cluster, "-") == 1
			switch {
			case owner != "hub":
				r[ofFlux+owner+" "+f.Name] = string(f.Data)
			case f.Name == "kustomization.yaml":
			case !isRed:
				r[atLeast+ofFlux+owner+" "+f.Name] = string(f.Data)
			}
		}
	}
	return nil
}

func (r reach) summaries(st *fleetstate.State, _ queries) error {
	for _, s := range inventory.Summaries(st) {
		if tenanttest.IsRed(s.Name) {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		r["summary "+s.Name] = string(text)
	}
	return nil
}

func (r reach) explanations(st *fleetstate.State, q queries) error {
	if !q.people {
		return nil
	}
	for _, cluster := range []string{"blue-0", "blue-1"} {
		for _, of := range []explain.Target{{Group: "addons", Component: "dns"}, {Group: "addons", Component: "own"}, {Group: fleetstate.FleetGroup, Component: fleetstate.Registration}} {
			of.Hub, of.Cluster = tenanttest.Hub, cluster
			e, err := explain.Component(st, of, nil)
			if err != nil {
				return err
			}
			text, err := json.Marshal(e)
			if err != nil {
				return err
			}
			r[ofExplain+of.String()] = string(text)
		}
	}
	return nil
}

// notRed is who sees all but tenant Red.
type notRed struct{}

func (notRed) Sees(_, cluster, _ string) bool { return !tenanttest.IsRed(cluster) }
func (notRed) SeesGroup(string) bool          { return true }
func (notRed) SeesEverything() bool           { return false }

// pages are the matrix, and the versions of a component, as everybody but tenant Red sees them.
func (r reach) pages(st *fleetstate.State, q queries) error {
	if !q.people {
		return nil
	}
	x := new(overview.Cache).Of(st)
	versions, err := x.Versions(notRed{}, overview.Filter{Group: "addons", Component: "dns"})
	if err != nil {
		return err
	}
	for what, page := range map[string]any{"matrix": x.Matrix(notRed{}, overview.Live{}, overview.Filter{}, "", 1), "versions": versions} {
		text, err := json.Marshal(page)
		if err != nil {
			return err
		}
		r[ofPages+what] = string(text)
	}
	return nil
}

// differences are what a commit changed that it must not: what is gone, other, or new.
func (r reach) differences(before reach) (out []string) {
	for _, what := range slices.Sorted(maps.Keys(before)) {
		if now, is := r[what]; now != before[what] && (is || !strings.HasPrefix(what, onHub)) {
			out = append(out, fmt.Sprintf("%s:\n%s", what, cmp.Diff(before[what], now)))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(r)) {
		if _, was := before[what]; !was && !strings.HasPrefix(what, atLeast) {
			out = append(out, fmt.Sprintf("%s is new: %s", what, r[what]))
		}
	}
	return out
}
