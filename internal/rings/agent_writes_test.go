package rings

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/fleet/rollout"
	"github.com/argosy-hub/argosy/internal/fleetstate"
	"github.com/argosy-hub/argosy/internal/resolve/query"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
	"github.com/argosy-hub/argosy/internal/testkit/storetest"
)

// agent are the rings of agent a, and the state that its service serves.
type agent struct{ *hub }

// agentFiles are the files of a commit of a fleet in which agents follow their rings.
func agentFiles(commit int) *snapshot.Snapshot {
	return snapshot.FromMap(fleettest.TwoHubs().With(map[string]string{
		"fleet/fleet-members/hub-1/a.yaml": "clusterName: a\ntenant: retail\nenvironment: dev\nsecretManagerSecretName: s\nuse_remote_argo: true\nenable_remote_addons: true\n",
		"fleet/rollouts/all.yaml":          "apiVersion: argosy.dev/v1alpha1\nkind: Rollout\nagents: true\nrings:\n  - {name: all, selector: {}}\n",
		"README.yaml":                      fmt.Sprintf("commit: %d\n", commit),
	}))
}

// serve serves files while the hub announces a revision for group addons, and nothing for group
// resources, which the agent has, too.
func (a agent) serve(files *snapshot.Snapshot, announced string) {
	a.Helper()
	known := facts.NewSet(false).WithApplications().WithHealth().WithGrants("a",
		facts.OwnershipGrant{Group: "addons", UID: "1", Held: true, Rings: "all=" + announced},
		facts.OwnershipGrant{Group: "resources", UID: "2", Held: true})
	st, err := fleetstate.Build(a.st, files, known)
	require.NoError(a, err)
	a.st = st
	a.Serving(st)
}

// TestAgentWritesNothingThatLacksAReplicasNews: a replica of an agent's service has written which
// revision a group has. One that cannot read the files of that revision writes nothing over it,
// whatever its hub announces; once it can, both are in the record. (rule 4, G9)
func TestAgentWritesNothingThatLacksAReplicasNews(t *testing.T) {
	store, objects := storetest.New()
	a := agent{newHub(t, store)}
	first, second, third := agentFiles(1), agentFiles(2), agentFiles(3)
	a.serve(first, first.Revision)
	a.Look(t.Context())

	log := rollout.BeginFollowing(first.Revision, time.Now())
	log = rollout.Follow(log, map[string]string{"resources": second.Revision}, nil, func(string) bool { return true }, time.Now())
	_, err := a.files.Write(t.Context(), map[string]*snapshot.Snapshot{a.files.Record(second.Revision): second})
	record := newRecord(store, "all")
	if err == nil {
		_, _, err = record.Read(t.Context())
	}
	if err == nil {
		err = record.Write(t.Context(), log)
	}
	require.NoError(t, err)
	written := string(objects.Object("rollout-all-v1"))

	objects.OnGet(func(name string) error {
		if name == a.files.Record(second.Revision) {
			return errors.New("etcdserver: request timed out")
		}
		return nil
	})
	a.serve(third, third.Revision)
	a.Look(t.Context())
	if string(objects.Object("rollout-all-v1")) != written {
		t.Error("the record of a replica is replaced before its files have been read")
	}
	objects.OnGet(nil)
	a.Look(t.Context())
	is, _, err := record.Read(t.Context())
	if err != nil || is == nil || is.Followed("addons") != third.Revision || is.Followed("resources") != second.Revision {
		t.Errorf("the record is %+v, %v; expected group addons at %s and group resources at %s", is, err, third.Revision, second.Revision)
	}
}

// ofAgent is the query of the agent for its group addons.
var ofAgent = query.Query{View: query.Components, Hub: "hub-1", Group: "addons", Owner: "a"}

// TestStatesDuringAWriteForgetNothing: an agent reads the files of a revision that its hub has
// announced, and writes down that a group takes it. However many commits the agent has seen, and
// although other states are served meanwhile, the group is answered from that revision. (G9)
func TestStatesDuringAWriteForgetNothing(t *testing.T) {
	store, memory := storetest.New()
	a := agent{newHub(t, store)}
	announced := agentFiles(100)
	a.o.Fetch = func(context.Context, string) (*snapshot.Snapshot, error) { return announced, nil }
	first := agentFiles(0)
	a.serve(first, first.Revision)
	a.Look(t.Context())
	newest := first
	for i := range maxRevisions + 2 {
		newest = agentFiles(1 + i)
		a.serve(newest, first.Revision)
	}
	a.serve(newest, announced.Revision)
	memory.Fails = func(string) error {
		memory.Fails = nil
		a.serve(newest, announced.Revision)
		return nil
	}
	a.Look(t.Context())
	if memory.Fails != nil {
		t.Fatal("nothing is written")
	}
	a.serve(newest, announced.Revision) // published anew, as the group has taken a revision
	if _, err := a.Respond(context.Background(), a.st, ofAgent); err != nil {
		t.Error(err)
	}
	if is := a.Report().Rollouts[0].Rings[0]; is.Revision != announced.Revision {
		t.Errorf("the group has revision %s; expected %s", is.Revision, announced.Revision)
	}
}

// TestServedStateStaysTheOneOfItsRevision: a commit is served while its files are read, as a hub
// has announced it. What the rings answer from is the state that is served, which alone has the
// last known good snapshots of members. (G2, G7)
func TestServedStateStaysTheOneOfItsRevision(t *testing.T) {
	a := agent{newHub(t, nil)}
	first, second := agentFiles(1), agentFiles(2)
	a.o.Fetch = func(context.Context, string) (*snapshot.Snapshot, error) {
		a.serve(second, second.Revision)
		return second, nil
	}
	a.serve(first, second.Revision)
	a.Look(t.Context())
	if is := a.knownState(second.Revision); is != a.st {
		t.Error("another state has taken the place of the served one")
	}
	if n := len(a.recent); n != 2 {
		t.Errorf("%d revisions are known: %v", n, a.recent)
	}
}
