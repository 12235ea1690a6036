package response_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/flux"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"

	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/querytest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// Rule G2: after a restart nothing is known of a cluster whose Secret is missing. Left out of an
// answer, its Applications would be deleted: the answer is refused, if there are any that the
// requester answers for.
func TestClusterWithApplicationsNeedsItsSecret(t *testing.T) {
	const (
		components = `{"view":"components","group":"addons","component":"dns","release":"default"}`
		releases   = `{"view":"releases","group":"addons"}`
		agents     = `{"view":"agents"}`
		agent      = "use_remote_argo: true\nenable_remote_addons: true\n"
	)
	agentOfOne := facts.Application{Name: "agent-one", Cluster: "one"}
	dns := fleettest.Application("dns", "one", "default")
	for _, c := range []struct {
		name string
		more fleettest.Tree
		apps []facts.Application
		by   string
		ask  string
		want string // of the answer, "-" for an empty one; none: it is refused
	}{
		{"a component's", nil, []facts.Application{dns}, "", components, ""},
		{"the requester controls it", nil, []facts.Application{fleettest.Controlled(dns, "own")}, "own", components, ""},
		{"the group as a whole", nil, []facts.Application{dns}, "", querytest.Addons, ""},
		{"its release would not be known to be in use", nil, []facts.Application{dns}, "", releases, ""},
		{"an agent", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", agent)}, []facts.Application{agentOfOne}, "", agents, ""},
		{"an agent that is none any more", nil, []facts.Application{agentOfOne}, "", agents, "-"},
		{"there never was one", nil, nil, "", components, "dns-hub"},
		{"another ApplicationSet's", nil, []facts.Application{fleettest.Controlled(dns, "other")}, "own", components, "dns-hub"},
		{"another release's", nil, []facts.Application{fleettest.Application("dns", "one", "canary")}, "", components, "dns-hub"},
		{"another component's", nil, []facts.Application{fleettest.Application("cert", "one", "default")}, "", components, "dns-hub"},
		{"another group's", nil, []facts.Application{{Name: "dns-one", Cluster: "one", Group: "resources", Component: "dns"}}, "", components, "dns-hub"},
		{"somebody else's, with its labels", nil, []facts.Application{{Name: "mine", Cluster: "one", Group: "addons", Component: "dns"}}, "", components, "dns-hub"},
		{"its registration alone", nil, []facts.Application{fleettest.Registration("one")}, "", components, "dns-hub"},
		{"the members' answer does not need a Secret", nil, []facts.Application{dns, fleettest.Registration("one")}, "", `{"view":"members"}`, "fleet-secret-one fleet-secret-two"},
		{"retired: Git says that it is to go", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", "lifecycle: retired\n")}, []facts.Application{dns}, "", components, "dns-hub"},
		{"moved to its own engine", fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", agent)}, []facts.Application{dns}, "", components, "dns-hub"},
		{"not selected", nil, []facts.Application{dns}, "", `{"view":"components","group":"addons","selector":{"matchLabels":{"tenant":"platform"}}}`, "dns-hub"},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := facts.NewSet(true, facts.Cluster{Name: "hub"}, facts.Cluster{Name: "two"}).WithApplications(c.apps...)
			st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", fleettest.Small().With(c.more)), known)
			require.NoError(t, err)
			querytest.NoProblems(t, st)
			if c.want != "" {
				if got := applicationsOf(t, st, c.ask, c.by); got != strings.Trim(c.want, "-") {
					t.Errorf("got %q, want %q", got, c.want)
				}
				return
			}
			r := querytest.Query(t, c.ask)
			r.ApplicationSet = c.by
			b, err := response.Bytes(st, r)
			var e *problem.QueryError
			if !errors.As(err, &e) || e.Kind != problem.KindUnavailable || e.Problems[0].Reason != problem.MissingSecret || e.Problems[0].Cluster != "one" {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
}

// applicationsOf are the Applications of an answer to an ApplicationSet.
func applicationsOf(t testing.TB, st *fleetstate.State, parameters, applicationSet string) string {
	t.Helper()
	r := querytest.Query(t, parameters)
	r.ApplicationSet = applicationSet
	return querytest.Column(t, st, r, "applicationName")
}

// Rule G1: a member whose own engine asks is there. To answer that it is to run nothing, as its
// Secret is missing, would remove everything: Flux deletes what is left out.
func TestEngineOfAClusterWithoutSecretIsRefused(t *testing.T) {
	for more, refused := range map[string]bool{"": true, "lifecycle: retired\n": false} {
		files := fleettest.Small().With(fleettest.Tree{fleettest.Member("one"): fleettest.Spoke("one", fluxAgent+more)})
		st, err := fleetstate.Build(nil, fleettest.Snapshot("rev", files), facts.NewSet(true, facts.Cluster{Name: "hub"}).WithApplications())
		require.NoError(t, err)
		own := querytest.Query(t, `{"view":"components","group":"addons","owner":"one"}`)
		for what, ask := range map[string]func() (any, error){
			"inputs":   func() (any, error) { return response.Inputs(st, own) },
			"artifact": func() (any, error) { return flux.OwnedBy(st, "hub", "one") },
			"answer":   func() (any, error) { return response.Bytes(st, own) },
			"releases": func() (any, error) {
				return response.Bytes(st, querytest.Query(t, `{"view":"releases","group":"addons","owner":"one"}`))
			},
		} {
			if out, err := ask(); (err != nil) != refused || refused && !strings.Contains(err.Error(), "has no cluster Secret") {
				t.Errorf("%s %s: %s, %v", what, more, out, err)
			}
		}
		others := querytest.Query(t, `{"view":"components","group":"resources","owner":"one"}`)
		if _, err := response.Inputs(st, others); err != nil {
			t.Error("a group that the hub owns:", err)
		}
		assert.Equal(t, "dns-hub", applicationsOf(t, st, querytest.Addons, ""), "the hub's answer")
	}
}
