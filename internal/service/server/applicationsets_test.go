package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
)

// controller is an Argo CD that asks as soon as it is refreshed, as the real one does.
type controller struct {
	refreshed chan string
	ask       func() string // the revision of the answer
	fail      bool
}

func (c *controller) Run(ctx context.Context, _ func()) { <-ctx.Done() }

func (c *controller) List() ([]facts.ApplicationSet, bool) {
	return []facts.ApplicationSet{
		{Name: "members", Requests: []json.RawMessage{[]byte(`{"view":"members"}`)}},
		{Name: "dns", Requests: []json.RawMessage{[]byte(`{"view":"components","group":"addons","component":"dns"}`)}},
	}, true
}

func (c *controller) Refresh(_ context.Context, name string) error {
	if c.fail {
		c.fail = false
		return errors.New("not now")
	}
	c.refreshed <- name + " " + c.ask()
	return nil
}

// next is who has been refreshed, and the revision that the answer had.
func (c *controller) next(t *testing.T) (name, revision string) {
	t.Helper()
	select {
	case text := <-c.refreshed:
		name, revision, _ = strings.Cut(text, " ")
		return name, revision
	case <-time.After(patient):
		t.Fatal("nobody was refreshed")
		return "", ""
	}
}

// A refreshed ApplicationSet finds the new response; one whose response is the same is left
// alone. Failures are counted, and tried again.
func TestApplicationSetsAreRefreshed(t *testing.T) {
	t.Parallel()
	c := &controller{refreshed: make(chan string, 10), fail: true}
	s := start(t, func(o *server.Options) { o.ApplicationSets = c })
	c.ask = func() string { return s.ask(`{"view":"members"}`).header.Get("X-Argosy-Revision") }
	first := snapshot.FromMap(repository(nil))
	s.say(repository(nil))
	refreshed := map[string]bool{}
	for range 2 {
		name, revision := c.next(t)
		refreshed[name] = true
		assert.Equal(t, first.Revision, revision, "%s: asked and", name)
	}
	if !refreshed["members"] || !refreshed["dns"] {
		t.Errorf("the first state: refreshed %v", refreshed)
	}

	second := s.say(repository(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"}))
	if name, revision := c.next(t); name != "dns" || revision != second.Revision {
		t.Errorf("a value: refreshed %s at %s, want dns at %s", name, revision, second.Revision)
	}
	third := s.say(repository(map[string]string{
		"addons/defaults/addons/dns/values.yaml": "replicas: 2\n",
		"fleet/fleet-members/hub-1/b.yaml":       strings.Replace(memberB, "hub-1/b", "elsewhere", 1),
	}))
	if name, revision := c.next(t); name != "members" || revision != third.Revision {
		t.Errorf("a member: refreshed %s at %s, want members at %s", name, revision, third.Revision)
	}
	s.eventually("counted", func() bool { // just after the refresh
		metrics := s.get("/metrics").body
		return strings.Contains(metrics, "argosy_applicationset_refreshes_total 4\n") && strings.Contains(metrics, "argosy_applicationset_refresh_failures_total 1\n")
	})
	if len(c.refreshed) > 0 {
		t.Errorf("refreshed %s as well", <-c.refreshed)
	}
}

// TestResponseIsReadyBeforeArgoCDAsks: after a commit the service has computed a changed response
// before it refreshes the ApplicationSet, which then gets it from memory.
func TestResponseIsReadyBeforeArgoCDAsks(t *testing.T) {
	t.Parallel()
	c := &controller{refreshed: make(chan string, 10)}
	s := start(t, func(o *server.Options) { o.ApplicationSets = c })
	c.ask = func() string {
		before := s.count("argosy_responses_computed_total")
		s.ask(`{"view":"components","group":"addons","component":"dns"}`).is(t, 200, "Argo CD's query")
		return strconv.Itoa(s.count("argosy_responses_computed_total") - before)
	}
	s.say(repository(nil)) // the first state is compared with nothing: both are refreshed, and then computed
	_, first := c.next(t)
	_, second := c.next(t)
	assert.Equal(t, "1 0", first+" "+second, "computed by Argo CD's queries after the start")
	s.say(repository(map[string]string{"addons/defaults/addons/dns/values.yaml": "replicas: 2\n"}))
	name, computed := c.next(t)
	assert.Equal(t, "dns 0", name+" "+computed, "refreshed, and computed by its query")
}

// eventually asks until something is so.
func (s *service) eventually(what string, ok func() bool) {
	s.Helper()
	tick, deadline := time.NewTicker(10*time.Millisecond), time.After(patient)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			s.Fatalf("never %s", what)
		}
	}
}
