package server_test

import (
	"encoding/json"
	"testing"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
)

// Rules D2 and G4: a draining member keeps each byte of its answers whatever is committed, over a
// restart with a state file too; /api/v1/fleet says since which revision. It is no quarantine, and
// it takes everything once it is active again.
func TestDrainingMemberTakesNoChanges(t *testing.T) {
	const question = `{"view":"components","group":"addons"}`
	keep := storedIn(t, t.TempDir())
	s := serving(t, keep)
	good := s.Refresher().State().Revision
	before := s.sets(question)["dns-a"]
	draining := map[string]string{
		fileA: memberA + "lifecycle: draining\nlabels: {ring: slow}\n", dnsValues: "replicas: 2\n",
		"addons/tenants/defaults/application-sets/addons.yaml": "dns: {enabled: false}\n",
	}
	check := func(s *service, when string) {
		t.Helper()
		after := s.sets(question)
		if got, want := text(t, after["dns-a"]), text(t, before); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
		if _, is := after["dns-b"]; is {
			t.Errorf("%s: b has not gone on", when)
		}
		var listed server.Fleet
		if err := json.Unmarshal([]byte(s.get("/api/v1/fleet").body), &listed); err != nil {
			t.Fatal(err)
		}
		if a := listed.Clusters[0]; a.Name != "a" || a.Lifecycle != "draining" || a.Keeps != good || a.Quarantine != nil {
			t.Errorf("%s: %+v", when, a)
		}
		if _, ready := s.readiness(); ready.QuarantinedMembers != 0 {
			t.Errorf("%s: %+v", when, ready.Quarantined)
		}
	}
	s.say(repository(draining))
	check(s, "the commit")
	draining["addons/defaults/addons/dns/values.yaml"] = "replicas: 3\n"
	s.say(repository(draining))
	check(s, "a later commit")
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := start(t, keep)
	again.script.Reports <- fleettest.Report{Snapshot: snapshot.FromMap(repository(draining))}
	again.until("serving again", refresh.Status.Ready)
	check(again, "a restart")
	draining[fileA] = memberA
	again.say(repository(draining))
	if sets := again.sets(question); len(sets["dns-a"]) != 0 {
		t.Errorf("active again: %v", sets["dns-a"])
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
