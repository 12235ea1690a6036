package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-hub/argosy/internal/refresh"
)

// TestManyProblemsAreAFewLines: a commit with tens of thousands of problems is reported in a few
// lines, in /readyz as in the log, with how many there are; the same holds for a repository that
// begins like that. (H10)
func TestManyProblemsAreAFewLines(t *testing.T) {
	hostile := map[string]string{"addons/defaults/addons/dns/values.yaml": strings.Repeat("a: 1\n", 20_000)}
	for i := range 500 {
		hostile[fmt.Sprintf("fleet/fleet-members/hub-1/m%d.yaml", i)] = strings.Repeat(fmt.Sprintf("k%d: 1\n", i), 50)
	}
	s := serving(t)
	before := len(s.log.String())
	s.say(repository(hostile))
	s.until("quarantined", func(st refresh.Status) bool { return len(st.Quarantined) > 0 })
	ready, body := s.readiness()
	if len(ready.body) > 16<<10 || body.QuarantinedMembers != 503 || len(body.Quarantined) != 20 || body.Quarantined[0].Problems < 100 || !strings.Contains(body.Quarantined[0].Problem, ".yaml:2:1:") {
		t.Errorf("%d bytes of /readyz, %d members", len(ready.body), body.QuarantinedMembers)
	}
	if logged := len(s.log.String()) - before; logged > 8192 {
		t.Errorf("%d bytes are logged", logged)
	}
	if r := s.get("/metrics"); strings.Count(r.body, "\n") > 1000 {
		t.Errorf("%d lines of metrics", strings.Count(r.body, "\n"))
	}

	first := start(t)
	first.say(repository(hostile))
	first.until("taken", func(st refresh.Status) bool { return st.Ready() || st.Waiting != "" })
	fleet := first.get("/api/v1/fleet")
	if len(fleet.body) > 4<<20 {
		t.Errorf("%d bytes of /api/v1/fleet", len(fleet.body))
	}
	if r := first.ask(`{"view":"members"}`); len(r.body) > 4096 {
		t.Errorf("%d bytes of an error", len(r.body))
	}
}
