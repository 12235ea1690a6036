package rings

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// TestAgentOfWhichNobodyAsksIsNotHealthy: a group arrives on an agent before the ApplicationSets
// that ask for it. Until they do, the agent does not say that what is announced runs there. (G8)
func TestAgentOfWhichNobodyAsksIsNotHealthy(t *testing.T) {
	files := snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{
		"fleet/fleet-members/hub-1/a.yaml": "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: s\nuse_remote_argo: true\nenable_remote_addons: true\n",
		"fleet/rollouts/all.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nagents: true\nrings:\n  - {name: all, selector: {}}\n",
	}))
	announcement := "all=" + files.Revision
	grant := facts.OwnershipGrant{Group: "addons", UID: "uid", Held: true, Rings: announcement}
	queries := map[string][]query.Query{"others": {{View: query.Components, Hub: "hub-1", Group: "resources", Owner: "a"}}}
	var st *fleetstate.State
	var says map[string]string
	r := New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler),
		Queries: func() map[string][]query.Query { return queries },
		State:   func() *fleetstate.State { return st },
		Report:  func(health map[string]string) { says = health },
	})
	look := func(apps ...facts.Application) string {
		var err error
		if st, err = fleetstate.Build(st, files, facts.NewSet(false).WithApplications(apps...).WithHealth().WithGrants("a", grant)); err != nil {
			t.Fatal(err)
		}
		r.Serving(st)
		r.Look(t.Context())
		return says["addons"]
	}
	if is := look(); !strings.HasSuffix(is, announcement) || strings.HasPrefix(is, "Healthy") {
		t.Errorf("nobody asks for the group, and the agent says %q", is)
	}
	ask := query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Component: "dns", Owner: "a"}
	queries["dns"] = []query.Query{ask}
	var apps []facts.Application
	out, err := r.Respond(st, ask)
	if err != nil {
		t.Fatal(err)
	}
	out.ParameterSets(func(s response.ParameterSet) {
		i := s.Item()
		apps = append(apps, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true})
	})
	if is := look(apps...); len(apps) != 1 || is != "Healthy "+announcement {
		t.Errorf("all of it runs, and the agent says %q", is)
	}
}
