package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/service/server"
)

// changingFacts are facts that a test changes.
type changingFacts struct {
	mu      sync.Mutex
	set     facts.Set
	changed func()
	running chan struct{}
}

func (f *changingFacts) Current() (facts.Set, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set, true
}
func (f *changingFacts) Err() error { return nil }
func (f *changingFacts) Refresh()   {}
func (f *changingFacts) Run(ctx context.Context, changed func()) {
	f.changed = changed
	close(f.running)
	<-ctx.Done()
}

func (f *changingFacts) tell(s facts.Set) {
	<-f.running
	f.mu.Lock()
	f.set = s
	f.mu.Unlock()
	f.changed()
}

// deletionOfA is what an ApplicationSet that asks for a release of component dns is answered for
// cluster a.
func (s *service) deletionOfA(applicationSet, release string) string {
	s.Helper()
	r := s.do(s.request("POST", getparams, `{"applicationSetName":"`+applicationSet+
		`","input":{"parameters":{"view":"components","group":"addons","component":"dns","release":"`+release+`"}}}`))
	if r.code != http.StatusOK {
		s.Fatalf("%d %s", r.code, r.body)
	}
	var answer struct {
		Output struct {
			Parameters []struct{ Name, Deletion string }
		}
	}
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		s.Fatal(err)
	}
	for _, set := range answer.Output.Parameters {
		if set.Name == "a" {
			return set.Deletion
		}
	}
	return "left out"
}

// TestMovedComponentWaitsForItsOldRelease: a component that has moved is not answered to its new
// release's ApplicationSet before the old one's has let go; the ApplicationSet that controls it is
// answered with it whatever release it asks for. (D4)
func TestMovedComponentWaitsForItsOldRelease(t *testing.T) {
	dns := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "gone", Controller: "addons-gone-dns"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dns)}
	s := serving(t, func(o *server.Options) { o.Facts = known })
	for applicationSet, want := range map[string]string{"addons-default-dns": "left out", "addons-gone-dns": "orphan"} {
		if got := s.deletionOfA(applicationSet, "default"); got != want {
			t.Errorf("%s: %s, want %s", applicationSet, got, want)
		}
	}
	if got := s.deletionOfA("addons-gone-dns", "gone"); got != "left out" {
		t.Errorf("a release that no versions file names: %s", got)
	}
	known.tell(facts.NewSet(false).WithApplications())
	s.until("it has been let go", func(refresh.Status) bool { return s.deletionOfA("addons-default-dns", "default") == "orphan" })
}

// TestDisabledComponentIsAnsweredWithCascadeFirst: a component that is switched off is answered
// with cascade until its Application has the finalizer, and then left out; nothing else tells the
// service but the facts of that Application. (D3)
func TestDisabledComponentIsAnsweredWithCascadeFirst(t *testing.T) {
	dns := facts.Application{Name: "dns-a", Cluster: "a", Group: "addons", Component: "dns", Release: "default"}
	known := &changingFacts{running: make(chan struct{}), set: facts.NewSet(false).WithApplications(dns)}
	s := serving(t, func(o *server.Options) { o.Facts = known })
	deletion := func() string { t.Helper(); return s.deletionOfA("try", "default") }
	if got := deletion(); got != "orphan" {
		t.Fatalf("what is to run: %s", got)
	}
	s.say(repository(map[string]string{"addons/tenants/retail/clusters/a/application-sets/addons.yaml": "dns: {enabled: false}\n"}))
	if got := deletion(); got != "cascade" {
		t.Fatalf("switched off: %s", got)
	}
	dns.Cascade = true
	known.tell(facts.NewSet(false).WithApplications(dns))
	s.until("the finalizer has been seen", func(refresh.Status) bool { return deletion() == "left out" })
	known.tell(facts.NewSet(false).WithApplications())
	s.say(repository(nil))
	if got := deletion(); got != "orphan" {
		t.Fatalf("switched on again: %s", got)
	}
}
