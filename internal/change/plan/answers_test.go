package plan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// asideFields are those of a parameter set that a plan does not compare for each Application: what
// comes from the cluster (whose own differences the plan shows) and none of our Applications holds,
// and what tells no difference.
var asideFields = []string{
	"revision", "digest", "metadata", "tenant", "environment", "model", "server", "valueFiles", "clusters",
}

// complete fails if any answer of any engine changes without the plan saying so (rule 1).
func complete(t *testing.T, base, head *fleetstate.State, p *plan.Plan) {
	t.Helper()
	planned := map[string]bool{}
	for _, h := range p.Hubs {
		for _, c := range h.Clusters {
			for _, a := range c.Applications {
				planned[strings.Join([]string{h.Name, c.Name, string(a.View), a.Name}, " ")] = true
			}
		}
	}
	before, after := answered(t, base), answered(t, head)
	for _, name := range union(before, after) {
		if !reflect.DeepEqual(before[name], after[name]) && !planned[name] {
			t.Errorf("%s changes, and the plan does not say so:\n%v\n%v", name, before[name], after[name])
		}
	}
}

func union(a, b map[string]any) []string {
	var out []string
	for name := range a {
		out = append(out, name)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

// answered are all parameter sets, by hub, cluster, view and name.
func answered(t *testing.T, st *fleetstate.State) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, hub := range st.Fleet.Hubs() {
		requests := []query.Query{{View: query.Members}, {View: query.Agents}}
		owners := []string{fleet.OwnerHub}
		for _, m := range st.Fleet.Members(hub) {
			if m.Remote && m.Engine == fleet.EngineArgoCD {
				owners = append(owners, m.Name)
			}
		}
		for _, group := range st.Fleet.Layout.GroupNames() {
			for _, owner := range owners {
				requests = append(requests, query.Query{View: query.Components, Group: group, Owner: owner}, query.Query{View: query.Releases, Group: group, Owner: owner})
			}
		}
		for _, r := range requests {
			r.Hub = hub
			add(t, st, r, out)
		}
	}
	return out
}

func add(t *testing.T, st *fleetstate.State, r query.Query, to map[string]any) {
	t.Helper()
	text, err := response.Bytes(st, r)
	require.NoError(t, err)
	var answer struct {
		Output struct{ Parameters []map[string]any }
	}
	require.NoError(t, json.Unmarshal(text, &answer))
	for _, set := range answer.Output.Parameters {
		name := fmt.Sprintf("%s %s %s %s", r.Hub, set["name"], r.View, set["applicationName"])
		for _, field := range asideFields {
			delete(set, field)
		}
		if components, ok := set["components"].([]any); ok { // flux: each is an Application of its own
			delete(set, "components")
			for _, c := range components {
				c := c.(map[string]any)
				for _, field := range asideFields {
					delete(c, field)
				}
				to[fmt.Sprintf("%s %s %s %s", r.Hub, c["name"], query.Components, c["applicationName"])] = c
			}
		}
		to[name] = set
	}
}
