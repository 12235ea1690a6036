package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/base/store"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// sharedFolder is a folder that the replicas of one process share.
type sharedFolder struct{ *store.Folder }

func (sharedFolder) Shared() bool { return true }

// newSharedStore returns a store, and its folder.
func newSharedStore(t *testing.T) (*store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := store.NewFolder(dir)
	require.NoError(t, err)
	return store.New(sharedFolder{f}), dir
}

func folderStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	f, err := store.NewFolder(dir)
	require.NoError(t, err)
	return store.New(f)
}

// storedIn has a service keep its state in a folder.
func storedIn(t *testing.T, dir string) func(*server.Options) {
	t.Helper()
	return func(o *server.Options) { o.Store = folderStore(t, dir) }
}

func in(s *store.Store) func(*server.Options) {
	return func(o *server.Options) {
		o.Store, o.Now = s, func() time.Time { return today }
	}
}

// answered asks until the service has read the last responses.
func (s *service) answered(applicationSet, parameters string) reply {
	s.Helper()
	deadline := time.Now().Add(patient)
	for {
		r := s.askAs(applicationSet, parameters)
		if !strings.Contains(r.body, "not been read") || time.Now().After(deadline) {
			return r
		}
	}
}

// Rules G2 and G4: a replica that has missed a commit takes over which revision a broken member was
// last good in, so that all answer the same bytes; and so does one that starts while the member is
// broken.
func TestReplicasAgreeOnLastGoodSets(t *testing.T) {
	shared, _ := newSharedStore(t)
	const question = `{"view":"components","group":"addons"}`
	first, second := start(t, in(shared)), start(t, in(shared))
	good := repository(map[string]string{dnsValues: "replicas: 2\n"})
	broken := repository(map[string]string{dnsValues: "replicas: 3\n", fileA: memberA + "tenant: twice\n"})
	first.say(repository(nil))
	second.say(repository(nil))
	goodAt := first.say(good)
	first.say(broken)
	want := first.answered("try", question)
	if sets := setsIn(t, want.body); sets["dns-a"]["revision"] != goodAt.Revision {
		t.Fatalf("the first: %v", sets["dns-a"])
	}
	second.say(broken) // has never seen the good one
	second.until("agreed", func(refresh.Status) bool { return second.ask(question).body == want.body })
	if _, ready := second.readiness(); ready.Quarantined[0].Revision != goodAt.Revision || ready.State == nil || len(ready.State.Problems) != 0 {
		t.Errorf("readyz: %+v %+v", ready.Quarantined, ready.State)
	}
	third := start(t, in(shared))
	third.script.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(broken)}
	third.until("serving", refresh.Status.Ready)
	if got := third.answered("try", question); got.body != want.body {
		t.Errorf("the third: %s, want %s", got.body, want.body)
	}
}

// Rules G3 and G4: what was answered last is known to a replica that starts, and damage is reported
// and not used.
func TestReplicasShareBaselines(t *testing.T) {
	for _, damaged := range []bool{false, true} {
		shared, dir := newSharedStore(t)
		first := guarded(t, nil, in(shared))
		require.NoError(t, first.Stop(t.Context()))
		if damaged {
			path := filepath.Join(dir, "responses-v3.record")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			data[len(data)-5] ^= 1
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		second := start(t, in(shared))
		second.script.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(twelve(half()))}
		second.until("serving", refresh.Status.Ready)
		r := second.answered(ofDNS, askDNS)
		second.hasHolds()
		if damaged {
			if got := second.deletions(r); len(got) != dozen/2 {
				t.Errorf("damaged: %v", got)
			}
			if m := second.get("/metrics").body; !strings.Contains(m, `argosy_removal_baseline_failures_total{failure="damaged"} 1`) || !strings.Contains(second.log.String(), "remembered responses cannot be used") {
				t.Error("nothing tells of the damage")
			}
			continue
		}
		second.refuses(ofDNS, askDNS, refusedDNS) // nobody here has the rows
		second.refuses(ofMembers, askMembers, refusedMembers)
	}
}

// secrets are the facts of a hub whose clusters have Secrets, and dns runs on a and b.
func secrets(names ...string) facts.Set {
	var out []facts.Cluster
	for _, name := range names {
		out = append(out, facts.Cluster{Name: name, Secret: "uid-" + name, Labels: map[string]string{"region": "eu-1"}})
	}
	return facts.NewSet(true, out...).WithApplications(
		facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default"},
		facts.Application{Name: "dns-b", Cluster: "b", Group: "addons", Component: "dns", Release: "default"})
}

// Rules G2 and G4: a cluster whose Secret goes while the service is away keeps its last known
// facts, byte for byte, and everybody sees it; without anything kept the answer is refused, as
// nothing is known. Its member file ends it.
func TestSecretLostDuringARestartKeepsItsFacts(t *testing.T) {
	const question = `{"view":"components","group":"addons"}`
	shared, _ := newSharedStore(t)
	keep := func(set facts.Set) func(*server.Options) {
		return func(o *server.Options) {
			o.Facts, o.Store, o.StoreFacts = &changingFacts{running: make(chan struct{}), set: set}, shared, true
		}
	}
	first := serving(t, keep(secrets("a", "b", "hub-1")))
	want := first.answered("try", question)
	if sets := setsIn(t, want.body); len(sets) != 3 {
		t.Fatalf("%s", want.body)
	}
	if _, ready := first.readiness(); ready.LastKnownClusters != 0 {
		t.Errorf("%+v", ready)
	}
	require.NoError(t, first.Stop(t.Context()))

	second := serving(t, keep(secrets("b", "hub-1")))
	if got := second.ask(question); got.body != want.body {
		t.Errorf("%d %s, want %s", got.code, got.body, want.body)
	}
	r, ready := second.readiness()
	if r.code != 200 || ready.LastKnownClusters != 1 || ready.LastKnown[0] != "a" || ready.State == nil || !strings.HasPrefix(ready.State.Where, "folder ") {
		t.Errorf("readyz: %s", r.body)
	}
	if m := second.get("/metrics").body; !strings.Contains(m, "argosy_last_known_members 1\n") || !strings.Contains(m, "argosy_state_problems 0\n") {
		t.Error("no metric says so")
	}
	var listed server.Fleet
	require.NoError(t, json.Unmarshal([]byte(second.get("/api/v1/fleet").body), &listed))
	for _, c := range listed.Clusters {
		if c.LastKnown != (c.Name == "a") && c.Hub == "hub-1" {
			t.Errorf("/api/v1/fleet: %+v", c)
		}
	}
	second.say(repository(map[string]string{fileA: ""}))
	if _, ready := second.readiness(); ready.LastKnownClusters != 0 {
		t.Errorf("its member file is gone: %v", ready.LastKnown)
	}

	nothing := serving(t, func(o *server.Options) {
		o.Facts = &changingFacts{running: make(chan struct{}), set: secrets("b", "hub-1")}
	})
	nothing.ask(question).is(t, http.StatusServiceUnavailable, "with nothing kept")
}

// A replica that has missed the commit in which a member joined does not make another one leave the
// member out when a later commit breaks it. (G2)
func TestReplicaThatMissedAMemberTakesItFromNoOther(t *testing.T) {
	shared, _ := newSharedStore(t)
	const question = `{"view":"components","group":"addons"}`
	first, second := start(t, in(shared)), start(t, in(shared))
	first.say(repository(nil))
	second.say(repository(nil))
	second.say(repository(map[string]string{fileC: memberC}))
	if setsIn(t, second.answered("try", question).body)["dns-c"] == nil {
		t.Fatal("c has not joined")
	}
	broken := repository(map[string]string{fileC: memberC + "tenant: twice\n"})
	first.say(broken)
	second.say(broken)
	if r := second.answered("try", question); r.code != http.StatusOK || setsIn(t, r.body)["dns-c"] == nil {
		t.Errorf("%d, and Argo CD would delete dns-c: %s", r.code, r.body)
	}
}

// Rule L1: what responses have otherwise than the live cluster Secrets is reported with both
// values to a token that may read the whole hub; and it is no refusal.
func TestReplacedLabelsAreReported(t *testing.T) {
	secret := func(labels map[string]string) facts.Set {
		return facts.NewSet(true, facts.Cluster{Name: "a", Secret: "a", Labels: labels, Annotations: map[string]string{"addons_repo_url": "https://old.example.com", "api_token": "0123456789abcdef0123"}},
			facts.Cluster{Name: "b", Secret: "b"}, facts.Cluster{Name: "hub-1", Secret: "hub"})
	}
	member := map[string]string{fileA: memberA + "addons_repo_url: https://new.example.com\nannotations: {api_token: from-a-secret}\n"}
	changing := &changingFacts{running: make(chan struct{}), set: secret(map[string]string{"tenant": "terraform", "kept": "x"})}
	s := serving(t, func(o *server.Options) { o.Facts = changing })
	s.say(repository(member))
	want := []string{
		`a: label "tenant": "retail" replaces "terraform" of the cluster Secret`,
		`a: annotation "addons_repo_url": "https://new.example.com" replaces "https://old.example.com" of the cluster Secret`,
		`a: annotation "api_token": "from-a-secret" replaces "0123456789abcdef0123" of the cluster Secret`,
	}
	r, ready := s.readiness()
	if diff := cmp.Diff(want, ready.Replaced); r.code != 200 || ready.ReplacedLabels != 3 || diff != "" {
		t.Errorf("readyz: %s\n%s", r.body, diff)
	}
	assert.Contains(t, s.get("/metrics").body, "argosy_replaced_labels 3\n", "no metric says so")
	assert.Contains(t, s.get("/api/v1/fleet").body, `"replaced":[{"kind":"label","key":"tenant","live":"terraform","served":"retail"},{"kind":"annotation","key":"addons_repo_url","live":"https://old.example.com","served":"https://new.example.com"},`, "/api/v1/fleet")
}
