package rings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/response"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// drainingAgent are the files of a commit in which agent a drains, and dns is switched off there.
func drainingAgent(commit int) *snapshot.Snapshot {
	return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{
		"fleet/fleet-members/hub-1/a.yaml":                              "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: s\nuse_remote_argo: true\nenable_remote_addons: true\nlifecycle: draining\n",
		"fleet/rollouts/all.yaml":                                       "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nagents: true\nrings:\n  - {name: all, selector: {}}\n",
		"addons/tenants/retail/clusters/a/application-sets/addons.yaml": "dns: {enabled: false}\n",
		"README.yaml": fmt.Sprintf("commit: %d\n", commit),
	}))
}

// given is what the agent's engine gets for group addons, or why it gets nothing.
func (a agent) given() string {
	a.Helper()
	out, err := a.Respond(context.Background(), a.st, ofAgent)
	if err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	if _, err := out.WriteTo(&b); err != nil {
		a.Fatal(err)
	}
	return b.String()
}

// An agent's poll has skipped the commit in which it begins to drain, and which its hub announces.
// It reads the commit's files, and keeps what it has, as if it had served the commit. (D2, G2)
func TestSkippedCommitChangesNoDrainingAgent(t *testing.T) {
	a := agent{newHub(t, nil)}
	first, second, third := agentFiles(1), drainingAgent(2), drainingAgent(3)
	a.o.Fetch = func(context.Context, string) (*snapshot.Snapshot, error) { return second, nil }
	a.serve(first, first.Revision)
	a.Look(t.Context())
	a.serve(first, first.Revision)
	want := a.given()
	require.Contains(t, want, `"applicationName":"dns-a"`)
	a.serve(third, second.Revision)
	a.Look(t.Context())
	a.serve(third, second.Revision) // published anew
	if is := a.Report().Rollouts[0].Rings[0]; is.Revision != second.Revision {
		t.Fatalf("the group has %s; expected %s", is.Revision, second.Revision)
	}
	assert.Equal(t, want, strings.Replace(a.given(), `"hold":"draining",`, "", 1), "the agent drains, and changes")
}

// A draining agent follows a revision that would take dns away. It keeps dns, also when its service
// starts again while a newer commit is the newest. (D2, G4)
func TestRestartOfAnAgentKeepsWhatDrains(t *testing.T) {
	store, _ := storetest.New()
	a := agent{newHub(t, store)}
	first, second, third := agentFiles(1), drainingAgent(2), drainingAgent(3)
	a.serve(first, first.Revision)
	a.Look(t.Context())
	a.serve(second, second.Revision)
	a.Look(t.Context())
	a.serve(third, second.Revision)
	a.Look(t.Context())
	a.serve(third, second.Revision)
	want := a.given()
	require.Contains(t, want, `"applicationName":"dns-a"`)
	again := agent{newHub(t, store)}
	again.st = a.st // which the refresher restores with its last known good snapshots
	again.serve(third, second.Revision)
	again.Look(t.Context())
	again.serve(third, second.Revision)
	assert.Equal(t, want, again.given(), "after a restart")
}

// TestSwitchOfAgentsTakesNothingBack: agents followed the newest commit until their policy has
// them. A ring that lags does not take them back; one that was put back does. (G7)
func TestSwitchOfAgentsTakesNothingBack(t *testing.T) {
	files := func(agents string, replicas int) *snapshot.Snapshot {
		return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{
			"fleet/fleet-members/hub-1/a.yaml":       "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: s\nuse_remote_argo: true\nenable_remote_addons: true\n",
			"fleet/rollouts/all.yaml":                "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\n" + agents + "rings:\n  - {name: all, selector: {}}\n",
			"addons/defaults/addons/dns/values.yaml": fmt.Sprintf("replicas: %d\n", replicas),
		}))
	}
	a := agent{newHub(t, nil)}
	first, second, third, fourth := files("", 1), files("", 7), files("agents: true\n", 7), files("agents: true\n", 8)
	a.o.Fetch = func(_ context.Context, revision string) (*snapshot.Snapshot, error) {
		for _, s := range []*snapshot.Snapshot{first, second, third} {
			if s.Revision == revision {
				return s, nil
			}
		}
		return nil, errors.New("there is no such revision")
	}
	serve := func(s *snapshot.Snapshot, revision string) {
		t.Helper()
		a.serve(s, revision)
		a.Look(t.Context())
		a.serve(s, revision) // published anew
		if is := a.Report().Rollouts[0].Rings[0]; revision != "" && is.Revision != revision {
			t.Fatalf("the group has %s; expected %s", is.Revision, revision)
		}
	}
	a.serve(first, "")
	a.Look(t.Context())
	a.serve(second, "")
	a.Look(t.Context())
	serve(third, first.Revision) // the ring lags
	assert.Contains(t, a.given(), "replicas: 7", "the agent is taken back")
	serve(third, third.Revision)
	serve(fourth, third.Revision)
	serve(fourth, first.Revision) // the hub's ring is put back
	assert.Contains(t, a.given(), "replicas: 1", "the agent's ring is put back, and it gets the newest commit")
}

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
	var says map[string]facts.GroupReport
	r := New(Options{
		Hub: "hub-1", Responses: new(response.Cache), Logger: slog.New(slog.DiscardHandler),
		Queries: func() map[string][]query.Query { return queries },
		State:   func() *fleetstate.State { return st },
		Report:  func(reports map[string]facts.GroupReport) { says = reports },
	})
	look := func(apps ...facts.Application) string {
		var err error
		if st, err = fleetstate.Build(st, files, facts.NewSet(false).WithApplications(apps...).WithHealth().WithGrants("a", grant)); err != nil {
			t.Fatal(err)
		}
		r.Serving(st)
		r.Look(t.Context())
		return says["addons"].Rings
	}
	if is := look(); !strings.HasSuffix(is, announcement) || strings.HasPrefix(is, "Healthy") {
		t.Errorf("nobody asks for the group, and the agent says %q", is)
	}
	ask := query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Component: "dns", Owner: "a"}
	queries["dns"] = []query.Query{ask}
	var apps []facts.Application
	out, err := r.Respond(context.Background(), st, ask)
	require.NoError(t, err)
	out.ParameterSets(func(s response.ParameterSet) {
		i := s.Item()
		apps = append(apps, facts.Application{Name: i.Name, Cluster: i.Cluster, Group: i.Group, Component: i.Component, Digest: s.Digest(), Healthy: true})
	})
	if is := look(apps...); len(apps) != 1 || is != "Healthy "+announcement {
		t.Errorf("all of it runs, and the agent says %q", is)
	}
}
